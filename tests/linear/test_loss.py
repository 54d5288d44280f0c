"""What a loss refuses, and its gradient where a distribution has a share in forbidden steps."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.structures import Chain
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.constraints import Forbid
from tests.cases.batches import random_batch


def test_a_layout_for_another_structure_is_refused() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2)
    layout, longer = Layout.all_pairs(batch, 2, start=True), Layout.all_pairs(batch, Chain(2, order=3))
    cases = [
        (layout, Chain(3), "the layout has 2 labels, the structure 3"),
        (layout, Chain(2, order=0), "does not fit a chain of order 0: its slots edge, transition differ"),
        (layout, Chain(2, order=2), "does not fit a chain of order 2: its slots edge, transition differ"),
        (longer, Chain(2, order=2), "does not fit a chain of order 2: its slots transition differ"),
    ]
    for made, structure, reason in cases:
        sentence = reason if "fit" not in reason else f"the layout {reason}; make it for this structure"
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            LinearLoss(Likelihood(), structure, made, batch)
    for structure in (Chain(["x", "y"]), Chain(2)):
        assert LinearLoss(Likelihood(), structure, layout, batch).size == layout.weights


def test_other_things_that_do_not_fit() -> None:
    batch = random_batch(np.random.default_rng(0), [4, 3], 5, 2)
    layout = Layout.all_pairs(batch, 2)
    with pytest.raises(ValueError, match="the batch is empty"):
        Likelihood().bind(layout, Chain(2), batch.select(slice(0, 0)))
    with pytest.raises(
        NotCoveredError, match="a local chain is trained by the objective local, not by likelihood"
    ):
        Likelihood().bind(layout, LocalChain(2), batch)
    wrong = random_batch(np.random.default_rng(0), [4, 3], 5, 3)
    with pytest.raises(ValueError, match=r"label\[.*\] is 2, expected 0 to 1"):
        Likelihood().bind(layout, Chain(2), wrong)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_soft_gold_under_constraints_by_finite_differences(order: int, edges: bool) -> None:
    rng = np.random.default_rng(order)
    batch = random_batch(rng, [4, 0, 3], 4, 3, edges=edges and order == 1, weights=True)
    batch = replace(batch, label=None, soft=rng.dirichlet(np.ones(3), batch.positions))
    chain = Chain(3, order=order, constraints=[Forbid("0", "1"), Forbid("2", "2")])
    layout = Layout.all_pairs(batch, chain, start=True, stop=True)
    loss = Likelihood().bind(layout, chain, batch)
    w, gradient, other = rng.normal(size=layout.weights), np.empty(layout.weights), np.empty(layout.weights)
    assert np.isfinite(loss.general_value_and_grad(w, gradient))
    for i in range(layout.weights):
        step = np.zeros_like(w)
        step[i] = 1e-5
        up, down = (loss.general_value_and_grad(w + sign * step, other) for sign in (1, -1))
        np.testing.assert_allclose(gradient[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-6)
