"""Iterative scaling: updates against enumeration, descent, optima."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from crfkit.data.batch import Batch
from crfkit.linear.group_counts import GroupCounts
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.optimize import Penalty
from crfkit.optimize.classic import IterativeScaling
from crfkit.structures import Chain
from tests.cases.losses import crf, finish, minimum


def toy(values: bool = True) -> Batch:
    rng = np.random.default_rng(5)
    return Batch(
        seq_ptr=np.array([0, 3, 4, 6]),
        attr_ptr=np.array([0, 2, 3, 5, 6, 7, 9]),
        attr=np.array([0, 1, 2, 0, 2, 1, 0, 1, 2], np.int32),
        value=0.5 * rng.integers(1, 4, 9).astype(np.float64) if values else None,
        label=np.array([0, 1, 0, 1, 1, 0], np.int32),
        weight=np.array([1.0, 2.0, 0.5]),
    )


def features(layout: Layout, batch: Batch, n: int, path: tuple[int, ...]) -> Any:
    """F(x_n, path), weight by weight."""
    at = {tuple(layout.describe(i)): i for i in range(layout.weights)}
    made, a = np.zeros(layout.weights), int(batch.seq_ptr[n])
    for t, y in enumerate(path):
        for i in range(batch.attr_ptr[a + t], batch.attr_ptr[a + t + 1]):
            key = ("node", batch.attr[i], None, y)
            if key in at:
                made[at[key]] += 1.0 if batch.value is None else batch.value[i]
        if t:
            made[at["transition", None, path[t - 1], y]] += 1.0
    return made


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("variant", ["iis-s", "iis-t", "gis"])
@pytest.mark.parametrize("observed", [True, False])
def test_scaling_updates_equal_enumeration(variant: Any, l2: float, observed: bool) -> None:
    batch = toy()
    assert batch.label is not None
    assert batch.weight is not None
    layout = (Layout.observed if observed else Layout.all_pairs)(batch, 2)
    w = 0.3 * np.random.default_rng(6).normal(size=layout.weights)
    E, gold, totals = [], np.zeros(layout.weights), []
    for n in range(3):
        a, b = batch.seq_ptr[n : n + 2]
        rows = np.array([features(layout, batch, n, y) for y in product(range(2), repeat=int(b - a))])
        p = np.exp(rows @ w)
        E.append(batch.weight[n] * (p / p.sum()) @ rows)
        totals.append(rows.sum(axis=1).max())
        gold += batch.weight[n] * features(layout, batch, n, tuple(batch.label[a:b]))
    if variant != "iis-t":
        totals = [max(totals)] * 3
    expected = np.zeros(layout.weights)
    for k in range(layout.weights):

        def left(delta: float, k: int = k) -> float:
            counts = sum(e[k] * math.exp(delta * t) for e, t in zip(E, totals, strict=True))
            return float(gold[k] - counts - l2 * (w[k] + delta))

        expected[k] = (
            -2.0 if left(-2.0) < 0 else 2.0 if left(2.0) > 0 else brentq(left, -2.0, 2.0, xtol=1e-14)
        )
    if variant == "gis" and not l2:
        all_of = max(totals) * batch.weight.sum()
        expected -= math.log((all_of - gold.sum()) / (all_of - np.sum(E))) / max(totals)
    problem = GroupCounts(Likelihood().bind(layout, Chain(2), batch))
    run = IterativeScaling(variant=variant).start(problem, Penalty(l2=l2), w)
    run.step()
    np.testing.assert_allclose(run.w - w, expected, atol=1e-11)


@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("variant", ["iis-s", "iis-t", "gis"])
def test_scaling_never_goes_up(variant: Any, l2: float) -> None:
    problem = GroupCounts(crf(True).inner, groups=8)
    assert len(problem.totals) == 8
    run = IterativeScaling(variant=variant, max_iterations=40).start(
        problem, Penalty(l2=l2), np.zeros(problem.size)
    )
    objectives = []
    while not (step := run.step()).stopped:
        objectives.append(step.objective)
    assert step.stopped == "reached 40 iterations"
    assert np.all(np.diff(objectives) < 0.0)


@pytest.mark.parametrize("variant", ["iis-s", "iis-t", "gis"])
def test_scaling_reaches_the_optimum_of_a_toy(variant: Any) -> None:
    batch = toy(values=False)
    layout = Layout.all_pairs(batch, 2)
    inner = Likelihood().bind(layout, Chain(2), batch, threads=1)
    run = IterativeScaling(variant=variant, max_iterations=3000, tolerance=1e-6).start(
        GroupCounts(inner), Penalty(l2=0.5), np.zeros(layout.weights)
    )
    step = finish(run)
    assert step.stopped.startswith("converged")
    assert step.objective == pytest.approx(minimum(inner, Penalty(l2=0.5)), rel=1e-9)


def test_algorithm_t_is_faster_than_s() -> None:
    problem = GroupCounts(crf(True).inner)
    after = {}
    for variant in ("iis-s", "iis-t"):
        run = IterativeScaling(variant=variant, max_iterations=30).start(
            problem, crf(True).penalty, np.zeros(problem.size)
        )
        after[variant] = finish(run).objective
    assert after["iis-t"] < after["iis-s"]


def test_scaling_refuses_what_is_no_count() -> None:
    batch = toy()
    assert batch.value is not None
    value = batch.value.copy()
    value[4] = -0.5
    layout = Layout.all_pairs(batch, 2)
    with pytest.raises(ValueError, match=r"value\[4\] is -0.5: iterative scaling needs feature values of 0"):
        GroupCounts(Likelihood().bind(layout, Chain(2), replace(batch, value=value)))
    partial = replace(batch, label=np.array([0, -1, 0, 1, 1, 0], np.int32))
    with pytest.raises(ValueError, match="does not take sets of labels"):
        GroupCounts(Likelihood().bind(layout, Chain(2), partial))
