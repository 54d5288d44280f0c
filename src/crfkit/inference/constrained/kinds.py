"""Constraints on whole labelings: how often labels occur, in how many runs, in which order.

They do not change a model or its probabilities; they say which labelings `crfkit.inference.constrained` may
return (Gupta 2005, section 4.3). Each is a rule about *occurrences*:

====================  ====================================================================================
where                 an occurrence is
====================  ====================================================================================
labels of positions   a position with the label
B-PER, I-PER, ...     of ``"B-PER"`` a position with this label; of the type ``"PER"`` a segment of this type
models of segments    a segment with the label
====================  ====================================================================================

A plain string is the exact name of a label or type; a compiled pattern matches whole labels or, where it
matches none, whole types.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from crfkit._safe.printable import cut
from crfkit.checks import in_order
from crfkit.structures.constraints import Constraint
from crfkit.structures.matching import Matcher

_MOST_COUNT = 1 << 31  # occurrences, and positions: more than any sequence has
_LARGEST = 1e100  # coefficient: sums over sequences stay finite


def _check_matcher(item: object, argument: str, value: object) -> None:
    if not isinstance(value, str | re.Pattern):
        raise TypeError(f"{item!r}: {argument} must be a label or a compiled pattern, not {value!r}")


class _Counted:
    """Checks of a label and a number of occurrences."""

    label: Matcher
    k: int

    def __post_init__(self) -> None:
        _check_matcher(self, "label", self.label)
        if isinstance(self.k, bool) or not 0 <= operator.index(self.k) <= _MOST_COUNT:
            raise ValueError(f"{cut(repr(self), 200)}: k must be 0 or more, and at most {_MOST_COUNT:,}")


@dataclass(frozen=True)
class AtMost(_Counted):
    """A label occurs at most k times.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0]])
    >>> inference.constrained(scores, [AtMost("b", 1)]).labels.tolist()
    [1, 0]
    """

    label: Matcher
    k: int


@dataclass(frozen=True)
class AtLeast(_Counted):
    """A label occurs at least k times.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0]])
    >>> inference.constrained(scores, [AtLeast("a", 1)]).labels.tolist()
    [1, 0]
    """

    label: Matcher
    k: int


@dataclass(frozen=True)
class Exactly(_Counted):
    """A label occurs exactly k times.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    >>> inference.constrained(scores, [Exactly("b", 2)]).labels.tolist()
    [1, 1, 0]
    """

    label: Matcher
    k: int


@dataclass(frozen=True)
class AtMostOnce:
    """Each label has at most one run of positions; of tags, each type has at most one segment.

    Parameters
    ----------
    labels : list of labels or compiled patterns, optional
        Where labels spell segments: of types. Default: all but the one outside, O.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[9.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> inference.constrained(scores, [AtMostOnce()]).labels.tolist()
    [0, 1, 1]
    """

    labels: Sequence[Matcher] | None = None  #: kept as a tuple

    def __post_init__(self) -> None:
        if self.labels is None:
            return
        if isinstance(self.labels, str | re.Pattern) or not isinstance(self.labels, Iterable):
            raise TypeError(f"{self!r}: labels must be None or a list of labels and compiled patterns")
        object.__setattr__(self, "labels", tuple(in_order(self.labels)))
        if not self.labels:
            raise ValueError(f"{self!r}: labels is empty; None stands for every label")
        for label in self.labels:
            _check_matcher(self, "labels", label)


class _Two:
    """Checks of two labels."""

    a: Matcher
    b: Matcher

    def __post_init__(self) -> None:
        _check_matcher(self, "a", self.a)
        _check_matcher(self, "b", self.b)


@dataclass(frozen=True)
class Before(_Two):
    """Every occurrence of a comes before every occurrence of b; either may be missing.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 2.0], [1.0, 0.0]])
    >>> inference.constrained(scores, [Before("a", "b")]).labels.tolist()
    [1, 1]
    """

    a: Matcher
    b: Matcher


@dataclass(frozen=True)
class Implies(_Two):
    """Where a occurs in a sequence, b occurs in it too.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[1.0, 0.0], [3.0, 0.0]])
    >>> inference.constrained(scores, [Implies("a", "b")]).labels.tolist()
    [1, 0]
    """

    a: Matcher
    b: Matcher


@dataclass(frozen=True)
class LinearConstraint:
    """The coefficients of all occurrences add up to at most a bound.

    Parameters
    ----------
    coefficients : mapping
        From a label or pattern to a number, or from ``(label, position)``, which counts only there: 0 is the
        first position of a sequence, -1 the last; a segment is where it begins. Numbers of several entries
        for one occurrence are added. For "at least" give negative numbers.
    bound : float

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0]])
    >>> inference.constrained(scores, [LinearConstraint({"a": -1, ("b", -1): 1}, 0)]).labels.tolist()
    [1, 0]
    """

    coefficients: Any  #: kept as a tuple of (label, position or None, number)
    bound: float

    def __post_init__(self) -> None:
        given = self.coefficients
        if isinstance(given, Mapping):
            given = tuple(
                (*(key if isinstance(key, tuple) else (key, None)), number) for key, number in given.items()
            )
        if not isinstance(given, tuple) or not given or not all(len(entry) == 3 for entry in given):
            raise TypeError(
                f"{self!r}: coefficients must map labels, or (label, position), to numbers, such as "
                "{'a': 1, ('b', 0): -1}"
            )
        for label, position, number in given:
            _check_matcher(self, "a label of coefficients", label)
            if position is not None and (isinstance(position, bool) or not isinstance(position, int)):
                raise TypeError(f"{self!r}: the position {position!r} is not a whole number")
            if position is not None and abs(position) > _MOST_COUNT:
                raise ValueError(f"{cut(repr(self), 200)}: a position is beyond {_MOST_COUNT:,}")
            if not abs(number) <= _LARGEST:  # nor nan
                raise ValueError(
                    f"{cut(repr(self), 200)}: the coefficient {cut(repr(number), 40)} is not a finite number "
                    f"up to {_LARGEST:g}"
                )
        if not abs(self.bound) <= _LARGEST:
            raise ValueError(f"{cut(repr(self), 200)}: bound must be a finite number up to {_LARGEST:g}")
        object.__setattr__(self, "coefficients", given)


GlobalConstraint: TypeAlias = AtMost | AtLeast | Exactly | AtMostOnce | Before | Implies | LinearConstraint


def check_globals(constraints: object) -> tuple[GlobalConstraint, ...]:
    """Return constraints on whole labelings as a tuple; raise a TypeError where it holds something else.

    Examples
    --------
    >>> check_globals([AtMostOnce])
    Traceback (most recent call last):
    TypeError: constraints[0] is <class 'crfkit.inference.constrained.kinds.AtMostOnce'>, not one of AtMost, \
AtLeast, Exactly, AtMostOnce, Before, Implies, LinearConstraint
    """
    if isinstance(constraints, GlobalConstraint) or not isinstance(constraints, Iterable):
        raise TypeError(f"constraints is {constraints!r}, expected a list: constraints=[...]")
    made = tuple(in_order(constraints))
    for place, item in enumerate(made):
        if isinstance(item, Constraint):
            raise TypeError(
                f"constraints[{place}] is {item!r}, which is about neighbors: give it to the structure, as "
                "in Chain(constraints=[...]), before training"
            )
        if not isinstance(item, GlobalConstraint):
            names = "AtMost, AtLeast, Exactly, AtMostOnce, Before, Implies, LinearConstraint"
            raise TypeError(f"constraints[{place}] is {item!r}, not one of {names}")
    return made
