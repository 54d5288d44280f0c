"""What the margin methods share: which penalties they take, and when a gap is small enough.

With the penalty 1/2 w.L.w, L = diag(l2), and a vector a and a cost c for each constraint, the dual of

    P(w) = 1/2 w.L.w + sum over blocks of max over the block's constraints of (c - a.w)

keeps a share for each constraint, those of a block summing to 1:

    w = L^-1 sum share a,    D = sum share c - 1/2 w.L.w <= min P.

P - D is the duality gap: any shares bound the optimum from below. Weights that may not be negative are
w = L^-1 max(0, sum share a), with the same D: what is cut off is the multiplier of the bound.
"""

from __future__ import annotations

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.optimize.problem import End, Penalty, Step


class ShareWeights:
    """The weights of shares, which move with them.

    Parameters
    ----------
    penalty : Penalty
    size : int
    who : str
        The method that asks.
    """

    def __init__(self, penalty: Penalty, size: int, who: str) -> None:
        self.inverse = inverse_strengths(penalty, size, who)  # [F] 1 / l2
        self.nonnegative = penalty.nonnegative
        self.w = np.zeros(size)  # [F]
        self.free = self.w if self.nonnegative is None else np.zeros(size)  # [F] as if there were no bounds

    def move(self, place: Pointers, change: Floats) -> Floats:
        """Move weights, perhaps no further than to their bounds; return by how much."""
        if self.nonnegative is None:
            self.w[place] += change
            return change
        before = self.w[place]
        self.free[place] += change
        self.w[place] = np.where(self.nonnegative[place], np.maximum(self.free[place], 0.0), self.free[place])
        return np.asarray(self.w[place] - before)

    def state(self) -> dict[str, Floats]:
        """Return everything that it holds."""
        return {"w": self.w.copy(), "free": self.free.copy()}

    def restore(self, state: Fields) -> None:
        """Go on from a state."""
        F = len(self.w)
        self.w[:], self.free[:] = state.floats("w", F), state.floats("free", F)


def inverse_strengths(penalty: Penalty, size: int, who: str) -> Floats:
    """Return 1 / l2 of each weight, [F]; refuse penalties that have no such dual.

    Examples
    --------
    >>> inverse_strengths(Penalty(l2=4.0), 2, "BCFW").tolist()
    [0.25, 0.25]
    >>> inverse_strengths(Penalty(l1=1.0, l2=4.0), 2, "BCFW")
    Traceback (most recent call last):
    ValueError: BCFW is for an L2 penalty alone: set l1 = 0, or use owlqn
    """
    if penalty.sparse:
        raise ValueError(f"{who} is for an L2 penalty alone: set l1 = 0, or use owlqn")
    strength = np.broadcast_to(np.asarray(penalty.l2, dtype=np.float64), (size,))
    if not np.all(strength > 0.0):
        raise ValueError(f"{who} needs an L2 penalty above 0 on every weight: set l2")
    return np.ascontiguousarray(1.0 / strength)


def certified_step(
    best: float, bound: float, gap: float, rounds: int, most: tuple[str, int], evaluations: float
) -> Step:
    """Return the step of a run whose best objective and lower bound are known.

    Parameters
    ----------
    best, bound : float
    gap : float
        The fraction of the objective that the gap may be in the end.
    rounds : int
    most : tuple of str and int
        The name of the option that limits them, and the limit.
    evaluations : float
        Passes over the data.
    """
    apart = max(best - bound, 0.0)
    stopped = ""
    end: End | None = None
    if not np.isfinite(best):
        stopped, end = "diverged: the objective is not finite", End.DIVERGED
    elif apart <= gap * abs(best):
        share = apart / abs(best) if best else 0.0
        stopped, end = (
            f"converged: the duality gap {apart:.3g} is {share:.1e} of the objective",
            End.CONVERGED,
        )
    elif rounds >= most[1]:
        stopped, end = f"reached {most[0]} = {most[1]}", End.LIMIT
    return Step(best, evaluations=evaluations, gap=apart, stopped=stopped, end=end)
