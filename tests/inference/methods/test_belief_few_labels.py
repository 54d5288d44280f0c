"""Belief propagation through pairs of few labels, whose rows are small vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.inference.methods import BeliefPropagation, Elimination, Enumeration
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import pairwise, scores

SCHEDULES = ("paths", "sequential")


def mixed_pairs(
    rng: Any, edges: list[tuple[int, int]], widest: int, *, forbidden: float = 0.0, strength: float = 1.0
) -> GraphPotentials:
    """Pairs of variables with 1 to `widest` labels; the first variable has all of them."""
    width = rng.integers(1, widest + 1, size=max(map(max, edges)) + 1)
    width[0] = widest
    factors = [([v], scores(rng, (n,), forbidden, strength)) for v, n in enumerate(width)]
    factors += [([u, v], scores(rng, (width[u], width[v]), forbidden, strength)) for u, v in edges]
    return Graph.from_factors(width.tolist(), factors)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("widest", range(1, 9))
@pytest.mark.parametrize("strength", [1.0, 90.0, 400.0])
def test_trees_of_mixed_widths_are_exact(schedule: str, widest: int, strength: float) -> None:
    """Scores of 90 and 400 are those that are watched, and those that are summed as logarithms."""
    for seed in range(6):
        rng = np.random.default_rng([seed, widest])
        edges = [(v, int(rng.integers(0, v))) for v in range(1, 6)]
        potentials = mixed_pairs(rng, edges, widest, forbidden=0.1 * (seed % 2), strength=strength)
        method = BeliefPropagation(schedule, tol=0.0)  # labels of 1e-30 matter where scores are far apart
        found, right = (each.marginals(potentials, True, 1) for each in (method, Enumeration()))
        np.testing.assert_allclose(found.value, right.value, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.node, right.node, atol=1e-9)
        best, truth = method.best(potentials, 1), Enumeration().best(potentials, 1)
        np.testing.assert_allclose(best.score, truth.score, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("widest", [2, 3, 5, 8])
def test_rests_where_messages_that_are_made_one_by_one_rest(
    schedule: str, widest: int, damping: float
) -> None:
    rng = np.random.default_rng(widest)
    edges = [(u, v) for u in range(12) for v in range(u) if rng.random() < 0.4]
    potentials = mixed_pairs(rng, edges, widest, strength=0.4)
    found, other = (
        BeliefPropagation(each, tol=1e-12, damping=damping, sweeps=2000).marginals(potentials, True, 1)
        for each in (schedule, "residual")
    )
    assert found.info.converged.all()
    np.testing.assert_allclose(found.value, other.value, atol=1e-9)
    np.testing.assert_allclose(found.node, other.node, atol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_same_bits_for_any_number_of_threads_on_long_levels(damping: float) -> None:
    """Two levels, of 9,000 variables each."""
    rng = np.random.default_rng(0)
    edges = np.column_stack([rng.permutation(9000).repeat(2), 9000 + rng.integers(9000, size=18000)])
    potentials = pairwise(rng, 18000, edges, 3, strength=0.5)
    method = BeliefPropagation("sequential", sweeps=3, damping=damping)
    one, many = (method.marginals(potentials, True, threads) for threads in (1, 3))
    assert one.value.tobytes() == many.value.tobytes()
    assert one.node.tobytes() == many.node.tobytes()
    assert method.best(potentials, 1).label.tobytes() == method.best(potentials, 3).label.tobytes()


def test_forbidden_labels_are_not_damped() -> None:
    """Max-product along a cycle that leaves one labeling."""
    only = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.5, -np.inf], [-np.inf, -np.inf, -1.0]])
    factors: list[Any] = [([v, (v + 1) % 4], only) for v in range(4)]
    potentials = Graph.from_factors([3] * 4, [*factors, ([2], [0.0, -np.inf, 1.0])])
    for schedule in SCHEDULES:
        best = BeliefPropagation(schedule, damping=0.5, sweeps=50).best(potentials, 1)
        assert best.label.tolist() == [[0, 0, 0, 0]]
        assert best.score.tolist() == [[0.0]]


@pytest.mark.parametrize("labels", [2, 9])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_neighbors_of_what_underflows_are_not_dead(schedule: str, labels: int) -> None:
    """The hub of a star whose rays go on: products of 1,500 messages are 0 as probabilities."""
    rays = 1500
    edges = [*((0, v) for v in range(1, rays + 1)), *((v, v + rays) for v in range(1, rays + 1))]
    pair = np.where(np.eye(labels, dtype=bool), 0.0, -3.0)
    potentials = pairwise(np.random.default_rng(0), 2 * rays + 1, edges, labels, pair=pair)
    found = BeliefPropagation(schedule, tol=0.0).marginals(potentials, False, 1)
    np.testing.assert_allclose(found.value, Elimination().marginals(potentials, False, 1).value, rtol=1e-10)
