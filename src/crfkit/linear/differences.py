"""What the features of two labelings differ in: sparse vectors over the weights, one for each sequence.

For the perceptron on any structure (`crfkit.linear.mistakes`) and for the margin methods
(`crfkit.linear.margins`), which touch only the weights that two labelings do not share. Those of graphs are
in `crfkit.linear.graphs.differences`.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.structures.structure import Scores

_Items = tuple[Pointers, Pointers, Floats]  # sequences, places, amounts


class SparseSums:
    """Amounts at weights, taken in block by block and added up for each sequence or graph.

    Parameters
    ----------
    layout : Layout
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        # Of each block the weights as rising keys: row * cells + cell.
        self._keys = {
            block.name: np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))
            * layout.slots[block.slot].cells
            + block.cell
            for block in layout.blocks
        }

    def known(self, block: Block, of: Pointers, key: Pointers, amount: Floats) -> _Items:
        """Return items, of a sequence each, at the weights with these keys; those without a weight go."""
        keys = self._keys[block.name]
        found = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        known = keys[found] == key
        return of[known], found[known] + self.layout.parts[block.name].start, amount[known]

    def added(self, items: list[_Items], N: int) -> tuple[Pointers, Pointers, Floats]:
        """Return pointers [N + 1], and the weights of each of N sequences with their amounts."""
        weights = self.layout.weights
        of = np.concatenate([np.zeros(0, np.int64), *(each[0] for each in items)])
        place = np.concatenate([np.zeros(0, np.int64), *(each[1] for each in items)])
        amount = np.concatenate([np.zeros(0), *(each[2] for each in items)])
        key, where = np.unique(of * weights + place, return_inverse=True)
        total: Floats = np.bincount(where, amount, minlength=len(key)).astype(np.float64)
        ptr = np.searchsorted(key, np.arange(N + 1) * weights).astype(np.int64)
        return ptr, key % max(weights, 1), total


class SparseFeatures(SparseSums):
    """From counts of cells to counts of features, as `crfkit.linear.score.scatter` but sparse.

    Parameters
    ----------
    layout : Layout

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 1, 2], attr_ptr=[0, 1, 3], attr=[0, 0, 1], label=[1, 0])
    >>> sparse = SparseFeatures(Layout.all_pairs(batch, 2, transitions="none"))
    >>> ptr, place, amount = sparse(batch, {"node": np.array([[0.0, 0.0], [1.0, -1.0]])}, {})
    >>> ptr.tolist(), place.tolist(), amount.tolist()
    ([0, 0, 4], [0, 1, 2, 3], [1.0, -1.0, 1.0, -1.0])
    """

    def __call__(self, batch: Batch, counts: Scores, shared: Scores) -> tuple[Pointers, Pointers, Floats]:
        """Return pointers [N + 1], and the weights of the features of each sequence with their amounts.

        Parameters
        ----------
        batch : Batch
        counts : Scores
            For slots whose places have cells of their own: [places, cells].
        shared : Scores
            For slots that all places share: [N, cells], one row for each sequence.
        """
        layout, N = self.layout, batch.sequences
        of_position = np.repeat(np.arange(N), np.diff(batch.seq_ptr))  # [P]
        items = list[_Items]()
        for block in layout.blocks:
            given = (shared if block.by is None else counts).get(block.slot)
            if given is None or not len(block.cell):
                continue
            at, cell = np.nonzero(given)
            amount, cells = given[at, cell], layout.slots[block.slot].cells
            if block.by is None:
                sequence, wanted = at, cell
            elif block.by == "dense":
                assert batch.dense is not None
                columns = batch.dense.shape[1]
                sequence = np.repeat(of_position[at], columns)
                wanted = np.tile(np.arange(columns), len(at)) * cells + np.repeat(cell, columns)
                amount = np.repeat(amount, columns) * batch.dense[at].ravel()
            else:
                rows = batch.occurrences(block.by)
                if rows is None:
                    continue
                times = rows.ptr[at + 1] - rows.ptr[at]
                first = np.repeat(rows.ptr[at] - np.append(0, np.cumsum(times[:-1])), times)
                which = first + np.arange(int(times.sum()))
                each = max(batch.places(block.by) // max(batch.positions, 1), 1)  # places of a position
                sequence = np.repeat(of_position[at // each], times)
                wanted = rows.id[which].astype(np.int64) * cells + np.repeat(cell, times)
                amount = np.repeat(amount, times)
                amount = amount if rows.value is None else amount * rows.value[which]
            items.append(self.known(block, sequence, wanted, amount))
        return self.added(items, N)
