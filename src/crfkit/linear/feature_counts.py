"""How often the gold has each feature: the empirical side of eq. 1.22 in Sutton & McCallum (2006)."""

from __future__ import annotations

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter
from crfkit.objectives.gold import before, kind_of_gold, run_counts
from crfkit.objectives.gold_edges import gold_edges

__all__ = ["feature_counts"]


def feature_counts(
    layout: Layout,
    batch: Batch,
    weight: Floats,
    *,
    index: _native.Transpose | None = None,
    threads: int | None = None,
) -> Floats:
    """Return the counts of the features in the gold, [F], each sequence times its weight [N].

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 0], label=[0, 1])
    >>> feature_counts(Layout.all_pairs(batch, 2, transitions="none"), batch, np.array([3.0])).tolist()
    [3.0, 3.0]
    """
    L, kind = layout.labels, kind_of_gold(batch)
    each = np.repeat(weight, np.diff(batch.seq_ptr))  # [P]
    if batch.soft is not None:
        q = batch.soft
    elif batch.label is not None and kind == "path":
        q = np.zeros((batch.positions, L))
        q[np.arange(batch.positions), batch.label] = 1.0
    else:
        raise ValueError("sets of labels have no counts: they depend on the weights")
    begins, ends = batch.seq_ptr[:-1], batch.seq_ptr[1:] - 1
    filled = ends >= begins
    node = q * each[:, None]
    first, last = node[begins[filled]].sum(axis=0), node[ends[filled]].sum(axis=0)
    counts = scatter(layout, batch, node, None, first, last, index=index, threads=threads)
    order, parts = layout.order, layout.parts
    steps = run_counts(batch, L, order, each) if order > 1 else (before(q, batch).T @ node,)
    counts[parts["transition"]] = layout.transition_credit(steps)
    edges, edge_counts = gold_edges(layout, batch, each)
    counts[parts["edge"]][edges] = edge_counts
    return counts
