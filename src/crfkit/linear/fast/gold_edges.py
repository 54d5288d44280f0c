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
from crfkit.linear.score import is_scored, scatter
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.gold import ngram_cells
from crfkit.structures.gold import Path, Soft

__all__ = ["gold_edges"]

BLOCK_BYTES = 1 << 24  # of the steps of a distribution in memory at a time


def gold_edges(
    chain: Chain, layout: Layout, batch: Batch, gold: Path | Soft, weight: Floats
) -> tuple[Pointers, Floats]:
    """Return the edge weights that the gold has, counted from the first, and their counts: two arrays [n].

    Parameters
    ----------
    chain : Chain
    layout : Layout
    batch : Batch
    gold : Path or Soft
        Of the batch.
    weight : array [N]
        What a sequence counts by.

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
    >>> layout = Layout.all_pairs(batch, 2)
    >>> gold = Path(batch.seq_ptr, batch.label)
    >>> [
    ...     found.tolist() for found in gold_edges(Chain(2), layout, batch, gold, np.ones(1))
    ... ]  # the steps 0 -> 1 and 1 -> 0
    [[1, 2], [2.0, 1.0]]
    """
    items = batch.occurrences("edge")
    if items is None or not is_scored(layout, batch, "edge"):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if isinstance(gold, Soft):
        return _soft_edges(chain, layout, batch, weight)
    each = np.repeat(weight, np.diff(batch.seq_ptr))  # [P]
    occurrences = np.diff(items.ptr)  # [P]
    cell = np.repeat(ngram_cells(gold.seq_ptr, gold.label, layout.labels, 1)[0], occurrences)  # [nnz]
    counted = np.repeat(each, occurrences)
    if items.value is not None:
        counted = counted * items.value
    index = _find(layout, items.id.astype(np.int64), cell)
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


def _soft_edges(chain: Chain, layout: Layout, batch: Batch, weight: Floats) -> tuple[Pointers, Floats]:
    gradient = np.zeros(layout.weights)
    for chosen in batch.cut(max(BLOCK_BYTES // (8 * layout.labels**2), 1)):
        part = batch.select(chosen)
        assert part.soft is not None
        counts = {"edge": np.zeros((part.positions, layout.labels**2))}
        chain.add_counts(Soft(part.seq_ptr, part.soft), weight[chosen], counts)
        scatter(layout, part, counts, out=gradient, add=True)
    found = gradient[layout.parts["edge"]]
    weights = np.flatnonzero(found)
    return weights, found[weights]
