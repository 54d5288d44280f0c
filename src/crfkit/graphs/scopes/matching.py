"""Joins of columns: which rows of two tables agree. What would be too many is counted before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Pointers, pointers, ranges
from crfkit.graphs.scopes.columns import codes

LIMIT = 50_000_000  #: rows that are made unless another limit is given

Column = NDArray[Any]


def match(
    left: Sequence[Column], right: Sequence[Column], rows: tuple[int, int], limit: int, what: str
) -> tuple[Pointers, Pointers]:
    """Return the numbers of the rows of both tables that agree on all columns; without columns, all pairs."""
    R, S = rows
    if left:
        code = codes([np.concatenate([a, b]) for a, b in zip(left, right, strict=True)])
        size = np.bincount(code[R:], minlength=int(code.max(initial=-1)) + 1)
        times, begin = size[code[:R]], pointers(size)[code[:R]]
        order = np.argsort(code[R:], kind="stable")
    else:
        times, begin = np.full(R, S), np.zeros(R, dtype=np.int64)
        order = np.arange(S)
    made = int(times.sum())
    if made > limit:
        raise ValueError(
            f"{what} would give {made:,} rows, more than the limit of {limit:,}; add a condition, or raise "
            "`limit`"
        )
    return np.repeat(np.arange(R), times), order[ranges(begin, times)]


def present(rows: Sequence[Column], table: Sequence[Column]) -> NDArray[np.bool_]:
    """Return whether each row is a row of the table."""
    R = len(rows[0])
    code = codes([np.concatenate([a, b]) for a, b in zip(rows, table, strict=True)])
    there = np.zeros(int(code.max(initial=-1)) + 1, dtype=np.bool_)
    there[code[R:]] = True
    return there[code[:R]]


def merged(columns: Sequence[Column]) -> tuple[Pointers, Pointers]:
    """Return where each different row occurs first, in the order of rows by columns; and how often it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> first, count = merged([np.array([2, 0, 2]), np.array([1, 5, 1])])
    >>> first.tolist(), count.tolist()
    ([1, 0], [1, 2])
    """
    rows = len(columns[0])
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    both = np.sort(_numbers(columns, rows) * rows + np.arange(rows))  # quicker than an argsort
    code, order = both // rows, both % rows
    begins = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
    return order[begins], np.diff(begins, append=rows)


def _numbers(columns: Sequence[Column], rows: int) -> NDArray[np.int64]:
    """Return a number for each row, in the order of rows, small enough to be multiplied by `rows`."""
    key, width = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        if column.dtype.kind not in "iu" or int(column.min()) < 0:
            return codes(columns)
        size = int(column.max()) + 1
        width *= size
        if width * rows >= 2**63:
            return codes(columns)
        key = key * size + column
    return key
