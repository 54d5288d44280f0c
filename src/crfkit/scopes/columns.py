"""Columns of integers, checked, and the pairs that are made of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Ids, Pointers, as_seq_ptr

__all__ = ["as_integers", "as_pairs", "as_ptr", "as_rows", "codes", "numbered"]

Integers: TypeAlias = NDArray[np.integer[Any]]


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
    if ends[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"{ends[-1]} pairs or pixels are more than 2^31 - 1; limit them (`same`: most, nearest)"
        )
    return ends


def codes(columns: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Return a number for each row of several columns: equal rows, and only they, have equal numbers."""
    code = None
    for column in columns:
        small = (
            column.dtype.kind in "iu" and column.size and 0 <= column.min() <= column.max() < 4 * column.size
        )
        each = column.astype(np.int64) if small else np.unique(column, return_inverse=True)[1].reshape(-1)
        if code is not None:
            each = np.unique(code * (int(each.max(initial=0)) + 1) + each, return_inverse=True)[1].reshape(-1)
        code = each.astype(np.int64)
    assert code is not None
    return code


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
