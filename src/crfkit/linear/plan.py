"""Which weights there are: blocks of them, and plans, which count the weights before any is made.

A block has the weights that one kind of occurrence gives to the cells of one slot. Counting comes first, so
that a layout that is too large is an error before memory runs out. `crfkit.linear.layout` turns plans into
layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.cached import once
from crfkit._safe.pickling import Restored
from crfkit.arrays import Ids, Pointers, handed_over, sealed
from crfkit.data.batch import Batch, each
from crfkit.data.dataset import ALPHABET_OF
from crfkit.linear.pairs import pairs_of
from crfkit.native import threads_or_all
from crfkit.structures.structure import Slot, Structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Block(Restored):
    """Weights of a slot, row by row: weight i of row r is for cell ``cell[i]``, ``ptr[r] <= i < ptr[r + 1]``.

    Examples
    --------
    >>> Block("node", "dense", np.array([0, 2]), np.array([0, 1], dtype=np.int32)).name
    'dense'
    >>> Block.shared("start", np.arange(3, dtype=np.int32)).ptr.tolist()
    [0, 3]
    """

    slot: str  #: whose cells the weights are for
    by: str | None  #: the occurrences whose attributes have a row each; None: one row, shared by all places
    ptr: Pointers  #: [rows + 1]
    cell: Ids  #: [weights] rising within a row

    def __post_init__(self) -> None:
        object.__setattr__(self, "ptr", sealed(self.ptr))
        object.__setattr__(self, "cell", sealed(self.cell))

    @classmethod
    def shared(cls, slot: str, cell: Ids) -> Block:
        """Return the block of a slot that all places share."""
        return cls(slot, None, np.array([0, len(cell)], dtype=np.int64), cell)

    @property
    def name(self) -> str:
        """What messages and files call it: the slot's name, or "dense" for real-valued columns."""
        return self.slot if self.by is None else self.by


def check_rows(name: str, ptr: NDArray[Any], cells: NDArray[Any], width: int) -> None:
    """Refuse pointers that fall or do not span the cells, and cells of a row that do not rise or exist.

    Examples
    --------
    >>> check_rows("node", np.array([0, 2]), np.array([1, 5], dtype=np.int32), 3)
    Traceback (most recent call last):
    ValueError: node_cell has entries outside 0 to 2
    """
    for what, array, kind in ((f"{name}_ptr", ptr, np.int64), (f"{name}_cell", cells, np.int32)):
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(
                f"{what} is {array.dtype} with {array.ndim} axes, expected {np.dtype(kind)} with 1"
            )
    if not 1 <= len(ptr) < 1 << 31 or ptr[0] != 0 or ptr[-1] != len(cells):
        raise ValueError(f"{name}_ptr does not span {name}_cell")
    if (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"{name}_ptr falls")
    if cells.size:
        if cells.view(np.uint32).max() >= width:  # negative ones are large
            raise ValueError(f"{name}_cell has entries outside 0 to {width - 1}")
        begins = np.zeros(len(cells) + 1, dtype=np.bool_)
        begins[ptr] = True
        if ((cells[1:] <= cells[:-1]) > begins[1:-1]).any():
            raise ValueError(f"{name}_cell does not rise within a row")


MOST_CELLS = 1 << 28  # of the tables that places share: 2 GB, of which a sweep holds several


class LayoutOptions(TypedDict, total=False):
    """Options of `Layout.observed`, `Layout.all_pairs`, `Layout.observed_plus` and `Layout.estimate`."""

    #: transitions: "all" label n-grams up to the order (the default), "observed" ones, or "none"
    transitions: Literal["all", "observed", "none"]
    #: weights for the first label (default False)
    start: bool
    #: weights for the last label (default False)
    stop: bool
    #: keep what is seen at least so often (default 0: everything)
    min_count: float
    #: how often: "count" occurrences (default), or "value", the sum of sequence weight * value
    count: Literal["count", "value"]
    #: a ValueError instead of more weights than this (default 500 million, 4 GB)
    max_weights: int
    #: exactly these (attribute, label) pairs [n, 2], whatever the data show
    chosen: Pointers
    #: number of attributes, where the alphabet has more than the batch shows
    attributes: int
    #: number of edge attributes
    edge_attributes: int
    #: number of attributes of segments
    segment_attributes: int
    #: most bytes of the table that `score` fills at each evaluation (default 512 MB), however many these are;
    #: it is never larger than 64 MB and 64 bytes for each byte of weights
    table_bytes: int
    #: threads that look for pairs (default: one per core)
    threads: int | None


