"""Small graphs in lanes against enumeration: many copies of random patterns with scores of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from crfkit import Graph, _native, inference
from crfkit.inference.methods import Enumeration
from crfkit.inference.methods.lanes import lanes_of
from crfkit.native import kernels
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import random_graph, scores


def copies(
    rng: Generator,
    graphs: int,
    width: list[int],
    scopes: Sequence[tuple[int, ...]],
    *,
    forbidden: float = 0.0,
    strength: float = 1.0,
    single: bool = False,
) -> GraphPotentials:
    """Return copies of one graph; their tables are their own, shared, chosen by `which`, or scaled."""
    n = len(width)
    names = {f"f{i}": ["v"] * len(scope) for i, scope in enumerate(scopes)}
    graph = Graph({"v": np.tile(np.array(width, dtype=np.int32), graphs)}, **names)
    start = np.arange(graphs)[:, None] * n
    batch = graph.batch(
        graph_ptr=None if single else np.arange(graphs + 1) * n,
        scopes={f"f{i}": start + np.array(scope)[None] for i, scope in enumerate(scopes)},
    )
    tables: dict[str, Any] = {}
    for i, scope in enumerate(scopes):
        shape = tuple(width[v] for v in scope)
        form = i % 4
        made = scores(rng, ((graphs, 1, 3, graphs)[form], *shape), forbidden, strength)
        which = rng.integers(0, 3, size=graphs) if form == 2 else None
        scale = rng.uniform(0.3, 2.0, size=graphs) if form == 3 else None
        tables[f"f{i}"] = Table(made, which, scale)
    return batch.potentials(**tables)


def agree(potentials: GraphPotentials) -> None:
    lanes = lanes_of(potentials)
    assert lanes.all
    right = Enumeration(max_labelings=2**24).marginals(potentials, True, 1)
    dead = np.isneginf(right.value)
    value, node, clique = lanes.marginals(True, 1)
    np.testing.assert_allclose(value, right.value, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(lanes.log_partition(2), value)
    alive = ~dead[potentials.batch.graph_of]
    kept = np.repeat(alive, potentials.batch.width)
    np.testing.assert_allclose(node[kept], right.node[kept], rtol=1e-9, atol=1e-300)
    for name, table in clique.items():
        rows = alive[potentials.batch.scopes[name][:, 0]]
        np.testing.assert_allclose(table[rows], right.clique[name][rows], rtol=1e-9, atol=1e-300)
    assert np.isfinite(node).all()
    best, label = lanes.best(1)
    np.testing.assert_allclose(
        best, Enumeration(max_labelings=2**24).best(potentials, 1).score[0], rtol=1e-12
    )
    assert (label[~alive] == -1).any() == bool(dead.any())
    if not dead.any():
        np.testing.assert_allclose(potentials.labeling_score(label), best, rtol=1e-12, atol=1e-12)


PATTERNS: dict[str, tuple[list[int], list[tuple[int, ...]]]] = {
    "one variable": ([3], [(0,)]),
    "no factor": ([3, 2], []),
    "one label": ([1, 2], [(0, 1)]),
    "chain": ([2, 3, 2, 4], [(0,), (0, 1), (1, 2), (3, 2), (2,)]),
    "star": ([2] * 6, [(0, 1), (0, 2), (3, 0), (0, 4), (5, 0), (3,)]),
    "ring": ([3, 2, 2, 3, 2], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]),
    "dense": ([2] * 6, [(v,) for v in range(6)] + list(combinations(range(6), 2))),
    "repeated scopes": ([2, 3], [(0, 1), (1, 0), (0, 1), (0,), (0,)]),
    "arity 3": ([2, 3, 2, 2, 3], [(0, 1, 2), (2, 3, 4), (4, 0), (3,)]),
    "arity 4": ([2, 3, 2, 4], [(3, 1, 0, 2), (0, 2), (2, 1, 3)]),
    "components": ([2, 3, 2, 2, 5], [(0, 1), (2, 3), (2,)]),
}


@pytest.mark.parametrize("forbidden", [0.0, 0.15, 0.5])
@pytest.mark.parametrize("graphs", [8, 21])
@pytest.mark.parametrize("name", PATTERNS)
def test_copies_of_a_pattern(name: str, graphs: int, forbidden: float) -> None:
    rng = np.random.default_rng([len(name), graphs])
    width, scopes = PATTERNS[name]
    agree(copies(rng, graphs, width, scopes, forbidden=forbidden))


@pytest.mark.parametrize("seed", range(40))
def test_random_patterns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    width = rng.integers(1, 5, size=n).tolist()
    scopes = [
        tuple(rng.permutation(n)[: rng.integers(1, min(n, 4) + 1)].tolist())
        for _ in range(rng.integers(0, 9))
    ]
    agree(copies(rng, 9, width, scopes, forbidden=float(rng.choice([0.0, 0.1]))))


@pytest.mark.parametrize("strength", [10.0, 100.0, 3000.0])
@pytest.mark.parametrize("forbidden", [0.0, 0.2])
def test_large_scores_are_summed_in_logarithms(strength: float, forbidden: float) -> None:
    rng = np.random.default_rng(int(strength))
    for name in ("chain", "ring", "dense", "arity 3"):
        width, scopes = PATTERNS[name]
        agree(copies(rng, 16, width, scopes, strength=strength, forbidden=forbidden))


def test_one_large_graph_does_not_change_the_bits_of_its_neighbors() -> None:
    rng = np.random.default_rng(3)
    potentials = copies(rng, 16, *PATTERNS["ring"])
    table = potentials.tables["f0"].scores.copy()
    table[5] *= 1e4
    other = replace(potentials, tables={**potentials.tables, "f0": Table(table)})
    value, node, _ = lanes_of(potentials).marginals(True, 1)
    changed, changed_node, _ = lanes_of(other).marginals(True, 1)
    rest = np.arange(16) != 5
    np.testing.assert_array_equal(changed[rest], value[rest])
    kept = np.repeat(rest[potentials.batch.graph_of], potentials.batch.width)
    np.testing.assert_array_equal(changed_node[kept], node[kept])
    agree(other)


def test_graphs_of_several_patterns_and_those_that_are_rare() -> None:
    rng = np.random.default_rng(0)
    graph = Graph({"v": 2}, look=["v"], pair=["v", "v"])
    parts = [[(0, 1), (1, 2)]] * 10 + [[(0, 1), (1, 2), (2, 0)]] * 7 + [[(0, 1)]] * 9
    order = rng.permutation(len(parts))
    pair = [(3 * n + a, 3 * n + b) for n, i in enumerate(order) for a, b in parts[i]]
    batch = graph.batch(graph_ptr=3 * np.arange(27), scopes={"pair": pair})
    potentials = batch.potentials(look=scores(rng, (78, 2)), pair=scores(rng, (len(pair), 2, 2)))
    lanes = lanes_of(potentials)
    rare = np.repeat((order >= 10) & (order < 17), 3)
    assert not lanes.all
    np.testing.assert_array_equal(lanes.covered, ~rare)
    assert lanes.programs.patterns == 3  # paths of three, pairs, and what is left beside the pairs
    value, node, clique = lanes.marginals(True, 1)
    right = Enumeration().marginals(potentials, True, 1)
    kept = np.repeat(~rare, 2)
    np.testing.assert_allclose(node[kept], right.node[kept], rtol=1e-10)
    assert (node[~kept] == 0.0).all()
    assert (value[rare[::3]] == 0.0).all()
    np.testing.assert_allclose(value[~rare[::3]], right.value[~rare[::3]], rtol=1e-10)
    rows = ~rare[batch.scopes["pair"][:, 0]]
    np.testing.assert_allclose(clique["pair"][rows], right.clique["pair"][rows], rtol=1e-10)
    assert (clique["pair"][~rows] == 0.0).all()


def test_components_of_one_graph() -> None:
    """A multi-label batch: a binary kind for each label, one graph with a component for each example."""
    rng = np.random.default_rng(5)
    names = list("abcd")
    pairs = {x + y: [x, y] for x, y in combinations(names, 2)}
    graph = Graph(dict.fromkeys(names, 2), **{f"own_{n}": [n] for n in names}, **pairs)
    batch = graph.batch(sizes=dict.fromkeys(names, 50))
    own = {f"own_{n}": scores(rng, (50, 2)) for n in names}
    shared = {name: scores(rng, (2, 2)) for name in pairs}
    lanes = lanes_of(batch.potentials(**own, **shared))
    assert lanes.all
    assert (lanes.programs.components, lanes.programs.patterns) == (50, 1)
    value, node, _ = lanes.marginals(True, 2)
    total = 0.0
    for i in range(50):
        one = graph.batch(sizes=dict.fromkeys(names, 1)).potentials(
            **{name: table[i : i + 1] for name, table in own.items()}, **shared
        )
        right = Enumeration().marginals(one, True, 1)
        total += right.value[0]
        np.testing.assert_allclose(node.reshape(4, 50, 2)[:, i].ravel(), right.node, rtol=1e-10)
    np.testing.assert_allclose(value, [total], rtol=1e-12)


def test_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    lanes = lanes_of(copies(rng, 1200, *PATTERNS["dense"], strength=30.0))
    first, second = lanes.marginals(True, 1), lanes.marginals(True, 3)
    for one, other in zip(first[:2], second[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    for name, table in first[2].items():
        np.testing.assert_array_equal(table, second[2][name])
    for i in range(2):
        np.testing.assert_array_equal(lanes.best(1)[i], lanes.best(3)[i])


def test_wide_graphs_are_left_out() -> None:
    rng = np.random.default_rng(1)
    n = 14  # 2^14 cells in the first product alone
    pairs = list(combinations(range(n), 2))
    assert not lanes_of(copies(rng, 8, [2] * n, pairs)).covered.any()
    long = [(v, v + 1) for v in range(299)]
    assert not lanes_of(copies(rng, 8, [2] * 300, long)).covered.any()
    assert lanes_of(copies(rng, 8, [2] * 200, long[:199])).all
    many = [(0, 1)] * 3000  # factors with more cells than the products
    assert not lanes_of(copies(rng, 8, [4, 4], many)).covered.any()
    heavy = [*combinations(range(11), 2)] * 60  # products with lists that are too long
    assert not lanes_of(copies(rng, 8, [2] * 11, heavy)).covered.any()


def test_long_chains_keep_their_range() -> None:
    rng = np.random.default_rng(2)
    n = 200
    potentials = copies(rng, 8, [3] * n, [(v, v + 1) for v in range(n - 1)], strength=5.0)
    value, node, _ = lanes_of(potentials).marginals(True, 1)
    for k in range(8):
        message, start = np.zeros(3), 0.0
        for v in range(n - 1):
            table = potentials.tables[f"f{v}"]
            number = k if table.which is None and len(table.scores) > 1 else 0
            step = table.scores[number if table.which is None else table.which[k]]
            step = step if table.scale is None else step * table.scale[k]
            message = np.logaddexp.reduce(message[:, None] + step, axis=0)
        start = np.logaddexp.reduce(message)
        np.testing.assert_allclose(value[k], start, rtol=1e-12)
    np.testing.assert_allclose(node.reshape(-1, 3).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_graphs_of_different_patterns_side_by_side(seed: int) -> None:
    """Nothing but rare components and single variables: what is covered is right."""
    potentials = random_graph(np.random.default_rng(seed), graphs=30, variables=4, labels=(2, 3))
    lanes = lanes_of(potentials)
    _, node, _ = lanes.marginals(True, 1)
    right = Enumeration().marginals(potentials, True, 1)
    alive = np.isfinite(right.value)[potentials.batch.graph_of]
    kept = np.repeat(lanes.covered & alive, potentials.batch.width)
    np.testing.assert_allclose(node[kept], right.node[kept], rtol=1e-9, atol=1e-300)


def test_programs_are_for_their_own_factors() -> None:
    rng = np.random.default_rng(0)
    lanes = lanes_of(copies(rng, 8, *PATTERNS["ring"]))
    other = copies(rng, 8, *PATTERNS["chain"])
    with pytest.raises(ValueError, match="not those that the programs were made for"):
        lanes.programs.best(kernels, other.problem, np.zeros(8), np.zeros(32, dtype=np.int32), 1)
    with pytest.raises(ValueError, match="value has"):
        lanes.programs.log_partition(kernels, lanes.potentials.problem, np.zeros(7), 1)
    assert isinstance(lanes.programs, _native.SmallGraphs)


def test_auto_does_not_cut_what_is_swept_in_lanes() -> None:
    graph = Graph({"v": 2}, look=["v"], e=["v", "v"])
    batch = graph.batch(sizes={"v": 200}, scopes={"e": [[v, v + 1] for v in range(0, 200, 2)]})
    potentials = batch.potentials(look=scores(np.random.default_rng(0), (200, 2)), e=np.eye(2))
    found = inference.decode(potentials)
    assert found.info.method.tolist() == ["elimination"]
    right = sum(Enumeration().best(one, 1).score[0, 0] for one in pairs_of(potentials))
    assert found.score == pytest.approx(right, rel=1e-12)


def pairs_of(potentials: GraphPotentials) -> list[GraphPotentials]:
    look = potentials.tables["look"].scores
    return [
        Graph.from_factors([2, 2], [([0], look[v]), ([1], look[v + 1]), ([0, 1], np.eye(2))])
        for v in range(0, 200, 2)
    ]
