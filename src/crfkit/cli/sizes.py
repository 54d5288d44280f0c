"""Counting the attributes and weights that a recipe makes of data, block by block, as train has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit.arrays import Ids, Pointers
from crfkit.cli.recipes import transitions_of
from crfkit.data.batch import Batch
from crfkit.structures.chains.gold import ngram_cells

if TYPE_CHECKING:
    from crfkit.features import Extractor

__all__ = ["Sizes"]

_LABEL_BITS = 12  # a layout has fewer labels than 2**12


class Sizes:
    """Counts what a recipe makes, block by block, and the weights that training would have."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("sequences", "positions", "occurrences", "edge occurrences"), 0)
        self.dense = 0
        self._node: list[Pointers] = []  # distinct pairs of each block
        self._edge: list[Pointers] = []

    def add(self, batch: Batch) -> None:
        """Count a block."""
        edge = batch.edge_attr
        self.counts["sequences"] += batch.sequences
        self.counts["positions"] += batch.positions
        self.counts["occurrences"] += len(batch.attr)
        self.counts["edge occurrences"] += 0 if edge is None else len(edge)
        self.dense = 0 if batch.dense is None else batch.dense.shape[1]
        if batch.label is not None:
            self._node.append(_pairs(batch.attr_ptr, batch.attr, batch.label))
            if batch.edge_ptr is not None and edge is not None:
                steps = ngram_cells(batch.seq_ptr, batch.label, 1 << _LABEL_BITS, 1)[0]
                self._edge.append(_pairs(batch.edge_ptr, edge, steps))

    def of(self, extract: Extractor) -> dict[str, int]:
        """Return the sizes, with weights as train makes them of observed and of all pairs."""
        L, A, edges = len(extract.labels), len(extract.attributes), len(extract.edge_attributes)
        sizes = self.counts | {"labels": L, "attributes": A, "edge attributes": edges}
        if L:
            both = (0 if transitions_of(extract) == "none" else L * L) + L * self.dense
            sizes["weights, observed pairs"] = _distinct(self._node) + _distinct(self._edge) + both
            sizes["weights, all pairs"] = A * L + edges * L * L + both
        return sizes


def _pairs(ptr: Pointers, attr: Ids, cells: Ids | Pointers) -> Pointers:
    """Return the distinct pairs of an attribute and a label, or a step between two; -1 is none."""
    here = np.repeat(cells.astype(np.int64), np.diff(ptr))
    pairs: Pointers = np.unique(attr[here >= 0].astype(np.int64) << 2 * _LABEL_BITS | here[here >= 0])
    return pairs


def _distinct(pairs: list[Pointers]) -> int:
    return len(np.unique(np.concatenate(pairs))) if pairs else 0
