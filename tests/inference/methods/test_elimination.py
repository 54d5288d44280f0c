"""Elimination against all labelings one by one, at the edges of what doubles hold, and within its budget."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.methods import Elimination, Enumeration, TooWideError
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, cycle, grid, pairwise, random_graph, tree_graph

ALONE = Elimination(lanes=False)  # components one by one; lanes have tests of their own


def agrees(scores: GraphPotentials, tolerance: float = 1e-9) -> None:
    """Compare log Z, marginals of variables and factors, and the best labeling with enumeration."""
    true, found = Enumeration().marginals(scores, True, 1), ALONE.marginals(scores, True, 1)
    value, _ = ALONE.log_partition(scores, 1)
    np.testing.assert_allclose(found.value, true.value, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(value, true.value, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.node, true.node, atol=tolerance)
    assert found.clique.keys() == true.clique.keys()
    for name, each in true.clique.items():
        np.testing.assert_allclose(found.clique[name], each, atol=tolerance)
    most, best = Enumeration().best(scores, 1), ALONE.best(scores, 1)
    np.testing.assert_allclose(best.score, most.score, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(best.label < 0, most.label < 0)
    assert found.info.exact.all()


@pytest.mark.parametrize("seed", range(80))
def test_random_graphs_as_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strength = (1.0, 5.0, 300.0, 2000.0)[seed % 4]
    forbidden = (0.0, 0.1, 0.3, 0.6)[seed // 4 % 4]
    agrees(
        random_graph(
            rng,
            arity=4,
            labels=(2, 4 + seed % 2),
            variables=6,
            strength=strength,
            forbidden=forbidden,
            graphs=3,
        )
    )


@pytest.mark.parametrize("labels", [2, 3])
def test_wider_graphs_as_by_enumeration(labels: int) -> None:
    rng = np.random.default_rng(labels)
    agrees(grid(rng, 4, 4 if labels == 2 else 2, labels, strength=3.0))
    agrees(pairwise(rng, 14 if labels == 2 else 9, list(combinations(range(9), 2)), labels, forbidden=0.02))


def wide(shape: str) -> GraphPotentials:
    """Return graphs out of reach of enumeration, whose plans are searched and whose tables are turned."""
    rng = np.random.default_rng(len(shape))
    if shape == "grid":
        return grid(rng, 13, 13, 2, strength=2.0)
    if shape == "dense":
        return pairwise(rng, 18, list(combinations(range(18), 2)), 2, forbidden=0.01)
    if shape == "strong":
        return grid(rng, 9, 9, 3, strength=100.0, forbidden=0.02)
    width = rng.integers(2, 6, size=30).tolist()
    scopes = [sorted(rng.choice(30, size=int(rng.integers(2, 5)), replace=False).tolist()) for _ in range(34)]
    return Graph.from_factors(width, [(v, rng.normal(size=[width[i] for i in v])) for v in scopes])


@pytest.mark.parametrize("shape", ["grid", "dense", "strong", "mixed"])
def test_wide_graphs_agree_with_themselves_given_a_label(shape: str) -> None:
    """Given a label the plan is another: sums of Z over all labels are Z, their shares are marginals."""
    scores = wide(shape)
    kind = next(iter(scores.batch.kind_ptr))
    found = inference.marginals(scores, method=ALONE)
    node, batch = found[kind], scores.batch
    total, best = float(found.log_partition), inference.decode(scores, method=ALONE)
    for v in (0, batch.variables // 2):
        scored, most = [], []
        for y in range(int(batch.width[v])):
            given = np.full(batch.variables, -1)
            given[v] = y
            one = scores.given({kind: given})
            scored.append(float(inference.log_partition(one, method=ALONE)))
            if scored[-1] > -np.inf:
                most.append(inference.decode(one, method=ALONE).score)
        np.testing.assert_allclose(np.logaddexp.reduce(scored), total, rtol=1e-12)
        np.testing.assert_allclose(np.exp(np.array(scored) - total), node[v], rtol=1e-9, atol=1e-12)
        assert max(most) == pytest.approx(best.score, rel=1e-12)
    for name, table in found.clique.items():  # all factors of a variable say the same of it
        scope = batch.scopes[name]
        for axis in range(scope.shape[1]):
            others = tuple(i + 1 for i in range(scope.shape[1]) if i != axis)
            wanted = np.array([node[v] for v in scope[:, axis]])
            np.testing.assert_allclose(table.sum(axis=others), wanted, atol=1e-10)


def test_scores_that_linear_numbers_could_not_hold() -> None:
    rng = np.random.default_rng(0)
    for strength in (100.0, 700.0, 5000.0):
        agrees(cycle(rng, 6, 3, strength=strength))
        agrees(grid(rng, 3, 3, 2, strength=strength, forbidden=0.1))
    # Only labelings that every table finds unlikely are allowed: 2^-1400 of the tables' largest cells.
    table = np.array([[0.0, -np.inf], [-np.inf, -490.0]])
    factors = [([0, 1], table), ([1, 2], table), ([2], np.array([-np.inf, 0.0]))]
    scores = Graph.from_factors([2, 2, 2], factors)
    assert inference.log_partition(scores, method=Elimination()) == pytest.approx(-980.0, rel=1e-12)
    agrees(scores)


def test_a_mass_that_underflows_is_summed_in_logarithms() -> None:
    """The likely half of every table is contradicted by the others only after several steps."""
    rng = np.random.default_rng(3)
    for seed in range(10):
        scores = grid(np.random.default_rng(seed), 3, 4, 2, strength=250.0)
        parity = [([i, i + 4], np.where(np.eye(2) > 0, -np.inf, rng.normal(size=(2, 2)))) for i in range(8)]
        agrees(scores)
        agrees(Graph.from_factors([2] * 12, [*parity, ([0, 1, 2], 400.0 * rng.normal(size=(2, 2, 2)))]))


def test_long_chains_need_exponents() -> None:
    scores = chain_graph(np.random.default_rng(0), 3000, 3, strength=4.0)
    shifted = replace(scores, constant=np.array([5.0]))
    found = inference.marginals(scores, method=Elimination())
    assert np.isfinite(found.log_partition)
    assert abs(float(found.log_partition)) > 2000.0
    np.testing.assert_allclose(found["node"].sum(axis=1), 1.0, rtol=1e-12)
    more = inference.log_partition(shifted, method=Elimination())
    assert more - float(found.log_partition) == pytest.approx(5.0)


def test_the_best_labeling_of_a_tree_is_not_beaten_by_changing_one_label() -> None:
    scores = tree_graph(np.random.default_rng(1), 400, 4)
    best = inference.decode(scores, method=Elimination())
    label = best["node"]
    assert inference.score(scores, best) == pytest.approx(best.score)
    for v in range(0, 400, 7):
        for y in range(4):
            other = label.copy()
            other[v] = y
            assert inference.score(scores, {"node": other}) <= best.score + 1e-9


def test_graphs_without_a_labeling() -> None:
    never = [[-np.inf, 0.0], [0.0, -np.inf]]
    found_early = Graph.from_factors([2], [([0], [-np.inf, -np.inf])])
    found_late = cycle(np.random.default_rng(0), 3, 2, pair=never)
    for scores in (found_early, found_late):
        agrees(scores)
        assert inference.log_partition(scores, method=Elimination()) == -np.inf
        with pytest.raises(InfeasibleError):
            inference.marginals(scores, method=Elimination())
        with pytest.raises(InfeasibleError):
            inference.decode(scores, method=Elimination())
    batch = Graph({"v": 2}, e=["v", "v"]).batch(
        graph_ptr=[0, 3, 6, 7], scopes={"e": [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5]]}
    )
    mixed = batch.potentials(e=never)
    agrees(mixed)
    np.testing.assert_allclose(
        inference.log_partition(mixed, method=Elimination()), [-np.inf, np.log(2), np.log(2)]
    )


def test_a_constant_that_forbids_a_graph() -> None:
    scores = replace(tree_graph(np.random.default_rng(0), 3, 2), constant=np.array([-np.inf]))
    assert Elimination().log_partition(scores, 1)[0].tolist() == [-np.inf]
    found = Elimination().best(scores, 1)
    assert found.label.tolist() == [[-1, -1, -1]]


def test_impossible_labels_make_tables_smaller() -> None:
    """A clique of 40 variables of which all but three are known by implication."""
    n = 40
    equal = np.where(np.eye(3) > 0, 0.0, -np.inf)
    edges = list(combinations(range(n), 2))
    rng = np.random.default_rng(0)
    factors = [([u, v], rng.normal(size=(3, 3))) for u, v in edges]
    open_cost = Elimination().estimate(Graph.from_factors([3] * n, factors))["cells"][0]
    factors += [([v, v + 1], equal) for v in range(3, n - 1)]
    factors.append(([3], np.array([0.0, -np.inf, -np.inf])))
    scores = Graph.from_factors([3] * n, factors)
    cells = Elimination().estimate(scores)["cells"][0]
    assert cells < 100 < 1e15 < open_cost
    label = inference.decode(scores, method=Elimination())["variable"]
    assert set(label[3:].tolist()) == {0}


def test_hubs_links_and_long_strips_are_planned_in_linear_time() -> None:
    rng = np.random.default_rng(0)
    n = 20000
    spokes = np.arange(1, n)
    star = pairwise(rng, n, np.column_stack([np.zeros(n - 1, dtype=int), spokes]), 2)
    two = pairwise(rng, n + 1, [(hub, int(v)) for v in spokes for hub in (0, n)], 2)
    for scores, least in ((star, 4 * n), (two, 10 * n), (grid(rng, 2000, 5, 2), 50000)):
        cells = Elimination().estimate(scores)["cells"][0]
        assert cells <= 8 * least
        assert np.isfinite(inference.log_partition(scores, method=Elimination()))


def test_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    for scores in (grid(rng, 14, 14, 2), pairwise(rng, 8, list(combinations(range(8), 2)), 9, forbidden=0.1)):
        one, three = (ALONE.marginals(scores, True, threads) for threads in (1, 3))
        assert one.value.tobytes() == three.value.tobytes()
        assert one.node.tobytes() == three.node.tobytes()
        for name, each in one.clique.items():
            assert each.tobytes() == three.clique[name].tobytes()
        best = [ALONE.best(scores, threads).label.tobytes() for threads in (1, 3)]
        assert best[0] == best[1]


def test_too_wide_graphs_are_refused_with_the_number_of_cells() -> None:
    scores = pairwise(np.random.default_rng(0), 60, list(combinations(range(60), 2)), 4)
    for ask in (inference.log_partition, inference.marginals, inference.decode):
        with pytest.raises(
            TooWideError, match=r"graph 0 .* need 3\.\d+e\+35 cells.*1\.34e\+08.*BeliefProp"
        ) as refused:
            ask(scores, method=Elimination())
    assert refused.value.budget == 2**27
    assert refused.value.cells > 1e35


def test_the_budget_counts_the_cells_that_are_kept() -> None:
    scores = grid(np.random.default_rng(0), 8, 8, 2)
    cells = int(Elimination().estimate(scores)["cells"][0])
    how = inference.log_partition(scores, method=Elimination(budget=cells)).info
    assert 0 < how.cells[0] <= cells
    with pytest.raises(TooWideError):
        inference.log_partition(scores, method=Elimination(budget=cells // 8))


@pytest.mark.parametrize("budget", [0, -1, 2**41])
def test_budgets_that_make_no_sense(budget: int) -> None:
    with pytest.raises(MethodError, match=f"budget is {budget}, expected 1 to"):
        Elimination(budget=budget)


def test_a_plan_serves_other_scores_of_the_same_batch() -> None:
    scores = random_graph(np.random.default_rng(5), forbidden=0.0, single=True)
    tables = {name: replace(table, scores=table.scores * 2.0) for name, table in scores.tables.items()}
    agrees(scores)
    agrees(replace(scores, tables=tables))
    name = next(iter(tables))
    closed = tables[name].scores.copy()
    closed.reshape(-1)[0] = -np.inf
    agrees(replace(scores, tables=tables | {name: replace(tables[name], scores=closed)}))
