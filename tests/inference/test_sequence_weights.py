"""Weights of sequences are factors of their marginals, made by the reverse sweep itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crfkit import Chain, SemiMarkov, inference
from crfkit.arrays import Floats
from crfkit.native import kernels
from crfkit.structures import Tree

L = 3
LENGTHS = [4, 1, 7, 2, 5, 1, 3, 6, 3, 2, 4, 5, 1, 8]
WEIGHT = np.array([1.0, 0.25, 3.0, 0.0, -1.5, 7.0, 1e-3, 1.0, 0.0, 2.0, 1.0, 0.5, 1.0, 1e3])
SEQ_PTR = np.concatenate([[0], np.cumsum(LENGTHS)])


def chain(order: int, scale: float, edges_at_positions: bool = False) -> Any:
    rng = np.random.default_rng(order)
    P = int(SEQ_PTR[-1])
    tables = tuple(scale * rng.normal(size=(L,) * (h + 1)) for h in range(1, order + 1))
    edge: Any = tables if order > 1 else tables[0]
    if edges_at_positions:
        edge = scale * rng.normal(size=(P, L, L))
    start, stop = scale * rng.normal(size=(2, L))
    node = scale * rng.normal(size=(P, L))
    return Chain(L, order=order).potentials(node, edge, start=start, stop=stop, seq_ptr=SEQ_PTR)


def segments(scale: float) -> Any:
    rng = np.random.default_rng(5)
    D = 3
    segment = scale * rng.normal(size=(int(SEQ_PTR[-1]), D, L))
    edge = scale * rng.normal(size=(L, L))
    start, stop = scale * rng.normal(size=(2, L))
    return SemiMarkov(L, D).potentials(segment, edge, start=start, stop=stop, seq_ptr=SEQ_PTR)


POTENTIALS = {
    "order 1": lambda scale: chain(1, scale),
    "order 1, edges at positions": lambda scale: chain(1, scale, edges_at_positions=True),
    "order 2": lambda scale: chain(2, scale),
    "segments": segments,
}


def raw(potentials: Any, weight: Floats | None, log_space: bool = False, edges: bool = False) -> Any:
    return kernels.marginals(potentials.problem, edges, log_space, 1, weight)


def added(one: list[Any], weight: Floats, name: str) -> Any:
    """The pooled counts of sequences that were asked one by one, times their weights."""
    if name == "tables":
        orders = range(len(one[0][name]))
        return [sum(w * found[name][h] for w, found in zip(weight, one, strict=True)) for h in orders]
    return sum(w * found[name] for w, found in zip(weight, one, strict=True))


@pytest.mark.parametrize("log_space", [False, True], ids=["scaled", "logs"])
@pytest.mark.parametrize("scale", [1.0, 1e4], ids=["plain", "large"])
@pytest.mark.parametrize("name", POTENTIALS)
def test_weights_are_factors_of_marginals_and_counts(name: str, scale: float, log_space: bool) -> None:
    potentials = POTENTIALS[name](scale)
    found = raw(potentials, WEIGHT, log_space)
    assert found["in_logs"].any() == (log_space or scale > 1.0)
    one = [raw(potentials.sequence(n), None, log_space) for n in range(len(LENGTHS))]
    plain = raw(potentials, None, log_space)
    assert_array_equal(found["value"], plain["value"])
    rows = np.repeat(WEIGHT, LENGTHS)
    axes = (slice(None), *(None,) * (plain["node"].ndim - 1))
    assert_allclose(found["node"], plain["node"] * rows[axes], rtol=1e-12, atol=1e-12)
    assert not found["node"][rows == 0.0].any()
    if "edge" in found:
        assert_allclose(found["edge"], plain["edge"] * rows[:, None, None], rtol=1e-12, atol=1e-12)
        assert not found["edge"][rows == 0.0].any()
    for part in {"start", "stop", "tables"} & set(found):
        for mine, expected in zip(
            found[part] if part == "tables" else [found[part]],
            added(one, WEIGHT, part) if part == "tables" else [added(one, WEIGHT, part)],
            strict=True,
        ):
            assert_allclose(mine, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", POTENTIALS)
def test_weights_of_one_change_no_bit_and_weights_of_zero_leave_nothing(name: str) -> None:
    potentials = POTENTIALS[name](1.0)
    plain, ones, zeros = (raw(potentials, w) for w in (None, np.ones(len(LENGTHS)), np.zeros(len(LENGTHS))))
    for part in set(plain) - {"tables"}:
        assert_array_equal(plain[part], ones[part])
    for a, b in zip(plain.get("tables", []), ones.get("tables", []), strict=True):
        assert_array_equal(a, b)
    for part in {"node", "edge", "start", "stop"} & set(zeros):
        assert not zeros[part].any()
    assert not any(table.any() for table in zeros.get("tables", []))


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_weights_of_trees(scale: float) -> None:
    rng = np.random.default_rng(2)
    parent = [-1, 0, 0, 1, -1]
    tree = Tree(parent, [L] * 5).potentials(
        [scale * rng.normal(size=L) for _ in parent],
        [None if p < 0 else scale * rng.normal(size=(L, L)) for p in parent],
    )
    plain = inference.marginals(tree)
    for weight in (2.0, 0.0, -0.3):
        found = inference.marginals(tree, weight=np.array([weight]))
        for v in range(len(parent)):
            assert_allclose(found.node[v], weight * plain.node[v], rtol=1e-12, atol=1e-12)
            assert_allclose(found.edge[v], weight * plain.edge[v], rtol=1e-12, atol=1e-12)


def test_edges_by_position_have_weights_too() -> None:
    potentials = chain(1, 1.0)
    plain = inference.marginals(potentials, edges_by_position=True).edge
    found = inference.marginals(potentials, edges_by_position=True, weight=WEIGHT).edge
    assert_allclose(found, plain * np.repeat(WEIGHT, LENGTHS)[:, None, None], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.ones(3), "weight has 3 entries, expected 14"), (np.where(WEIGHT > 2, np.nan, 1.0), r"weight\[2\]")],
)
def test_wrong_weights_are_refused(weight: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inference.marginals(chain(1, 1.0), weight=weight)
