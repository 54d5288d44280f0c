"""Belief propagation: exact without cycles, at rest with them, and what it says of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError, MethodError
from crfkit.graphs import scopes
from crfkit.inference.methods import BeliefPropagation, Enumeration
from crfkit.structures import Table
from crfkit.structures.graphs.parts import part_of
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, cycle, grid, pairwise, random_graph, scores, tree_graph

SCHEDULES = ("paths", "sequential", "residual")


def summed(potentials: GraphPotentials, method: Any, threads: int = 1) -> Any:
    return method.marginals(potentials, True, threads)


def assert_same(found: Any, right: Any, potentials: GraphPotentials, graphs: Any, tol: float = 1e-9) -> None:
    """The answers of some graphs are those of enumeration."""
    batch = potentials.batch
    np.testing.assert_allclose(found.value[graphs], right.value[graphs], rtol=tol, atol=tol)
    of = np.repeat(graphs[batch.graph_of], batch.width)
    np.testing.assert_allclose(found.node[of], right.node[of], atol=tol)
    for name, table in right.clique.items():
        of = graphs[batch.graph_of[batch.scopes[name][:, 0]]]
        np.testing.assert_allclose(found.clique[name][of], table[of], atol=tol)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("forbidden", [0.0, 0.25])
@pytest.mark.parametrize("strength", [1.0, 400.0])
def test_is_exact_without_cycles(schedule: str, forbidden: float, strength: float) -> None:
    seen = none = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        potentials = random_graph(
            rng, variables=7, arity=4, graphs=4, factors=2, forbidden=forbidden, strength=strength
        )
        found = summed(potentials, BeliefPropagation(schedule, tol=1e-13))
        right = summed(potentials, Enumeration())
        assert not np.isnan(found.value).any()
        acyclic = summed(potentials, BeliefPropagation()).info.exact
        assert schedule != "paths" or (found.info.exact == acyclic).all()
        assert_same(found, right, potentials, acyclic)
        assert (np.isneginf(found.value) <= np.isneginf(right.value)).all()  # never without a proof
        best, truth = BeliefPropagation(schedule).best(potentials, 1), Enumeration().best(potentials, 1)
        np.testing.assert_allclose(best.score[0][acyclic], truth.score[0][acyclic], rtol=1e-9, atol=1e-9)
        assert (best.score <= truth.score + 1e-9).all()
        assert (best.label[0] >= 0).tolist() == np.isfinite(best.score[0])[potentials.batch.graph_of].tolist()
        seen += int(acyclic.sum())
        none += int(np.isneginf(right.value).sum())
    assert seen > 40
    assert none > 0 or forbidden == 0.0


@pytest.mark.parametrize("labels", [2, 3, 7, 8, 9, 12, 21])
@pytest.mark.parametrize("forbidden", [0.0, 0.1])
def test_trees_of_any_number_of_labels(labels: int, forbidden: float) -> None:
    rng = np.random.default_rng(labels)
    potentials = tree_graph(rng, 3, labels, forbidden=forbidden)
    shared = (
        chain_graph(rng, 4, labels, pair=rng.normal(size=(labels, labels))) if labels < 12 else potentials
    )
    for each in (potentials, shared):
        found = summed(each, BeliefPropagation())
        assert found.info.sweeps.tolist() == [1]
        assert_same(found, summed(each, Enumeration()), each, np.array([True]))
        best = BeliefPropagation().best(each, 1)
        np.testing.assert_allclose(best.score, Enumeration().best(each, 1).score)


def table_forms(rng: Any, labels: int, factors: int) -> dict[str, Table]:
    """The same scores as one table for all, one for each, a table by number, and with scales."""
    one = rng.normal(size=(labels, labels))
    same = np.where(np.eye(labels, dtype=bool), rng.normal(size=labels)[:, None], -0.3)
    scale = rng.uniform(0.3, 2.0, size=factors)
    return {
        "shared": Table(one),
        "each": Table(np.repeat(one[None], factors, axis=0)),
        "scaled": Table(one, scale=scale),
        "same": Table(same),
        "scaled same": Table(same, scale=scale),
        "never the same": Table(np.where(np.eye(labels, dtype=bool), -np.inf, 0.0), scale=scale),
    }


@pytest.mark.parametrize("labels", [2, 5, 9, 10])
@pytest.mark.parametrize("form", ["shared", "each", "scaled", "same", "scaled same", "never the same"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_forms_of_tables(labels: int, form: str, schedule: str) -> None:
    rng = np.random.default_rng(labels)
    table = table_forms(rng, labels, 4)[form]
    batch = Graph({"v": labels}, look=["v"], edge=["v", "v"]).batch(
        sizes={"v": 5}, scopes={"edge": [[0, 1], [2, 1], [2, 3], [4, 2]]}
    )
    potentials = batch.potentials(look=rng.normal(size=(5, labels)), edge=table)
    found = summed(potentials, BeliefPropagation(schedule, tol=1e-13))
    assert_same(found, summed(potentials, Enumeration()), potentials, np.array([True]))
    best = BeliefPropagation(schedule).best(potentials, 1)
    np.testing.assert_allclose(best.score, Enumeration().best(potentials, 1).score)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_few_and_many_labels_in_one_factor(schedule: str) -> None:
    rng = np.random.default_rng(6)
    mixed = Graph.from_factors(
        [2, 9, 12, 3, 1, 10],
        [
            ([0, 1], rng.normal(size=(2, 9))),
            ([2, 1], rng.normal(size=(12, 9))),
            ([3, 2, 4], rng.normal(size=(3, 12, 1))),
            ([5, 3], scores(rng, (10, 3), 0.2)),
            ([2], rng.normal(size=12)),
        ],
    )
    graph = Graph({"hub": 9, "leaf": 12}, ray=["hub", "leaf"])
    star = graph.batch(sizes={"hub": 1, "leaf": 4}, scopes={"ray": [[0, n] for n in range(4)]})
    for potentials in (mixed, star.potentials(ray=rng.normal(size=(9, 12)))):
        found = summed(potentials, BeliefPropagation(schedule, tol=1e-13))
        assert_same(found, summed(potentials, Enumeration()), potentials, np.array([True]))
        best = BeliefPropagation(schedule).best(potentials, 1)
        np.testing.assert_allclose(best.score, Enumeration().best(potentials, 1).score)


def residual(potentials: GraphPotentials, beliefs: Any) -> float:
    """How far the beliefs of factors, summed to one variable, are from the beliefs of that variable."""
    batch, worst = potentials.batch, 0.0
    for name, table in beliefs.clique.items():
        for axis in range(table.ndim - 1):
            others = tuple(a + 1 for a in range(table.ndim - 1) if a != axis)
            for row, v in zip(table.sum(axis=others), batch.scopes[name][:, axis], strict=True):
                node = beliefs.node[batch.label_ptr[v] : batch.label_ptr[v + 1]]
                worst = max(worst, float(np.abs(row - node).max()))
    return worst


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_beliefs_agree_at_rest_and_schedules_with_each_other(schedule: str) -> None:
    rng = np.random.default_rng(5)
    for potentials in (
        grid(rng, 5, 6, 3, strength=0.5),
        grid(rng, 4, 4, 10, strength=0.3),
        cycle(rng, 6, 4),
        random_graph(rng, variables=9, arity=4, graphs=3, factors=4, strength=0.4, forbidden=0.0),
    ):
        found = summed(potentials, BeliefPropagation(schedule, tol=1e-9, sweeps=1000))
        assert found.info.converged.all()
        assert residual(potentials, found) < 1e-7
        other = summed(potentials, BeliefPropagation(tol=1e-9))
        np.testing.assert_allclose(found.value, other.value, atol=1e-6)
        np.testing.assert_allclose(found.node, other.node, atol=1e-6)


def test_log_z_is_that_of_bethe() -> None:
    potentials = grid(np.random.default_rng(2), 3, 4, 3, strength=0.7)
    found = summed(potentials, BeliefPropagation(tol=1e-12))
    node = found.node.reshape(12, 3)
    degree = np.bincount(potentials.batch.scopes["edge"].ravel())

    def entropy(p: Any) -> Any:
        return -(p * np.log(p)).reshape(len(p), -1).sum(axis=1)

    bethe = entropy(found.clique["edge"]).sum() + ((1 - degree) * entropy(node)).sum()
    assert found.value[0] == pytest.approx(potentials.expected_score(found.clique)[0] + bethe, abs=1e-9)


def test_errors_on_a_small_ising_grid_are_of_the_known_size() -> None:
    """libDAI's 4 x 4 Ising grid: 9e-3 in marginals, 7e-4 in log Z."""
    rng = np.random.default_rng(0)
    error, value = [], []
    for _ in range(10):
        right = rng.normal(scale=0.5, size=24)
        pair = right[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        potentials = grid(rng, 4, 4, 2, strength=0.5, pair=pair)
        found, truth = summed(potentials, BeliefPropagation()), summed(potentials, Enumeration())
        error.append(np.abs(found.node - truth.node).max())
        value.append(abs(found.value[0] - truth.value[0]))
    assert 1e-4 < np.median(error) < 5e-2
    assert 1e-5 < np.median(value) < 5e-2


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("labels", [2, 9])
def test_same_bits_for_any_number_of_threads(schedule: str, labels: int) -> None:
    pair = None if labels == 2 else 0.2 * np.eye(labels)
    potentials = grid(np.random.default_rng(1), 90, 100, labels, strength=0.3, pair=pair)
    method = BeliefPropagation(schedule, sweeps=3)
    one, many = summed(potentials, method), summed(potentials, method, 3)
    assert one.value.tobytes() == many.value.tobytes()
    assert one.node.tobytes() == many.node.tobytes()
    assert one.clique["edge"].tobytes() == many.clique["edge"].tobytes()
    assert method.best(potentials, 1).label.tobytes() == method.best(potentials, 3).label.tobytes()


def test_graphs_of_a_batch_do_not_matter_to_each_other() -> None:
    rng = np.random.default_rng(3)
    both = random_graph(rng, variables=8, arity=3, graphs=6, factors=4, strength=0.5, forbidden=0.0)
    found = summed(both, BeliefPropagation(tol=1e-12))
    exact = summed(both, Enumeration())
    assert_same(found, exact, both, found.info.exact)
    assert (found.info.sweeps[found.info.exact] <= 1).all()
    assert (found.info.sweeps[~found.info.exact] > 1).all()


@pytest.mark.parametrize("damping", [None, 0.0, 0.3])
def test_many_images_are_answered_as_each_alone(damping: float | None) -> None:
    rng = np.random.default_rng(5)
    shapes = [(int(rng.integers(9, 20)), 16) for _ in range(24)]
    shapes[7] = (100, 16)
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    graph = Graph({"pixel": 9, "mark": 3}, look=["pixel"], sign=["pixel", "mark"], near=["pixel", "pixel"])
    graph_ptr = {"pixel": np.append(0, ends), "mark": np.arange(25)}
    near = np.concatenate(scopes.grid(shapes))
    sign = np.column_stack([graph_ptr["pixel"][:-1], np.arange(24)])
    batch = graph.batch(graph_ptr=graph_ptr, scopes={"near": near, "sign": sign})
    of = np.searchsorted(ends, near[:, 0], side="right")
    attract = np.array([0.2, 0.8])[:, None, None] * np.eye(9)
    pair = np.concatenate([attract, rng.normal(0.0, 4.0, (40, 9, 9))])
    which = np.where(of % 3 < 2, of % 3, rng.integers(2, 42, len(near))).astype(np.int32)  # the last stall
    tables = {
        "look": Table(rng.normal(0.0, 0.5, (int(ends[-1]), 9))),
        "sign": Table(rng.normal(0.0, 0.5, (24, 9, 3))),
        "near": Table(pair, which),
    }
    method = BeliefPropagation(tol=1e-5, sweeps=60, damping=damping)
    together = GraphPotentials(batch, tables)
    found = summed(together, method)
    assert found.info.converged.any()
    assert not found.info.converged.all()
    for threads in (2, 3):
        again = summed(together, method, threads)
        assert again.value.tobytes() == found.value.tobytes()
        assert again.node.tobytes() == found.node.tobytes()
        assert again.clique["near"].tobytes() == found.clique["near"].tobytes()
    for n in (0, 7, 22, 23):
        part = part_of(batch, np.array([n]))
        look = Table(tables["look"].scores[graph_ptr["pixel"][n] : graph_ptr["pixel"][n + 1]])
        mine = {"look": look, "sign": Table(tables["sign"].scores[[n]]), "near": Table(pair, which[of == n])}
        alone = summed(GraphPotentials(part.batch, mine), method)
        np.testing.assert_allclose(found.value[n], alone.value[0], rtol=1e-9)
        assert found.info.sweeps[n] == alone.info.sweeps[0]
        assert found.info.converged[n] == alone.info.converged[0]


def test_a_dense_graph_is_visited_in_order_and_says_so() -> None:
    edges = [(u, v) for u in range(60) for v in range(u)]
    potentials = pairwise(np.random.default_rng(4), 60, edges, 2, strength=0.05)
    found = summed(potentials, BeliefPropagation())
    assert "dense" in str(found.info)
    assert found.info.converged.all()
    assert residual(potentials, found) < 1e-5


def test_damping_helps_where_messages_turn_in_circles() -> None:
    rng = np.random.default_rng(0)
    edges = [(u, v) for u in range(9) for v in range(u)]
    repel = pairwise(rng, 9, edges, 2, strength=0.1, pair=[[0.0, 1.2], [1.2, 0.0]])
    plain = summed(repel, BeliefPropagation("paths", damping=0.0))
    helped = summed(repel, BeliefPropagation("paths"))
    assert not plain.info.converged[0]
    assert "did not come to rest" in str(plain.info)
    assert helped.info.converged[0]
    assert helped.info.sweeps[0] > 20


def test_no_labeling_is_found_by_messages_alone() -> None:
    forbid = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    chain = Graph.from_factors(
        [2, 2, 2], [([0, 1], forbid), ([1, 2], forbid), ([0], [0.0, -np.inf]), ([2], [-np.inf, 0.0])]
    )
    for schedule in SCHEDULES:
        method = BeliefPropagation(schedule)
        assert inference.log_partition(chain, method=method) == -np.inf
        with pytest.raises(InfeasibleError):
            inference.marginals(chain, method=method)
        assert method.best(chain, 1).label.tolist() == [[-1, -1, -1]]
        assert summed(chain, method).node.tolist() == [0.0] * 6
    lone = Graph.from_factors([2, 3], [([0], [-np.inf, -np.inf])])
    assert inference.log_partition(lone, method=BeliefPropagation()) == -np.inf


def test_a_variable_for_which_no_label_is_left_comes_first_the_next_time() -> None:
    """Colorings of random graphs with three colors: a labeling exists, and is found."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        color = rng.integers(3, size=40)
        edges = [(u, v) for u in range(40) for v in range(u) if color[u] != color[v] and rng.random() < 0.12]
        potentials = pairwise(
            rng, 40, edges, 3, strength=0.5, pair=np.where(np.eye(3, dtype=bool), -np.inf, 0.0)
        )
        best = BeliefPropagation().best(potentials, 1)
        found += int(np.isfinite(best.score[0, 0]))
    assert found >= 19


def test_a_constant_that_forbids_and_variables_without_factors() -> None:
    free = Graph.from_factors([3, 4], [])
    assert inference.log_partition(free, method=BeliefPropagation()) == pytest.approx(np.log(12))
    forbidden = replace(free, constant=np.array([-np.inf]))
    assert inference.log_partition(forbidden, method=BeliefPropagation()) == -np.inf
    assert BeliefPropagation().best(forbidden, 1).label.tolist() == [[-1, -1]]


def test_a_variable_with_many_factors() -> None:
    """The product of 12,000 messages is 0 as a probability: that forbids nothing."""
    leaves = np.arange(1, 12_001)
    edges = np.column_stack([np.zeros_like(leaves), leaves])
    scores = pairwise(np.random.default_rng(0), 12_001, edges, 2, pair=0.3 * np.eye(2))
    exact = inference.log_partition(scores, method="elimination")
    assert inference.log_partition(scores, method=BeliefPropagation()) == pytest.approx(exact)


def test_scores_that_underflow_as_probabilities() -> None:
    """A label that looks impossible next to another must come back when that other is ruled out."""
    step = np.array([[0.0, -500.0], [-500.0, 0.0]])
    ends = [([0], [0.0, -600.0]), ([3], [-np.inf, 0.0])]
    chain = Graph.from_factors([2] * 4, [*ends, ([0, 1], step), ([1, 2], step), ([2, 3], step)])
    found, right = summed(chain, BeliefPropagation()), summed(chain, Enumeration())
    assert_same(found, right, chain, np.array([True]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "random"}, "schedule is 'random', expected one of paths, sequential, residual"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"tol": -1e-3}, "tol is -0.001"),
        ({"sweeps": 0}, "sweeps is 0"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MethodError, match=message):
        BeliefPropagation(**options)
    with pytest.raises(MethodError, match="cannot draw samples"):
        inference.sample(Graph.from_factors([2], []), method=BeliefPropagation())
