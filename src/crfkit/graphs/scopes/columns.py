"""Columns of integers, checked, and the pairs that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Ids, Pointers, as_seq_ptr

Integers: TypeAlias = NDArray[np.integer[Any]]
#: Columns of one length, by name; or rows [R, columns], whose columns have numbers.
Relation: TypeAlias = Mapping[str, ArrayLike] | ArrayLike


def as_ptr(given: ArrayLike) -> Pointers:
    """Return where ranges begin, [N + 1]; the last entry says where all of them end."""
    entries = np.asarray(given)
    end = int(entries[-1]) if entries.ndim == 1 and entries.size and entries.dtype.kind in "iu" else 0
    return as_seq_ptr(given, end)


def as_pairs(first: NDArray[Any], second: NDArray[Any]) -> Ids:
    """Return pairs [M, 2]."""
    made = np.empty((len(first), 2), dtype=np.int32)
    made[:, 0], made[:, 1] = first, second
    return made


def numbered(ends: Pointers) -> Pointers:
    """Return pointers to what is to be made, unless it is too much to be numbered."""
    check_many(int(ends[-1]))
    return ends


def check_many(count: float) -> None:
    """Refuse more pairs or pixels than can be numbered."""
    if count > np.iinfo(np.int32).max:
        raise ValueError(
            f"{count:.0f} pairs or pixels are more than 2^31 - 1; limit them (`same`: most, nearest)"
        )


def codes(columns: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Return a number for each row of several columns: equal rows, and only they, have equal numbers.

    Rows of non-negative integers that are not large are numbered in the order of their columns. No number is
    above four times the number of rows, so that arrays may be indexed by it.
    """
    code, many = None, 1
    for column in columns:
        most = 4 * column.size
        small = column.dtype.kind in "iu" and column.size and 0 <= column.min() <= column.max() < most
        each = column.astype(np.int64) if small else np.unique(column, return_inverse=True)[1].reshape(-1)
        width = int(each.max(initial=0)) + 1
        if code is not None:
            each, width = code * width + each, many * width
            if width > most:
                each = _dense(each)
                width = int(each.max(initial=0)) + 1
        code, many = each.astype(np.int64), width
    assert code is not None
    return code


def _dense(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers from 0 without gaps, in the same order."""
    rows = len(code)
    if not rows or int(code.max()) >= 2**62 // rows:
        return np.unique(code, return_inverse=True)[1].reshape(-1)
    both = np.sort(code * rows + np.arange(rows))  # quicker than an argsort
    code, order = both // rows, both % rows
    out = np.empty(rows, dtype=np.int64)
    out[order] = np.cumsum(np.concatenate([[0], code[1:] != code[:-1]]))
    return out


def as_rows(given: ArrayLike, name: str) -> Integers:
    """Return rows of integers, [M, columns]."""
    array = np.asarray(given)
    if array.size == 0 and array.ndim < 2:
        array = np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} axes, expected rows of integers")
    return as_integers(array, name)


def as_integers(array: NDArray[Any], name: str) -> Integers:
    """Return the array, unless it is not of integers."""
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has type {array.dtype}, expected integers: numbers of variables")
    return array


def columns_of(relation: Relation, name: str) -> dict[Any, NDArray[Any]]:
    """Return the columns of a relation, by name or number."""
    if isinstance(relation, Mapping):
        columns: dict[Any, NDArray[Any]] = {key: np.asarray(column) for key, column in relation.items()}
    else:
        columns = dict(enumerate(as_rows(relation, name).T))
    if not columns or len({column.shape for column in columns.values()}) > 1:
        raise ValueError(f"{name} must have columns of one length")
    if next(iter(columns.values())).ndim != 1:
        raise ValueError(f"{name} must have columns with one axis")
    return columns
