"""How often the gold has each feature: the empirical side of eq. 1.22 in Sutton & McCallum (2006)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.batch import KINDS, OCCURRENCES, Batch
from crfkit.linear.score import scatter, zero_scores

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss


def feature_counts(loss: LinearLoss, *, squares: bool = False) -> Floats:
    """Return the counts of the features in the gold of a loss, [F], each sequence times its weight.

    With `squares`, an attribute counts by the square of its value.

    Examples
    --------
    >>> from crfkit import Chain, Likelihood
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 0], label=[0, 1], weight=[3.0])
    >>> layout = Layout.all_pairs(batch, 2, transitions="none")
    >>> feature_counts(Likelihood().bind(layout, Chain(2), batch)).tolist()
    [3.0, 3.0]
    """
    found = np.zeros(loss.size)
    for part in loss.parts():
        counts = zero_scores(loss.layout, part.batch)
        loss.structure.add_counts(part.gold, part.weight, counts)
        batch = squared(part.batch) if squares else part.batch
        scatter(loss.layout, batch, counts, threads=loss.threads, out=found, add=True)
    return found


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
