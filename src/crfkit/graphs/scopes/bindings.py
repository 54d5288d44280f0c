"""Rows of values of variables: tables joined, rows of other tables taken out, terms compared."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.graphs.scopes.columns import Relation, columns_of
from crfkit.graphs.scopes.formulas import Atom, Term
from crfkit.graphs.scopes.matching import match, merged, present

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Rows:
    """A table whose columns are called by terms: those of an atom."""

    what: str  #: for messages
    terms: tuple[Term, ...]
    columns: tuple[NDArray[Any], ...]

    def by_variable(self) -> tuple[dict[str, NDArray[Any]], int]:
        """Return a column for each variable, of the rows that fit constants and repeated variables."""
        kept = np.ones(len(self.columns[0]), dtype=np.bool_)
        made: dict[str, NDArray[Any]] = {}
        for term, column in zip(self.terms, self.columns, strict=True):
            if not term.variable:
                kept &= _same_type(column, np.asarray(term.value), self.what) == term.value
            elif term.value in made:
                kept &= made[str(term.value)] == column
            else:
                made[str(term.value)] = column
        if not kept.all():
            made = {name: column[kept] for name, column in made.items()}
        return made, int(kept.sum())


def as_set(name: str, given: Relation | ArrayLike, terms: int) -> tuple[NDArray[Any], ...]:
    """Return the columns of a relation, each row once; checked for their number."""
    array = None if isinstance(given, Mapping) else np.asarray(given)
    if array is not None and array.ndim == 1 and array.size:
        given = array[:, None]
    elif array is not None and not array.size:
        given = np.zeros((0, terms), dtype=np.int64)
    columns = tuple(columns_of(given, f"relation {name!r}").values())
    if len(columns) != terms:
        raise ValueError(f"relation {name!r} has {len(columns)} columns, but {terms} terms in the formula")
    first, count = merged(columns)
    return columns if (count == 1).all() else tuple(column[np.sort(first)] for column in columns)


@dataclass
class Bindings:
    """Rows of values, a column for each variable."""

    limit: int
    rows: int = 1  #: without variables there is one row
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)

    def join(self, table: Rows) -> None:
        """Keep what agrees with a row of the table, with the variables that the table adds."""
        other, size = table.by_variable()
        shared = [name for name in other if name in self.columns]
        right = [_same_type(other[name], self.columns[name], f"{name} in {table.what}") for name in shared]
        left = [self.columns[name] for name in shared]
        if not self.columns and self.rows == 1:
            self.columns, self.rows = dict(other), size
            return
        mine, its = match(left, right, (self.rows, size), self.limit, table.what)
        new = {name: column[its] for name, column in other.items() if name not in self.columns}
        self.columns = {name: column[mine] for name, column in self.columns.items()} | new
        self.rows = len(mine)

    def without(self, table: Rows) -> None:
        """Keep the rows that are not in the table."""
        other, size = table.by_variable()
        if not other:
            self.keep(np.full(self.rows, not size))
            return
        mine = [self.columns[name] for name in other]
        its = [_same_type(other[name], self.columns[name], f"{name} in {table.what}") for name in other]
        self.keep(~present(mine, its))

    def compare(self, atom: Atom, answer: bool) -> None:
        """Keep the rows for which a comparison has this answer."""
        left, right = (self.values(term) for term in atom.terms)
        _same_type(left, right, str(atom))
        self.keep(np.broadcast_to(_COMPARE[atom.name](left, right) == answer, (self.rows,)))

    def values(self, term: Term) -> NDArray[Any]:
        """Return the column of a variable, or a constant."""
        return self.columns[str(term.value)] if term.variable else np.asarray(term.value)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Keep some rows."""
        if not kept.all():
            self.columns = {name: column[kept] for name, column in self.columns.items()}
            self.rows = int(kept.sum())


def solve(tables: Sequence[Rows], limit: int) -> Bindings:
    """Return the rows that agree with all tables; what shares a variable with the rows is joined first."""
    found, left = Bindings(limit), list(tables)
    while left:
        near = (table for table in left if any(t.variable and t.value in found.columns for t in table.terms))
        table = next(near, left[0])
        left.remove(table)
        found.join(table)
    return found


def _same_type(column: NDArray[Any], other: NDArray[Any], what: str) -> NDArray[Any]:
    """Return the column, unless one of both is of text and one of numbers."""
    if (column.dtype.kind in "US") != (other.dtype.kind in "US") and column.size and other.size:
        raise ValueError(f"{what} compares text with numbers")
    return column
