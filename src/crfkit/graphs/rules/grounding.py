"""Grounding: the rows of observed relations for which a rule says something, as factors of a clique."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Ids, Ragged, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.graphs.rules.clauses import Clause
from crfkit.graphs.scopes.bindings import Bindings, Rows, solve
from crfkit.graphs.scopes.columns import codes
from crfkit.graphs.scopes.formulas import Atom, Term
from crfkit.graphs.scopes.matching import merged
from crfkit.structures.graphs.clique_features import CliqueFeatures


@dataclass(frozen=True)
class Objects:
    """What the variables of a kind are about."""

    size: int
    table: tuple[NDArray[Any], ...] | None  #: objects of each variable; None: variable i is about object i


@dataclass(frozen=True)
class Ground:
    """The factors of a rule."""

    scope: Ids  #: [M, arity], numbered within kinds
    features: CliqueFeatures | None  #: how often each factor counts, by attribute


def ground(
    clause: Clause,
    relations: Mapping[str, tuple[NDArray[Any], ...]],
    objects: Mapping[str, Objects],
    limit: int,
) -> Ground:
    """Return the factors of a rule; factors with the same variables are put together, and counted."""
    found = _bindings(clause, relations, objects, limit)
    scope = [
        found.columns[_variable(i)]
        if objects[atom.name].table is not None
        else _numbers(clause, found, atom, objects[atom.name].size)
        for i, atom in enumerate(clause.axes)
    ]
    found, scope = _without_repeats(clause, found, scope)
    rule = clause.rule
    if rule.weight is not None:
        return Ground(_stack(scope), None)
    if rule.hard or not clause.values:
        first, count = merged(scope)
        kept = _stack([column[first] for column in scope])
        times = None if rule.hard else CliqueFeatures(1, dense=count.astype(np.float64)[:, None])
        return Ground(kept, times)
    return _by_values(clause, found, scope)


def _bindings(
    clause: Clause,
    relations: Mapping[str, tuple[NDArray[Any], ...]],
    objects: Mapping[str, Objects],
    limit: int,
) -> Bindings:
    where = clause.rule.where
    tables = [Rows(f"{where}: {atom}", atom.terms, relations[atom.name]) for atom in clause.true]
    for i, atom in enumerate(clause.axes):
        its = objects[atom.name]
        if its.table is not None:
            number = Term(_variable(i), variable=True)
            columns = (*its.table, np.arange(its.size))
            tables.append(Rows(f"{where}: {atom}", (*atom.terms, number), columns))
    bound = {name for table in tables for name in Atom("", table.terms).variables}
    for atom in clause.axes:
        for name in atom.variables:
            if objects[atom.name].table is None and name not in bound:  # all objects of the kind
                bound.add(name)
                term = Term(name, variable=True)
                tables.append(Rows(f"{where}: {atom}", (term,), (np.arange(objects[atom.name].size),)))
    asked = [name for atom in clause.false for name in atom.variables]
    asked += [name for atom, _ in clause.compared for name in atom.variables]
    for name in [*asked, *clause.values]:
        if name not in bound:
            raise ValueError(
                f"variable {name!r} of {where} occurs in no observed relation that must be true, and in no "
                "kind: its values are not known"
            )
    found = solve(tables, limit)
    for atom, answer in clause.compared:
        found.compare(atom, answer)
    for atom in clause.false:
        found.without(Rows(f"{where}: {atom}", atom.terms, relations[atom.name]))
    return found


def _variable(axis: int) -> str:
    """Return the name of the column with the number of a hidden variable; no name of a rule is like it."""
    return f"variable {axis}"


def _numbers(clause: Clause, found: Bindings, atom: Atom, size: int) -> NDArray[Any]:
    """Return the variable of each row, for a kind whose variable i is about object i."""
    column = np.broadcast_to(found.values(atom.terms[0]), (found.rows,))
    if column.dtype.kind not in "iu":
        raise ValueError(f"{clause.rule.where}: {atom} needs the numbers of objects, not text")
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= size):
        bad = column[(column < 0) | (column >= size)][0]
        raise ValueError(
            f"{clause.rule.where}: {atom} is about object {bad}; kind {atom.name!r} has {size}: 0 to "
            f"{size - 1}"
        )
    return column


def _without_repeats(
    clause: Clause, found: Bindings, scope: list[NDArray[Any]]
) -> tuple[Bindings, list[NDArray[Any]]]:
    """Leave out rows in which two literals are of one variable, where the rule then says nothing."""
    kept = np.ones(found.rows, dtype=np.bool_)
    for j, its in enumerate(clause.axes):
        for i, other in enumerate(clause.axes[:j]):
            twice = kept & np.equal(scope[i], scope[j])
            if its.name != other.name or not twice.any():
                continue
            on = np.diagonal(clause.counts, axis1=i, axis2=j)  # [..., weights, L]
            hard = clause.rule.hard and np.diagonal(clause.broken, axis1=i, axis2=j).any()
            rest = tuple(axis for axis in range(on.ndim) if axis != on.ndim - 2)
            if hard or (on.max(axis=rest) != on.min(axis=rest)).any():
                names = ", ".join(map(str, other.terms)), ", ".join(map(str, its.terms))
                raise ValueError(
                    f"{clause.rule.where}: {other} and {its} are one variable in {int(twice.sum()):,} ground "
                    f"clauses; add {names[0]} != {names[1]} to the rule"
                )
            kept &= ~twice
    if not kept.all():
        found.keep(kept)
        scope = [column[kept] for column in scope]
    return found, scope


def _by_values(clause: Clause, found: Bindings, scope: list[NDArray[Any]]) -> Ground:
    """Return factors with an attribute for each combination of observed values that has weights."""
    columns = [found.columns[name] for name in clause.values]
    attribute = codes(columns)
    where, _ = merged([attribute])
    dense = np.zeros(int(attribute.max(initial=-1)) + 1, dtype=np.int64)
    dense[attribute[where]] = np.arange(len(where))
    names = [", ".join(row) for row in zip(*(map(str, c[where].tolist()) for c in columns), strict=True)]
    first, count = merged([*scope, dense[attribute]])
    rows = [column[first] for column in scope]
    each, attributes = merged(rows)  # rows are in order, so that the attributes of a factor are together
    ids = dense[attribute[first]].astype(np.int32)
    value = None if (count == 1).all() else count.astype(np.float64)
    ragged = Ragged(pointers(attributes), ids, value)
    made = CliqueFeatures(len(names), rows=ragged, names=Alphabet(names))
    return Ground(_stack([column[each] for column in rows]), made)


def _stack(columns: list[NDArray[Any]]) -> Ids:
    return np.column_stack(columns).astype(np.int32)
