"""What constraints on whole labelings mean for the labels of a structure: a rule for each constraint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from crfkit.arrays import Bools
from crfkit.inference.constrained.kinds import (
    AtLeast,
    AtMost,
    AtMostOnce,
    Exactly,
    GlobalConstraint,
    Implies,
    LinearConstraint,
    check_globals,
)
from crfkit.inference.constrained.rules import Order, Presence, Rule, Totals, Weighted
from crfkit.structures.constraints import Scheme
from crfkit.structures.matching import Matcher, matching
from crfkit.tags.detection import scheme_in
from crfkit.tags.schemes import steps


def rules_of(constraints: Iterable[GlobalConstraint], structure: Any) -> list[tuple[GlobalConstraint, Rule]]:
    """Return what constraints mean for the labels of a structure, each with its rule.

    Examples
    --------
    >>> from crfkit import Chain
    >>> from crfkit.inference.constrained.rules import steps_of
    >>> from crfkit.structures.gold import Path
    >>> path = Path(np.array([0, 3]), np.array([1, 0, 1], dtype=np.int32))
    >>> [rule.broken(steps_of(path, 2)).tolist() for _, rule in rules_of([AtMostOnce()], Chain(["a", "b"]))]
    [[[False, True]]]
    """
    reading = _Reading(structure)
    return [(item, reading.rule(item)) for item in dict.fromkeys(check_globals(constraints))]


def names_for(structure: Any) -> list[str]:
    """Return what constraints may name: labels and, where these spell segments, types.

    Examples
    --------
    >>> from crfkit import Chain
    >>> names_for(Chain(["O", "B-PER", "I-PER"]))
    ['O', 'B-PER', 'I-PER', 'PER']
    """
    reading = _Reading(structure)
    return [*reading.labels, *(reading.kinds if reading.spells else [])]


class _Reading:
    """How the labels of a structure are read: as labels of positions, of segments, or as tags."""

    def __init__(self, structure: Any) -> None:
        self.labels: tuple[str, ...] = structure.labels
        L = len(self.labels)
        self.types: list[str | None] = [None if name == "O" else name for name in self.labels]
        self.begins = np.ones((L + 1, L), np.bool_)  # steps that begin a run or a segment
        self.spells = False
        self._found: dict[Matcher, Bools] = {}  # [L + 1, L] each
        if structure.segmental:
            return
        declared = [rule for rule in structure.constraints if isinstance(rule, Scheme)]
        scheme = declared[0] if declared else scheme_in(self.labels)
        self.begins[:L] = ~np.eye(L, dtype=np.bool_)
        if scheme is not None:
            _, continues, self.types = steps(scheme, self.labels)
            self.begins[:L] = ~continues
            self.spells = True

    @property
    def kinds(self) -> list[str]:
        """The types of segments, or all labels but O."""
        return list(dict.fromkeys(kind for kind in self.types if kind is not None))

    def rule(self, item: GlobalConstraint) -> Rule:
        """Return the rule of one constraint."""
        if isinstance(item, AtMostOnce):
            return self._once(item)
        if isinstance(item, AtMost | AtLeast | Exactly):
            least = 0 if isinstance(item, AtMost) else item.k
            most = np.inf if isinstance(item, AtLeast) else item.k
            group = self._occurs(item, item.label).astype(np.int8) - np.int8(1)
            return Totals(group, np.array([float(least)]), np.array([float(most)]))
        if isinstance(item, LinearConstraint):
            terms = tuple(
                (self._occurs(item, label), position, float(number))
                for label, position, number in item.coefficients
            )
            bounds = np.array([-np.inf]), np.array([float(item.bound)])
            return Weighted(np.zeros((0, 0), np.int64), *bounds, terms)
        a, b = self._occurs(item, item.a), self._occurs(item, item.b)
        if isinstance(item, Implies):
            return Presence(a, b)
        shared = np.flatnonzero((a & b).any(axis=0)).tolist()
        if shared:
            both = ", ".join(self.labels[y] for y in shared)
            raise ValueError(f"{item!r}: a and b both match {both}, which cannot come before itself")
        return Order(a, b)

    def _occurs(self, item: object, matcher: Matcher) -> Bools:
        """Mark the steps that are an occurrence: with the label or, where no label fits, of a new segment."""
        if matcher not in self._found:
            self._found[matcher] = self._occurrences(item, matcher)
        return self._found[matcher]

    def _occurrences(self, item: object, matcher: Matcher) -> Bools:
        L = len(self.labels)
        kinds = self.kinds if self.spells else []
        found = matching(item, matcher, [*self.labels, *kinds], "label")
        if found[:L].any():
            return np.broadcast_to(found[:L], (L + 1, L))
        chosen = {kind for kind, yes in zip(kinds, found[L:-1], strict=True) if yes}
        return np.asarray(self.begins & np.array([kind in chosen for kind in self.types]))

    def _once(self, item: AtMostOnce) -> Rule:
        """Return the rule that each type (without a scheme: label) has one run at most."""
        kinds = self.kinds
        if item.labels is not None:
            names = kinds if self.spells else list(self.labels)
            marks = [
                matching(item, matcher, names, "segment type" if self.spells else "label")[:-1]
                for matcher in item.labels
            ]
            kinds = [name for name, yes in zip(names, np.any(marks, axis=0), strict=True) if yes]
        types = self.types if self.spells else self.labels
        number = {kind: i for i, kind in enumerate(kinds)}
        dtype = np.min_scalar_type(-1 - len(kinds))
        group = np.array([number.get(kind, -1) if kind is not None else -1 for kind in types], dtype)  # [L]
        groups = np.where(self.begins, group, dtype.type(-1))
        return Totals(groups, np.full(len(kinds), -np.inf), np.ones(len(kinds)))
