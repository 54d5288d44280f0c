"""A small labeled batch for the optimizers that visit sequence by sequence."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain
from tests.cases.batches import random_batch

L, A, N = 4, 30, 60
FLAT = Penalty(l2=1.0)
SPARSE = Penalty(l1=1.0)
BOTH = Penalty(l1=1.0, l2=1.0)


@cache
def batch(*, values: bool = False, weights: bool = False) -> Batch:
    """Labels are those that a random model scores highest, with noise: every attribute tells something."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, N)
    lengths[7] = 0
    made = random_batch(rng, lengths, A, L, least=1, values=values)
    value = np.ones(len(made.attr)) if made.value is None else made.value
    each = rng.normal(size=(A, L))[made.attr] * value[:, None]
    score = np.add.reduceat(each, made.attr_ptr[:-1]) + rng.gumbel(size=(made.positions, L))  # [P, L]
    made = replace(made, label=score.argmax(axis=1).astype(np.int32))
    return replace(made, weight=rng.integers(0, 4, N).astype(np.float64)) if weights else made


def layout_of(data: Batch, *, observed: bool = False) -> Layout:
    if observed:  # short rows and masked ones
        return Layout.observed(data, L, attributes=A, min_count=6, transitions="observed", stop=True)
    return Layout.all_pairs(data, L, attributes=A, start=True, stop=True)


def relabeled(labels: int, rng: np.random.Generator, *, observed: bool) -> tuple[Batch, Layout]:
    """A part of the batch with as many labels as asked for, drawn by chance, and a layout for it."""
    label = rng.integers(0, labels, batch().positions).astype(np.int32)
    data = replace(batch(values=True), label=label).select(slice(20, 40))
    make = Layout.observed if observed else Layout.all_pairs
    return data, make(data, labels, attributes=A + 3, start=True)


def bound(data: Batch, chain: Chain | None = None, *, observed: bool = False) -> LinearLoss:
    return Likelihood().bind(layout_of(data, observed=observed), chain or Chain(L), data, threads=1)


def order_of(run: Any, data: Batch, number: int) -> Pointers:
    """The sequences of a pass over data in one block, counted from 1, in the order of their visits."""
    ((_, places),) = run.sequences.plan(run.method.seed, number)
    visited: Pointers = np.flatnonzero(np.diff(data.seq_ptr))[places]
    return visited
