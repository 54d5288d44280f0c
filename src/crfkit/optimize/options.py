"""Checks of options that several optimizers have."""

from __future__ import annotations

__all__ = ["check_above_zero", "check_counts"]


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
