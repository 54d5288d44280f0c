"""Options that several optimizers have, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crfkit._safe.documented import Documented
from crfkit.optimize.problem import End, Stopped


def check_counts(**given: int) -> None:
    """Raise unless every option is 1 or more.

    Examples
    --------
    >>> check_counts(max_passes=0)
    Traceback (most recent call last):
    ValueError: max_passes is 0, expected 1 or more
    """
    for name, count in given.items():
        if count < 1:
            raise ValueError(f"{name} is {count}, expected 1 or more")


def check_above_zero(**given: float) -> None:
    """Raise unless every option is a finite number above 0.

    Examples
    --------
    >>> check_above_zero(eta=-1.0)
    Traceback (most recent call last):
    ValueError: eta is -1.0, expected a number above 0
    """
    for name, number in given.items():
        if not 0.0 < number < float("inf"):
            raise ValueError(f"{name} is {number}, expected a number above 0")


@dataclass(frozen=True, kw_only=True)
class _Gapped(Documented):
    """Options of methods that know how far they are from the optimum.

    Parameters
    ----------
    gap : float
        Converged when the duality gap is at most this fraction of the objective.
    """

    gap: float = 1e-3

    def __post_init__(self) -> None:
        check_above_zero(gap=self.gap)


@dataclass(frozen=True, kw_only=True)
class GapPasses(_Gapped):
    """Options of those that visit sequence by sequence.

    Parameters
    ----------
    max_passes : int
        The most passes, of as many visits as there are sequences.
    seed : int
        Seed of the order of visits.
    """

    max_passes: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(max_passes=self.max_passes)


@dataclass(frozen=True, kw_only=True)
class GapRounds(_Gapped):
    """Options of those that move once for each pass over the data.

    Parameters
    ----------
    max_iterations : int
        The most rounds, each of which is one pass over the data.
    """

    max_iterations: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(max_iterations=self.max_iterations)


@dataclass(frozen=True, kw_only=True)
class Settling(Documented):
    """Options of methods that end when the objective no longer falls.

    Parameters
    ----------
    max_passes : int
        The most passes over the data.
    period, delta : int, float
        Stop when the lowest objective has fallen by less than `delta` of itself in `period` passes.
    """

    max_passes: int = 1000
    period: int = 10
    delta: float = 1e-6

    def __post_init__(self) -> None:
        check_counts(max_passes=self.max_passes, period=self.period)

    def verdict(
        self, history: Sequence[float], now: float, passes: int, unit: str = "passes"
    ) -> Stopped | None:
        """Return an end if there is one after that many passes; `history` is of the last `period` before now.

        Examples
        --------
        >>> Settling(period=2, delta=0.1).verdict([1.0, 1.0], 0.95, 3).why
        'the objective fell by less than 0.1 of itself in 2 passes'
        """
        if len(history) == self.period and history[0] - now < self.delta * max(abs(now), 1e-300):
            why = f"the objective fell by less than {self.delta:g} of itself in {self.period} {unit}"
            return Stopped(End.SETTLED, why)
        if passes >= self.max_passes:
            return Stopped(End.LIMIT, f"the limit of {self.max_passes} {unit} is reached")
        return None
