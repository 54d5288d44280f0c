"""Constraints on whole labelings as plain data, as model files keep them (see `crfkit.structures.rules`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from crfkit._safe.printable import cut
from crfkit.inference.constrained.kinds import (
    AtLeast,
    AtMost,
    AtMostOnce,
    Before,
    Exactly,
    GlobalConstraint,
    Implies,
    LinearConstraint,
)
from crfkit.inference.constrained.resolve import names_for, rules_of
from crfkit.structures.matching import Boundary, Matcher, fitting
from crfkit.structures.rules import MOST_STEPS, matcher_of, matcher_steps, plain_matcher

_COUNTS = {kind.__name__: kind for kind in (AtMost, AtLeast, Exactly)}
_PAIRS = {kind.__name__: kind for kind in (Before, Implies)}
_MOST_WORK = 1 << 26  # cells of the tables of all labels that are named: a second


_MOST = 10_000  # constraints of a file


def plain_globals(constraints: Iterable[GlobalConstraint], structure: Any) -> list[dict[str, Any]]:
    """Return constraints as dicts, lists and strings.

    Examples
    --------
    >>> from crfkit import Chain
    >>> plain_globals([AtMost("a", 1)], Chain(["a", "b"]))
    [{'kind': 'AtMost', 'label': 'a', 'k': 1}]
    """
    names, made = names_for(structure), []
    for item in constraints:
        plain: dict[str, Any] = {"kind": type(item).__name__}
        if isinstance(item, AtMostOnce):
            plain["labels"] = (
                None if item.labels is None else [plain_matcher(one, names) for one in item.labels]
            )
        elif isinstance(item, LinearConstraint):
            plain["terms"] = [[plain_matcher(y, names), at, float(c)] for y, at, c in item.coefficients]
            plain["bound"] = float(item.bound)
        elif isinstance(item, Before | Implies):
            plain |= {"a": plain_matcher(item.a, names), "b": plain_matcher(item.b, names)}
        else:
            plain |= {"label": plain_matcher(item.label, names), "k": int(item.k)}
        made.append(plain)
    globals_of(made, structure)  # what cannot be read back is not written
    return made


def globals_of(plain: object, structure: Any) -> tuple[GlobalConstraint, ...]:
    """Return the constraints that `plain_globals` described; raise a ValueError on anything else.

    Examples
    --------
    >>> from crfkit import Chain
    >>> globals_of([{"kind": "AtMostOnce", "labels": None}], Chain(["a", "b"]))
    (AtMostOnce(labels=None),)
    """
    if not isinstance(plain, list) or not all(isinstance(entry, dict) for entry in plain):
        raise ValueError("the constraints on whole labelings are not a list")
    if len(plain) > _MOST:
        raise ValueError(f"there are {len(plain):,} constraints on whole labelings, more than {_MOST:,}")
    reading = _Reading(structure)
    made = tuple(reading.constraint(entry) for entry in plain)
    parts = sum(rule.parts for _, rule in rules_of(made, structure))
    if parts > _MOST:
        raise ValueError(f"the constraints name {parts:,} labels in all, more than {_MOST:,}")
    return made


class _Reading:
    """Reads plain constraints, and counts what resolving them will cost."""

    def __init__(self, structure: Any) -> None:
        self.names, self.cells = names_for(structure), len(structure.labels) * (len(structure.labels) + 1)
        self.lengths = Counter(map(len, self.names))
        self.work, self.steps = 0, 0.0

    def constraint(self, entry: dict[str, Any]) -> GlobalConstraint:
        """Return one constraint."""
        kind = entry.get("kind")
        try:
            if kind == "AtMostOnce":
                given = entry["labels"]
                self._count(1)
                return AtMostOnce(None if given is None else tuple(self._matcher(one) for one in given))
            if kind == "LinearConstraint":
                terms = tuple((self._matcher(y), at, float(c)) for y, at, c in entry["terms"])
                return LinearConstraint(terms, float(entry["bound"]))
            if kind in _PAIRS:
                return _PAIRS[kind](self._matcher(entry["a"]), self._matcher(entry["b"]))
            if kind in _COUNTS:
                return _COUNTS[kind](self._matcher(entry["label"]), entry["k"])
        except (KeyError, TypeError):
            pass  # a message of its own, below
        raise ValueError(f"a constraint on whole labelings is damaged: {cut(str(entry), 200)}")

    def _count(self, listed: int) -> None:
        """Count a table of all steps, and names that are compared with those of all labels."""
        self.work += self.cells + listed * len(self.names)
        if self.work > _MOST_WORK:
            raise ValueError(f"the constraints are too many or too large for {len(self.names)} labels")

    def _matcher(self, plain: object) -> Matcher:
        made = matcher_of(plain)
        listed = len(plain["names"]) if isinstance(plain, dict) and "names" in plain else 1
        self._count(listed)
        if made is not None and not isinstance(made, Boundary):
            self.steps += matcher_steps(made, self.lengths)
            if self.steps > MOST_STEPS:
                raise ValueError(f"a constraint takes too long on such labels: {cut(str(plain), 200)}")
            if any(fitting(made, self.names)):
                return made
        raise ValueError(f"a constraint names labels that the model does not have: {cut(str(plain), 200)}")
