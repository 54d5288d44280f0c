"""Gradient tree boosting: potentials as sums of regression trees.

    phi(y', y, x, i) = sum over rounds of trees of x at i                     Gupta (2005) eq. 51
    d log p / d phi(y', y, x, i) = [y_{i-1} = y' and y_i = y] - p(y', y | x)  eq. 53, Dietterich et al. (2004)

In each round, trees are grown to these differences by CART; the value of a leaf is then the Newton step of
its rows, the sum of the differences by that of p (1 - p) plus a penalty (Friedman 2001), times `shrinkage`,
halved for the whole round until the loss falls.
phi is the sum of a part for labels, whose differences are those of the marginals of positions, one for steps
that looks at x too where `steps` asks for it, and tables of steps and ends that all positions share, which
are trees of one leaf.

A leaf is a test of x, a conjunction. So what is learned is a chain with leaves for attributes, one for each
tree at each position, and values of leaves for weights: a `crfkit.models.SequenceModel` like any other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from crfkit._safe.interrupts import interrupts
from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.data.batch import Batch
from crfkit.models.forest import Rows
from crfkit.optimize.problem import Step
from crfkit.structures import Chain
from crfkit.training.events import Listener, Progress
from crfkit.training.learners.boosting_round import Learning, Leaves, Round, grow_round


@dataclass(frozen=True)
class Boosting:
    """Options of boosted trees (`BoostedCRF`).

    Examples
    --------
    >>> Boosting(shrinkage=2.0)
    Traceback (most recent call last):
    ValueError: shrinkage is 2.0, expected more than 0 and at most 1
    """

    rounds: int = 100
    leaves: int = 8  #: of a tree, at most
    shrinkage: float = 0.2  #: of the values of leaves
    subsample: float = 1.0  #: the share of the sequences that each round grows its trees on
    trim: float = 0.0  #: rows of the smallest differences are left out up to this share of their sum
    features: float = 1.0  #: the share of the columns that each split looks at
    min_samples: int = 5  #: rows of a leaf, at least
    l2: float = 1.0  #: penalty of the values of leaves
    shared: bool = False  #: one tree for all labels in each round, instead of one for each label
    steps: bool = False  #: steps from label to label depend on x too
    patience: int = 10  #: rounds without a gain on the dev set after which it ends

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("leaves", 2), ("min_samples", 1), ("patience", 1)):
            check_number(name, getattr(self, name), least, whole=True)
        check_number("l2", self.l2)
        for name in ("shrinkage", "subsample", "features"):
            check_number(name, getattr(self, name))
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0 and at most 1")
        check_number("trim", self.trim)
        if not 0.0 <= self.trim < 1.0:
            raise ValueError(f"trim is {self.trim}, expected 0 or more and less than 1")


class Boosted(NamedTuple):
    """What was learned."""

    leaves: dict[str, Leaves]  #: of "node", and of "edge" where steps depend on x
    tables: dict[str, Floats]  #: of "transition", "start" and "stop"
    losses: Floats  #: before each round, and at the end
    dev_losses: Floats  #: the same of the dev set; empty without one
    rounds: int  #: that are kept
    interrupted: bool


def boost(
    rows: Rows,
    batch: Batch,
    chain: Chain,
    options: Boosting,
    *,
    dev: tuple[Rows, Batch] | None = None,
    seed: int = 0,
    threads: int | None = None,
    listener: Listener | None = None,
) -> Boosted:
    """Learn trees for the labels of a batch, whose rows [P, K] they test.

    Parameters
    ----------
    rows, batch
        What is known of each position, and the gold.
    chain : Chain
        A chain of order 1.
    options : Boosting
    dev : rows and batch, optional
        Rounds end when its loss has not fallen for `patience` rounds; those up to the best are kept.
    seed : int
    threads : int, optional
    listener : function, optional
        Gets a `crfkit.training.events.Progress` after each round; its score is the dev set's log-likelihood.
    """
    if chain.order != 1:
        raise ValueError(f"boosting learns chains of order 1, not of order {chain.order}")
    data = Learning.of(chain, rows, batch, options.steps, threads)
    judged = None if dev is None else Learning.of(chain, *dev, options.steps, threads)
    found = data.compared()
    losses, held = [found[0]], [] if judged is None else [judged.compared()[0]]
    rounds: list[Round] = []
    best, began = 0, time.monotonic()
    with interrupts() as caught:
        for number in range(1, options.rounds + 1):
            added = grow_round(data, found[1], found[2], options, np.random.default_rng([seed, number]))
            moved = data.after(added)
            while (now := moved.compared())[0] >= losses[-1]:
                added = added.times(0.5)
                if max(float(np.abs(one.values).max()) for one in added.trees) < 1e-9:
                    break
                moved = data.after(added)
            if now[0] >= losses[-1]:  # nothing is left to learn
                break
            data, found = moved, now
            rounds.append(added)
            losses.append(now[0])
            if judged is not None:
                judged = judged.after(added)
                held.append(judged.compared()[0])
            if judged is None or held[-1] < held[best]:
                best = number
            if listener is not None:
                score, top = (-held[-1], -held[best]) if held else (nan, nan)
                taken = time.monotonic() - began
                left = taken / number * (options.rounds - number)
                listener(Progress(number, Step(losses[-1]), score, top, best, taken, left))
            if caught.asked or number - best >= options.patience:
                break
    kept = rounds[:best]
    leaves = {
        slot: Leaves.of([one for each in kept for one in each.trees if one.slot == slot])
        for slot in data.places
    }
    tables = (
        {name: np.sum([each.tables[name] for each in kept], axis=0) for name in data.tables}
        if kept
        else data.tables
    )
    return Boosted(leaves, tables, np.array(losses), np.array(held), best, caught.asked)
