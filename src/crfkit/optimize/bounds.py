"""Lower bounds of the optimum from tangents, where L1 holds some weights alone.

A convex loss of 0 or more lies above 0 and above its tangents, and so above any mixture of them. Let it lie
above at + g.v for all v. For 0 <= c <= 1

    P(v) >= c (at + g.v) + l1 |v| + l2/2 |v|^2
         >= c at - sum_f (c |g_f| - l1)_+^2 / (2 l2)

With one tangent this is the dual objective at the marginals at w, mixed with the gold by 1 - c. Where l2 is
0, c |g_f| must not exceed l1, so that one attribute a little above l1 costs all of them. Gradients swing from
step to step around the optimum, and an average of tangents swings less: its bound is two to three times as
tight as the best of single ones, at the cost of a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, checked_later, dot
from crfkit.optimize.problem import Penalty, Smooth

_KEPT = 0.9  # of the average of tangents, in each step: 0.8 to 0.95 differ little


def bound_of(at: float, gradient: Floats, penalty: Penalty) -> float:
    """Return what no weights can go below, where the loss lies above 0 and above at + gradient.v for all v.

    The bound is 0 where neither penalty holds a weight.

    Examples
    --------
    >>> (
    ...     bound_of(4.0, np.array([-2.0, 0.5]), Penalty(l1=1.0)),
    ...     bound_of(4.0, np.array([-2.0]), Penalty(l2=1.0)),
    ... )
    (2.0, 2.0)
    """
    slope = np.abs(gradient)
    l1, l2 = (np.broadcast_to(each, slope.shape) for each in (penalty.l1, penalty.l2))
    above = slope > l1
    slope, l1, l2 = slope[above], l1[above], l2[above]
    hard = l2 == 0.0
    c = float(np.min(l1[hard] / slope[hard], initial=1.0))
    slope, l1, l2 = slope[~hard], l1[~hard], l2[~hard]
    for _ in range(100):  # Newton's steps come down to the best c, where the bound is level
        past = np.maximum(c * slope - l1, 0.0)
        rise = at - float(np.sum(past * slope / l2))
        if rise >= 0.0 or c <= 0.0:
            break
        c = max(c + rise / float(np.sum(np.where(past > 0.0, slope * slope / l2, 0.0))), 0.0)
    past = np.maximum(c * slope - l1, 0.0)
    return max(c * at - 0.5 * float(np.sum(past * past / l2)), 0.0)


def lower_bound(problem: Smooth, penalty: Penalty, w: Floats) -> float:
    """Return what no weights can go below, by one evaluation at w [F] of a convex loss of 0 or more.

    Examples
    --------
    >>> class Bowl:
    ...     size = 1
    ...
    ...     def value_and_grad(self, w, gradient):
    ...         gradient[:] = w - 3.0
    ...         return 0.5 * float((w - 3.0) @ (w - 3.0))
    >>> lower_bound(Bowl(), Penalty(l1=1.0), np.array([2.0]))  # the optimum: 0.5 + 2
    2.5
    >>> lower_bound(Bowl(), Penalty(l1=1.0), np.array([1.5]))
    2.25
    """
    gradient = np.empty(len(w))
    with checked_later():
        loss = problem.value_and_grad(w, gradient)
        return bound_of(loss - dot(gradient, w), gradient, penalty)


class Tangents:
    """The tangents of a convex loss of 0 or more that a run has met, and the best bound that they give.

    Parameters
    ----------
    penalty : Penalty
    size : int
        Number of weights, F.

    Examples
    --------
    Tangents of (v - 3)^2 / 2, which by themselves bound the optimum of 2.5 by 2.25 and 1.375:

    >>> tangents = Tangents(Penalty(l1=1.0), 1)
    >>> for w in (1.5, 2.5):
    ...     tangents.add((w - 3.0) ** 2 / 2.0, np.array([w - 3.0]), np.array([w]))
    >>> round(tangents.least, 2)
    2.32
    """

    def __init__(self, penalty: Penalty, size: int) -> None:
        self.penalty = penalty
        self.at = self.weight = self.least = 0.0
        self.gradient = np.zeros(size)  # [F] with `at` and `weight`, an average that forgets

    def add(self, loss: float, gradient: Floats, w: Floats) -> None:
        """Take in the tangent at w [F]."""
        at = loss - dot(gradient, w)
        self.gradient *= _KEPT
        self.gradient += gradient
        self.at, self.weight = _KEPT * self.at + at, _KEPT * self.weight + 1.0
        mixed = bound_of(self.at / self.weight, self.gradient / self.weight, self.penalty)
        self.least = max(self.least, mixed, bound_of(at, gradient, self.penalty))

    def state(self) -> dict[str, Any]:
        """Return everything as arrays."""
        return {"gradient": self.gradient.copy(), "sums": np.array([self.at, self.weight, self.least])}

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        self.gradient = state.floats("gradient", len(self.gradient))
        self.at, self.weight, self.least = state.floats("sums", 3).tolist()
