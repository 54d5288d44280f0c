"""Factors as files have them: any scopes, any shapes, in flat arrays, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, Pointers, pointers, ranges

MOST_VARIABLES = 60  #: of a factor: arrays of NumPy have at most 64 axes


@dataclass(frozen=True, eq=False)
class FactorList:
    """Loose factors: factor m scores the labels of its variables by table ``which[m]``.

    Examples
    --------
    >>> one = FactorList(
    ...     width=np.array([2, 3], dtype=np.int32),
    ...     scope_ptr=np.array([0, 1, 3]),
    ...     scope=np.array([0, 0, 1], dtype=np.int32),
    ...     table_ptr=np.array([0, 2, 8]),
    ...     score=np.arange(8.0),
    ... )
    >>> [(shape, factors.tolist()) for shape, factors in one.by_shape()]
    [((2,), [0]), ((2, 3), [1])]
    """

    width: Ids  #: [V] labels of each variable
    scope_ptr: Pointers  #: [M + 1] where the variables of each factor begin
    scope: Ids  #: variables of factors
    table_ptr: Pointers  #: [K + 1] where the cells of each table begin
    score: Floats  #: cells of tables: logarithms, the last variable fastest
    which: Ids | None = None  #: [M] table of each factor; None: K = M, factor m has table m

    @property
    def factors(self) -> int:
        """Number of factors, M."""
        return len(self.scope_ptr) - 1

    def table_of(self, factors: Pointers) -> Pointers:
        """Return the numbers of the tables of some factors."""
        return factors if self.which is None else self.which[factors].astype(np.int64)

    def by_shape(self) -> Iterator[tuple[tuple[int, ...], Pointers]]:
        """Yield the shapes of tables, in order of their first factors, and the factors of each."""
        yield from group_shapes(self.width[self.scope], self.scope_ptr)

    def shapes(self) -> tuple[Pointers, Ids, Pointers]:
        """Return the tables that factors have, their shapes, one after the other, and where each begins."""
        M = self.factors
        owner = np.full(len(self.table_ptr) - 1, -1, dtype=np.int64)
        owner[self.table_of(np.arange(M))] = np.arange(M)
        used = np.flatnonzero(owner >= 0)
        arity = np.diff(self.scope_ptr)[owner[used]]
        return used, self.width[self.scope[ranges(self.scope_ptr[owner[used]], arity)]], pointers(arity)

    def first_fastest(self, value: Floats) -> Floats:
        """Return values of the cells of all tables with the first variable fastest."""
        used, widths, ptr = self.shapes()
        back = np.repeat(ptr[:-1] + ptr[1:] - 1, np.diff(ptr)) - np.arange(len(widths))
        return transposed(value, widths[back], ptr, self.table_ptr[used])  # shapes from the end: the way back

    def scopes(self, factors: Pointers) -> Ids:
        """Return the scopes [m, arity] of factors of one shape."""
        begin = self.scope_ptr[factors]
        arity = int(self.scope_ptr[factors[0] + 1] - begin[0])
        made: Ids = self.scope[begin[:, None] + np.arange(arity)]
        return made

    def scores(self, tables: Pointers) -> Floats:
        """Return the scores [k, cells] of tables of one shape."""
        begin = self.table_ptr[tables]
        return rows_at(self.score, begin, int(self.table_ptr[tables[0] + 1] - begin[0]))


def rows_at(flat: Floats, begin: Pointers, cells: int) -> Floats:
    """Return rows of one length; a view where they lie one behind the other."""
    if np.array_equal(begin, begin[0] + cells * np.arange(len(begin))):
        return flat[begin[0] : begin[0] + cells * len(begin)].reshape(len(begin), cells)
    made: Floats = flat[begin[:, None] + np.arange(cells)]
    return made


def group_shapes(widths: NDArray[np.integer], ptr: Pointers) -> Iterator[tuple[tuple[int, ...], Pointers]]:
    """Yield the distinct rows of a ragged array, in order of first appearance, and where each stands."""
    length = np.diff(ptr)
    found: list[tuple[tuple[int, ...], Pointers]] = []
    for arity in np.unique(length).tolist():
        rows = np.flatnonzero(length == arity)
        shape = widths[ptr[rows][:, None] + np.arange(arity)]  # [m, arity]
        code = np.zeros(len(rows), dtype=np.int64)
        for column in shape.T:
            if (column == column[0]).all():
                continue
            values, number = np.unique(column, return_inverse=True)
            _, code = np.unique(code * len(values) + number, return_inverse=True)
        order = np.argsort(code, kind="stable")
        cuts = np.flatnonzero(np.diff(code[order])) + 1
        found += [(tuple(shape[part[0]].tolist()), rows[part]) for part in np.split(order, cuts)]
    yield from sorted(found, key=lambda one: int(one[1][0]))


def cells_of(widths: NDArray[np.integer], ptr: Pointers) -> Floats:
    """Return the number of cells of each table as doubles, which may be too large for integers.

    Examples
    --------
    >>> cells_of(np.array([2, 3, 4], dtype=np.int32), np.array([0, 2, 2, 3])).tolist()
    [6.0, 1.0, 4.0]
    """
    filled = ptr[1:] > ptr[:-1]
    made = np.ones(len(ptr) - 1)
    if filled.any():
        with np.errstate(over="ignore"):
            made[filled] = np.multiply.reduceat(widths.astype(np.float64), ptr[:-1][filled])
    return made


def wrong_scope(variables: int, ptr: Pointers, scope: NDArray[np.integer]) -> tuple[int, str] | None:
    """Return the first factor whose variables are out of range or repeated, and what is wrong with it."""
    length = np.diff(ptr)
    wrong: dict[int, str] = {}
    for m in np.flatnonzero(length > MOST_VARIABLES)[:1].tolist():
        wrong[m] = f"has {length[m]} variables, expected {MOST_VARIABLES} or fewer"
    out = np.flatnonzero((scope < 0) | (scope >= variables))
    if out.size:
        m = int(np.searchsorted(ptr, out[0], side="right")) - 1
        wrong.setdefault(m, f"has variable {scope[out[0]]}, expected 0 to {variables - 1}")
    for arity in np.unique(length).tolist():
        if 2 <= arity <= MOST_VARIABLES:
            rows = np.flatnonzero(length == arity)
            ordered = np.sort(scope[ptr[rows][:, None] + np.arange(arity)], axis=1)
            for i in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))[:1].tolist():
                m = int(rows[i])
                wrong.setdefault(m, f"has a variable twice: {scope[ptr[m] : ptr[m + 1]].tolist()}")
    first = min(wrong, default=None)
    return None if first is None else (first, wrong[first])


def transposed(score: Floats, widths: NDArray[np.integer], ptr: Pointers, begin: Pointers) -> Floats:
    """Return tables in which the first variable was fastest with the last variable fastest.

    Parameters
    ----------
    score : array
        Cells of all tables.
    widths, ptr : arrays
        The shapes of tables, and where each shape begins, [K + 1].
    begin : array [K]
        Where the cells of each table begin.

    Examples
    --------
    >>> wide, ptr = np.array([2, 3], dtype=np.int32), np.array([0, 2])
    >>> transposed(np.arange(6.0), wide, ptr, np.array([0])).tolist()
    [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    """
    made = score.copy()
    for shape, tables in group_shapes(widths, ptr):
        if len(shape) < 2:
            continue
        first = begin[tables]
        cells = math.prod(shape)
        turned = rows_at(score, first, cells).reshape(-1, *shape[::-1])
        axes = (0, *range(len(shape), 0, -1))
        made[ranges(first, np.full(len(first), cells))] = turned.transpose(axes).ravel()
    return made
