"""Bounds of the optimum by tangents: beside sums over all labelings, and optima found on doubled weights."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from crfkit.arrays import Floats
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimize import LBFGS, Penalty
from crfkit.optimize.bounds import Tangents, lower_bound
from tests.cases.losses import noise, problem_of


def features_of_labelings(problem: LinearLoss) -> tuple[list[Floats], list[int]]:
    """Return the features of every labeling of each sequence, [L**T, F], and which labeling is the gold."""
    tables, gold = [], []
    for n in range(problem.batch.sequences):
        one = problem.batch.select(slice(n, n + 1))
        assert one.label is not None
        every = [*itertools.product(range(problem.layout.labels), repeat=one.positions)]
        bound = (
            Likelihood().bind(problem.layout, problem.structure, replace(one, label=np.array(y, np.int32)))
            for y in every
        )
        tables.append(np.array([feature_counts(loss) for loss in bound]))
        gold.append(every.index(tuple(one.label.tolist())))
    return tables, gold


@pytest.mark.parametrize("l2", [0.0, "some"])
def test_tangents_bound_the_optimum_of_all_labelings(l2: float | str) -> None:
    data = noise(4, 3, kinds=2, values=3, L=3)
    problem, _ = problem_of(data, 1.0, L=3)
    tables, golds = features_of_labelings(problem)
    strength = (
        np.where(np.arange(problem.size) % 3 == 0, 0.5, 0.0) if l2 == "some" else np.zeros(problem.size)
    )
    penalty = Penalty(0.4, strength)

    def summed(w: Floats) -> tuple[float, Floats]:
        loss, gradient = 0.0, np.zeros(problem.size)
        for table, gold in zip(tables, golds, strict=True):
            scores = table @ w
            top = scores.max()
            p = np.exp(scores - top)
            loss += float(np.log(p.sum()) + top - scores[gold])
            gradient += p @ table / p.sum() - table[gold]
        return loss, gradient

    def halves(z: Floats) -> tuple[float, Floats]:
        up, down = np.split(z, 2)
        loss, gradient = summed(up - down)
        gradient += strength * (up - down)
        value = loss + penalty.value(up - down) - 0.4 * np.abs(up - down).sum() + 0.4 * z.sum()
        return value, np.concatenate([gradient + 0.4, 0.4 - gradient])

    start = np.zeros(2 * problem.size)
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
    least = minimize(
        halves, start, jac=True, bounds=[(0, None)] * len(start), method="L-BFGS-B", options=options
    ).fun
    run: Any = LBFGS(tolerance=1e-12, max_iterations=400).start(problem, penalty, np.zeros(problem.size))
    single, bounds = 0.0, []
    while not (step := run.step()).stopped:
        single = max(single, lower_bound(problem, penalty, run.w))
        bounds.append(step.objective - step.gap)
        assert bounds[-1] <= least * (1.0 + 1e-9)
        assert bounds[-1] >= single * (1.0 - 1e-9), "the best of single tangents is among them"
    assert bounds[-1] == pytest.approx(least, rel=1e-3)
    random = Tangents(penalty, problem.size)
    for scale in (0.1, 1.0, 3.0, 0.3):
        w = np.random.default_rng(2).normal(scale=scale, size=problem.size)
        random.add(*summed(w), w)
        assert random.least <= least
    found, gradient = summed(run.w), np.empty(problem.size)
    assert problem.value_and_grad(run.w, gradient) == pytest.approx(found[0], rel=1e-12)
    assert gradient == pytest.approx(found[1], abs=1e-12)


def test_l1_alone_goes_on_from_a_state() -> None:
    problem, _ = problem_of(noise(), 1.0)
    options, penalty = LBFGS(max_iterations=40), Penalty(l1=2.0)
    whole: Any = options.start(problem, penalty, np.zeros(problem.size))
    for _ in range(12):
        whole.step()
    other: Any = options.start(problem, penalty, np.zeros(problem.size), state=whole.state())
    for _ in range(5):
        assert whole.step() == other.step()
