"""Constraints on the labels of a chain, or on the segment labels of a semi-Markov model.

They are written without a label list and resolved against the labels of a structure; what they
exclude scores -inf there, in training as in every query. A plain string is the exact name of a
label (``"."`` and ``"("`` are labels in real corpora), a compiled pattern matches whole labels.
Which tags a `Scheme` allows after which is in the table of `crfkit.tags.schemes`.
"""

import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from crfkit.structures.chains.expansion import Expansion, Ints, Mask, expand, useful
from crfkit.structures.matching import START, STOP, Boundary, Matcher, fitting_pairs, matching
from crfkit.tags.schemes import Scheme, steps

__all__ = [
    "START",
    "STOP",
    "Boundary",
    "Constraint",
    "Forbid",
    "Matcher",
    "Require",
    "Resolved",
    "Scheme",
    "SegmentLength",
    "check_constraints",
    "resolve",
]


@dataclass(frozen=True)
class Forbid:
    r"""A label may not follow another, or may not be first (``START``) or last (``STOP``).

    With only ``pair`` the pattern is matched against ``"before,after"`` for every two labels.

    Examples
    --------
    >>> resolved = resolve([Forbid("a", "b"), Forbid("b", STOP)], ["a", "b"])
    >>> resolved.transition.tolist(), resolved.stop.tolist()
    ([[True, False], [True, True]], [True, False])
    >>> resolve([Forbid(pair=re.compile(r"(.*),\1"))], ["a", "b"]).transition.tolist()
    [[False, True], [True, False]]
    """

    before: Matcher | Boundary | None = None
    after: Matcher | Boundary | None = None
    pair: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        if self.pair is None:
            _check_ends(self, self.before, self.after)
        elif self.before is not None or self.after is not None:
            raise ValueError(f"{self!r}: give before and after, or pair, not both")
        else:
            _check(self, "pair", "a compiled pattern (re.compile)", self.pair, (re.Pattern,))


@dataclass(frozen=True)
class Require:
    """Each label matched by ``before`` is followed by one matched by ``after``.

    That one must exist, so ``before`` cannot be last. ``Require(START, x)``: the first label is x;
    ``Require(x, STOP)``: x can only be last. Several requirements of one label hold together.

    Examples
    --------
    >>> resolved = resolve([Require("a", "b")], ["a", "b"])
    >>> resolved.transition.tolist(), resolved.stop.tolist()
    ([[False, True], [True, True]], [False, True])
    """

    before: Matcher | Boundary
    after: Matcher | Boundary

    def __post_init__(self) -> None:
        _check_ends(self, self.before, self.after)


@dataclass(frozen=True)
class SegmentLength:
    """Segments of a type (None: of every type) have ``minimum`` to ``maximum`` positions.

    With a `Scheme` segments and types are the scheme's, and ``outside`` is not a segment. Without one a
    segment of a chain is a longest stretch of one label, which is its type.

    Examples
    --------
    >>> resolved = resolve([SegmentLength("a", maximum=2)], ["a", "b"])
    >>> resolved.accepts([0, 0, 1, 0]), resolved.accepts([1, 0, 0, 0])
    (True, False)
    """

    label_type: Matcher | None
    minimum: int = 1
    maximum: int | None = None

    def __post_init__(self) -> None:
        expected = "a type, a compiled pattern or None"
        _check(self, "label_type", expected, self.label_type, (str, re.Pattern, type(None)))
        if operator.index(self.minimum) < 1:
            raise ValueError(f"{self!r}: minimum must be 1 or more")
        if self.maximum is not None and operator.index(self.maximum) < self.minimum:
            raise ValueError(f"{self!r}: maximum must be None or at least minimum")


Constraint: TypeAlias = Scheme | Forbid | Require | SegmentLength


@dataclass(frozen=True, eq=False)
class Resolved:
    """What constraints mean for given labels; the first three fields leave lengths aside."""

    transition: Mask  # [L, L] allowed from row to column
    start: Mask  # [L]
    stop: Mask  # [L]
    continues: Mask  # [L, L] the column's label goes on with the row's segment
    min_length: Ints  # [L] of a segment that the label is (part of)
    max_length: Ints  # [L] 0: unlimited
    expansion: Expansion | None  # None without SegmentLength, and for labels of whole segments

    def accepts(self, labels: Sequence[int]) -> bool:
        """Return whether a whole sequence of label ids obeys every constraint; the empty one does.

        For labels of whole segments (``segments=True``), only the order is checked.

        Examples
        --------
        >>> resolve([Require("a", "b")], ["a", "b"]).accepts([0, 1, 0])
        False
        """
        for position, label in enumerate(labels):
            if not 0 <= label < len(self.start):
                raise ValueError(f"labels[{position}] is {label}, expected 0 to {len(self.start) - 1}")
        if len(labels) == 0:
            return True
        if not (self.start[labels[0]] and self.stop[labels[-1]]):
            return False
        if not all(self.transition[a, b] for a, b in pairwise(labels)):
            return False
        if self.expansion is None:
            return True
        runs = [[labels[0], 1]]
        for a, b in pairwise(labels):
            if self.continues[a, b]:
                runs[-1][1] += 1
            else:
                runs.append([b, 1])
        return all(
            self.min_length[label] <= length <= (self.max_length[label] or length) for label, length in runs
        )


