"""Corrective visits of chains in a native loop: cpp/kernels/learn/margin.hpp has the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.checks import NotFiniteError
from crfkit.native import kernels
from crfkit.optimize.margin.certified import ShareWeights
from crfkit.optimize.margin.view import MarginChains, MarginSequences
from crfkit.optimize.margin.visits import SparseVisits, Visits
from crfkit.optimize.problem import Penalty, view_of

__all__ = ["NativeVisits", "visits_of"]

_ROOM = 4096  # for labelings of a sequence in a state, however few it has


def visits_of(problem: Any, penalty: Penalty, mixture: bool) -> tuple[Visits, int]:
    """Return the visits of a problem, native ones where these cover it, and the number of sequences."""
    sequences = view_of(problem, MarginSequences, "BCFW")
    count, shared = len(sequences.filled), ShareWeights(penalty, problem.size, "BCFW")
    inverse = shared.inverse
    if not (mixture or problem.lacks(MarginChains) or penalty.nonnegative is not None):
        chains = view_of(problem, MarginChains, "BCFW")
        groups = inverse[: chains.row_ptr[-1]], inverse[chains.row_ptr[-1] :]
        if all((group == group[:1]).all() for group in groups):
            each = [float(group[0]) if group.size else 1.0 for group in groups]
            return NativeVisits(chains, sequences.filled, each[0], each[1], len(inverse)), count
    return SparseVisits(sequences, shared, mixture), count


class NativeVisits:
    """Visits in a native loop; see `crfkit.optimize.margin.visits.Visits`.

    Parameters
    ----------
    chains : MarginChains
    filled : array
        The sequences that numbers count.
    inverse, small_inverse : float
        1 / l2 of the weights of attributes, and of all others.
    size : int
        Number of weights, F.
    """

    def __init__(
        self, chains: MarginChains, filled: Pointers, inverse: float, small_inverse: float, size: int
    ) -> None:
        self.chains, self.filled, self.size = chains, filled, size
        self.trainer = _native.MarginTrainer(chains.native, inverse, small_inverse)

    def run(self, order: Pointers, seen: int) -> Floats:
        """Visit sequences in this order, the first as visit number `seen`; return their gaps before."""
        return self._visits(self.filled[order], seen, learns=True)

    def gaps(self) -> Floats:
        """Return the gap of every sequence at the present weights; they add up to the duality gap."""
        return self._visits(self.filled, 0, learns=False)

    def _visits(self, order: Pointers, seen: int, *, learns: bool) -> Floats:
        gaps = np.zeros(len(order))
        if not self.trainer.run(kernels, order, seen, learns, gaps):
            raise NotFiniteError("some scores are not finite; scale the values of attributes")
        return gaps

    def cost(self) -> float:
        """Return the sum of the mean costs."""
        return self.trainer.cost()

    def weights(self) -> Floats:
        """Return the weights of the shares, [F]."""
        out = np.empty(self.size)
        self.trainer.read(out)
        return out

    def late(self) -> Floats:
        """Return u [F]."""
        out = np.empty(self.size)
        self.trainer.read_memory(out)
        return out

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` takes."""
        return {"w": self.weights(), "memory": self.late(), **self.trainer.state()}

    def restore(self, state: Fields) -> None:
        """Go on from a state."""
        lengths = np.diff(self.chains.seq_ptr)
        N = len(lengths)
        count = state.ids("count", N, below=1 << 20)
        room = state.ids("room", N, below=1 << 20)
        if ((count == 0) != (lengths == 0)).any() or (count > room).any():
            state.wrong("count", "the labelings of each sequence, for which there is room")
        if (room > np.maximum(_ROOM, 16 * count)).any():
            state.refuse("room", f"up to {room.max():,}, far more than there are labelings")
        k = count.astype(np.int64)
        shares = int(k.sum())
        share, filled = state.floats("share", shares, least=0.0), k[k > 0]
        total = np.add.reduceat(share, np.cumsum(filled) - filled) if shares else share
        if not (np.abs(total - 1.0) <= 1e-6).all():
            state.refuse("share", "not a distribution for each sequence")
        self.trainer.restore(
            w=state.floats("w", self.size),
            memory=state.floats("memory", self.size),
            count=count,
            room=room,
            path=state.ids("path", int((k * lengths).sum()), below=self.chains.labels),
            share=share,
            cost=state.floats("cost", shares, least=0.0),
            gram=state.floats("gram", int((k * k).sum())),
        )
