"""Losses other than the likelihood against their definitions, by enumeration of all labellings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.inference.reference.enumeration import Outcome, enumerate_labellings
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import OBJECTIVES, Likelihood, MaxMargin
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import Forbid
from tests.cases.batches import random_batch

L = 3
STRUCTURES: dict[str, Any] = {
    "order 0": Chain(L, order=0),
    "order 1": Chain(L),
    "order 2": Chain(L, order=2),
    "constraints": Chain(L, constraints=[Forbid("0", "2"), Forbid("1", "1")]),
    "semi": SemiMarkov(L, max_length=2),
}


def batch(structure: str, *, edges: bool = False) -> Batch:
    made = random_batch(
        np.random.default_rng(0), [4, 1, 0, 3, 2], 5, L, values=True, edges=edges, weights=True
    )
    if structure == "constraints":
        return replace(made, label=np.array([0, 0, 1, 2, 0, 1, 0, 0, 1, 2], dtype=np.int32))
    return made if structure != "semi" else replace(made, begin=np.ones(made.positions, dtype=np.bool_))


def bound(objective: Any, structure: str, *, edges: bool = False) -> LinearLoss:
    given = batch(structure, edges=edges)
    layout = Layout.all_pairs(given, STRUCTURES[structure], start=True, stop=True)
    loss: LinearLoss = objective.bind(layout, STRUCTURES[structure], given)
    return loss


def weights_of(loss: LinearLoss) -> Any:
    return np.random.default_rng(1).normal(size=loss.size)


def log_sum(scores: list[float]) -> float:
    return float(np.logaddexp.reduce(scores)) if scores else -np.inf


def softmax_margin(every: list[Outcome], gold: Outcome) -> float:
    wrong = [sum(a != b for a, b in zip(y.labels, gold.labels, strict=True)) for y in every]
    return log_sum([y.score + cost for y, cost in zip(every, wrong, strict=True)]) - gold.score


#: The loss of one sequence, from the scores of all its labellings and from its gold one.
BY_LABELLINGS: dict[str, Callable[[list[Outcome], Outcome], float]] = {"softmax-margin": softmax_margin}
CASES = [
    (objective, structure, edges)
    for objective in BY_LABELLINGS
    for structure in STRUCTURES
    for edges in (False, True)
    if not edges or structure in ("order 1", "constraints", "semi")
]


def sequences(loss: LinearLoss, w: Any) -> list[tuple[list[Outcome], Outcome]]:
    """All labellings of each sequence with their scores, and the gold one."""
    potentials, found = loss.potentials(w), []
    label = np.asarray(loss.batch.label)
    for n in range(loss.batch.sequences):
        every = list(enumerate_labellings(potentials.sequence(n)))
        right = tuple(label[loss.batch.seq_ptr[n] : loss.batch.seq_ptr[n + 1]].tolist())
        same = [y for y in every if y.labels == right and (y.begin is None or all(y.begin))]
        assert len(same) == 1
        found.append((every, same[0]))
    return found


@pytest.mark.parametrize(("objective", "structure", "edges"), CASES)
def test_losses_are_enumeration(objective: str, structure: str, edges: bool) -> None:
    loss = bound(OBJECTIVES[objective](), structure, edges=edges)
    w = weights_of(loss)
    each = [BY_LABELLINGS[objective](every, gold) for every, gold in sequences(loss, w)]
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(loss.weight @ each, abs=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_softmax_margin_is_above_likelihood_and_max_margin(structure: str) -> None:
    loss = bound(OBJECTIVES["softmax-margin"](), structure)
    w, scratch = weights_of(loss), np.empty(loss.size)
    value = loss.value_and_grad(w, scratch)
    assert value > bound(Likelihood(), structure).value_and_grad(w, scratch)
    assert value > bound(MaxMargin(), structure).value_and_grad(w, scratch)
