"""Batches whose values are squared, for sums of squares of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.batch import KINDS, OCCURRENCES, Batch

__all__ = ["squared"]


def squared(batch: Batch) -> Batch:
    """Return the batch with the squares of its values; attributes that a place has twice add up first.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 1], attr_ptr=[0, 3], attr=[0, 1, 0], value=[1.0, 3.0, 1.0])
    >>> made = squared(batch)
    >>> made.attr.tolist(), made.value.tolist()
    ([0, 1], [4.0, 9.0])
    """
    changed: dict[str, Any] = {"dense": None if batch.dense is None else batch.dense**2}
    for kind in KINDS:
        found = batch.occurrences(kind)
        if found is not None:
            changed.update(zip(OCCURRENCES[kind], _squares(found.ptr, found.id, found.value), strict=True))
    return replace(batch, **changed)


def _squares(ptr: Pointers, attr: Ids, value: Floats | None) -> tuple[Pointers, Ids, Floats | None]:
    size = int(attr.max()) + 1 if attr.size else 1
    keys = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * size + attr
    found, inverse = np.unique(keys, return_inverse=True)
    if len(found) == len(keys):
        return ptr, attr, None if value is None else value**2
    sums = np.bincount(inverse, value, minlength=len(found)).astype(np.float64)
    counts = np.bincount(found // size, minlength=len(ptr) - 1)
    return pointers(counts), (found % size).astype(np.int32), sums**2
