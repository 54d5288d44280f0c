"""`Stop`: the options that say when training ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crfkit.checks import check_number

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """When training ends.

    Parameters
    ----------
    patience : float, optional
        Training ends when the best dev score is so many passes over the data old, and the objective fell by
        less than 1 % in as many passes; before it settles, dev scores do not end it. None: never.
        Passes are counted as `Step.evaluations` are, the same for every optimizer.
    dev_every : int, optional
        Steps between dev evaluations. Default: after each step, but with passes over the data between them
        as five times the size of the dev set over that of the data, so that they take about a third of the
        time at most.
    tolerance : float, optional
        End when the objective is certified to be at most this fraction above its optimum. Default: 1e-4 with
        an optimizer given by name; one given as an object ends by its own rules. 0: never.
    max_seconds, max_iterations : optional
        The budget, over all resumed runs. Training ends with the step that uses it up.

    Examples
    --------
    >>> Stop(max_iterations=50).patience
    10
    >>> Stop(dev_every=0)
    Traceback (most recent call last):
    ValueError: dev_every is 0, expected 1 or more
    """

    patience: float | None = 10
    dev_every: int | None = None
    tolerance: float | None = None
    max_seconds: float | None = None
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("patience", 1),
            ("dev_every", 1),
            ("tolerance", 0),
            ("max_seconds", 0),
            ("max_iterations", 0),
        ):
            given = getattr(self, name)
            if given is not None:
                check_number(name, given, least)

    @classmethod
    def of(cls, given: Any) -> Stop:
        """Return a Stop, or raise an error that says what to write."""
        if isinstance(given, cls):
            return given
        raise TypeError(f"stop is {given!r}, expected Stop(...), as in stop=Stop(max_iterations=50)")
