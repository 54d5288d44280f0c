"""Visits of block-coordinate methods: the shares of one sequence move, all others stay.

At the weights w of all shares, the gap of a sequence is the loss of its most violating labeling minus the
mean loss of its labelings by their shares. A visit adds that labeling to the working set, and then

- corrective: takes the shares that are best for the whole set, a program on a simplex. The sets stay small,
  and the gap falls by a constant factor with each pass.
- mixture: moves all shares towards that labeling, by the step that is best on the way: block-coordinate
  Frank-Wolfe as Lacoste-Julien et al. (2013) have it, algorithm 4. The gap falls as 1 / passes.

The mean of the weights after each of K visits, visit k counting k times, is w - u / (K (K + 1)) where u adds
up k (k - 1) times each change: a visit costs no more than what it changes.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.optimize.margin.certified import ShareWeights
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.margin.working_set import WorkingSet

_ROUNDING = 1e-12
_IDLE = 10  # visits after which a labeling without a share is forgotten


class Visits(Protocol):
    """Sequences with their shares; numbers of sequences count those that are `filled`."""

    def run(self, order: Pointers, seen: int) -> Floats:
        """Visit sequences in this order, the first as visit number `seen`; return their gaps before."""
        ...

    def gaps(self) -> Floats:
        """Return the gap of every sequence at the present weights; they add up to the duality gap."""
        ...

    def cost(self) -> float:
        """Return the sum of the mean costs."""
        ...

    def weights(self) -> Floats:
        """Return the weights of the shares, [F]."""
        ...

    def late(self) -> Floats:
        """Return u [F]."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` takes."""
        ...

    def restore(self, state: Fields) -> None:
        """Go on from a state."""
        ...


class SparseVisits:
    """Visits on any structure, through its queries.

    Sequences are asked in small groups for their labelings, at the same weights; then each takes its
    step at the present weights, which is exact whatever labelings it has.

    Parameters
    ----------
    sequences : MarginSequences
    shared : ShareWeights
        The weights before the first visit: 0.
    mixture : bool
        Mixture steps instead of corrective ones.
    """

    def __init__(self, sequences: MarginSequences, shared: ShareWeights, mixture: bool) -> None:
        self.sequences, self.shared, self.mixture = sequences, shared, mixture
        self.sets = [WorkingSet() for _ in sequences.filled]
        self.together = max(1, min(64, len(self.sets) // 64))
        self.w, self.memory = shared.w, np.zeros_like(shared.w)

    def run(self, order: Pointers, seen: int) -> Floats:
        """Visit sequences in this order, the first as visit number `seen`; return their gaps before."""
        gaps = np.zeros(len(order))
        for first in range(0, len(order), self.together):
            group = order[first : first + self.together]
            found = self.sequences.violations(self.w, self.sequences.filled[group])
            worst = found.losses(self.w)
            for i, n in enumerate(group.tolist()):
                part, k, working = slice(found.ptr[i], found.ptr[i + 1]), first + i, self.sets[n]
                known = working.losses(self.w)
                if worst[i] > known.max() + _ROUNDING * (1.0 + abs(worst[i])):
                    working.add(found.place[part], found.amount[part], found.cost[i], self.shared.inverse)
                    known = working.losses(self.w)
                gaps[k] = known.max() - working.share @ known
                moved = (working.mix if self.mixture else working.solve)(known, self.shared)
                self.memory[working.place] += float(seen + k) * (seen + k - 1) * moved
                working.forget(_IDLE)
        return gaps

    def gaps(self) -> Floats:
        """Return the gap of every sequence at the present weights; they add up to the duality gap."""
        found = self.sequences.violations(self.w, self.sequences.filled)
        here = [float(working.share @ working.losses(self.w)) for working in self.sets]
        return np.asarray(found.losses(self.w) - np.array(here))

    def cost(self) -> float:
        """Return the sum of the mean costs."""
        return sum(float(working.share @ working.cost) for working in self.sets)

    def weights(self) -> Floats:
        """Return the weights of the shares, [F]."""
        return self.w

    def late(self) -> Floats:
        """Return u [F]."""
        return self.memory

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` takes."""
        sets = [working.state() for working in self.sets]
        return {**self.shared.state(), "memory": self.memory, "sets": sets}

    def restore(self, state: Fields) -> None:
        """Go on from a state."""
        F = len(self.w)
        self.shared.restore(state)
        self.memory = state.floats("memory", F)
        self.sets = [WorkingSet.of(kept, F) for kept in state.parts("sets", len(self.sets))]
