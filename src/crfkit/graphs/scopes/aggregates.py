"""Aggregates: what is known of a variable's neighbors, as features of the variable."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import as_scores
from crfkit.graphs.scopes.columns import as_rows

_HOW = ("sum", "mean", "max", "share")


def aggregate(
    edges: ArrayLike, values: Any, how: Literal["sum", "mean", "max", "share"] = "mean", *, size: int
) -> Any:
    """Return for each variable the values of its neighbors, put together: features [size, K].

    Parameters
    ----------
    edges : integers [M, 2]
        The variable, and its neighbor: a row of `values`. Give both directions where edges have none.
    values : numbers [N, K], sparse [N, K], or label ids [N] for "share"
        What is known of each neighbor.
    how : {"mean", "sum", "max", "share"}
        "share": of the neighbors whose label is known (0 or more), the share that has each label. A variable
        without neighbors gets zeros.
    size : int
        Number of variables.

    Returns
    -------
    array, or sparse array where `values` is sparse

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> cites = [[0, 1], [0, 2], [2, 1]]
    >>> scopes.aggregate(cites, [[1.0, 0.0], [0.0, 1.0], [4.0, 1.0]], "mean", size=3).tolist()
    [[2.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    >>> scopes.aggregate(cites, [0, 1, -1], "share", size=3).tolist()
    [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    """
    from scipy.sparse import csr_array, issparse

    if how not in _HOW:
        raise ValueError(f"how is {how!r}, expected one of {', '.join(map(repr, _HOW))}")
    given = as_rows(edges, "edges")
    if given.shape[1] != 2:
        raise ValueError(f"edges has shape {given.shape}, expected [M, 2]")
    if how == "share":
        label = np.asarray(values)
        if label.ndim != 1 or label.dtype.kind not in "iu":
            raise ValueError("values must be label ids [N], -1 where unknown, for how='share'")
        known = label >= 0
        given = given[known[_checked(given[:, 1], len(label), "values")]]
        values = (np.arange(int(label.max(initial=-1)) + 1) == label[:, None]).astype(np.float64)
        how = "mean"
    sparse = issparse(values)
    table: Any = csr_array(values) if sparse else as_scores(values, "values")
    if table.ndim != 2:
        raise ValueError(f"values has shape {table.shape}, expected [N, K]")
    _checked(given[:, 0], size, "size")
    _checked(given[:, 1], table.shape[0], "values")
    one = csr_array(
        (np.ones(len(given)), (given[:, 0], given[:, 1])), shape=(size, table.shape[0])
    )  # doubles are summed
    if how == "max":
        return _largest(given, table.toarray() if sparse else table, size)
    summed = one @ table
    if how == "sum":
        return summed
    count = np.maximum(np.bincount(given[:, 0], minlength=size), 1)
    return csr_array(summed.multiply(1.0 / count[:, None])) if sparse else summed / count[:, None]


def _checked(column: Any, size: int, what: str) -> Any:
    """Return the column, unless it has a number that is out of range."""
    if len(column) and (int(column.min()) < 0 or int(column.max()) >= size):
        bad = column[(column < 0) | (column >= size)][0]
        raise ValueError(f"edges has the number {bad}, expected 0 to {size - 1} by {what}")
    return column


def _largest(edges: Any, values: Any, size: int) -> Any:
    order = np.argsort(edges[:, 0], kind="stable")
    of, its = edges[order, 0], values[edges[order, 1]]
    made = np.zeros((size, values.shape[1]))
    if len(of):
        begins = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
        made[of[begins]] = np.maximum.reduceat(its, begins, axis=0)
    return made
