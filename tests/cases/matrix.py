"""Structures, data and losses of the training matrix: small, with gold of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives.registry import OBJECTIVES
from crfkit.optimize.problem import Penalty
from crfkit.structures import Chain, LocalChain, SemiMarkov
from crfkit.structures.constraints import Forbid
from tests.cases.batches import random_batch

L, LONGEST = 3, [1, 2, 4]
D = max(LONGEST)  # other than L, so that a length taken for a label shows
LENGTHS = [4, 1, 0, 3, 2]

STRUCTURES: dict[str, Any] = {
    "order 0": Chain(L, order=0),
    "order 1": Chain(L),
    "order 2": Chain(L, order=2),
    "order 3": Chain(L, order=3),
    "constraints": Chain(L, constraints=[Forbid("0", "0")]),
    "local": LocalChain(L),
    "semi": SemiMarkov(L, max_length=LONGEST),
    "semi constraints": SemiMarkov(L, max_length=LONGEST, constraints=[Forbid("0", "0")]),
}
GOLDS = ("path", "set", "soft")
EDGES = ("order 1", "constraints", "local", "semi")  # structures whose steps may have attributes


def data(gold: str, structure: str, *, edges: bool = False, weights: bool = True) -> Batch:
    rng = np.random.default_rng(0)
    made = random_batch(rng, LENGTHS, 5, L, values=True, edges=edges, weights=weights)
    made = replace(made, value=np.abs(np.asarray(made.value)), edge_value=None)  # iterative scaling counts
    assert made.label is not None
    label = made.label.copy()
    if "constraints" in structure:  # gold that is allowed: never 0 after 0
        for p in range(1, len(label)):
            if label[p] == 0 == label[p - 1]:
                label[p] = 1
    if "semi" in structure:
        made = replace(made, label=label, **segments(made, label, rng))
    made = replace(made, label=label)
    if gold == "set":
        mask = rng.random((made.positions, L)) < 0.5
        mask[np.arange(made.positions), label] = True
        return replace(made, label=None, allowed=mask, begin=None)
    if gold == "soft":
        return replace(made, label=None, soft=rng.dirichlet(np.ones(L), made.positions), begin=None)
    return made


def segments(batch: Batch, label: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Attributes of segments, and where gold ones begin."""
    left = np.repeat(batch.seq_ptr[1:], np.diff(batch.seq_ptr)) - np.arange(batch.positions)  # [P]
    fits = np.arange(1, D + 1) <= left[:, None]  # [P, D]
    counts = (rng.integers(0, 3, fits.shape) * fits).ravel()
    begin = np.diff(label, prepend=-1) != 0
    begin |= label == 0
    begin[batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]] = True
    run = 0
    for p in range(batch.positions):  # none longer than its label allows
        run = 1 if begin[p] else run + 1
        if run > LONGEST[label[p]]:
            begin[p], run = True, 1
    ends = {}
    for kind in ("begin", "end"):
        each = rng.integers(0, 3, batch.positions)
        ends[f"{kind}_ptr"] = np.concatenate([[0], np.cumsum(each)])
        ends[f"{kind}_attr"] = rng.integers(0, 4, each.sum()).astype(np.int32)
        ends[f"{kind}_value"] = rng.uniform(0.5, 1.5, each.sum())
    return {
        **ends,
        "segment_ptr": np.concatenate([[0], np.cumsum(counts)]),
        "segment_attr": rng.integers(0, 4, counts.sum()).astype(np.int32),
        "segment_value": rng.uniform(0.5, 1.5, counts.sum()),
        "begin": begin,
    }


#: Options without which an objective is another one.
OPTIONS: dict[str, dict[str, Any]] = {"posterior": {"at_most": {"0": 0.5}, "at_least": {"1": 0.6}}}


def goal(objective: str) -> Any:
    return OBJECTIVES[objective](**OPTIONS.get(objective, {}))


def loss_of(structure: str, objective: str, gold: str, **options: Any) -> LinearLoss:
    batch, made = data(gold, structure, **options), STRUCTURES[structure]
    layout = Layout.all_pairs(batch, made, start=structure != "local", stop="local" not in structure)
    bound: LinearLoss = goal(objective).bind(layout, made, batch, threads=1)
    return bound


def penalty_of(objective: str, optimizer: str, loss: LinearLoss) -> Penalty:
    """Return a penalty that an optimizer, by its name, takes for an objective."""
    if not loss.minimizes:
        return Penalty()
    if optimizer in ("sgd-l1", "bcd"):
        return Penalty(l1=0.1, l2=1.0 if optimizer == "bcd" else 0.0)
    made: Penalty = goal(objective).penalty(loss.layout)
    return made
