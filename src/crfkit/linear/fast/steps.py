"""Steps of chains on native paths: which differ from the common one, and how often the gold has each.

A step without a weight of its own scores 0, as most steps do where only observed transitions have weights
(3.6 % of the pairs of Brown's 472 tags). A sum over all labels before it is then one sum that all targets
share, plus a correction for each pair that differs (`cpp/kernels/sweep/striped_steps.hpp`).

A weight of an edge attribute, (attribute, from, to), counts weight of the sequence * value for each
occurrence of the attribute at a position whose step is from -> to; a distribution counts each step by
q_{t-1}(from) q_t(to). The counts are few beside the weights, and are kept as pairs of an index and a count.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import is_scored, scatter
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.gold import ngram_cells
from crfkit.structures.gold import Path, Soft

FEWEST_LABELS = 16
"""Below this all pairs are as fast (`few_labels` in `cpp/kernels/sweep/striped_steps.hpp`)."""

MOST_PAIRS = 0.2
"""The share of all pairs above which the dense product is faster: a listed pair costs about four cells."""


def pairs_of(layout: Layout, chain: Chain) -> tuple[Ids, Ids, Ids] | None:
    """Return the pairs that have a weight or that constraints forbid, or None where all pairs are faster.

    Parameters
    ----------
    layout : Layout
        A layout of a chain of order 1.
    chain : Chain
        Its structure; `resolved` says which transitions are forbidden.

    Returns
    -------
    tuple of arrays, optional
        (ptr int32 [L + 1], source int32 [K], cell int64 [K]): by target the sources, rising, and the cell
        source * L + target of each pair.

    Examples
    --------
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    >>> layout = Layout.of_chain(20, *none, *none, transition_cell=np.array([3 * 20 + 1, 2 * 20 + 1, 5]))
    >>> ptr, source, cell = pairs_of(layout, Chain(20))
    >>> ptr[:7], source, cell
    (array([0, 0, 2, 2, 2, 2, 3], dtype=int32), array([2, 3, 0], dtype=int32), array([41, 61,  5]))
    """
    L = layout.labels
    if L < FEWEST_LABELS:
        return None
    cells = layout.transition_cell.astype(np.int64)
    if chain.resolved is not None:
        cells = np.concatenate([cells, np.flatnonzero(~chain.resolved.transition.ravel())])
    listed = np.unique(cells % L * L + cells // L)  # target * L + source
    if len(listed) > MOST_PAIRS * L * L:
        return None
    target, source = listed // L, listed % L
    ptr = np.searchsorted(target, np.arange(L + 1)).astype(np.int32)
    return ptr, source.astype(np.int32), source * L + target


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
        The gold of the batch.
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
