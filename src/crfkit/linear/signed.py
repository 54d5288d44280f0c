"""The exponential loss as sums by sign: how much more and how much less of each feature than in the gold.

A part of a labeling (a label at a position, a step, a segment) that the gold lacks adds its features to W+,
and a part of the gold that the labeling lacks adds its own to W-. Where parts have places of their own, one
of the two is 0, and both are the positive and negative part of marginals - gold. Where places share their
scores (transitions), marginals are known as a sum only: all of them go to W+ and all of the gold's to W-,
which makes the steps of these weights shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.errors import NotCoveredError
from crfkit.linear.group_counts import check_counts
from crfkit.linear.score import scatter

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss


def signed_lack(loss: LinearLoss) -> str:
    """Return why a loss has no sums by sign; empty where it has."""
    return "" if loss.objective.shared else f"the objective {loss.objective.name}"


class SignedCounts:
    """W+ and -W- of a loss; a `crfkit.optimize.classic.parallel.Signed`.

    Parameters
    ----------
    loss : LinearLoss
        Without feature values below 0.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives.classic import Exponential
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> view = SignedCounts(
    ...     Exponential().bind(Layout.all_pairs(batch, 2, transitions="none"), Chain(2), batch)
    ... )
    >>> sides = np.empty((2, 4))
    >>> round(view.expect(np.zeros(4), sides), 4), sides.tolist(), view.totals.tolist()  # log 4
    (1.3863, [[0.0, 0.5, 0.5, 0.0], [-0.5, 0.0, 0.0, -0.5]], [4.0, -4.0])
    """

    def __init__(self, loss: LinearLoss) -> None:
        against = signed_lack(loss)
        if against:
            raise NotCoveredError(f"sums by sign are not those of {against}")
        check_counts(loss.batch, "the parallel update")
        self.loss = loss
        self.observed: Floats = np.zeros(loss.size)  # [F]
        largest = _largest_difference(loss)
        self.totals: Floats = np.array([largest, -largest])
        self.sequences: Floats = np.array([loss.weight.sum(), 0.0])

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.loss.size

    def expect(self, w: Floats, expected: Floats) -> float:
        """Return the loss at w, and write W+ and -W- to `expected` [2, F]."""
        from crfkit.linear.loss import Joined

        so_far, sides = Joined(expected, self.loss.objective), np.empty_like(expected)
        for part in self.loss.parts():
            so_far.scale(_sides(part, w, sides), float(part.weight.sum()), sides)
            expected += sides
        return so_far.value


def _sides(part: LinearLoss, w: Floats, out: Floats) -> float:
    """Return the loss of some sequences, and write W+ and -W- to `out` [2, F]."""
    potentials = part.potentials(w)
    value, by_score = part.objective.loss(potentials, part.gold, part.weight, threads=part.threads)
    share = part.objective.shares(potentials, part.gold, part.weight, threads=part.threads)
    gold = potentials.zeros()
    part.structure.add_counts(part.gold, share, gold)
    more, less = {}, {}
    for slot, array in by_score.items():
        each = array.ndim > 1  # places of their own
        more[slot] = np.maximum(array, 0.0) if each else array + gold[slot]
        less[slot] = np.minimum(array, 0.0) if each else -gold[slot]
    for side, row in zip((more, less), out, strict=True):
        scatter(part.layout, part.batch, side, index=part.index, threads=part.threads, out=row)
    return value


def _largest_difference(loss: LinearLoss) -> float:
    """Return the most features that a labeling and the gold of its sequence can have together."""
    ones, largest = np.ones(loss.size), 0.0
    for part in loss.parts():
        potentials = part.potentials(ones)
        most, _ = inference.best(potentials, threads=part.threads)
        own = potentials.path_score(part.gold.label, part.gold.begin)  # type: ignore[union-attr]
        largest = max(largest, float(np.max(most + own, initial=0.0)))
    return max(largest, 1e-300)
