"""How long training will go on: by the trend of the certified gap (or the gradient), or by the budget."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats

__all__ = ["seconds_left"]

_LAST = 8  # steps that make the trend


def seconds_left(
    seconds: Floats,
    excess: Floats,
    tolerance: float,
    *,
    max_seconds: float | None = None,
    max_iterations: int | None = None,
) -> float:
    """Return how many seconds are left at most, by whatever comes first; nan when nothing can be said.

    Parameters
    ----------
    seconds, excess : array [iterations]
        When each step ended, and how far from the optimum it was at most, as a fraction.
    tolerance : float
        The fraction at which training ends; 0 for none.
    max_seconds, max_iterations
        The budget.

    Examples
    --------
    >>> import numpy as np
    >>> round(seconds_left(np.arange(1.0, 5.0), 10.0 ** -np.arange(4.0), 1e-5), 3)
    2.0
    """
    n = len(seconds)
    ends = []
    if max_seconds is not None and n:
        ends.append(max_seconds - seconds[-1])
    if max_iterations is not None and n:
        first = max(n - _LAST, 0)
        pace = (seconds[-1] - seconds[first]) / (n - 1 - first) if n - 1 > first else seconds[-1] / n
        ends.append(pace * (max_iterations - n))
    recent = slice(max(n - _LAST, 0), n)
    t, e = seconds[recent], excess[recent]
    usable = np.isfinite(e) & (e > 0.0)
    if tolerance > 0.0 and np.count_nonzero(usable) >= 3:
        x, y = t[usable], np.log(e[usable])
        x = x - x.mean()
        slope = float(x @ (y - y.mean())) / max(float(x @ x), 1e-300)
        if slope < 0.0:
            ends.append((np.log(tolerance) - y[-1]) / slope)
    return max(float(min(ends)), 0.0) if ends else float("nan")
