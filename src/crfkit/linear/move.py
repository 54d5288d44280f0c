"""Moving weights from one layout to another, by what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.structures.structure import Slot

_AT_A_TIME = 1 << 18  # cells that are copied before they are added, which stay in the cache


def moved(old: Layout, w: Floats, new: Layout, labels: Ids, rows: Mapping[str, Ids]) -> Floats:
    """Return weights of one layout in the places of another, [F]; 0 where the old one has none.

    Parameters
    ----------
    old, new : Layout
    w : array [old F]
    labels : array [L]
        For each label of the new layout its id in the old one, or -1.
    rows : mapping
        The same for the rows of a block, by its name. Blocks that are not named have the same rows in both.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> old = Layout.observed(batch, 2, transitions="none")
    >>> new = Layout.all_pairs(batch, 2, transitions="none")
    >>> same = np.arange(2, dtype=np.int32)
    >>> moved(old, np.array([3.0, 5.0]), new, same, {"node": same}).tolist()
    [3.0, 0.0, 0.0, 5.0]
    """
    made = np.zeros(new.weights)
    for block in new.blocks:
        there = old.block.get(block.name)
        if there is None or not len(there.cell) or not len(block.cell):
            continue
        slot, before = new.slots[block.slot], old.slots[there.slot]
        cell = _cells(slot, before, labels)[block.cell]
        row = _owners(block)
        if block.name in rows:
            row = rows[block.name].astype(np.int64)[row]
        wanted = np.where((row >= 0) & (cell >= 0), row * before.cells + cell, -1)
        keys = _owners(there) * before.cells + there.cell  # rising
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        values = w[old.parts[block.name]]
        made[new.parts[block.name]] = np.where(keys[at] == wanted, values[at], 0.0)
    return made


def add_moved(old: Layout, w: Floats, new: Layout, labels: Ids, total: Floats) -> None:
    """Add to weights [new F] those of another layout with the same rows, as `moved` would give them.

    For few labels in the old layout and full rows in the new one: a row of the old one is spread out and not
    looked up. Labels may have the same id in the old layout, as those of one side of a binary one.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> old = Layout.observed(batch, 2, transitions="none")
    >>> new = Layout.all_pairs(batch, 3, transitions="none")
    >>> total = np.zeros(6)
    >>> add_moved(old, np.array([3.0, 5.0]), new, np.array([0, 1, 1]), total)
    >>> total.tolist()
    [3.0, 0.0, 0.0, 0.0, 5.0, 5.0]
    """
    for block in new.blocks:
        there, slot = old.block.get(block.name), new.slots[block.slot]
        counts = np.diff(block.ptr)
        if not np.isin(counts, (0, slot.cells)).all():
            raise ValueError(f"the rows of block {block.name} are not full; make the layout with all pairs")
        kept = np.flatnonzero(counts)
        if there is None or not len(there.cell) or not len(kept):
            continue
        before = old.slots[there.slot]
        rows = np.zeros((max(len(block.ptr), len(there.ptr)) - 1, before.cells))
        rows[_owners(there), there.cell] = w[old.parts[block.name]]
        cell = _cells(slot, before, labels)
        part = total[new.parts[block.name]].reshape(len(kept), slot.cells)  # a view
        step = max(_AT_A_TIME // slot.cells, 1)
        for begin in range(0, len(kept), step):
            some = rows[kept[begin : begin + step]]
            part[begin : begin + step] += np.where(cell >= 0, some[:, cell], 0.0)


def united(old: Layout, new: Layout) -> Layout:
    """Return the weights of both layouts; labels and rows of the new one begin with those of the old one.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> old = Layout.observed(batch, 2, transitions="none")
    >>> new = Layout.observed(replace(batch, label=[2, 1]), 3, transitions="none")
    >>> both = united(old, new)
    >>> [(both.describe(i).attribute, both.describe(i).label) for i in range(both.weights)]
    [(0, 0), (0, 2), (1, 1)]
    """
    if old.labels > new.labels:
        raise ValueError(
            f"the old layout has {old.labels} labels, the new one {new.labels}, expected at least as many"
        )
    shapes = [{name: [len(t) for t in slot.tables] for name, slot in one.slots.items()} for one in (old, new)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "the layouts are of different structures and cannot be united; make both for one structure"
        )
    same = np.arange(old.labels, dtype=np.int32)
    blocks = []
    for block in new.blocks:
        there = old.block.get(block.name)
        if there is None:
            blocks.append(block)
            continue
        slot = new.slots[block.slot]
        cell = _cells(old.slots[there.slot], slot, same)[there.cell]
        keys = np.union1d(_owners(there) * slot.cells + cell, _owners(block) * slot.cells + block.cell)
        size = max(len(there.ptr), len(block.ptr)) - 1
        counts = np.bincount(keys // slot.cells, minlength=size)
        blocks.append(replace(block, ptr=pointers(counts), cell=(keys % slot.cells).astype(np.int32)))
    return replace(new, blocks=tuple(blocks))


def _owners(block: Block) -> Pointers:
    """Return the row of each weight."""
    return np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))


def _cells(slot: Slot, there: Slot, labels: Ids) -> Pointers:
    """Return for each cell of a slot the cell with the same labels in another, -1 where there is none.

    `labels` [L] are the ids that the labels of the slot have in the other.
    """
    found, begin = [np.zeros(0, dtype=np.int64)], 0
    for t, shape in enumerate(slot.tables):
        if t >= len(there.tables) or len(there.tables[t]) != len(shape):
            found.append(np.full(int(np.prod(shape)), -1))
            continue
        axes = [labels[axis.ravel()].astype(np.int64) for axis in np.indices(shape)]
        known = np.all([axis >= 0 for axis in axes], axis=0)
        flat = np.ravel_multi_index([np.where(known, axis, 0) for axis in axes], there.tables[t])
        found.append(np.where(known, begin + flat, -1))
        begin += int(np.prod(there.tables[t]))
    return np.concatenate(found)
