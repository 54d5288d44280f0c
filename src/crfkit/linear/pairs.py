"""Which (attribute, cell) pairs have a weight: all of them, or those that the gold of the data shows.

Data in one batch are counted by native passes over the whole; data in blocks are counted block by block, and
the counts are united.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.batch import Batch, each
from crfkit.data.dataset import ALPHABET_OF

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from crfkit.linear.plan import Plan
    from crfkit.structures.structure import Structure

_MOST_BITS = 1 << 28  # bytes: above, pairs are found through an index instead of a bit for each


class Source(Protocol):
    """A counter of pairs: the number of cells of each attribute first (None: all of them), then the cells."""

    counts: Pointers | None  #: [A]

    def columns(self, ptr: Pointers) -> Ids:
        """Return the cells, attribute by attribute, rising; `ptr` [A + 1] are sums of `counts`."""
        ...


class Pairs:
    """The pairs of one slot."""

    def __init__(self, width: int, attributes: int, source: Source) -> None:
        self.width, self.A = width, attributes
        self._source, self.counts = source, source.counts
        self._extra: Pointers | None = None  # all pairs as attribute * width + cell, rising

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return self.A * self.width if self.counts is None else int(self.counts.sum())

    @property
    def ptr(self) -> Pointers:
        """Where the pairs of each attribute begin, [A + 1]."""
        return pointers(np.full(self.A, self.width) if self.counts is None else self.counts)

    def add(self, pairs: ArrayLike) -> None:
        """Add (attribute, cell) pairs [n, 2]."""
        given = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        wrong = np.flatnonzero((given < 0).any(1) | (given >= [self.A, self.width]).any(1))
        if wrong.size:
            i = int(wrong[0])
            raise ValueError(
                f"pairs[{i}] is {given[i].tolist()}, expected an attribute below {self.A} and a label below "
                f"{self.width}"
            )
        if self.counts is None:
            return  # all are there
        keys = np.repeat(np.arange(self.A), self.counts) * self.width + self.columns()
        self._extra = np.union1d(keys, given[:, 0] * self.width + given[:, 1])
        self.counts = np.bincount(self._extra // self.width, minlength=self.A).astype(np.int64)

    def columns(self) -> Ids:
        """Return the cell of each pair."""
        if self._extra is not None:
            return (self._extra % self.width).astype(np.int32)
        return self._source.columns(self.ptr)

    def table_bytes(self, budget: int) -> int:
        """Return the size of the table that `score` fills, 0 where it is above the budget."""
        if self.counts is None:
            return 0
        wide = int(np.count_nonzero((self.counts > _native.Rows.narrow) & (self.counts < self.width)))
        size = wide * ((self.width + 7) // 8 * 8) * 8
        return size if size <= min(budget, _native.Rows.most_table_bytes(int(self.counts.sum()))) else 0


def pairs_of(plan: Plan, slot: str, attributes: int) -> Pairs:
    """Return the pairs of a slot with that many attributes."""
    width = plan.slots[slot].cells
    if slot == "node" and "chosen" in plan.options:
        return Pairs(width, attributes, _Nothing(attributes))  # the plan adds them
    if plan.all_pairs:
        source: Source = _Every(plan, slot, width, attributes)
    elif plan.whole is None:
        source = _Blocks(plan, slot, width, attributes)
    elif plan.minimum <= 0.0 and 8 * attributes * ((width + 63) // 64) * plan.threads <= _MOST_BITS:
        source = _Seen(plan, slot, width, attributes)
    else:
        source = _Counted(plan, slot, width, attributes)
    return Pairs(width, attributes, source)


class _Nothing:
    """No pairs."""

    def __init__(self, attributes: int) -> None:
        self.counts: Pointers | None = np.zeros(attributes, dtype=np.int64)

    def columns(self, ptr: Pointers) -> Ids:
        return np.zeros(0, dtype=np.int32)


class Summed(NamedTuple):
    """Keys, each once and rising, with the sum of what each of its occurrences counts."""

    keys: Pointers
    sums: Floats


@dataclass(frozen=True)
class _Occurring:
    """The attributes that a batch shows."""

    slot: str
    attributes: int
    by_value: bool

    def __call__(self, batch: Batch) -> Summed:
        items = batch.occurrences(self.slot)
        if items is None:
            return Summed(np.zeros(0, dtype=np.int64), np.zeros(0))
        inside = items.id < self.attributes
        sums: Floats = np.bincount(items.id[inside], _each(batch, self.slot, self.by_value)[inside]).astype(
            np.float64
        )
        seen = np.flatnonzero(sums)
        return Summed(seen, sums[seen])


@dataclass(frozen=True)
class _Taken(_Occurring):
    """The pairs of attribute and cell that the gold of a batch shows, as attribute * width + cell."""

    structure: Structure
    width: int

    def __call__(self, batch: Batch) -> Summed:
        items = batch.occurrences(self.slot)
        if items is None:
            return Summed(np.zeros(0, dtype=np.int64), np.zeros(0))
        taken = self.structure.gold_cells(batch)[self.slot]
        cells = np.repeat(taken, np.diff(items.ptr)).astype(np.int64)  # [nnz]
        kept = (cells >= 0) & (items.id < self.attributes)
        keys = items.id[kept].astype(np.int64) * self.width + cells[kept]
        return _united(keys, _each(batch, self.slot, self.by_value)[kept])


class _Every:
    """Attributes that are seen often enough, with all cells; once, where other kinds share their alphabet."""

    def __init__(self, plan: Plan, slot: str, width: int, attributes: int) -> None:
        self.width = width
        self.counts: Pointers | None = None
        shared = list(ALPHABET_OF.values()).count(ALPHABET_OF[slot]) > 1
        if plan.minimum > 0.0 or shared:
            sums = np.zeros(attributes)
            by_value = plan.minimum > 0.0 and plan.by_value
            for seen, counts in each(plan.batches, _Occurring(slot, attributes, by_value)):
                sums[seen] += counts
            least = plan.minimum if plan.minimum > 0.0 else 1.0
            self.counts = np.where(sums >= least, width, 0)

    def columns(self, ptr: Pointers) -> Ids:
        return np.tile(np.arange(self.width, dtype=np.int32), int(ptr[-1]) // self.width)


class _Seen:
    """Pairs that one batch shows: a bit for each."""

    def __init__(self, plan: Plan, slot: str, width: int, attributes: int) -> None:
        ptr, attr, _, cells = _occurrences(plan, slot)
        made, self._cells = _native.seen_pairs(ptr, attr, cells, attributes, width, plan.threads)
        self.counts: Pointers | None = np.diff(made)

    def columns(self, ptr: Pointers) -> Ids:
        return self._cells


class _Counted:
    """Pairs that one batch shows often enough, by an index of the attributes."""

    def __init__(self, plan: Plan, slot: str, width: int, attributes: int) -> None:
        ptr, attr, value, self._cells = _occurrences(plan, slot)
        self._index = _native.Transpose.of(ptr, attr, value, attributes, width)
        assert plan.whole is not None
        self._weight = plan.whole.weight_by_place(slot) if plan.by_value else None
        self._rest = (width, plan.minimum, plan.threads)
        self.counts: Pointers | None = np.diff(self._observed(None))

    def _observed(self, ptr: Pointers | None) -> Pointers:
        width, minimum, threads = self._rest
        return self._index.observed(self._cells, self._weight, width, minimum, ptr, threads)

    def columns(self, ptr: Pointers) -> Ids:
        return self._observed(ptr).astype(np.int32, copy=False)


class _Blocks:
    """Pairs that blocks show often enough.

    Blocks wait until they have as many pairs as were seen before: uniting each at once would sort all pairs
    as often as there are blocks. Memory: one block, and 80 bytes at the most for each pair.
    """

    def __init__(self, plan: Plan, slot: str, width: int, attributes: int) -> None:
        self.width = width
        seen: Pointers = np.zeros(0, dtype=np.int64)  # attribute * width + cell, rising
        sums: Floats = np.zeros(0)
        waiting: list[Summed] = []  # the same of single blocks

        def unite() -> None:
            nonlocal seen, sums
            keys, numbers = zip((seen, sums), *waiting, strict=True)
            waiting.clear()
            seen, sums = _united(np.concatenate(keys), np.concatenate(numbers))

        for found in each(plan.batches, _Taken(slot, attributes, plan.by_value, plan.structure, width)):
            waiting.append(found)
            if sum(len(keys) for keys, _ in waiting) > len(seen):
                unite()
        unite()
        self._keys = seen if plan.minimum <= 0.0 else seen[sums >= plan.minimum]
        self.counts: Pointers | None = np.bincount(self._keys // width, minlength=attributes).astype(np.int64)

    def columns(self, ptr: Pointers) -> Ids:
        return (self._keys % self.width).astype(np.int32)


def _occurrences(plan: Plan, slot: str) -> tuple[Pointers, Ids, Floats | None, Ids]:
    """Return the occurrences of a batch, and the cell that the gold takes at each place."""
    assert plan.whole is not None
    cells = plan.whole_cells[slot].astype(np.int32, copy=False)
    items = plan.whole.occurrences(slot)
    if items is None:
        return np.zeros(len(cells) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), None, cells
    return items.ptr, items.id, items.value, cells


def _each(batch: Batch, slot: str, by_value: bool) -> Floats:
    """Return what each occurrence counts, [nnz]."""
    items = batch.occurrences(slot)
    assert items is not None
    counted = np.ones(len(items.id))
    if not by_value:
        return counted
    counted = counted if items.value is None else items.value.copy()
    return counted * np.repeat(batch.weight_by_place(slot), np.diff(items.ptr))


def _united(keys: Pointers, sums: Floats) -> Summed:
    """Return each key once, rising, with the sum of its numbers."""
    seen, at = np.unique(keys, return_inverse=True)
    return Summed(seen, np.bincount(at, sums, minlength=len(seen)).astype(np.float64))
