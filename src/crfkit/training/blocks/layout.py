"""The layout of data in blocks: what is observed, united over the blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Estimate, LayoutOptions, run_cells, run_sizes
from crfkit.training.blocks.stream import BlockedData

__all__ = ["layout_of_blocks"]


def layout_of_blocks(
    data: BlockedData,
    *,
    all_pairs: bool = False,
    pairs: Pointers | None = None,
    **options: Any,
) -> Layout:
    """Return the layout that the blocks laid end to end would have.

    Parameters
    ----------
    data : BlockedData
    all_pairs : bool
        Every pair of attribute and label, not only observed ones.
    pairs : array [n, 2], optional
        Further (attribute, label) pairs.
    **options
        `LayoutOptions`.

    Notes
    -----
    Memory: one block, and 80 bytes at the most for each observed pair, while pairs of blocks are united.
    """
    given: LayoutOptions = {**options}  # type: ignore[typeddict-item]
    L, order = len(data.labels), given.get("order", 1)
    A = given.get("attributes", len(data.attributes) or _shown(data, "attr"))
    E = given.get("edge_attributes", len(data.edge_attributes) or _shown(data, "edge_attr"))
    zero, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    empty = Batch(seq_ptr=zero, attr_ptr=zero, attr=none, label=none, dense=np.zeros((0, data.dense)))
    minimum = given.get("min_count", 0.0)
    plain: Any = {**given, "attributes": A, "edge_attributes": E}
    base = Layout.all_pairs(empty, L, **plain) if all_pairs else Layout.observed(empty, L, **plain)
    by_value = given.get("count", "count") == "value"
    node = _Tally(1 if all_pairs else L, A, minimum)
    edge = _Tally(1 if all_pairs else L * L, E, minimum)
    runs = np.zeros(0, dtype=np.int64)
    for batch in data:
        if not all_pairs or minimum > 0.0:
            label = np.full(batch.positions, -1, np.int32) if batch.label is None else batch.label
            node.add(batch, "attr", np.zeros_like(label) if all_pairs else label, by_value)
            if E:
                step = run_cells(batch, L, 1)[0]
                edge.add(batch, "edge_attr", np.zeros_like(step) if all_pairs else step, by_value)
        if given.get("transitions") == "observed":
            begins = np.cumsum([0, *run_sizes(L, order)])
            found = [c[c >= 0] + b for c, b in zip(run_cells(batch, L, order), begins, strict=False)]
            runs = np.unique(np.concatenate([runs, *found]))
    made = base
    if not all_pairs or minimum > 0.0:
        extra = np.zeros((0, 2), dtype=np.int64) if pairs is None else np.asarray(pairs, dtype=np.int64)
        node_keys, edge_keys = node.keys(), edge.keys()
        if all_pairs:
            node_keys, edge_keys = _widened(node_keys, L), _widened(edge_keys, L * L)
        node_keys = np.union1d(node_keys, extra[:, 0] * L + extra[:, 1])
        made = replace(
            made,
            node_ptr=_pointers(node_keys // L, A),
            node_label=(node_keys % L).astype(np.int32),
            edge_ptr=_pointers(edge_keys // (L * L), E),
            edge_cell=(edge_keys % (L * L)).astype(np.int32),
        )
    if given.get("transitions") == "observed":
        made = replace(made, transition_cell=runs.astype(np.int32))
    sizes = {name: part.stop - part.start for name, part in made.parts.items()}
    Estimate(sizes, 0).check(given.get("max_weights", 500_000_000))
    return made


class _Tally:
    """How often each (attribute, column) was seen.

    Blocks wait until they have as many pairs as were seen before: uniting each at once would sort all pairs
    as often as there are blocks.
    """

    def __init__(self, width: int, attributes: int, minimum: float) -> None:
        self.width, self.attributes, self.minimum = width, attributes, minimum
        self.seen: Pointers = np.zeros(0, dtype=np.int64)  # attribute * width + column, rising
        self.sums: Floats = np.zeros(0)
        self.waiting: list[tuple[Pointers, Floats]] = []  # the same of single blocks

    def add(self, batch: Batch, kind: str, column: Ids | Pointers, by_value: bool) -> None:
        ptr, attr, value = (
            (batch.attr_ptr, batch.attr, batch.value)
            if kind == "attr"
            else (batch.edge_ptr, batch.edge_attr, batch.edge_value)
        )
        if ptr is None or attr is None:
            return
        counts = np.diff(ptr)
        columns = np.repeat(column, counts).astype(np.int64)  # [nnz]
        each = np.ones(len(attr))
        if by_value:
            each = each if value is None else value.copy()
            if batch.weight is not None:
                each *= np.repeat(np.repeat(batch.weight, np.diff(batch.seq_ptr)), counts)
        kept = (columns >= 0) & (attr < self.attributes)
        keys = attr[kept].astype(np.int64) * self.width + columns[kept]
        self.waiting.append(_united(keys, each[kept]))
        if sum(len(keys) for keys, _ in self.waiting) > len(self.seen):
            self._unite()

    def _unite(self) -> None:
        keys, sums = zip((self.seen, self.sums), *self.waiting, strict=True)
        self.waiting = []
        self.seen, self.sums = _united(np.concatenate(keys), np.concatenate(sums))

    def keys(self) -> Pointers:
        self._unite()
        return self.seen if self.minimum <= 0.0 else self.seen[self.sums >= self.minimum]


def _united(keys: Pointers, sums: Floats) -> tuple[Pointers, Floats]:
    """Return each key once, rising, with the sum of its numbers."""
    seen, at = np.unique(keys, return_inverse=True)
    return seen, np.bincount(at, sums, minlength=len(seen)).astype(np.float64)


def _widened(attributes: Pointers, width: int) -> Pointers:
    """All columns of these attributes."""
    widened: Pointers = (attributes[:, None] * width + np.arange(width)).ravel()
    return widened


def _pointers(owners: Pointers, size: int) -> Pointers:
    counts = np.bincount(owners, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _shown(data: BlockedData, kind: str) -> int:
    """Count the ids that the blocks show, where attributes have no names."""
    arrays = (getattr(batch, kind) for batch in data)
    return max((int(a.max()) + 1 for a in arrays if a is not None and a.size), default=0)
