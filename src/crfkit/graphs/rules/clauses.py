"""What a rule asks of data, and how often each labeling satisfies it.

The literals of a rule are over kinds, whose labels are hidden, or over observed relations. For each way in
which the observed literals may be true or false, the formula is counted for all labels of the hidden ones:

    n[labels] = number of values of the label variables for which the formula is true

Where n is the same for all labels the rule says nothing. A rule must leave one way in which it says
something: that is the condition under which it is grounded, a join of the literals that must be true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.graphs.rules.texts import Rule
from crfkit.graphs.scopes.formulas import COMPARISONS, Atom, Node, Term

_MOST_AXES = 5  # hidden variables of a rule
_MOST_CELLS = 2**24  # labels x label variables x truth values of observed literals

#: Labels of a kind: how many, or their names; None: true or false.
Labels = int | tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Clause:
    """A rule, ready to be grounded."""

    rule: Rule
    axes: tuple[Atom, ...]  #: kind and objects of each hidden variable
    true: tuple[Atom, ...]  #: observed literals that must be true
    false: tuple[Atom, ...]  #: and those that must not
    compared: tuple[tuple[Atom, bool], ...]  #: comparisons and their answers
    values: tuple[str, ...]  #: variables over observed values that have a weight for each value
    labels: tuple[str, ...]  #: variables over labels that have a weight for each label
    counts: Floats  #: [L1, ..., La, weights] how often each weight's formulas are true, less the least
    broken: NDArray[np.bool_]  #: [L1, ..., La] whether some formula is false


def clause_of(rule: Rule, kinds: Mapping[str, Labels]) -> Clause:
    """Return the clause of a rule; the labels of kinds are hidden, all else is observed."""
    return _Reading(rule, kinds).clause()


class _Reading:
    def __init__(self, rule: Rule, kinds: Mapping[str, Labels]) -> None:
        self.rule, self.kinds = rule, kinds
        self.axes: dict[Atom, int] = {}  # kind and objects
        self.seen: dict[Atom, int] = {}  # observed literals and comparisons
        self.over: dict[str, Labels] = {}  # label variables
        self.plus: set[str] = set()
        objects: set[str] = set()  # variables over objects and values
        for atom in rule.formula.atoms():
            self.plus |= {str(term.value) for term in atom.terms if term.plus}
            if atom.name in kinds:
                hidden, label = self.split(atom)
                self.axes.setdefault(hidden, len(self.axes))
                objects |= set(hidden.variables)
                if label is not None and label.variable:
                    self.label_variable(str(label.value), atom.name)
            else:
                self.seen.setdefault(_bare(atom), len(self.seen))
                objects |= set(atom.variables)
        for name in self.over:
            if name in objects:
                raise ValueError(
                    f"{rule.where}: variable {name!r} is a label and an object; give a rule for each label, "
                    "as a constant in quotes"
                )
        if not self.axes:
            raise ValueError(f"{rule.where} has no kind among its predicates: {', '.join(kinds)}")
        if len(self.axes) > _MOST_AXES:
            raise ValueError(
                f"{rule.where} has {len(self.axes)} hidden variables, more than {_MOST_AXES}; split it"
            )
        self.shape = tuple(_width(kinds[atom.name]) for atom in self.axes)
        over = (_width(labels) for labels in self.over.values())
        self.sizes = (*(2 for _ in self.seen), *self.shape, *over)
        if prod(self.sizes) > _MOST_CELLS:
            raise ValueError(f"{rule.where} has a truth table of {prod(self.sizes):,} cells; split it")

    def split(self, atom: Atom) -> tuple[Atom, Term | None]:
        """Return the kind and objects of a hidden literal, and its label."""
        labels = self.kinds[atom.name]
        if labels is None:
            return _bare(atom), None
        if len(atom.terms) < 2:
            raise ValueError(
                f"{self.rule.where}: {atom} has no label; write {atom.name}(object, label), or declare "
                f"kinds={{{atom.name!r}: bool}} for what is true or false"
            )
        return _bare(Atom(atom.name, atom.terms[:-1])), atom.terms[-1]

    def label_variable(self, name: str, kind: str) -> None:
        labels = self.kinds[kind]
        if self.over.setdefault(name, labels) != labels:
            raise ValueError(f"{self.rule.where}: label {name!r} is of two kinds whose labels differ")

    def clause(self) -> Clause:
        """Count the formula for all labels, and find the condition under which it matters."""
        k, h, m = len(self.seen), len(self.axes), len(self.over)
        true = np.broadcast_to(self.truth(self.rule.formula), self.sizes)
        weighted = [i for i, name in enumerate(self.over) if name in self.plus]
        plain = tuple(k + h + i for i in range(m) if i not in weighted)
        count = true.sum(axis=plain).reshape(*self.sizes[: k + h], -1)  # [2.., L.., weights]
        cells = tuple(range(k, k + h))
        matters = (count.max(axis=cells) != count.min(axis=cells)).any(axis=-1)  # [2..]
        ways = np.argwhere(matters)
        if not len(ways):
            raise ValueError(f"{self.rule.where} says nothing: its truth does not depend on labels")
        for atom, i in self.seen.items():
            if len(set(ways[:, i].tolist())) > 1:
                raise ValueError(
                    f"{self.rule.where} depends on labels where {atom} is true and where it is false; write "
                    "a rule for each"
                )
        way = tuple(ways[0].tolist())
        full = prod(self.sizes[i] for i in plain)
        if self.rule.hard and (count[~matters] < full).any():
            raise ValueError(
                f"{self.rule.where} is hard, and false for all labels where its observed part does not hold; "
                "write observed -> labels"
            )
        here = count[way].astype(np.float64)
        observed = [(atom, bool(way[i])) for atom, i in self.seen.items()]
        relations = [(atom, answer) for atom, answer in observed if atom.name not in COMPARISONS]
        return Clause(
            self.rule,
            tuple(self.axes),
            tuple(atom for atom, answer in relations if answer),
            tuple(atom for atom, answer in relations if not answer),
            tuple((atom, answer) for atom, answer in observed if atom.name in COMPARISONS),
            tuple(sorted(self.plus - {*self.over})),
            tuple(name for name in self.over if name in self.plus),
            here - here.reshape(-1, here.shape[-1]).min(axis=0),
            (here < full).any(axis=-1),
        )

    def truth(self, formula: Node) -> NDArray[np.bool_]:
        """Return where a formula is true, an array that broadcasts over all axes."""
        if formula.atom is not None:
            return self.literal(formula.atom)
        parts = [self.truth(part) for part in formula.parts]
        if formula.op == "!":
            return ~parts[0]
        left, right = parts
        if formula.op == "&":
            return left & right
        if formula.op == "|":
            return left | right
        return ~left | right if formula.op == "->" else left == right

    def literal(self, atom: Atom) -> NDArray[np.bool_]:
        if atom.name not in self.kinds:
            return np.equal(self.along(self.seen[_bare(atom)]), 1)
        hidden, label = self.split(atom)
        its = self.along(len(self.seen) + self.axes[hidden])
        if label is None:
            return np.equal(its, 1)
        if label.variable:
            after = len(self.seen) + len(self.axes)
            return np.equal(its, self.along(after + [*self.over].index(str(label.value))))
        return np.equal(its, self.label(atom.name, label))

    def label(self, kind: str, term: Term) -> int:
        labels = self.kinds[kind]
        if isinstance(labels, tuple) and isinstance(term.value, str) and term.value in labels:
            return labels.index(term.value)
        if isinstance(labels, int) and isinstance(term.value, int) and 0 <= term.value < labels:
            return term.value
        known = f"0 to {labels - 1}" if isinstance(labels, int) else ", ".join(map(repr, labels or ()))
        raise ValueError(f"{self.rule.where}: {term} is not a label of kind {kind!r}: {known}")

    def along(self, axis: int) -> NDArray[np.int64]:
        shape = [1] * len(self.sizes)
        shape[axis] = self.sizes[axis]
        return np.arange(self.sizes[axis]).reshape(shape)


def _width(labels: Labels) -> int:
    return 2 if labels is None else labels if isinstance(labels, int) else len(labels)


def _bare(atom: Atom) -> Atom:
    """Return the atom without marks of weights."""
    return Atom(atom.name, tuple(Term(term.value, term.variable) for term in atom.terms))
