"""A likelihood as counts in groups of sequences, as iterative scaling needs it.

Sequences are grouped by T(x) = max_y sum_k F_k(x, y), the largest total of feature values that a labeling of
x can have (Lafferty et al. 2001, section 4): the score of the best path when all weights are 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, dot
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.objective import Family
from crfkit.linear.score import scatter

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss


def counts_lack(loss: LinearLoss) -> str:
    """Return why a loss cannot be seen as counts; empty where it can."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return "sets of labels, only gold labels at all positions" if loss.kind == "set" else ""


class GroupCounts:
    """The counts of a likelihood; a `crfkit.optimize.classic.scaling.Counted`.

    Parameters
    ----------
    loss : LinearLoss
        A likelihood with a path or a distribution as gold, and no feature value below 0.
    groups : int, optional
        The most groups. Where there are more distinct totals they are rounded up, which keeps every step an
        improvement but makes it shorter. None: one for each total. Expectations take 16 bytes per group
        and weight.

    Examples
    --------
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives import Likelihood
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2, 3], attr_ptr=[0, 2, 3, 4], attr=[0, 1, 0, 0], label=[1, 0, 1])
    >>> loss = Likelihood().bind(Layout.all_pairs(batch, 2), Chain(2), batch)
    >>> GroupCounts(loss).totals.tolist()  # 3 attributes and a transition; 1 attribute
    [1.0, 4.0]
    """

    def __init__(self, loss: LinearLoss, *, groups: int | None = 64) -> None:
        against = counts_lack(loss)
        if against:
            raise NotCoveredError(f"iterative scaling does not take {against}")
        if groups is not None and groups < 1:
            raise ValueError(f"groups is {groups}, expected 1 or more")
        check_counts(loss.batch, "iterative scaling")
        self.loss = loss
        self.observed = loss.observed  # [F]
        each = _totals(loss)  # [N]
        distinct = np.unique(each)
        if groups is not None and len(distinct) > groups:
            ends = np.linspace(0, len(distinct), groups + 1).astype(int)[1:] - 1
            distinct = distinct[ends]
        group = np.searchsorted(distinct, each)  # [N] the least total that is at least as large
        self.totals: Floats = distinct  # [G]
        members = [np.flatnonzero(group == g) for g in range(len(distinct))]
        self.sequences = np.array([loss.weight[m].sum() for m in members])  # [G]
        self._parts = [list(loss.part(m).parts()) for m in members]

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.loss.size

    def expect(self, w: Floats, expected: Floats) -> float:
        """Return the loss at w, and write the expected counts of each group to `expected` [G, F]."""
        expected[:] = 0.0
        value = sum(
            _add_expected(part, w, out)
            for parts, out in zip(self._parts, expected, strict=True)
            for part in parts
        )
        return value - dot(self.observed, w)


def _add_expected(part: LinearLoss, w: Floats, out: Floats) -> float:
    """Add expected counts of some sequences to out [F]; return the sum of weight * log Z."""
    total, by_score = inference.expected(part.potentials(w), part.weight, threads=part.threads)
    scatter(part.layout, part.batch, by_score, index=part.index, threads=part.threads, out=out, add=True)
    return dot(part.weight, total)


def _totals(loss: LinearLoss) -> Floats:
    """Return T(x) of each sequence, [N]."""
    ones = np.ones(loss.size)
    found = [inference.best(part.potentials(ones), threads=part.threads)[0] for part in loss.parts()]
    totals: Floats = np.concatenate(found)
    return totals.round(6)  # real values: no group for each rounding error


def check_counts(batch: Batch, who: str) -> None:
    """Refuse feature values below 0."""
    for name in ("value", "edge_value", "begin_value", "end_value", "segment_value", "dense"):
        array = getattr(batch, name)
        if array is not None and (array < 0.0).any():
            at = tuple(np.argwhere(array < 0.0)[0].tolist())
            raise ValueError(
                f"{name}{list(at)} is {array[at]}: {who} needs feature values of 0 or more; "
                "split such features into a positive and a negative part, or use LBFGS"
            )
