"""Layouts restricted to what a block of data shows, so that its cost does not depend on all other weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout


class Restricted(NamedTuple):
    """The weights of the attributes of a block, and all weights that do not belong to attributes."""

    layout: Layout
    attr: Ids  #: [nnz] attributes by their numbers in this layout
    shown: Ids  #: [attributes] their numbers in the whole layout, rising


def restrict(layout: Layout, batch: Batch) -> Restricted:
    """Leave out the attributes that a batch does not show.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[1, 5, 9], label=[0, 1])
    >>> whole = Layout.all_pairs(batch, 2, attributes=8)
    >>> layout, attr, shown = restrict(whole, batch)
    >>> layout.attributes, attr.tolist(), shown.tolist()
    (2, [0, 1, 2], [1, 5])
    >>> part = take(whole, shown, np.arange(20.0))
    >>> part.tolist()
    [2.0, 3.0, 10.0, 11.0, 16.0, 17.0, 18.0, 19.0]
    >>> sums = np.ones(20)
    >>> add(whole, shown, part, sums)
    >>> sums[9:].tolist()
    [1.0, 11.0, 12.0, 1.0, 1.0, 1.0, 1.0, 17.0, 18.0, 19.0, 20.0]
    """
    A = layout.attributes
    known = np.minimum(batch.attr, A)  # [nnz] A stands for all that have no weights
    seen = np.zeros(A + 1, dtype=np.bool_)
    seen[known] = True
    shown = np.flatnonzero(seen[:A]).astype(np.int32)
    number = np.full(A + 1, len(shown), dtype=np.int32)
    number[shown] = np.arange(len(shown), dtype=np.int32)
    counts = np.diff(layout.node_ptr)[shown]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    node = np.repeat(layout.node_ptr[shown] - ptr[:-1], counts) + np.arange(ptr[-1])
    made = layout.with_block("node", layout.node_label[node], ptr)
    return Restricted(made, number[known], shown)


def take(layout: Layout, shown: Ids, w: Floats) -> Floats:
    """Return from all weights [F] those of some attributes, and those that belong to no attribute."""
    others = w[len(layout.node_label) :]
    rows = int((layout.node_ptr[1:][shown] - layout.node_ptr[shown]).sum())
    part = np.empty(rows + len(others))
    _native.take_rows(layout.node_ptr, shown, w, part)
    part[rows:] = others
    return part


def add(layout: Layout, shown: Ids, part: Floats, sums: Floats) -> None:
    """Add such a part to all weights [F]."""
    others = sums[len(layout.node_label) :]
    _native.add_rows(layout.node_ptr, shown, part, sums)
    others += part[len(part) - len(others) :]