@dataclass(frozen=True)
class Estimate:
    """How large a layout would be; an optimizer needs several times `weight_bytes` on top."""

    parts: dict[str, int]  #: weights by block
    table_bytes: int  #: of the table that `score` fills

    @property
    def weights(self) -> int:
        """Number of weights, F."""
        return sum(self.parts.values())

    @property
    def weight_bytes(self) -> int:
        """Bytes of one vector of weights."""
        return 8 * self.weights

    def check(self, max_weights: int) -> None:
        """Raise when there are more weights than allowed, and name the part that makes most of them."""
        if self.weights <= max_weights:
            return
        most = max(self.parts, key=self.parts.__getitem__)
        raise ValueError(
            f"this layout would have {self.weights:,} weights ({self.weight_bytes:,} bytes), more than "
            f"max_weights = {max_weights:,}; {self.parts[most]:,} are {most} weights. Raise min_count, use "
            "observed pairs, or allow more"
        )


class Plan:
    """The plan of a layout: the number of weights first, then the weights.

    Parameters
    ----------
    batches : Batch, or batches that can be iterated over many times
        Data in memory, or in blocks, of which one at a time is in memory.
    structure : Structure
    all_pairs : bool
        Every attribute gets a weight for every cell, not only for those that the gold takes.
    options : LayoutOptions
    extra : array [n, 2], optional
        Further (attribute, label) pairs.
    """

    def __init__(
        self,
        batches: Batch | Iterable[Batch],
        structure: Structure,
        all_pairs: bool,
        options: LayoutOptions,
        extra: ArrayLike | None = None,
    ) -> None:
        self.batches: Iterable[Batch] = [batches] if isinstance(batches, Batch) else batches
        self.whole = batches if isinstance(batches, Batch) else None
        self.structure, self.slots = structure, structure.slots()
        self.all_pairs, self.options = all_pairs, options
        self.minimum = options.get("min_count", 0.0)
        self.by_value = options.get("count", "count") == "value"
        self.threads = threads_or_all(options.get("threads"))
        self.budget = options.get("table_bytes", 1 << 29)
        _check(self.whole, self.slots, options, needs_labels=not all_pairs)
        sizes = self._attributes()
        self.pairs = {
            slot: pairs_of(self, slot, sizes[slot]) for slot, about in self.slots.items() if about.places
        }
        if "chosen" in options:
            self.pairs["node"].add(options["chosen"])
        if extra is not None:
            self.pairs["node"].add(extra)
        self.columns = next((found for found in each(self.batches, _columns) if found), 0)  # K
        self.shared = {slot: self._shared(slot) for slot, about in self.slots.items() if not about.places}
        parts = {slot: pairs.total for slot, pairs in self.pairs.items()}
        parts.update({slot: self._size(slot) for slot in self.shared})
        parts["dense"] = self.slots["node"].cells * self.columns
        self.estimate = Estimate(parts, self.pairs["node"].table_bytes(self.budget))

    def _attributes(self) -> dict[str, int]:
        """Return how many attributes the occurrences of each slot have."""
        sizes = {}
        for by, name in ALPHABET_OF.items():
            given: int | None = self.options.get(name)  # type: ignore[assignment]
            if given is not None and given < 0:
                raise ValueError(f"{name} is {given}, expected 0 or more")
            alike = [kind for kind, alphabet in ALPHABET_OF.items() if alphabet == name]
            sizes[by] = max(self._shown(kind) for kind in alike) if given is None else given
            if sizes[by] and by not in self.slots:
                raise ValueError(
                    f"there are {sizes[by]} {by} attributes, which {self.structure.describe()} does not "
                    f"take; {name}=0 leaves them out"
                )
        return sizes

    def _shown(self, by: str) -> int:
        return max(each(self.batches, partial(_shown, by)), default=0)

    def _which(self, slot: str) -> str:
        """Return which cells of a shared slot have weights: "all", "observed" or "none"."""
        if slot == "transition":
            return self.options.get("transitions", "all")
        if slot in ("start", "stop"):
            return "all" if self.options.get(slot, False) else "none"
        return "all"

    def _shared(self, slot: str) -> Ids | None:
        """Return the observed cells of a shared slot, rising; None where all or none have weights."""
        if self._which(slot) != "observed":
            return None
        seen = np.zeros(self.slots[slot].cells, dtype=bool)
        every = [self.whole_cells[slot]] if self.whole is not None else self._cells(slot)
        for cells in every:
            seen[cells[cells >= 0]] = True
        return np.flatnonzero(seen).astype(np.int32)

    def _cells(self, slot: str) -> Iterator[Pointers]:
        return each(self.batches, partial(_taken, self.structure, slot))

    def _size(self, slot: str) -> int:
        cells = self.shared[slot]
        if cells is not None:
            return len(cells)
        return 0 if self._which(slot) == "none" else self.slots[slot].cells

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks of the layout."""
        made = [
            Block(slot, slot, handed_over(pairs.ptr), handed_over(pairs.columns()))
            for slot, pairs in self.pairs.items()
        ]
        for slot, cells in self.shared.items():
            every = np.arange(self._size(slot), dtype=np.int32)
            made.append(Block.shared(slot, every if cells is None else cells))
        K, L = self.columns, self.slots["node"].cells
        labels = np.tile(np.arange(L, dtype=np.int32), K)
        return (*made, Block("node", "dense", np.arange(K + 1, dtype=np.int64) * L, labels))

    @once
    def whole_cells(self) -> Mapping[str, Pointers]:
        """The cells of each slot that the gold takes, of data in memory."""
        assert self.whole is not None
        return self.structure.gold_cells(self.whole)


def _columns(batch: Batch) -> int:
    return 0 if batch.dense is None else int(batch.dense.shape[1])


def _shown(by: str, batch: Batch) -> int:
    items = batch.occurrences(by)
    return int(items.id.max()) + 1 if items is not None and items.id.size else 0


def _taken(structure: Structure, slot: str, batch: Batch) -> Pointers:
    """Return each cell of a slot that the gold of a batch takes, once."""
    return np.unique(structure.gold_cells(batch)[slot])


def _check(
    batch: Batch | None, slots: Mapping[str, Slot], options: LayoutOptions, needs_labels: bool
) -> None:
    unknown = set(options) - set(LayoutOptions.__annotations__)
    if unknown:
        raise TypeError(f"{min(unknown)} is not an option of a layout")
    for name, choices in (("transitions", ("all", "observed", "none")), ("count", ("count", "value"))):
        if options.get(name, choices[0]) not in choices:
            raise ValueError(f"{name} is {options.get(name)!r}, expected one of {', '.join(choices)}")
    if not options.get("min_count", 0.0) >= 0.0:
        raise ValueError(f"min_count is {options.get('min_count')}, expected 0 or more")
    labels = slots["node"].cells
    if not 1 <= labels < 1 << 12:
        raise ValueError(f"there are {labels} labels, expected 1 to {(1 << 12) - 1}")
    cells = slots["transition"].cells
    if cells > MOST_CELLS:
        longest = len(slots["transition"].tables) + 1
        raise ValueError(
            f"{labels} labels make {cells:,} n-grams of up to {longest} labels, each with a score; at most "
            f"{MOST_CELLS:,} are possible: use a lower order"
        )
    observed = needs_labels or options.get("transitions", "all") == "observed"
    if batch is not None and batch.label is None and observed:
        raise ValueError("batch.label is None; give a labeled batch, or use all pairs")
