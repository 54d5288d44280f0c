"""Queries agree with plain loops; aggregates with plain sums; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from crfkit.graphs import scopes
from crfkit.graphs.scopes.columns import codes
from crfkit.graphs.scopes.formulas import parse
from crfkit.graphs.scopes.matching import merged


@pytest.mark.parametrize("seed", range(8))
def test_select(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r, s = rng.integers(0, 6, (12, 2)), rng.integers(0, 6, (int(rng.integers(0, 14)), 2))
    R, S = set(map(tuple, r.tolist())), set(map(tuple, s.tolist()))
    every = range(6)
    hub = sorted(
        (a, b, c)
        for a, b, c in product(every, repeat=3)
        if a < b < c and any((h, a) in R and (h, b) in R and (h, c) in R for h in every)
    )
    found = scopes.select("a, b, c", "r(h, a) & r(h, b) & r(h, c) & a < b & b < c", r=r)
    assert list(map(tuple, found.tolist())) == hub
    two = sorted({(a, c) for a, b, c in product(every, repeat=3) if (a, b) in R and (b, c) in S})
    assert list(map(tuple, scopes.select("a, c", "r(a, b) & s(b, c)", r=r, s=s).tolist())) == two
    new = [(a, c) for a, c in two if a != c and (c, a) not in R]
    where = "r(a, b) & s(b, c) & !(a = c) & !r(c, a)"
    assert list(map(tuple, scopes.select("a, c", where, r=r, s=s).tolist())) == new
    loops = sorted(b for a, b in S if (b, b) in R and a == 3)
    assert scopes.select("b", "r(b, b) & s(3, b)", r=r, s=s).ravel().tolist() == loops


def test_select_reads_columns_of_text() -> None:
    wrote: dict[str, Any] = {"paper": [0, 1, 2, 2], "author": ["Ann", "Bob", "Ann", "Bob"]}
    both = "wrote(a, w) & wrote(b, w) & a < b"
    assert scopes.select("a, b", both, wrote=wrote).tolist() == [[0, 2], [1, 2]]
    assert scopes.select("a", "wrote(a, 'Ann') & a > 0", wrote=wrote).tolist() == [[2]]
    assert scopes.select("a, b", both, wrote=[]).shape == (0, 2)


def test_joins_are_counted_before_they_are_made() -> None:
    many = np.zeros((200_000, 2), dtype=np.int64)
    many[:, 1] = np.arange(200_000)
    with pytest.raises(ValueError, match="would give 40,000,000,000 rows, more than the limit of 1,000;"):
        scopes.join(many, many, on=0, limit=1000)
    with pytest.raises(ValueError, match=r"r\(h, b\) would give 40,000,000,000 rows"):
        scopes.select("a, b", "r(h, a) & r(h, b)", r=many)
    assert scopes.join([[0, 1], [0, 1]], [[0, 2], [0, 0]], on=0, distinct=True).tolist() == [[1, 0], [1, 2]]


@pytest.mark.parametrize("seed", range(6))
def test_codes_and_merged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 50))
    columns = [rng.integers(-2 * (seed % 2), 10 ** (1 + seed), n) for _ in range(1 + seed % 3)]
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    code = codes(columns)
    assert all((code[i] == code[j]) == (rows[i] == rows[j]) for i in range(n) for j in range(n))
    assert code.max(initial=0) < max(4 * n, 1)
    first, count = merged(columns)
    assert [rows[i] for i in first] == sorted(set(rows))
    assert [rows.index(rows[i]) for i in first] == first.tolist()
    assert [rows.count(rows[i]) for i in first] == count.tolist()


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
def test_aggregates(how: Any) -> None:
    rng = np.random.default_rng(0)
    edges, values = rng.integers(0, 9, (30, 2)), np.abs(rng.normal(size=(9, 4)))
    found = scopes.aggregate(edges, values, how, size=12)
    fold: Any = {"sum": np.sum, "mean": np.mean, "max": np.max}[how]
    for v in range(12):
        its = values[edges[edges[:, 0] == v, 1]]
        assert found[v] == pytest.approx(fold(its, axis=0) if len(its) else np.zeros(4))
    sparse = scopes.aggregate(edges, csr_array(values), how, size=12)
    assert np.asarray(sparse.toarray() if how != "max" else sparse) == pytest.approx(found)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scopes.select("a", "s(a)", r=[[1]]), "'s' is not a relation; the relations are 'r'"),
        (lambda: scopes.select("b", "r(a)", r=[[1]]), "variable 'b' occurs in no relation that must hold"),
        (lambda: scopes.select("a", "r(a) & !s(b)", r=[[1]], s=[[2]]), "variable 'b' occurs in no relation"),
        (lambda: scopes.select("a", "r(a) | r(a)", r=[[1]]), "not a conjunction"),
        (lambda: scopes.select("a", "r(a, b)", r=[[1]]), "'r' has 1 columns, but 2 terms"),
        (lambda: scopes.select("a", "r('x')", r=[[1]]), "variable 'a' occurs in no relation"),
        (lambda: scopes.select("a", "r(a, 'x')", r=[[1, 2]]), "compares text with numbers"),
        (lambda: scopes.select("a", "r(a", r=[[1]]), "expected '.' at column 4, found the end"),
        (lambda: parse("a(x) => b(x)", "rule 2"), "expected the end, or one of & | -> <-> at column 6"),
        (lambda: parse("a(x) ~ b(x)", "rule 2"), "rule 2: cannot read '~ b.x.' at column 6"),
        (lambda: parse("x", "rule 2"), "expected a predicate"),
        (lambda: parse("a(+3)", "rule 2"), "expected a variable at column 4"),
        (lambda: scopes.aggregate([[0, 1]], [[1.0]], size=1), "the number 1, expected 0 to 0 by values"),
        (lambda: scopes.aggregate([[2, 0]], [[1.0]], size=1), "the number 2, expected 0 to 0 by size"),
        (lambda: scopes.aggregate([[0, 0]], [1.0], size=1), r"expected .N, K."),
        (lambda: scopes.aggregate([[0, 0]], [1.0], "share", size=1), "label ids"),
        (lambda: scopes.aggregate([[0, 0]], [[1.0]], "median", size=1), "how is 'median'"),  # type: ignore[arg-type]
    ],
)
def test_errors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        make()
