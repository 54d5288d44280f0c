"""The parallel update of the exponential loss: sums by enumeration, descent, the optimum of L-BFGS."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.linear.signed import SignedCounts
from crfkit.objectives import Likelihood
from crfkit.objectives.classic import Exponential
from crfkit.optimize import LBFGS
from crfkit.optimize.classic import ParallelUpdate
from crfkit.optimize.problem import End, Penalty
from crfkit.structures import Chain, SemiMarkov
from tests.cases.batches import random_batch

L = 3


def data(*, edges: bool = False) -> Batch:
    rng = np.random.default_rng(0)
    made = random_batch(rng, [3, 0, 1, 4, 2, 3], 4, L, values=True, edges=edges, weights=True, least=1)
    made = replace(made, value=np.abs(np.asarray(made.value)), edge_value=None)
    weight = np.array([1.0, 1.0, 2.0, 0.0, 0.5, 1.0])
    return replace(made, weight=weight)


def bound(batch: Batch, structure: Any) -> LinearLoss:
    layout = Layout.all_pairs(batch, structure, start=True)
    return Exponential().bind(layout, structure, batch, threads=1)


def counts(loss: LinearLoss, n: int, label: Any) -> Floats:
    part = replace(loss.batch.select(slice(n, n + 1)), weight=None)
    if not part.positions:
        return np.zeros(loss.size)
    part = replace(part, label=np.array(label, dtype=np.int32))
    return feature_counts(Exponential().bind(loss.layout, loss.structure, part, threads=1))


@pytest.mark.parametrize("edges", [False, True])
def test_sums_by_sign_are_enumeration(edges: bool) -> None:
    """Position by position for attributes; of shared transitions all of both sides."""
    loss = bound(data(edges=edges), Chain(L))
    w = np.random.default_rng(1).normal(size=loss.size)
    sides = np.empty((2, loss.size))
    value = SignedCounts(loss).expect(w, sides)
    gradient = np.empty(loss.size)
    assert value == pytest.approx(loss.value_and_grad(w, gradient), rel=1e-12)
    np.testing.assert_allclose(sides.sum(axis=0), gradient, atol=1e-12)
    batch, layout = loss.batch, loss.layout
    assert batch.label is not None
    share = loss.objective.shares(loss.potentials(w), loss.gold, loss.weight)
    expected, largest = np.zeros((2, loss.size)), 0.0
    node, L_ = layout.parts["node"], layout.labels
    for n in range(batch.sequences):
        first, last = int(batch.seq_ptr[n]), int(batch.seq_ptr[n + 1])
        gold = tuple(batch.label[first:last].tolist())
        every = list(product(range(L_), repeat=last - first))
        score = np.array([counts(loss, n, y) @ w for y in every])
        p = np.exp(score - np.logaddexp.reduce(score))
        largest = max(largest, max(counts(loss, n, y).sum() for y in every) + counts(loss, n, gold).sum())
        assert batch.value is not None
        for y, q in zip(every, p * share[n], strict=True):
            for t in range(last - first):
                for i in range(int(batch.attr_ptr[first + t]), int(batch.attr_ptr[first + t + 1])):
                    row = node.start + int(batch.attr[i]) * L_
                    if y[t] != gold[t]:
                        expected[0, row + y[t]] += q * batch.value[i]
                        expected[1, row + gold[t]] -= q * batch.value[i]
            if not edges:
                for part in (layout.parts["transition"], layout.parts["start"]):
                    expected[0, part] += q * counts(loss, n, y)[part]
                    expected[1, part] -= q * counts(loss, n, gold)[part]
    shown = slice(node.start, node.stop) if edges else slice(None)
    np.testing.assert_allclose(sides[:, shown], expected[:, shown], atol=1e-10)
    assert SignedCounts(loss).totals.tolist() == pytest.approx([largest, -largest])
    assert (sides[0] >= 0.0).all()
    assert (sides[1] <= 0.0).all()


def structures() -> list[tuple[Batch, Any]]:
    plain = data()
    begin = np.ones(plain.positions, np.bool_)
    return [
        (plain, Chain(L)),
        (data(edges=True), Chain(L)),
        (plain, Chain(L, order=2)),
        (replace(plain, begin=begin), SemiMarkov(L, max_length=2)),
    ]


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_every_step_lowers_the_objective(case: int, l2: float) -> None:
    loss = bound(*structures()[case])
    run = ParallelUpdate(max_iterations=50).start(loss, Penalty(l2=l2), np.zeros(loss.size))
    before = loss.value_and_grad(np.zeros(loss.size), np.empty(loss.size))
    for _ in range(50):
        step = run.step()
        assert step.objective < before or step.stopped
        before = step.objective
        if step.stopped:
            break


def test_the_optimum_is_that_of_lbfgs() -> None:
    for batch, structure in structures()[:2]:
        loss = bound(batch, structure)
        ends = []
        for optimizer in (ParallelUpdate(max_iterations=5000, tolerance=1e-5), LBFGS(tolerance=1e-9)):
            run = optimizer.start(loss, Penalty(l2=0.5), np.zeros(loss.size))
            step = run.step()
            while not step.stopped:
                step = run.step()
            assert step.end is End.CONVERGED
            ends.append((step.objective, run.w))
        assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-7)
        np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-3)


def test_what_is_refused() -> None:
    batch = data()
    loss, zero = bound(batch, Chain(L)), np.zeros(bound(batch, Chain(L)).size)
    with pytest.raises(ValueError, match="ParallelUpdate"):
        ParallelUpdate().start(loss, Penalty(l1=1.0), zero)
    other = Likelihood().bind(loss.layout, Chain(L), batch)
    with pytest.raises(NotCoveredError, match="objective likelihood; use the objective exponential, or"):
        ParallelUpdate().start(other, Penalty(), zero)
    with pytest.raises(NotCoveredError, match="sums by sign are not those of the objective likelihood"):
        SignedCounts(other)
    negative = replace(batch, value=-np.asarray(batch.value))
    with pytest.raises(ValueError, match="the parallel update needs feature values of 0 or more"):
        ParallelUpdate().start(bound(negative, Chain(L)), Penalty(), zero)
    with pytest.raises(ValueError, match=r"max_change is 0\.0"):
        ParallelUpdate(max_change=0.0)
