"""Variables of many factors: exact, the same by every schedule, and linear in their number."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.inference.methods import BeliefPropagation, Elimination, TreeReweighted
from crfkit.structures.graphs.potentials import GraphPotentials

SCHEDULES = ("paths", "sequential", "residual")


def hub(
    rng: np.random.Generator,
    leaves: int,
    labels: int,
    *,
    ring: int = 0,
    trios: int = 0,
    strength: float = 1.0,
) -> GraphPotentials:
    """Return a star around variable `leaves`; a ring of leaves, and trios of it and two more."""
    graph = Graph({"v": labels}, own=["v"], spoke=["v", "v"], ring=["v", "v"], trio=["v", "v", "v"])
    first = leaves + 1 + 2 * np.arange(trios)
    around = np.arange(ring)
    n = leaves + 1 + 2 * trios
    spoke = np.stack([np.arange(leaves), np.full(leaves, leaves)], axis=1)
    batch = graph.batch(
        sizes={"v": n},
        scopes={
            "spoke": spoke,
            "ring": np.stack([around, (around + 1) % max(ring, 1)], axis=1),
            "trio": np.stack([first, np.full(trios, leaves), first + 1], axis=1),
        },
    )
    return batch.potentials(
        own=strength * rng.normal(size=(n, labels)),
        spoke=strength / np.sqrt(leaves) * rng.normal(size=(leaves, labels, labels)),
        ring=0.3 * rng.normal(size=(labels, labels)),
        trio=strength / np.sqrt(leaves) * rng.normal(size=(trios, labels, labels, labels)),
    )


def marginals(potentials: GraphPotentials, method: Any) -> Any:
    return method.marginals(potentials, True, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("labels", "trios"), [(2, 0), (3, 0), (11, 0), (3, 40), (11, 40)])
@pytest.mark.parametrize("strength", [1.0, 100.0])
def test_is_exact_around_a_hub(schedule: str, labels: int, trios: int, strength: float) -> None:
    rng = np.random.default_rng(labels)
    for leaves in (64, 65, 150):
        potentials = hub(rng, leaves, labels, trios=trios, strength=strength)
        method = BeliefPropagation(schedule, tol=1e-13)
        found, right = marginals(potentials, method), marginals(potentials, Elimination())
        np.testing.assert_allclose(found.value, right.value, rtol=1e-11)
        np.testing.assert_allclose(found.node, right.node, atol=1e-9)
        for name, table in right.clique.items():
            np.testing.assert_allclose(found.clique[name], table, atol=1e-9)
        counted = method.expected(potentials, np.ones(1), 1)
        np.testing.assert_allclose(counted.by_score["spoke"], right.clique["spoke"], atol=1e-9)
        best, truth = inference.decode(potentials, method), inference.decode(potentials, Elimination())
        np.testing.assert_allclose(best.score, truth.score, rtol=1e-12)


@pytest.mark.parametrize("labels", [3, 11])
@pytest.mark.parametrize("trios", [0, 30])
def test_schedules_rest_at_one_point_on_cycles(labels: int, trios: int) -> None:
    potentials = hub(np.random.default_rng(7), 90, labels, ring=90, trios=trios)
    for kind in (BeliefPropagation, TreeReweighted):
        found = [marginals(potentials, kind(schedule=s, tol=1e-13)) for s in SCHEDULES]
        assert all(each.info.converged.all() for each in found)
        for each in found[1:]:
            np.testing.assert_allclose(each.value, found[0].value, rtol=1e-10)
            np.testing.assert_allclose(each.node, found[0].node, atol=1e-8)
    right = inference.log_partition(potentials, method=Elimination())
    assert found[0].info.upper[0] >= float(right)  # of TreeReweighted


def test_forbidden_labels_of_a_hub_stay_forbidden() -> None:
    potentials = hub(np.random.default_rng(1), 80, 4)
    scores = {name: np.array(table.scores) for name, table in potentials.tables.items()}
    scores["spoke"][5, :, 2] = -np.inf
    scores["spoke"][70, :, 0] = -np.inf
    barred = potentials.batch.potentials(**scores)
    found, right = marginals(barred, BeliefPropagation()), marginals(barred, Elimination())
    np.testing.assert_allclose(found.node, right.node, atol=1e-9)
    assert (inference.marginals(barred, method=BeliefPropagation())["v"][80] == 0.0).tolist() == [
        True, False, True, False,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("labels", [2, 11])
def test_time_is_linear_in_the_places_of_a_hub(schedule: str, labels: int) -> None:
    seconds = []
    for leaves in (10_000, 40_000):
        potentials = hub(np.random.default_rng(0), leaves, labels)
        least = np.inf
        for _ in range(3):
            begin = time.process_time()
            inference.log_partition(potentials, method=BeliefPropagation(schedule), threads=1)
            least = min(least, time.process_time() - begin)
        seconds.append(least)
    assert seconds[1] < 8.0 * seconds[0] + 0.05  # 16 times as long, if it were quadratic
