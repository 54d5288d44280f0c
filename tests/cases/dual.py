"""Chains with likelihoods that the dual minimizes: problems by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid
from tests.cases.batches import random_batch


def batch(seed: int = 0, L: int = 4, A: int = 120, N: int = 60, values: bool = False) -> Batch:
    """Random sequences whose attributes say something about their labels; some attributes occur once."""
    rng = np.random.default_rng(seed)
    return random_batch(rng, rng.integers(0, 9, N), A, L, least=1, most=5, telling=0.6, values=values)


def without(data: Batch, before: int, after: int) -> Batch:
    """Change labels so that one never follows the other."""
    assert data.label is not None
    label = data.label.copy()
    for p in range(1, len(label)):
        if label[p - 1] == before and label[p] == after:
            label[p] = before
    return replace(data, label=label)


CASES: dict[str, tuple[Batch, Chain, Likelihood, dict[str, Any], bool]] = {
    "observed": (batch(), Chain(4), Likelihood(l2=0.5), {}, False),
    "all pairs": (batch(1), Chain(4), Likelihood(l2=1.0), {}, True),
    "values": (batch(2, values=True), Chain(4), Likelihood(l2=1.0), {}, False),
    "start and stop, two strengths": (
        batch(3),
        Chain(4),
        Likelihood(l2=1.0, transition_l2=0.3),
        {"start": True, "stop": True},
        False,
    ),
    "weights": (
        replace(batch(4), weight=2.0 * np.random.default_rng(0).random(60)),
        Chain(4),
        Likelihood(l2=1.0),
        {"start": True},
        True,
    ),
    "some transitions": (batch(5), Chain(4), Likelihood(l2=1.0), {"transitions": "observed"}, False),
    "few transitions": (
        batch(9, L=12, A=150, N=12),
        Chain(12),
        Likelihood(l2=1.0, transition_l2=0.5),
        {"transitions": "observed", "start": True, "stop": True},
        False,
    ),
    "few transitions, constraints": (
        without(batch(10, L=12, A=150, N=12), 1, 2),
        Chain(12, constraints=[Forbid("1", "2")]),
        Likelihood(l1=0.1, l2=1.0),
        {"transitions": "observed"},
        False,
    ),
    "pairs": (
        batch(15, L=24, A=150, N=16),
        Chain(24),
        Likelihood(l2=1.0, transition_l2=0.5),
        {"transitions": "observed", "start": True, "stop": True},
        False,
    ),
    "pairs, constraints": (
        without(without(batch(16, L=24, A=150, N=16), 1, 2), 7, 2),
        Chain(24, constraints=[Forbid("1", "2"), Forbid("7", "2")]),
        Likelihood(l1=0.1, l2=1.0),
        {"transitions": "observed"},
        False,
    ),
    "no transitions": (batch(11), Chain(4), Likelihood(l2=1.0), {"transitions": "none"}, False),
    "70 labels": (batch(6, L=70, A=40, N=12), Chain(70), Likelihood(l2=1.0), {"stop": True}, False),
    "constraints": (
        without(batch(7), 1, 2),
        Chain(4, constraints=[Forbid("1", "2")]),
        Likelihood(l2=1.0),
        {},
        False,
    ),
    "order 2": (
        batch(12, A=60, N=30),
        Chain(4, order=2),
        Likelihood(l2=1.0, transition_l2=0.5),
        {"start": True, "stop": True},
        True,
    ),
    "order 2, few n-grams": (
        replace(batch(13, L=6, A=60, N=20), weight=2.0 * np.random.default_rng(0).random(20)),
        Chain(6, order=2),
        Likelihood(l1=0.1, l2=1.0),
        {"transitions": "observed"},
        False,
    ),
    "order 3, constraints": (
        without(batch(14, L=3, A=40, N=30), 1, 2),
        Chain(3, order=3, constraints=[Forbid("1", "2")]),
        Likelihood(l2=1.0),
        {"start": True},
        True,
    ),
    "elastic net": (batch(8), Chain(4), Likelihood(l1=0.2, l2=0.5), {"start": True}, True),
}


def problem_of(name: str) -> tuple[LinearLoss, Penalty]:
    data, chain, objective, options, all_pairs = CASES[name]
    make = Layout.all_pairs if all_pairs else Layout.observed
    layout = make(data, chain, **options)
    return objective.bind(layout, chain, data), objective.penalty(layout)
