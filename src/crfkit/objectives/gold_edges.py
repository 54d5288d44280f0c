"""How often the gold has each edge weight: the empirical side of the edge attributes.

A weight (attribute, from, to) counts weight of the sequence * value for each occurrence of the attribute at
a position whose step is from -> to; a distribution counts each step by q_{t-1}(from) q_t(to). The counts are
few beside the weights, and are kept as pairs of an index and a count.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.plan import run_cells
from crfkit.linear.score import has_edges, scatter_edges
from crfkit.objectives.gold import before

__all__ = ["gold_edges"]

BLOCK_BYTES = 1 << 24  # of the steps of a distribution in memory at a time


def gold_edges(layout: Layout, batch: Batch, each: Floats) -> tuple[Pointers, Floats]:
    """Return the edge weights that the gold has, counted from the first, and their counts: two arrays [n].

    Parameters
    ----------
    layout : Layout
    batch : Batch
        With labels at all positions, or a distribution.
    each : array [P]
        What a position counts by.

    Examples
    --------
    >>> batch = Batch(
    ...     seq_ptr=[0, 3],
    ...     attr_ptr=[0, 0, 0, 0],
    ...     attr=[],
    ...     label=[1, 0, 1],
    ...     edge_ptr=[0, 1, 2, 4],
    ...     edge_attr=[0] * 4,
    ... )
    >>> layout = Layout.all_pairs(batch, labels=2)
    >>> [found.tolist() for found in gold_edges(layout, batch, np.ones(3))]  # the steps 0 -> 1 and 1 -> 0
    [[1, 2], [2.0, 1.0]]
    """
    if not has_edges(layout, batch):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if batch.soft is not None:
        return _soft_edges(layout, batch, batch.soft, each)
    assert batch.edge_ptr is not None
    assert batch.edge_attr is not None
    occurrences = np.diff(batch.edge_ptr)  # [P]
    cell = np.repeat(run_cells(batch, layout.labels, 1)[0], occurrences)  # [nnz]
    counted = np.repeat(each, occurrences)
    if batch.edge_value is not None:
        counted = counted * batch.edge_value
    index = _find(layout, batch.edge_attr.astype(np.int64), cell)
    weights, where = np.unique(index[index >= 0], return_inverse=True)
    return weights, np.bincount(where, counted[index >= 0], minlength=len(weights)).astype(np.float64)


def _find(layout: Layout, attribute: Pointers, cell: Pointers) -> Pointers:
    """Return the weight of each (attribute, cell), -1 where there is none: binary search in all rows."""
    inside = (attribute < layout.edge_attributes) & (cell >= 0)
    row = np.where(inside, attribute, 0)
    low, end = layout.edge_ptr[row], np.where(inside, layout.edge_ptr[row + 1], layout.edge_ptr[row])
    high, last = end, max(len(layout.edge_cell) - 1, 0)
    while (low < high).any():
        middle = (low + high) // 2
        right = (low < high) & (layout.edge_cell[np.minimum(middle, last)] < cell)
        low, high = np.where(right, middle + 1, low), np.where(right, high, middle)
    found: Pointers = np.where((low < end) & (layout.edge_cell[np.minimum(low, last)] == cell), low, -1)
    return found


def _soft_edges(layout: Layout, batch: Batch, soft: Floats, each: Floats) -> tuple[Pointers, Floats]:
    earlier, counted = before(soft, batch), soft * each[:, None]  # [P, L]
    gradient = np.zeros(layout.weights)
    step = max(BLOCK_BYTES // (8 * layout.labels**2), 1)
    for first in range(0, batch.positions, step):
        last = min(first + step, batch.positions)
        steps = np.einsum("pi,pj->pij", earlier[first:last], counted[first:last])  # [p, L, L]
        scatter_edges(layout, batch, steps, first, last, out=gradient)
    counts = gradient[layout.parts["edge"]]
    weights = np.flatnonzero(counts)
    return weights, counts[weights]
