"""Sequences that a column numbers: rows of one sequence have the same value there, and stand together.

An empty cell stands for the value above it. Blank lines end sequences too; where there are some, a number may
come again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import Ids, Pointers
from crfkit.data.formats.columns import Columns
from crfkit.data.lines import Lines
from crfkit.errors import DataError


def numbered(columns: Columns, place: int, rows: Pointers | None = None) -> Columns:
    """Return columns cut where the column at a place changes; `rows` are the lines of all tokens [P].

    Examples
    --------
    >>> columns = Columns.from_rows([[("1", "the"), ("1", "dog"), ("2", "cats")]], names=["id", "word"])
    >>> [len(sequence) for sequence in numbered(columns, 0)]
    [2, 1]
    """
    if rows is None and columns.lines is not None and columns.lines.step == 1:
        lengths = np.diff(columns.seq_ptr)
        rows = np.repeat(columns.lines.begin - columns.seq_ptr[:-1], lengths) + np.arange(columns.positions)
    ids = _filled(columns, place, rows)
    begins = np.union1d(columns.seq_ptr[:-1], np.flatnonzero(ids[1:] != ids[:-1]) + 1).astype(np.int64)
    if len(columns) == 1:
        _check_together(columns, place, ids[begins], None if rows is None else rows[begins])
    lines = None if rows is None else Lines.of_rows(rows, begins)
    return replace(columns, seq_ptr=np.append(begins, columns.positions), lines=lines)


def _filled(columns: Columns, place: int, rows: Pointers | None) -> Ids:
    """Return the ids of a column, empty cells with those above them."""
    ids, empty = columns.ids[place], columns.alphabets[place].find("")
    if empty < 0:
        return ids
    full = np.flatnonzero(ids != empty)
    if not len(full) or full[0]:
        line = None if rows is None else int(rows[0])
        what = f"has nothing in column {columns.names[place]!r}, which numbers the sequences; give a number"
        raise DataError(columns.source, line, what)
    return np.repeat(ids[full], np.diff(np.append(full, len(ids))))


def _check_together(columns: Columns, place: int, runs: Ids, lines: Pointers | None) -> None:
    """Refuse a sequence that goes on after another one."""
    _, first = np.unique(runs, return_index=True)
    if len(first) == len(runs):
        return
    again = np.setdiff1d(np.arange(len(runs)), first)[0]
    name, value = columns.names[place], columns.alphabets[place][int(runs[again])]
    what = f"continues sequence {value!r} after another one; sort the rows by {name!r}"
    raise DataError(columns.source, None if lines is None else int(lines[again]), what)
