"""The view of a margin loss that visits of sequences need: most violating labelings, as sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from crfkit.arrays import Floats, Pointers, pointers, ranges
from crfkit.optimize.sequential.sequences import Sequences


class MarginChains(Sequences):
    """Labeled sequences of a max-margin loss, for native visits."""


class Violations(NamedTuple):
    """A labeling of each of n sequences; the loss of one is its cost - amounts.w at its places."""

    ptr: Pointers  #: [n + 1]
    place: Pointers  #: rising within a sequence
    amount: Floats  #: features of the gold minus those of the labeling, times the sequence's weight
    cost: Floats  #: [n] wrong labels times the sequence's weight

    def losses(self, w: Floats) -> Floats:
        """Return the loss of each at the weights w [F]: [n]."""
        return self.cost - sums(self.ptr, self.amount * w[self.place])

    def take(self, which: Pointers) -> Violations:
        """Return some of them, in any order."""
        count = self.ptr[which + 1] - self.ptr[which]
        at = ranges(self.ptr[which], count)
        return Violations(pointers(count), self.place[at], self.amount[at], self.cost[which])

    @classmethod
    def joined(cls, parts: Sequence[Violations]) -> Violations:
        """Return the sequences of several parts, one after the other."""
        counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.ptr) for part in parts)])
        place = np.concatenate([np.zeros(0, np.int64), *(part.place for part in parts)])
        amount = np.concatenate([np.zeros(0), *(part.amount for part in parts)])
        cost = np.concatenate([np.zeros(0), *(part.cost for part in parts)])
        return cls(pointers(counts), place, amount, cost)


class MarginSequences(Protocol):
    """Sequences whose losses are maxima over labelings, and add up to the loss."""

    remedy: ClassVar[str] = "use the objective MaxMargin(), or another optimizer"

    @property
    def filled(self) -> Pointers:
        """Sequences with at least one position and a weight above 0."""
        ...

    def violations(self, w: Floats, sequences: Pointers) -> Violations:
        """Return the labeling of each of these sequences that has the highest loss at w [F]."""
        ...


def sums(ptr: Pointers, x: Floats) -> Floats:
    """Return the sum of each of n stretches, [n].

    Examples
    --------
    >>> sums(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 0.0, 4.0]
    """
    count = len(ptr) - 1
    return np.bincount(np.repeat(np.arange(count), np.diff(ptr)), x, minlength=count).astype(np.float64)
