"""What a loss refuses before it is evaluated."""

from __future__ import annotations

import re

import numpy as np
import pytest

from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import NotCoveredError
from crfkit.structures import Chain
from crfkit.structures.local import LocalChain
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
    with pytest.raises(ValueError, match="no position to learn from"):
        Likelihood().bind(layout, Chain(2), batch.select(slice(0, 0)))
    with pytest.raises(
        NotCoveredError, match="a local chain is trained by the objective local, not by likelihood"
    ):
        Likelihood().bind(layout, LocalChain(2), batch)
    wrong = random_batch(np.random.default_rng(0), [4, 3], 5, 3)
    with pytest.raises(ValueError, match=r"label\[.*\] is 2, expected 0 to 1"):
        Likelihood().bind(layout, Chain(2), wrong)
