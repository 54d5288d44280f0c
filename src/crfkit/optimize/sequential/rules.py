"""Update rules of perceptrons, as the native loop takes them, and Hildreth's procedure for k labelings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crfkit.arrays import Floats

PERCEPTRON, PASSIVE, CONFIDENCE, BOUNDED = range(4)  # `Remedy` of cpp/shared/learned.hpp
ONE, ROOT, ERRORS = range(3)  # `Margin` of it
_SWEEPS = 10_000


class Rule(NamedTuple):
    """How weights change after a mistake; see `Mistakes` of cpp/shared/learned.hpp."""

    remedy: int  #: PERCEPTRON, PASSIVE, CONFIDENCE or BOUNDED
    averaged: bool = False
    margin: int = ERRORS  #: by which the gold must be above m wrong labels: ONE, ROOT (of m) or ERRORS (m)
    kbest: int = 1  #: how many of the best labelings the gold is set apart from
    most: float = np.inf  #: the longest step; BOUNDED: the sum of the steps of one sequence
    slack: float = 0.0  #: added to the squared length of a difference
    gamma: float = 1.0  #: how little variances shrink


def hildreth(product: Floats, cost: Floats, most: float) -> Floats:
    """Return steps a [k], 0 to `most` each, that maximize a.cost - a.product.a / 2: Hildreth (1957).

    With the products of vectors d_j, sum_j a_j d_j is the shortest x such that d_j.x >= cost_j for all j,
    where no step is at its bound. One step after the other goes to its best value, until none moves.

    Examples
    --------
    >>> d = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> hildreth(d @ d.T, np.array([1.0, 3.0]), np.inf).round(6).tolist()
    [0.0, 1.5]
    """
    step, missing, square = np.zeros(len(cost)), cost.copy(), np.diag(product)
    for _ in range(_SWEEPS):
        largest = 0.0
        for j in np.flatnonzero(square > 0.0).tolist():
            wanted = min(max(step[j] + missing[j] / square[j], 0.0), most)
            change = wanted - step[j]
            step[j] = wanted
            missing -= change * product[j]
            largest = max(largest, abs(change) * square[j])
        if largest <= 1e-12:
            break
    return step
