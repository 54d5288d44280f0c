"""Small quadratic programs over a simplex, solved exactly by an active set.

    max b.x - 1/2 x.G.x   where x >= 0, sum x = 1

G is a Gram matrix, perhaps singular: cutting planes repeat themselves near the optimum.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats, Pointers, solved

_ROUNDING = 1e-12  # of the largest number involved


def maximum_on_simplex(gram: Floats, linear: Floats, x: Floats) -> Floats:
    """Return the shares [m] of the maximum.

    Parameters
    ----------
    gram : array [m, m]
        Positive semi-definite.
    linear : array [m]
    x : array [m]
        Shares to begin at: 0 or more, with the sum 1. The result is nowhere worse than these.

    Examples
    --------
    >>> maximum_on_simplex(np.diag([1.0, 3.0]), np.zeros(2), np.array([1.0, 0.0])).round(9).tolist()
    [0.75, 0.25]
    >>> maximum_on_simplex(np.eye(2), np.array([0.0, 5.0]), np.array([1.0, 0.0])).tolist()
    [0.0, 1.0]
    """
    m, x = len(linear), x.copy()
    scale = max(float(np.abs(linear).max()), float(gram.diagonal().max()), np.finfo(np.float64).tiny)
    free = x > 0.0
    for _ in range(20 * m + 20):  # a round adds or removes one; each set comes once, but for rounding
        target, price = _free_maximum(gram, linear, np.flatnonzero(free), scale)
        if target.min() >= 0.0:
            x = target
            slope = linear - gram @ x - price  # [m]
            slope[free] = -np.inf
            entering = int(np.argmax(slope))
            if slope[entering] <= _ROUNDING * scale:
                break
            free[entering] = True
        else:
            falling = np.flatnonzero(target < 0.0)
            ratio = x[falling] / (x[falling] - target[falling])
            first = int(np.argmin(ratio))
            x = np.maximum(x + ratio[first] * (target - x), 0.0)
            x[falling[first]] = 0.0
            free[falling[first]] = False
    return np.asarray(x / x.sum())


def _free_maximum(gram: Floats, linear: Floats, at: Pointers, scale: float) -> tuple[Floats, float]:
    """Return the maximum [m] where only some shares are free, of any sign, and what more sum is worth."""
    k = len(at)
    system = np.ones((k + 1, k + 1))
    system[:k, :k] = gram[np.ix_(at, at)]
    system[np.arange(k), np.arange(k)] += _ROUNDING * scale  # keeps repeated constraints apart
    system[k, k] = 0.0
    free = solved(system, np.append(linear[at], 1.0))
    found = np.zeros(len(linear))
    found[at] = free[:k]
    return found, float(free[k])
