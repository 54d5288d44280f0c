"""Checks of options, made before any work begins, and the error for numbers that are too large."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

__all__ = ["NotFiniteError", "check_choice", "check_number"]


class NotFiniteError(ValueError):
    """Weights or scores are not finite: the numbers are too large to compute with."""


def check_number(name: str, given: object, least: float | None = 0, *, whole: bool = False) -> None:
    """Raise unless an option is a number, whole where that is asked for, and not below the least one.

    Examples
    --------
    >>> check_number("seed", "2")
    Traceback (most recent call last):
    TypeError: seed is '2', of type str, expected a number
    >>> check_number("dev_every", 0, 1)
    Traceback (most recent call last):
    ValueError: dev_every is 0, expected 1 or more
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"{name} is {given!r}, of type {type(given).__name__}, expected a number")
    if whole and not isinstance(given, Integral):
        raise TypeError(f"{name} is {given!r}, expected a whole number")
    number: Any = given
    if whole and number >= 2**64:
        raise ValueError(f"{name} is {given}, expected less than 2**64")
    if least is not None and not number >= least:
        raise ValueError(f"{name} is {given}, expected {least} or more")


def check_choice(name: str, given: object, choices: Sequence[str], other: str = "") -> None:
    """Raise unless an option is one of some words; `other` says what else it may be.

    Examples
    --------
    >>> check_choice("count", "sum", ("count", "value"))
    Traceback (most recent call last):
    ValueError: count is 'sum', expected "count" or "value"
    """
    if not isinstance(given, str) or given not in choices:
        *words, last = [*(f'"{choice}"' for choice in choices), *([other] if other else [])]
        error = ValueError if isinstance(given, str) else TypeError
        raise error(f"{name} is {given!r}, expected {', '.join(words)} or {last}")
