"""K-best lists, draws and counts by elimination, against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import MethodError
from crfkit.inference.methods import Elimination, Enumeration
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, cycle, grid, pairwise, random_graph, tree_graph

ALONE = Elimination(lanes=False)


def random(seed: int, **options: Any) -> GraphPotentials:
    rng = np.random.default_rng(seed)
    forbidden = float(rng.choice([0.0, 0.1, 0.4]))
    return random_graph(rng, variables=6, arity=4, labels=(2, 4), graphs=3, forbidden=forbidden, **options)


def same_lists(potentials: GraphPotentials, k: int) -> None:
    found = Elimination().kbest(potentials, k, 1)
    right = Enumeration().kbest(potentials, k, 1)
    np.testing.assert_allclose(found.score, right.score, rtol=1e-12, atol=1e-12)
    batch = potentials.batch
    for n in range(batch.graphs):
        mine = np.flatnonzero(batch.graph_of == n)
        there = found.score[:, n] > -np.inf
        labels = found.label[:, mine]
        assert (labels[~there] == -1).all()
        assert len(np.unique(labels[there], axis=0)) == (there.sum() if len(mine) else min(1, there.sum()))
        assert (found.score[1:, n] <= found.score[:-1, n]).all()
        for row in np.flatnonzero(there):
            whole = np.zeros(batch.variables, dtype=np.int32)
            whole[mine] = labels[row]
            assert potentials.labeling_score(whole)[n] == found.score[row, n]


@pytest.mark.parametrize("seed", range(150))
def test_k_best_of_random_graphs(seed: int) -> None:
    same_lists(random(seed), (1, 3, 20, 200)[seed % 4])


@pytest.mark.parametrize("k", [1, 10, 300])
def test_k_best_of_shapes(k: int) -> None:
    rng = np.random.default_rng(k)
    for potentials in (
        tree_graph(rng, 7, 3),
        cycle(rng, 6, 3, forbidden=0.2),
        grid(rng, 3, 4, 2),
        pairwise(rng, 6, list(combinations(range(6), 2)), 3),
        grid(rng, 3, 3, 2, strength=500.0),
    ):
        same_lists(potentials, k)


def test_all_labelings_when_all_are_asked_for() -> None:
    potentials = cycle(np.random.default_rng(0), 4, 3)
    found = inference.kbest(potentials, 100, method=ALONE)
    assert np.isfinite(found.score).sum() == 81
    assert len(np.unique(found["node"][:81], axis=0)) == 81
    assert (found["node"][81:] == -1).all()


def test_equal_scores_are_all_listed_and_repeat() -> None:
    """All labelings score the same: every one comes once, and in the same order each time."""
    graph = Graph({"v": 2}, e=["v", "v"])
    potentials = graph.batch(sizes={"v": 5}, scopes={"e": [[0, 1], [1, 2], [3, 4]]}).potentials(
        e=np.zeros((2, 2))
    )
    found = inference.kbest(potentials, 32, method=ALONE, threads=1)
    assert len(np.unique(found["v"], axis=0)) == 32
    again = inference.kbest(potentials, 32, method=ALONE, threads=3)
    np.testing.assert_array_equal(found["v"], again["v"])
    fewer = inference.kbest(potentials, 7, method=ALONE)
    np.testing.assert_array_equal(fewer["v"], found["v"][:7])


def test_the_first_of_the_k_best_is_the_best() -> None:
    potentials = grid(np.random.default_rng(4), 8, 8, 3)
    found = inference.kbest(potentials, 50, method=ALONE)
    assert found.score[0] == pytest.approx(inference.decode(potentials, method=ALONE).score)
    assert (np.diff(found.score) <= 0.0).all()
    assert len(np.unique(found["node"], axis=0)) == 50


def test_k_best_of_a_long_chain() -> None:
    """As deep as it is long: lists must not recurse."""
    potentials = chain_graph(np.random.default_rng(1), 20_000, 2)
    found = inference.kbest(potentials, 20, method=ALONE)
    assert (np.diff(found.score) <= 0.0).all()
    assert len(np.unique(found["node"], axis=0)) == 20
    with pytest.raises(MethodError, match=r"need .* cells, the budget"):
        inference.kbest(potentials, 10**5, method=ALONE)
    with pytest.raises(MethodError, match="draws of 20000 variables need"):
        inference.sample(potentials, 10**5, method=ALONE)


@pytest.mark.parametrize("seed", range(60))
def test_draws_of_random_graphs_are_allowed(seed: int) -> None:
    potentials = random(seed)
    found = Elimination().sample(potentials, 5, seed, 1)
    right = Enumeration().best(potentials, 1)
    dead = np.isneginf(right.score[0])
    assert np.isneginf(found.score[:, dead]).all()
    assert np.isfinite(found.score[:, ~dead]).all()
    assert (found.label[:, dead[potentials.batch.graph_of]] == -1).all()
    alive = np.where(found.label < 0, 0, found.label)
    np.testing.assert_array_equal(potentials.labeling_score(alive)[:, ~dead], found.score[:, ~dead])


def frustrated(rng: np.random.Generator) -> GraphPotentials:
    """Return a triangle whose neighbors should differ, at a price that only logarithms can hold."""
    return cycle(rng, 3, 2, pair=rng.normal(size=(3, 2, 2)) - 1000.0 * np.eye(2))


@pytest.mark.parametrize("make", [lambda rng: cycle(rng, 4, 2, forbidden=0.1), frustrated])
def test_draws_by_chi_square(make: Callable[[np.random.Generator], GraphPotentials]) -> None:
    """How often each labeling is drawn is what p(y) says."""
    potentials, n = make(np.random.default_rng(7)), 20_000
    every = Enumeration().kbest(potentials, 16, 1)
    p = np.exp(every.score[:, 0] - every.score[0, 0])
    p /= p.sum()
    there = p > 1e-300
    bits = 1 << np.arange(potentials.batch.variables)
    drawn = Elimination().sample(potentials, n, 5, 1).label @ bits
    counts = np.array([(drawn == code).sum() for code in every.label[there] @ bits])
    assert counts.sum() == n
    assert ((counts - n * p[there]) ** 2 / (n * p[there])).sum() < 40.0  # 15 degrees of freedom: 1 in 2000


def test_draws_are_independent_and_repeat() -> None:
    potentials = chain_graph(np.random.default_rng(2), 40, 3)
    one = inference.sample(potentials, 2000, 3, method=ALONE, threads=1)["node"]
    np.testing.assert_array_equal(one, inference.sample(potentials, 2000, 3, method=ALONE, threads=4)["node"])
    np.testing.assert_array_equal(one[:10], inference.sample(potentials, 10, 3, method=ALONE)["node"])
    assert (one != inference.sample(potentials, 2000, 4, method=ALONE)["node"]).any()
    p = inference.marginals(potentials, method=ALONE)["node"]
    for label in range(3):
        off = np.abs((one == label).mean(axis=0) - p[:, label])
        assert (off < 5.0 * np.sqrt(p[:, label] * (1 - p[:, label]) / 2000) + 1e-9).all()
    same = (one[1:] == one[:-1]).mean(axis=0)  # draws that follow each other
    expected = (p**2).sum(axis=1)
    assert (np.abs(same - expected) < 5.0 * np.sqrt(expected * (1 - expected) / 1000) + 1e-9).all()


def test_graphs_of_a_batch_are_drawn_on_their_own() -> None:
    """Two equal graphs of a batch get different draws."""
    graph = Graph({"v": 2}, e=["v", "v"])
    batch = graph.batch(graph_ptr=[0, 8, 16], scopes={"e": [[i, i + 1] for i in range(15) if i != 7]})
    drawn = inference.sample(batch.potentials(e=np.zeros((2, 2))), 50, method=ALONE)["v"]
    assert (drawn[:, :8] != drawn[:, 8:]).any()


@pytest.mark.parametrize("seed", range(150))
def test_counts_of_random_graphs(seed: int) -> None:
    potentials = random(seed)
    assert Elimination().count(potentials, 1)[0] == Enumeration().count(potentials, 1)[0]


def test_counts_beyond_64_bits() -> None:
    """Colorings of a chain with three colors: 3 * 2^(n - 1)."""
    never = np.where(np.eye(3) > 0, -np.inf, 0.0)
    chain = chain_graph(np.random.default_rng(0), 400, 3, pair=never)
    total = inference.count(chain, method=Elimination())
    assert isinstance(total, int)
    assert total == 3 * 2**399
    assert (
        inference.count(cycle(np.random.default_rng(0), 101, 3, pair=never), method=Elimination())
        == 2**101 - 2
    )
    free = chain_graph(np.random.default_rng(0), 300, 5)
    assert inference.count(free, method=Elimination()) == 5**300


def test_graphs_without_variables_or_labelings() -> None:
    graph = Graph({"v": 2}, e=["v"])
    batch = graph.batch(graph_ptr=[0, 0, 1, 2])
    potentials = batch.potentials(e=[[0.0, 1.0], [-np.inf, -np.inf]])
    assert Elimination().count(potentials, 1)[0] == [1, 2, 0]
    found = Elimination().kbest(potentials, 2, 1)
    np.testing.assert_array_equal(found.score, [[0.0, 1.0, -np.inf], [-np.inf, 0.0, -np.inf]])
    assert found.label.tolist() == [[1, -1], [0, -1]]
    drawn = Elimination().sample(potentials, 2, 0, 1)
    assert drawn.label[:, 1].tolist() == [-1, -1]
    assert np.isneginf(drawn.score[:, 2]).all()


@pytest.mark.parametrize("seed", range(30))
def test_entropy_is_minus_the_mean_of_log_p(seed: int) -> None:
    potentials = random(seed)
    every = Enumeration().kbest(potentials, 5000, 1).score
    alive = np.isfinite(every[0])
    if not alive.all():
        return
    p = np.exp(every - every[0])
    p /= p.sum(axis=0)
    right = -np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0).sum(axis=0)
    np.testing.assert_allclose(inference.entropy(potentials, method=ALONE), right, atol=1e-9)


def mixed(rng: np.random.Generator) -> GraphPotentials:
    """Return graphs with components that are swept in lanes beside others that are not."""
    edges, start = [], []
    n = 0
    for size in [3] * 10 + [4] + [2] * 9 + [5, 6]:
        start.append(n)
        edges += [(n + i, n + i + 1) for i in range(size - 1)]
        n += size
    graph = Graph({"v": 2}, look=["v"], e=["v", "v"])
    batch = graph.batch(graph_ptr=[0, start[4], start[12], n], scopes={"e": edges})
    table = rng.normal(size=(len(edges), 2, 2))
    table[rng.random(table.shape) < 0.05] = -np.inf
    made = batch.potentials(look=rng.normal(size=(n, 2)), e=table)
    return replace(made, constant=rng.normal(size=3))


@pytest.mark.parametrize("seed", range(8))
def test_components_in_lanes_and_others_make_one_answer(seed: int) -> None:
    potentials = mixed(np.random.default_rng(seed))
    one, other = Elimination().marginals(potentials, True, 1), ALONE.marginals(potentials, True, 1)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    np.testing.assert_allclose(Elimination().log_partition(potentials, 1)[0], other.value, rtol=1e-12)
    np.testing.assert_allclose(one.node, other.node, rtol=1e-9, atol=1e-300)
    for name, table in one.clique.items():
        np.testing.assert_allclose(table, other.clique[name], rtol=1e-9, atol=1e-300)
    best, alone = Elimination().best(potentials, 1), ALONE.best(potentials, 1)
    np.testing.assert_allclose(best.score, alone.score, rtol=1e-12)
    np.testing.assert_array_equal(best.label, alone.label)
    assert Elimination().marginals(potentials, False, 1).clique == {}
    assert one.info.exact.all()
    assert (one.info.cells > 0).all()


def test_a_small_budget_holds_in_lanes_as_well() -> None:
    rng = np.random.default_rng(0)
    graph = Graph({"v": 2}, e=["v", "v"])
    edges = [(5 * n + i, 5 * n + j) for n in range(20) for i, j in combinations(range(5), 2)]
    batch = graph.batch(graph_ptr=5 * np.arange(21), scopes={"e": edges})
    potentials = batch.potentials(e=rng.normal(size=(len(edges), 2, 2)))
    with pytest.raises(MethodError, match="too wide"):
        Elimination(budget=30).log_partition(potentials, 1)
    assert np.isfinite(Elimination().log_partition(potentials, 1)[0]).all()
