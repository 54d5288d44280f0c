"""Maximum flows against SciPy; cuts, partial labelings and ordered labels against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_flow

from crfkit import Graph, _native, inference
from crfkit.arrays import Floats
from crfkit.errors import MethodError
from crfkit.graphs import scopes
from crfkit.inference.methods import QPBO, Enumeration, Ishikawa, Method, MinCut
from crfkit.structures import Table
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.potentials import GraphPotentials

Maker = Any


def seeds(count: int) -> Callable[[Callable[[int], None]], Callable[[], None]]:
    """Run a test for many seeds in one go: they are too small for a test each."""

    def decorate(test: Callable[[int], None]) -> Callable[[], None]:
        def run() -> None:
            for seed in range(count):
                test(seed)

        return run

    return decorate


def submodular(rng: Generator) -> Floats:
    """A table of two binary variables that would rather agree; sometimes it forbids something."""
    table = rng.normal(size=(2, 2))
    low = min(0.0, table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0])
    table[0, 1] += low - rng.exponential()
    if rng.random() < 0.15:
        table[0, 1] = -np.inf
    if rng.random() < 0.15:
        table[1, 0] = -np.inf
    return table


def binary(rng: Generator, table: Maker = submodular, *, forbid: bool = True) -> GraphPotentials:
    """Some binary graphs in a batch: shared tables, scales, isolated and fixed variables."""
    sizes = rng.integers(0, 6, rng.integers(1, 4))
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [
        (int(ptr[n] + a), int(ptr[n] + b))
        for n, size in enumerate(sizes)
        for a in range(size)
        for b in range(size)
        if a != b and rng.random() < 0.4
    ]
    graph = Graph({"x": 2}, look=["x"], near=["x", "x"])
    batch = graph.batch(graph_ptr=ptr, scopes={"near": np.array(pairs, dtype=np.int32).reshape(-1, 2)})
    look = rng.normal(size=(int(ptr[-1]), 2)) * rng.choice([0.3, 3.0])
    look[rng.random(len(look)) < 0.2] = 0.0
    if forbid:
        look[rng.random(look.shape) < 0.1] = -np.inf
    tables = np.stack([table(rng) for _ in range(3)])
    near = Table(tables, which=rng.integers(0, 3, len(pairs)), scale=rng.uniform(0.1, 2.0, len(pairs)))
    return batch.potentials(look=look, near=near)


def best(potentials: GraphPotentials, method: Method) -> tuple[Any, Any]:
    """Labels [V] and scores [N] as the method gives them."""
    found = method.best(potentials, 1)
    np.testing.assert_allclose(found.score[0], Enumeration().best(potentials, 1).score[0], atol=1e-9)
    none = np.isneginf(found.score[0])[potentials.batch.graph_of]
    assert ((found.label[0] == -1) == none).all()
    assert found.info.exact.all()
    return found.label[0], found.score[0]


def flip(potentials: GraphPotentials, turned: Any) -> GraphPotentials:
    """The same with the labels of some variables exchanged."""
    batch, tables = potentials.batch, potentials.tables
    look, near = tables["look"].scores.copy(), tables["near"]
    look[turned] = look[turned, ::-1]
    pairs = near.scores[near.which].copy()
    scope = batch.scopes["near"]
    pairs[turned[scope[:, 0]]] = pairs[turned[scope[:, 0]], ::-1]
    pairs[turned[scope[:, 1]]] = pairs[turned[scope[:, 1]], :, ::-1]
    return batch.potentials(look=look, near=Table(pairs, scale=near.scale, which=np.arange(len(scope))))


@seeds(300)
def test_the_flow_is_scipys_and_the_cut_is_as_large(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    ends = rng.integers(0, n, (2, int(rng.integers(0, 4 * n)))).astype(np.int32)
    u, v = np.ascontiguousarray(ends[:, ends[0] != ends[1]])
    there, back = rng.integers(0, 10, (2, len(u))).astype(float)
    excess = rng.integers(-20, 20, n).astype(float)
    value, side = _native.max_flow(excess, u, v, there, back)
    gives, takes = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    rows = np.concatenate([u, v, np.full(len(gives), n), takes])
    columns = np.concatenate([v, u, gives, np.full(len(takes), n + 1)])
    entries = np.concatenate([there, back, excess[gives], -excess[takes]]).astype(np.int32)
    matrix = coo_matrix((entries, (rows, columns)), shape=(n + 2, n + 2)).tocsr()
    assert value == maximum_flow(matrix, n, n + 1).flow_value
    for tie in (0, 1):  # nodes that neither tree has may be on both sides
        x = np.where(side < 0, tie, side)
        cut = excess[gives][x[gives] == 1].sum() - excess[takes][x[takes] == 0].sum()
        cut += there[(x[u] == 0) & (x[v] == 1)].sum() + back[(x[v] == 0) & (x[u] == 1)].sum()
        assert cut == value


@pytest.mark.parametrize("strength", [1, 4])
def test_a_large_cut_is_that_of_the_flow(strength: int) -> None:
    # More nodes than a block of the flow has, many ties, and labels that are plain before the flow.
    rng = np.random.default_rng(strength)
    pair = np.concatenate(scopes.grid([(150, 150)]))
    slope = rng.integers(-6, 7, 150 * 150).astype(float)
    weight = strength * rng.integers(0, 3, len(pair)).astype(float)
    u, v = np.ascontiguousarray(pair.T.astype(np.int32))
    value, side = _native.max_flow(slope, u, v, weight, weight)
    graph = Graph({"x": 2}, look=["x"], near=["x", "x"])
    batch = graph.batch(sizes={"x": len(slope)}, scopes={"near": pair})
    look = -np.stack([np.zeros(len(slope)), slope], axis=-1)
    found = MinCut().best(batch.potentials(look=look, near=Table(np.eye(2) - 1.0, scale=weight)), 1)
    assert found.score == -(np.minimum(slope, 0.0).sum() + value)
    assert found.label[0].tolist() == (side == 1).tolist()


def test_the_flow_refuses_bad_networks() -> None:
    one, ends = np.ones(1), np.array([0], dtype=np.int32)
    for excess, target, capacity, message in (
        (np.array([np.inf, 0]), [1], one, "not finite"),
        (np.zeros(2), [2], one, "node 2, expected 0 to 1"),
        (np.zeros(2), [1], -one, "not a finite number of 0 or more"),
        (np.zeros(2), [1], np.ones(2), "capacity has 2 entries"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.max_flow(excess, ends, np.array(target, dtype=np.int32), capacity, one)


@seeds(200)
def test_a_cut_is_the_best_labeling_also_after_flips(seed: int) -> None:
    rng = np.random.default_rng(seed)
    potentials = binary(rng)
    _, score = best(potentials, MinCut())
    turned = rng.random(potentials.batch.variables) < 0.5
    _, again = best(flip(potentials, turned), MinCut())
    np.testing.assert_allclose(again, score, atol=1e-9)


@seeds(100)
def test_factors_of_three_variables_are_cut_where_they_are_submodular(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors: list[tuple[list[int], Floats]] = [([v], rng.normal(size=2)) for v in range(7)]
    x, y, z = np.indices((2, 2, 2))
    for _ in range(int(rng.integers(1, 8))):
        scope = rng.permutation(7)[:3].tolist()
        together = rng.exponential() * x * y * z + rng.exponential() * (1 - x) * (1 - y) * (1 - z)
        agree = rng.exponential() * (x == y) + rng.exponential() * (y == z)
        factors.append((scope, together + agree + rng.normal() * x + rng.normal() * z))
    best(Graph.from_factors([2] * 7, factors), MinCut())


def test_pairs_that_pull_both_ways_may_agree_in_sum_and_else_are_named() -> None:
    agree = np.eye(2)
    looks = [([0], np.array([1.0, 0.0])), ([1], np.array([0.0, 1.2]))]
    factors = [*looks, ([0, 1], agree), ([1, 0], -0.5 * agree)]
    best(Graph.from_factors([2, 2], factors), MinCut())
    factors = [([0, 1], agree), ([1, 2], agree), ([2, 0], -agree)]
    with pytest.raises(MethodError, match=r"min-cut: factor 1 of clique '2x2' pulls .*QPBO"):
        MinCut().best(Graph.from_factors([2, 2, 2], factors), 1)


def test_a_table_that_is_modular_up_to_rounding_is_cut() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        table = rng.normal(size=2)[:, None] + rng.normal(size=2)
        factors = [([0, 1], table), ([1, 2], table), ([2, 0], table.T), ([0], rng.normal(size=2))]
        best(Graph.from_factors([2, 2, 2], factors), MinCut())


def test_what_a_cut_cannot_do_is_refused() -> None:
    forbids = np.zeros((2, 2, 2))
    forbids[0, 1, 0] = -np.inf
    for factor, message in (
        (([0, 2], np.zeros((2, 3))), "clique '2x3' has a variable of more than two labels; .*Expansion"),
        (([0, 1, 3, 4], np.zeros((2, 2, 2, 2))), "joins too many variables; .*Elimination"),
        (([0, 1, 3], forbids), "factor 0 of clique '2x2x2' forbids labels of three"),
    ):
        for method in (MinCut(), QPBO()):
            with pytest.raises(MethodError, match=message):
                method.best(Graph.from_factors([2, 2, 3, 2, 2], [factor]), 1)
    with pytest.raises(MethodError, match="min-cut cannot give marginals"):
        inference.marginals(Graph.from_factors([2], []), method="min-cut")
    with pytest.raises(ValueError, match="too large"):
        Graph.from_factors([2, 2], [([0], [1e308, -1e308])])
    huge = Graph.from_factors([2, 2], [([0], [1e300, -1e300])])
    assert MinCut().best(huge, 1).score.tolist() == [[1e300]]


def test_variables_of_one_label_and_without_factors() -> None:
    table = np.array([[1.0, 3.0]])
    factors = [([0, 1], table), ([1, 2], np.eye(2)), ([2], np.array([0.5, 0.0]))]
    label, score = best(Graph.from_factors([1, 2, 2, 2], factors), MinCut())
    assert label[:3].tolist() == [0, 1, 1]
    assert score.tolist() == [4.0]
    assert MinCut().best(Graph.from_factors([], []), 1).score.tolist() == [[0.0]]


@seeds(200)
def test_what_qpbo_decides_is_in_a_best_labeling(seed: int) -> None:
    rng = np.random.default_rng(seed)
    potentials = binary(rng, lambda r: r.normal(size=(2, 2)), forbid=seed % 2 == 0)
    partial = QPBO().partial(potentials)["x"]
    most = Enumeration().best(potentials, 1).score[0]
    sure = without_observed(potentials.given({"x": partial})).potentials
    np.testing.assert_allclose(Enumeration().best(sure, 1).score[0], most, atol=1e-9)
    found = QPBO().best(potentials, 1)
    assert (found.score[0] <= most + 1e-9).all()
    assert (found.info.upper >= most - 1e-9).all()
    np.testing.assert_allclose(found.score[0][found.info.exact], most[found.info.exact], atol=1e-9)
    whole = np.bincount(potentials.batch.graph_of[partial < 0], minlength=len(most)) == 0
    assert found.info.exact[whole].all()


def test_qpbo_decides_everything_that_a_cut_does_unless_there_are_ties() -> None:
    for seed in range(50):
        potentials = binary(np.random.default_rng(seed), forbid=False)
        if (potentials.tables["look"].scores != 0.0).all():
            assert (QPBO().partial(potentials)["x"] >= 0).all()


@seeds(150)
def test_ordered_labels_are_cut_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = rng.integers(1, 5, 5)
    factors: list[tuple[list[int], Floats]] = []
    for v, n in enumerate(width):
        look = rng.normal(size=n) * 2
        look[rng.random(n) < 0.2] = -np.inf
        factors.append(([v], look))
    for _ in range(int(rng.integers(0, 7))):
        u, v = rng.permutation(5)[:2].tolist()
        bends = rng.exponential(size=(width[u], width[v])) * (rng.random((width[u], width[v])) < 0.5)
        bends[0], bends[:, 0] = rng.normal(size=width[v]), rng.normal(size=width[u])
        factors.append(([u, v], bends.cumsum(axis=0).cumsum(axis=1)))
    best(Graph.from_factors(width, factors), Ishikawa())


def test_squares_and_distances_are_convex_and_truncated_ones_are_not() -> None:
    rng = np.random.default_rng(1)
    distance = np.abs(np.subtract.outer(range(4), range(4)))
    looks = [([v], rng.normal(size=4) * 3) for v in range(5)]
    for table in (-distance, -(distance**2)):
        pairs = [([v, (v + 1) % 5], table * 0.7) for v in range(5)]
        best(Graph.from_factors([4] * 5, looks + pairs), Ishikawa())
    pairs = [([0, 1], -distance), ([1, 2], -np.minimum(distance, 2))]
    with pytest.raises(MethodError, match=r"ishikawa: factor 1 of clique '4x4' is not convex .*Expansion"):
        Ishikawa().best(Graph.from_factors([4] * 5, looks + pairs), 1)
    with pytest.raises(MethodError, match="joins too many variables"):
        Ishikawa().best(Graph.from_factors([2] * 3, [([0, 1, 2], np.zeros((2, 2, 2)))]), 1)


def test_constants_and_evidence() -> None:
    potentials = Graph.from_factors([2, 2], [([0, 1], np.eye(2)), ([0], [0.0, 3.0])])
    potentials = replace(potentials, constant=np.array([1.5]))
    for method in ("min-cut", "qpbo", "ishikawa", "expansion", "swap"):
        found = inference.decode(potentials.given({"variable": [0, -1]}), method=method)
        assert (found["variable"].tolist(), found.score) == ([0, 0], 2.5)