def check_constraints(constraints: object) -> None:
    """Raise a TypeError where a list of constraints holds something else.

    Examples
    --------
    >>> check_constraints(["BIO"])
    Traceback (most recent call last):
    TypeError: constraints[0] is 'BIO', not a Scheme, Forbid, Require or SegmentLength
    """
    if isinstance(constraints, Constraint) or not isinstance(constraints, Iterable):
        raise TypeError(f"constraints is {constraints!r}, expected a list: constraints=[...]")
    for place, item in enumerate(constraints):
        if not isinstance(item, Constraint):
            raise TypeError(
                f"constraints[{place}] is {item!r}, not a Scheme, Forbid, Require or SegmentLength"
            )


def resolve(constraints: Iterable[Constraint], labels: Sequence[str], *, segments: bool = False) -> Resolved:
    """Return what constraints mean for the labels of a structure; all of them hold, in any order.

    Parameters
    ----------
    constraints
        Any number of `Forbid`, `Require` and `SegmentLength`, and at most one `Scheme`.
    labels
        Distinct label names; an id is a place in this list.
    segments
        Whether a label stands for a whole segment (semi-Markov) and not for one position. Lengths
        are then left to ``min_length`` and ``max_length``, without an expansion.

    Examples
    --------
    >>> limited = resolve([SegmentLength("a", minimum=2)], ["a", "b"]).expansion
    >>> limited.state_label.tolist(), limited.start.tolist(), limited.stop.tolist()
    ([0, 0, 1], [True, False, True], [False, True, True])
    """
    constraints, names, L = list(constraints), list(labels), len(labels)
    if L == 0:
        raise ValueError("labels is empty; give at least one label")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"labels has {repeated} more than once; give each label one id")
    check_constraints(constraints)
    schemes = [item for item in constraints if isinstance(item, Scheme)]
    if len(schemes) > (0 if segments else 1):
        most = "labels of whole segments take none" if segments else "keep one"
        raise ValueError(f"constraints has the schemes {schemes}; {most}")

    allowed = np.ones((L + 1, L + 1), dtype=np.bool_)  # [L + 1, L + 1] last row START, column STOP
    continues = np.eye(L, dtype=np.bool_) & (not segments)  # [L, L]
    types: list[str | None] = list(names)
    for scheme in schemes:
        allowed, continues, types = steps(scheme, names)
    limits: list[SegmentLength] = []
    excluded: list[tuple[Mask, Mask]] = []  # labels before and after, [L + 1] each
    for item in constraints:
        if isinstance(item, SegmentLength):
            limits.append(item)
        elif isinstance(item, Forbid) and item.pair is not None:
            found = fitting_pairs(item.pair, names)
            if not found.any():
                shown = f"{names[0]},{names[-1]}"
                raise ValueError(f"{item!r}: {item.pair!r} matches no pair; pairs are written as {shown}")
            allowed[:L, :L] &= ~found
        elif isinstance(item, Forbid | Require):
            before = matching(item, item.before, names, "label")  # [L + 1]
            after = matching(item, item.after, names, "label")  # [L + 1]
            excluded.append((before, after if isinstance(item, Forbid) else ~after))
    if excluded:  # one product: an outer product for each would take as many passes over the table
        firsts, seconds = (np.array(side, dtype=np.float32) for side in zip(*excluded, strict=True))
        allowed &= firsts.T @ seconds == 0.0
    transition, start, stop = allowed[:L, :L].copy(), allowed[L, :L].copy(), allowed[:L, L].copy()

    minimum, maximum = _measure(limits, types)
    possible = useful(transition, start, stop).any()
    expansion = None
    if limits and not segments:
        expansion = expand(transition, start, stop, continues, minimum, maximum)
        possible = expansion.start.any()
    if not possible:
        why = "no label may be first" if not start.any() else "no first label leads to a last one"
        raise ValueError(f"constraints {constraints} exclude every sequence: {why}; loosen one")
    return Resolved(transition, start, stop, continues, minimum, maximum, expansion)


def _check(item: object, argument: str, expected: str, value: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        raise TypeError(f"{item!r}: {argument} must be {expected}, not {value!r}")


def _check_ends(item: object, before: object, after: object) -> None:
    for argument, value, end in (("before", before, START), ("after", after, STOP)):
        expected = f"a label, a compiled pattern or {end!r}"
        _check(item, argument, expected, value, (str, re.Pattern, Boundary))
        if isinstance(value, Boundary) and value is not end:
            raise ValueError(f"{item!r}: {argument} must be {expected}, not {value!r}")
    if before is START and after is STOP:
        raise ValueError(f"{item!r}: the empty sequence is always allowed; name a label")


def _measure(limits: Sequence[SegmentLength], types: Sequence[str | None]) -> tuple[Ints, Ints]:
    """Return the shortest and longest segment of each label's type, [L] each; 0: unlimited."""
    kinds = list(dict.fromkeys(kind for kind in types if kind is not None))
    shortest, longest = dict.fromkeys(kinds, 1), dict.fromkeys(kinds, 0)
    for item in limits:
        matched = matching(item, item.label_type, kinds, "segment type")[:-1]
        for kind in (kind for kind, chosen in zip(kinds, matched, strict=True) if chosen):
            shortest[kind] = max(shortest[kind], item.minimum)
            if item.maximum is not None:
                longest[kind] = min(longest[kind] or item.maximum, item.maximum)
            if 0 < longest[kind] < shortest[kind]:
                raise ValueError(
                    f"constraints {list(limits)} together ask segments {kind!r} for at least "
                    f"{shortest[kind]} and at most {longest[kind]} positions; loosen one"
                )
    minimum = np.array([1 if kind is None else shortest[kind] for kind in types])  # [L]
    maximum = np.array([0 if kind is None else longest[kind] for kind in types])  # [L]
    return minimum, maximum
