"""Expectation maximization: the objective never rises, and its end is that of direct methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import HiddenChainCRF, Likelihood
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.optimize import EM, LBFGS, Penalty
from crfkit.optimize.problem import Latent
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.structure import Structure
from tests.cases.hidden import turning
from tests.cases.likelihood import batch, partly


def loss_with_sets(structure: Structure) -> LinearLoss:
    data = partly(batch(3, sequences=6), 3)
    return Likelihood().bind(Layout.all_pairs(data, structure), structure, data, threads=1)


@pytest.mark.parametrize("structure", [Chain(3), Chain(3, order=2), SemiMarkov(3, max_length=2)])
def test_the_sums_make_up_the_loss(structure: Any) -> None:
    loss = loss_with_sets(structure)
    view, w = loss.view(Latent), np.random.default_rng(1).normal(size=loss.size)
    gradients = [np.empty(loss.size) for _ in range(3)]
    value = loss.value_and_grad(w, gradients[0])
    assert view.free(w, gradients[1]) - view.within(w, gradients[2]) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(gradients[1] - gradients[2], gradients[0], atol=1e-10)


@pytest.mark.parametrize("maximization", [1, 5, 20])
def test_the_objective_never_rises_and_ends_where_the_gradient_is_zero(maximization: int) -> None:
    loss = loss_with_sets(Chain(3))
    penalty, w = Penalty(l2=0.5), np.random.default_rng(2).normal(size=loss.size)
    run = EM(maximization=maximization, tolerance=1e-6).start(loss, penalty, w)
    before = np.inf
    while True:
        step = run.step()
        assert step.objective <= before
        before = step.objective
        if step.end is not None:
            break
    gradient = np.empty(loss.size)
    loss.value_and_grad(run.w, gradient)
    penalty.add_smooth(run.w, gradient)
    assert np.abs(gradient).max() < 1e-4
    direct = LBFGS(tolerance=1e-8).start(loss, penalty, run.w + 1e-3)
    while direct.step().end is None:
        pass
    assert loss.value_and_grad(direct.w, gradient) + penalty.value(direct.w) == pytest.approx(
        before, rel=1e-8
    )


def test_hidden_states_by_em() -> None:
    x, y = turning(40)
    each = [
        HiddenChainCRF(states=3, restarts=3, optimizer=how, n_jobs=1).fit(x, y) for how in ("em", "lbfgs")
    ]
    losses = [crf.model_.training.loss for crf in each if crf.model_.training is not None]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_what_is_refused() -> None:
    x, y = turning(5)
    with pytest.raises(NotCoveredError, match="EM does not take data in which nothing is hidden"):
        HiddenChainCRF(states=1, optimizer="em").fit(x, y)
    with pytest.raises(ValueError, match="EM cannot do L1"):
        HiddenChainCRF(optimizer="em", objective=Likelihood(l1=1.0)).fit(x, y)
    with pytest.raises(ValueError, match="maximization is 0"):
        EM(maximization=0)
