"""What the features of two labelings of graphs differ in: a sparse vector over the weights for each.

Only factors whose labels differ are looked at, and of these only the cells that the labelings take.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, ranges
from crfkit.linear.differences import SparseSums
from crfkit.linear.graphs.layout import cell_numbers
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import CliqueFeatures


class GraphDifferences(SparseSums):
    """From two labelings to the weights at which their features differ.

    Parameters
    ----------
    layout : Layout
        Of `crfkit.linear.graphs.layout.graph_layout`.

    Examples
    --------
    >>> from crfkit import FeatureSelection, Graph
    >>> from crfkit.linear.graphs.layout import graph_layout
    >>> batch = Graph({"a": 2}, word=["a"]).batch(labels={"a": [0, 1]}, graph_ptr=[0, 1, 2])
    >>> differences = GraphDifferences(graph_layout(batch, FeatureSelection()))
    >>> ptr, place, amount = differences(batch, np.array([0, 1]), np.array([1, 1]), np.ones(2))
    >>> ptr.tolist(), place.tolist(), amount.tolist()
    ([0, 2, 2], [0, 1], [1.0, -1.0])
    """

    def __call__(
        self, batch: GraphBatch, gold: Ids, other: Ids, weight: Floats
    ) -> tuple[Pointers, Pointers, Floats]:
        """Return pointers [N + 1], places and amounts: features of the gold minus those of the other.

        Parameters
        ----------
        batch : GraphBatch
        gold, other : arrays [V]
        weight : array [N]
            The amounts of each graph are multiplied by it.
        """
        items = []
        for block in self.layout.blocks:
            if not len(block.cell):
                continue
            scope, numbers = batch.scopes[block.slot], cell_numbers(batch.graph, block.slot)
            cells = [numbers[tuple(label[scope].T)] for label in (gold, other)]  # two of [M]
            apart = np.flatnonzero(cells[0] != cells[1])
            graph = batch.graph_of[scope[apart, 0]].astype(np.int64)
            for cell, sign in zip(cells, (1.0, -1.0), strict=True):
                taken = cell[apart] >= 0
                at = apart[taken]
                factor, row, value = _rows(batch.features.get(block.slot), at)
                key = row * self.layout.slots[block.slot].cells + cell[at][factor]
                of = graph[taken][factor]
                items.append(self.known(block, of, key, sign * weight[of] * value))
        return self.added(items, batch.graphs)


def _rows(features: CliqueFeatures | None, at: Pointers) -> tuple[Pointers, Pointers, Floats]:
    """Return the items of some factors: which of them each is of, its row of weights, its value."""
    if features is None:
        return np.arange(len(at)), np.zeros(len(at), np.int64), np.ones(len(at))
    if features.dense is not None:
        factor, column = np.nonzero(features.dense[at])
        return factor, column, features.dense[at[factor], column]
    assert features.rows is not None
    rows = features.rows
    times = rows.ptr[at + 1] - rows.ptr[at]
    which = ranges(rows.ptr[at], times)
    value = np.ones(len(which)) if rows.value is None else rows.value[which]
    return np.repeat(np.arange(len(at)), times), rows.id[which].astype(np.int64), value
