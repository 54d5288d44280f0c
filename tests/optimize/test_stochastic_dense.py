"""Stochastic steps, put off where they can be, against the same steps on whole vectors in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.optimize import SGD, SGDL1, AdaGrad
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain
from tests.cases.stochastic import BOTH, FLAT, SPARSE, N, batch, bound, order_of, relabeled


def soft(z: Any, l1: Any) -> Any:
    return np.sign(z) * np.maximum(np.abs(z) - l1, 0.0)


class Dense:
    """The same steps on whole vectors, one sequence after the other, nothing put off."""

    def __init__(self, data: Batch, layout: Layout) -> None:
        chain, one = Chain(layout.labels), np.eye(data.sequences)  # [N, N]
        share = np.ones(data.sequences) if data.weight is None else data.weight
        alone = [replace(data, weight=share * row) for row in one]
        self.problems = [Likelihood().bind(layout, chain, part, threads=1) for part in alone]

    def gradient(self, n: int, w: Any) -> Any:
        gradient = np.empty_like(w)
        self.problems[n].value_and_grad(w, gradient)
        return gradient


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize(
    "penalty", [FLAT, SPARSE, BOTH, Penalty(), Penalty(l1=1.0, l2=1e-7)], ids=lambda p: f"{p.l1}-{p.l2}"
)
def test_adagrad_equals_a_dense_reference(penalty: Penalty, observed: bool) -> None:
    data = batch(values=True, weights=True)
    problem = bound(data, observed=observed)
    options = AdaGrad(max_passes=3, delta=-1.0, period=9)
    begin = np.random.default_rng(5).normal(size=problem.size)
    run = options.start(problem, penalty, begin)
    dense, w, squares, visits = Dense(data, problem.layout), begin.copy(), np.zeros(problem.size), N - 1
    for number in (1, 2, 3):
        for n in order_of(run, data, number):
            g = dense.gradient(n, w)
            squares += g * g
            a = options.eta / (options.offset + np.sqrt(squares))
            w = soft(w - a * g, a * penalty.l1 / visits) / (1.0 + a * penalty.l2 / visits)
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("labels", [2, 9, 70])
@pytest.mark.parametrize("observed", [False, True])
def test_rows_of_every_width(labels: int, observed: bool) -> None:
    rng = np.random.default_rng(labels)
    data, layout = relabeled(labels, rng, observed=observed)
    problem = Likelihood().bind(layout, Chain(labels), data, threads=1)
    begin = rng.normal(size=problem.size)
    run = AdaGrad().start(problem, BOTH, begin)
    dense, w, squares = Dense(data, layout), begin.copy(), np.zeros(problem.size)
    for n in order_of(run, data, 1):
        g = dense.gradient(n, w)
        squares += g * g
        a = 0.1 / (1e-8 + np.sqrt(squares))
        w = soft(w - a * g, a / run.visits) / (1.0 + a / run.visits)
    run.step()
    np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("observed", [False, True])
def test_sgd_equals_a_dense_reference(observed: bool) -> None:
    data = batch(values=True, weights=True)
    problem = bound(data, observed=observed)
    nodes = problem.layout.parts["node"].stop
    l2 = np.where(np.arange(problem.size) < nodes, 2.0, 5.0)
    run = SGD(eta=0.3, max_passes=9).start(problem, Penalty(l2=l2), np.ones(problem.size))
    dense, w, t0, t = Dense(data, problem.layout), np.ones(problem.size), (N - 1) / 2.0 / 0.3, 0
    for number in (1, 2):
        for n in order_of(run, data, number):
            rate = (N - 1) / 2.0 / (t0 + t)
            w[:nodes] *= 1.0 - rate * 2.0 / (N - 1)
            w[nodes:] /= 1.0 + rate * 5.0 / (N - 1)
            w -= rate * dense.gradient(n, w)
            t += 1
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("observed", [False, True])
def test_cumulative_penalty_equals_a_plain_reference(observed: bool) -> None:
    """Tsuruoka et al. (2009), figure 2: clipped where a sequence touches a weight, all after a pass."""
    data = batch(values=True, weights=True)
    problem = bound(data, observed=observed)
    options = SGDL1(max_passes=9)
    begin = np.random.default_rng(6).normal(size=problem.size)
    run = options.start(problem, SPARSE, begin)
    dense, w, q = Dense(data, problem.layout), begin.copy(), np.zeros(problem.size)
    layout, due, t, visits = problem.layout, 0.0, 0, N - 1

    def clip(where: Any) -> None:
        z = w[where]
        w[where] = np.where(z > 0, np.maximum(0, z - (due + q[where])), np.minimum(0, z + (due - q[where])))
        w[where] = np.where(z == 0, 0.0, w[where])
        q[where] += w[where] - z

    for number in (1, 2):
        for n in order_of(run, data, number):
            rate = options.eta0 * options.alpha ** (t / visits)
            w -= rate * dense.gradient(n, w)
            due += rate * SPARSE.l1 / visits
            a, b = data.attr_ptr[data.seq_ptr[[n, n + 1]]]
            rows = [np.arange(layout.node_ptr[i], layout.node_ptr[i + 1]) for i in set(data.attr[a:b])]
            clip(np.concatenate([*rows, np.arange(layout.parts["node"].stop, problem.size)]))
            t += 1
        clip(np.arange(problem.size))
        run.step()
        np.testing.assert_allclose(run.w, w, rtol=0.0, atol=1e-10)
