"""Extrapolation of weights that converge linearly: Anderson's combination of the last few.

    c = argmin |sum_k c_k (w_k - w_{k-1})|^2 + ridge |c|^2  over  sum_k c_k = 1,   w = sum_k c_k w_k

Scieur, d'Aspremont & Bach (2016), Regularized nonlinear acceleration, algorithm 1. Where each w_k also
carries the noise of the last visits, the combination averages it out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, solved

_RIDGE = 1e-6  # of the mean squared difference, which is summed in floats


class Extrapolation:
    """The last weights [F] of a run, as floats, and their extrapolation.

    Examples
    --------
    >>> found = Extrapolation(steps=1)
    >>> for k in range(3):
    ...     found.add(np.array([1.0 + 0.5**k]))
    >>> found.weights().round(6)
    array([1.25])
    >>> two = Extrapolation(steps=2)
    >>> for k in range(3):
    ...     two.add(np.array([1.0 + 0.5**k]))
    >>> two.weights().round(3)
    array([1.])
    """

    def __init__(self, steps: int = 4) -> None:
        self.steps = steps
        self.recent: list[NDArray[np.float32]] = []  # oldest first

    def add(self, w: Floats) -> None:
        """Remember weights, and forget the oldest."""
        self.recent = [*self.recent[-self.steps :], w.astype(np.float32)]

    def recall(self, state: Fields, name: str, F: int) -> None:
        """Restore the last weights, of which a state has at most one more than steps."""
        if not np.size(state[name]):
            return
        recent = state.array(name, np.float32, None, F)
        if len(recent) > self.steps + 1 or not np.isfinite(recent).all():
            state.wrong(name, f"finite weights of at most {self.steps + 1} steps")
        self.recent = list(recent)

    def weights(self) -> Floats:
        """Return the combination; the last weights themselves when there are fewer than three."""
        w: Floats = self.recent[-1].astype(np.float64)
        if len(self.recent) < 3:
            return w
        moves = np.diff(np.array(self.recent), axis=0)  # [K, F]
        gram = np.einsum("if,jf->ij", moves, moves).astype(np.float64)  # [K, K]; BLAS keeps a core busy
        scale = np.trace(gram) / len(moves)
        if not scale > 0.0:
            return w
        share = solved(gram / scale + _RIDGE * np.eye(len(moves)), np.ones(len(moves)))
        share /= share.sum()
        w *= share[-1]
        for c, each in zip(share[:-1], self.recent[1:-1], strict=True):
            w += c * each
        return w
