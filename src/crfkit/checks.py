"""Checks of what is given, made before any work begins, and the error for numbers that are too large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AnySet
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from crfkit._safe.printable import cut

__all__ = [
    "NotFiniteError",
    "check_choice",
    "check_number",
    "in_order",
    "seed_of",
    "threads_of",
    "with_flat",
]

T = TypeVar("T")
#: What a parameter is called as a field of a part, where the names differ.
_FIELDS = {("Boosting", "max_iterations"): "rounds"}


class NotFiniteError(ValueError):
    """Weights or scores are not finite, or too large to compute with; `sequence` says where, if known.

    Examples
    --------
    >>> print(NotFiniteError("its scores overflow", sequence=3, position=0).after(10))
    sequence 13, position 0: its scores overflow
    """

    def __init__(self, reason: str, *, sequence: int | None = None, position: int | None = None) -> None:
        where = "" if sequence is None else f"sequence {sequence}"
        where += "" if position is None else f", position {position}"
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason, self.sequence, self.position = reason, sequence, position

    def after(self, sequences: int) -> NotFiniteError:
        """Return the same error, counted from the beginning of data with that many sequences before."""
        if self.sequence is None:
            return self
        return NotFiniteError(self.reason, sequence=self.sequence + sequences, position=self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        return _not_finite, (self.reason, self.sequence, self.position)


def _not_finite(reason: str, sequence: int | None, position: int | None) -> NotFiniteError:
    return NotFiniteError(reason, sequence=sequence, position=position)


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
    if isinstance(given, Integral) and number >= 2**64:
        raise ValueError(f"{name} is {cut(str(given), 40)}, expected less than 2**64")
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


def in_order(given: Iterable[T]) -> list[T]:
    """Return what is given, sorted where it is a set: the order of a set of strings varies between runs.

    Whatever becomes ids, weights or a file goes through here.

    Examples
    --------
    >>> in_order({"b", "a"}), in_order(["b", "a"])
    (['a', 'b'], ['b', 'a'])
    """
    if not isinstance(given, AnySet):
        return [*given]
    return sorted(given, key=lambda one: (repr(type(one)), repr(one)))


def with_flat(name: str, given: object, part: T, **flat: Any) -> T:
    """Return a part with fields that were given as parameters of their own.

    Parameters
    ----------
    name : str
        The parameter that gives the part.
    given : object
        What was given as this parameter: None, a word, or an object, beside which fields are refused.
    part : dataclass
        What that stands for.
    **flat
        Fields; None where they are not given.

    Examples
    --------
    >>> from crfkit import Stop
    >>> with_flat("stop", None, Stop(), max_iterations=3).max_iterations
    3
    >>> with_flat("stop", Stop(), Stop(), max_iterations=3)
    Traceback (most recent call last):
    ValueError: max_iterations=3 is given beside stop=Stop(...), which has max_iterations too: write \
stop=Stop(max_iterations=3)
    """
    asked = {each: value for each, value in flat.items() if value is not None}
    if not asked:
        return part
    kind, own = type(part).__name__, {f.name for f in fields(part) if f.init}  # type: ignore[arg-type]
    made = {_FIELDS.get((kind, each), each): value for each, value in asked.items()}
    for each, (own_name, value) in zip(asked, made.items(), strict=True):
        if own_name not in own:
            raise ValueError(f"{each} is {value!r}, but {kind} has no {each}: leave it out")
        if given is not None and not isinstance(given, str):
            raise ValueError(
                f"{each}={value!r} is given beside {name}={kind}(...), which has {own_name} too: write "
                f"{name}={kind}({own_name}={value!r})"
            )
    return replace(part, **made)  # type: ignore[type-var]


def threads_of(n_jobs: int | None) -> int | None:
    """Return how many threads to use; None: all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    check_number("n_jobs", n_jobs, 1, whole=True)
    return n_jobs


def seed_of(random_state: int | None) -> int:
    """Return where draws begin: anew at each call where the random state is None."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    check_number("random_state", random_state, whole=True)
    return random_state
