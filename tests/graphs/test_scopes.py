"""Scopes agree with plain loops, refuse what makes no sense, and take a million rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from crfkit.graphs import scopes


def rows(array: Any) -> list[tuple[int, ...]]:
    assert array.dtype == np.int32
    return [tuple(row) for row in array.tolist()]


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 4), (0, 3), (3, 0)])
def test_grid(shape: tuple[int, int]) -> None:
    before = 6  # an image of 2 x 3 comes first
    height, width = shape
    right, down, falling, rising = scopes.grid([(2, 3), shape], connect=8)

    def at(r: int, c: int) -> int:
        return before + r * width + c

    for array, (dr, dc) in ((right, (0, 1)), (down, (1, 0)), (falling, (1, 1)), (rising, (1, -1))):
        wanted = [
            (at(r, c), at(r + dr, c + dc))
            for r in range(height)
            for c in range(width)
            if r + dr < height and 0 <= c + dc < width
        ]
        assert [row for row in rows(array) if row[0] >= before] == wanted
    assert rows(scopes.grid((2, 3))[0]) == [(0, 1), (1, 2), (3, 4), (4, 5)]
    assert len(scopes.grid(shape)) == 2


def test_chain_and_pairs_with_empty_ranges() -> None:
    ptr = [0, 0, 3, 3, 4, 6]
    wanted = [(i, i + 1) for i in (0, 1, 4)]
    assert rows(scopes.chain(ptr)) == wanted
    assert rows(scopes.chain([0])) == rows(scopes.pairs([0])) == rows(scopes.pairs(0)) == []
    assert rows(scopes.pairs(ptr)) == [(0, 1), (0, 2), (1, 2), (4, 5)]
    assert rows(scopes.pairs(5)) == list(combinations(range(5), 2))


@pytest.mark.parametrize("seed", range(20))
def test_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    V = int(rng.integers(0, 40))
    values = rng.choice(["a", "b", "c", "dd"], size=V) if seed % 2 else rng.integers(-3, 4, size=V)
    where = rng.random(V) < 0.7
    ptr = [0, *sorted(rng.integers(0, V + 1, size=3).tolist()), V]
    graph = np.searchsorted(ptr, np.arange(V), side="right")
    wanted = [
        (i, j)
        for i, j in combinations(range(V), 2)
        if where[i] and where[j] and graph[i] == graph[j] and values[i] == values[j]
    ]
    assert rows(scopes.same(values, ptr, where=where)) == wanted
    near = [pair for pair in wanted if sum(other[0] == pair[0] for other in wanted if other <= pair) <= 2]
    assert rows(scopes.same(values, ptr, where=where, nearest=2)) == near

    def holders(i: int) -> int:
        return int((where & (graph == graph[i]) & (values == values[i])).sum())

    few = [pair for pair in wanted if holders(pair[0]) <= 3]
    assert rows(scopes.same(values, ptr, where=where, max_count=3)) == few


def test_simple() -> None:
    edges = np.random.default_rng(0).integers(0, 6, size=(40, 2))
    assert rows(scopes.simple(edges)) == sorted({(min(e), max(e)) for e in edges.tolist() if e[0] != e[1]})
    assert rows(scopes.simple([])) == []


@pytest.mark.parametrize("seed", range(10))
def test_join(seed: int) -> None:
    rng = np.random.default_rng(seed)
    r, s = rng.integers(0, 5, size=(9, 3)), rng.integers(0, 5, size=(int(rng.integers(0, 9)), 2))
    wanted = [(a[0], a[2], b[0]) for a in r.tolist() for b in s.tolist() if a[1] == b[1]]
    assert rows(scopes.join(r, s, on=1)) == wanted
    two = [(a[2],) for a in r.tolist() for b in s.tolist() if a[1] == b[0] and a[0] == b[1]]
    assert rows(scopes.join(r, s, on=[(1, 0), (0, 1)])) == two
    named = {"x": r[:, 0], "k": r[:, 1].astype(str)}
    other = {"k": s[:, 1].astype(str), "y": s[:, 0]}
    assert rows(scopes.join(named, other, on="k")) == [(a, c) for a, _, c in wanted]


def test_chow_liu_finds_the_tree_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    Y = np.zeros((4000, 5), dtype=np.int64)
    parent = {1: 0, 2: 0, 3: 2, 4: 3}
    Y[:, 0] = rng.integers(0, 3, size=len(Y))
    for child, of in parent.items():
        Y[:, child] = np.where(rng.random(len(Y)) < 0.7, Y[:, of], rng.integers(0, 3, size=len(Y)))
    found = scopes.chow_liu(Y, list("abcde"))
    assert found == [("abcde"[of], "abcde"[child]) for child, of in sorted(parent.items())]
    assert scopes.chow_liu(Y[:, :1]) == []
    assert scopes.chow_liu(np.zeros((3, 2), dtype=np.int64)) == [(0, 1)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scopes.chain([1, 3]), "seq_ptr.0. is 1, expected 0"),
        (lambda: scopes.chain([0, 3, 2]), "below seq_ptr"),
        (lambda: scopes.chain([]), "seq_ptr is empty"),
        (lambda: scopes.chain([0.0, 2.0]), "expected N . 1 integers"),
        (lambda: scopes.pairs(-1), "below seq_ptr"),
        (lambda: scopes.pairs(10**6), "499999500000 pairs or pixels are more than 2.31 - 1"),
        (lambda: scopes.pairs(10**17), "more than 2.31 - 1"),  # before any memory is taken
        (lambda: scopes.pairs([0, 60_000, 120_000]), "3599940000 pairs"),
        (lambda: scopes.grid((2, 3), connect=6), "connect is 6, expected 4 or 8"),
        (lambda: scopes.grid((2, 3, 4)), "shapes must be .rows, columns."),
        (lambda: scopes.grid((-2, 3)), "shapes must be"),
        (lambda: scopes.grid((10**6, 10**6)), "more than 2.31 - 1"),
        (lambda: scopes.same([[1, 2]]), "values has 2 axes"),
        (lambda: scopes.same([1, 2], [0, 3]), "ends at 3, expected 2"),
        (lambda: scopes.same([1, 2], where=[1, 0]), "where must be 2 times True or False"),
        (lambda: scopes.same([1, 2], max_count=0), "max_count is 0, expected 1 or more"),
        (lambda: scopes.same(np.zeros(10**5, dtype=np.int32)), "limit them"),
        (lambda: scopes.simple([[1, 2, 3]]), "expected .M, 2."),
        (lambda: scopes.simple([[0, -1]]), "has the variable -1"),
        (lambda: scopes.simple([[0.5, 1.0]]), "expected integers"),
        (lambda: scopes.join([[0, 1]], [[1, 2]], on=2), "on: r has no column 2; it has 0, 1"),
        (lambda: scopes.join({"a": [0]}, {"b": [0]}, on="a"), "on: s has no column 'a'; it has 'b'"),
        (lambda: scopes.join({"a": [0]}, {"a": [0]}, on="a"), "none is left"),
        (lambda: scopes.join({"a": [0], "b": [0, 1]}, [[0, 1]], on="a"), "columns of one length"),
        (lambda: scopes.join({"a": [0], "b": ["x"]}, {"a": [0]}, on="a"), "has type <U1, expected integers"),
        (lambda: scopes.join([[0, 1]], [[1, 2]], on=[]), "on is empty"),
        (lambda: scopes.chow_liu([[0, 1]], ["a"]), "1 names for 2 columns"),
        (lambda: scopes.chow_liu([[0, -1]]), "labels from 0"),
    ],
)
def test_errors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_million_rows_in_little_time() -> None:
    n = 10**6
    rng = np.random.default_rng(0)
    values = rng.integers(0, n // 2, size=n)
    began = time.perf_counter()
    scopes.grid((1000, 1000))
    scopes.same(values, np.arange(0, n + 1, 1000))
    scopes.simple(rng.integers(0, n, size=(n, 2)))
    scopes.join(np.column_stack([values, values]), np.column_stack([values, values]), on=0)
    assert time.perf_counter() - began < 10.0  # about 1 s on a quiet machine
