"""Layouts: which weights exist, and where each lives in one vector ``w[F]``.

A layout is a list of blocks. A block gives weights to cells of one slot of a structure, row by row: a row for
each attribute of the occurrences that it is *by*, or one row that all places share. The blocks of a chain:

========== ====== ======= =============================================================================
block      slot   by      rows and cells
========== ====== ======= =============================================================================
node       node   node    attribute by attribute, by rising label
edge       edge   edge    edge attribute by edge attribute, by rising cell ``from * L + to``
transition itself shared  label n-grams of 2 to order + 1 labels whatever the attributes, see below
start      itself shared  one weight per label for the first position
stop       itself shared  one weight per label for the last position
dense      node   dense   ``[K, L]`` for the K columns of `Batch.dense`
========== ====== ======= =============================================================================

A label n-gram of h + 1 labels (h = 1: a step) is a cell of a table with h + 1 axes, the oldest label first.
The tables are in a row, shortest n-grams first: a step is the cell ``from * L + to``, the trigram (x, y, z)
the cell ``L**2 + (x * L + y) * L + z``.

Observed pairs are the supported features of Sha & Pereira (2003); all pairs and observed plus likely ones
(Sutton & McCallum 2006, section 1.4.6) add weights for what the training data never show.
`crfkit.linear.score` turns weights into scores and gradients by scores into gradients by weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit._safe.pickling import Restored
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.plan import Block, Estimate, LayoutOptions, Plan
from crfkit.native import check_memory
from crfkit.structures.chains.chain import Chain, chain_slots
from crfkit.structures.structure import Slot, Structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

__all__ = ["Block", "Estimate", "Layout", "LayoutOptions", "Place", "check_fits"]


class Place(NamedTuple):
    """What one weight belongs to; `before` and `label` are ids of labels.

    Examples
    --------
    >>> Place("transition", None, 2, 0).ngram, Place("transition", None, (1, 2), 0).ngram
    ((2, 0), (1, 2, 0))
    """

    kind: str
    attribute: int | None
    before: int | tuple[int, ...] | None  #: one label; of trigrams and more, all but the last, oldest first
    label: int

    @property
    def ngram(self) -> tuple[int, ...]:
        """All the labels, oldest first."""
        if self.before is None:
            return (self.label,)
        return (*self.before, self.label) if isinstance(self.before, tuple) else (self.before, self.label)


@dataclass(frozen=True, eq=False)
class Layout(Restored):
    """Which weights exist; made by `observed`, `all_pairs` or `observed_plus`, options in `LayoutOptions`.

    A pair (attribute, label) is kept when its number of occurrences (``count="count"``) or its sum of
    sequence weight * value (``count="value"``) is at least `min_count`; with all pairs an attribute is kept
    or dropped with all its labels, by what it has itself. A `min_count` of 0 keeps everything: unlike
    CRFsuite, whose rule "value" drops pairs with negative sums even then. Steps and labels are not counted.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> layout = Layout.observed(batch, 2, transitions="observed")
    >>> layout.weights, layout.parts["transition"]
    (4, slice(3, 4, None))
    >>> [tuple(layout.describe(i)) for i in (0, 3)]
    [('node', 0, None, 0), ('transition', None, 1, 0)]

    >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 0, 0, 0], attr=[], label=[1, 0, 1])
    >>> layout = Layout.observed(batch, Chain(2, order=2), transitions="observed")
    >>> [layout.describe(i).ngram for i in range(layout.weights)]
    [(0, 1), (1, 0), (1, 0, 1)]
    """

    slots: Mapping[str, Slot]  #: of the structure
    blocks: tuple[Block, ...]
    table_bytes: int = 1 << 29  #: most bytes of the table that `score` fills

    @classmethod
    def observed(cls, batch: Batch, structure: Structure | int, **options: Unpack[LayoutOptions]) -> Layout:
        """Keep the pairs that a labeled batch shows; a number L stands for ``Chain(L)``."""
        return cls._of(Plan(batch, _structure(structure), False, options))

    @classmethod
    def all_pairs(cls, batch: Batch, structure: Structure | int, **options: Unpack[LayoutOptions]) -> Layout:
        """Give every attribute a weight for every label, every edge attribute one for every step."""
        return cls._of(Plan(batch, _structure(structure), True, options))

    @classmethod
    def observed_plus(
        cls, batch: Batch, structure: Structure | int, pairs: ArrayLike, **options: Unpack[LayoutOptions]
    ) -> Layout:
        """Keep the observed pairs and these (attribute, label) pairs [n, 2]; see `crfkit.linear.likely`."""
        return cls._of(Plan(batch, _structure(structure), False, options, pairs))

    @classmethod
    def plan(
        cls,
        structure: Structure,
        batches: Batch | Iterable[Batch],
        *,
        all_pairs: bool = False,
        pairs: ArrayLike | None = None,
        **options: Unpack[LayoutOptions],
    ) -> Layout:
        """Return the layout of data in memory, or of batches that are read one by one.

        Parameters
        ----------
        structure : Structure
        batches : Batch, or batches
        all_pairs : bool
            Every pair of attribute and label, not only observed ones.
        pairs : array [n, 2], optional
            Further (attribute, label) pairs.
        **options
            `LayoutOptions`.
        """
        return cls._of(Plan(batches, structure, all_pairs, options, pairs))

    @staticmethod
    def estimate(
        batch: Batch, structure: Structure | int, *, all_pairs: bool = False, **options: Unpack[LayoutOptions]
    ) -> Estimate:
        """Count the weights of a layout without making it.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 1], attr_ptr=[0, 2], attr=[0, 9], label=[1])
        >>> Layout.estimate(batch, 3).parts["node"]
        2
        >>> Layout.estimate(batch, 3, all_pairs=True, attributes=10**9).weight_bytes
        24000000072
        """
        return Plan(batch, _structure(structure), all_pairs, options).estimate

    @classmethod
    def of_chain(
        cls,
        labels: int,
        node_ptr: Pointers,
        node_label: Ids,
        edge_ptr: Pointers,
        edge_cell: Ids,
        transition_cell: Ids,
        start: bool = False,
        stop: bool = False,
        dense: int = 0,
        table_bytes: int = 1 << 29,
        order: int = 1,
    ) -> Layout:
        """Return the layout of a chain whose weights are known, as files hold them."""
        every = np.arange(labels, dtype=np.int32)
        ends = {"start": every if start else every[:0], "stop": every if stop else every[:0]}
        slots = chain_slots(labels, order)
        edge = [Block("edge", "edge", edge_ptr, edge_cell)] if "edge" in slots else []
        blocks = (
            Block("node", "node", node_ptr, node_label),
            *edge,
            Block.shared("transition", transition_cell),
            *(Block.shared(name, cells) for name, cells in ends.items()),
            Block("node", "dense", np.arange(dense + 1, dtype=np.int64) * labels, np.tile(every, dense)),
        )
        return cls(slots, blocks, table_bytes)

    @classmethod
    def _of(cls, plan: Plan) -> Layout:
        plan.estimate.check(plan.options.get("max_weights", 500_000_000))
        check_memory(f"{plan.estimate.weights:,} weights", plan.estimate.weights)
        return cls(plan.slots, plan.blocks(), plan.budget)

    def with_block(self, name: str, cell: Ids, ptr: Pointers | None = None) -> Layout:
        """Return the layout with other weights in one block; without `ptr` it is one that places share."""
        rows = np.array([0, len(cell)], dtype=np.int64) if ptr is None else ptr
        made = [replace(b, ptr=rows, cell=cell) if b.name == name else b for b in self.blocks]
        return replace(self, blocks=tuple(made))

    @once
    def block(self) -> Mapping[str, Block]:
        """The blocks by name."""
        return {block.name: block for block in self.blocks}

    @once
    def parts(self) -> Mapping[str, slice]:
        """Where each block lies in the vector of weights."""
        ends = np.cumsum([len(block.cell) for block in self.blocks]).tolist()
        return _Parts(
            {b.name: slice(end - len(b.cell), end) for b, end in zip(self.blocks, ends, strict=True)}
        )

    @once
    def weights(self) -> int:
        """Number of weights, F."""
        return sum(len(block.cell) for block in self.blocks)

    @property
    def labels(self) -> int:
        """Number of labels, L."""
        return self.slots["node"].cells

    @property
    def order(self) -> int:
        """Labels before the current one that a transition looks at."""
        return len(self.slots["transition"].tables)

    @property
    def attributes(self) -> int:
        """Number of attributes, A."""
        return self.rows_of("node")

    @property
    def edge_attributes(self) -> int:
        """Number of edge attributes."""
        return self.rows_of("edge")

    @property
    def dense(self) -> int:
        """Number of real-valued columns, K."""
        return self.rows_of("dense")

    @property
    def start(self) -> bool:
        """Whether first labels have weights."""
        return self.has("start")

    @property
    def stop(self) -> bool:
        """Whether last labels have weights."""
        return self.has("stop")

    @property
    def node_ptr(self) -> Pointers:
        """Where the weights of each attribute begin, [A + 1]."""
        return self.block["node"].ptr

    @property
    def node_label(self) -> Ids:
        """The label of each node weight."""
        return self.block["node"].cell

    @property
    def edge_ptr(self) -> Pointers:
        """Where the weights of each edge attribute begin, among those of all, [edge attributes + 1]."""
        return self.block["edge"].ptr if "edge" in self.block else np.zeros(1, dtype=np.int64)

    @property
    def edge_cell(self) -> Ids:
        """The step ``from * L + to`` of each edge weight."""
        return self.block["edge"].cell if "edge" in self.block else np.zeros(0, dtype=np.int32)

    @property
    def transition_cell(self) -> Ids:
        """The n-gram of each transition weight."""
        return self.block["transition"].cell

    def rows_of(self, name: str) -> int:
        """Return how many rows a block has; 0 where there is no such block."""
        return len(self.block[name].ptr) - 1 if name in self.block else 0

    def has(self, name: str) -> bool:
        """Return whether a block has any weight."""
        return name in self.block and bool(len(self.block[name].cell))

    @once
    def _native_rows(self) -> dict[str, _native.Rows]:
        return {}

    def rows(self, name: str = "node") -> _native.Rows:
        """Return the weights of a block as the kernels see them, checked."""
        made = self._native_rows.get(name)
        if made is None:
            block = self.block[name]
            width = self.slots[block.slot].cells
            made = _native.Rows(width, block.ptr, block.cell, self.table_bytes)
            self._native_rows[name] = made
        return made

    def shared(self, name: str, w: Floats) -> Floats:
        """Return the scores [cells] that weights [F] give to a slot that all places share."""
        block = self.block[name]
        flat = np.zeros(self.slots[block.slot].cells)
        flat[block.cell] = w[self.parts[name]]
        return flat

    def transition_tables(self, w: Floats) -> tuple[Floats, ...]:
        """Return the transitions of weights [F]: a table for each order, that of order h with h + 1 axes."""
        return self.slots["transition"].split(self.shared("transition", w))

    def transition_weights(self, tables: Sequence[Floats]) -> Floats:
        """Return the entries of such tables that have a weight: the transpose of `transition_tables`."""
        flat = np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
        kept: Floats = flat[self.transition_cell]  # [transition weights]
        return kept

    def describe(self, index: int) -> Place:
        """Return what the weight at an index belongs to."""
        if not 0 <= index < self.weights:
            raise IndexError(f"weight {index} does not exist; there are {self.weights}")
        name = next(name for name, part in self.parts.items() if index < part.stop)
        block, i = self.block[name], index - self.parts[name].start
        row = None if block.by is None else int(np.searchsorted(block.ptr, i, side="right")) - 1
        *before, label = self.slots[block.slot].labels_of(int(block.cell[i]))
        return Place(
            name, row, None if not before else before[0] if len(before) == 1 else tuple(before), label
        )


class _Parts(dict[str, slice]):
    """Where blocks lie; one that is not there has no weights."""

    def __missing__(self, name: str) -> slice:
        return slice(0, 0)


def _structure(given: Structure | int) -> Structure:
    return Chain(given) if isinstance(given, int | np.integer) else given


def check_fits(layout: Layout, structure: Structure) -> None:
    """Refuse a layout that was made for another structure."""
    wanted = structure.slots()
    if layout.stop and structure.local:
        raise ValueError("the layout has stop weights, which a local chain does not take")
    if dict(layout.slots) == dict(wanted):
        return
    if layout.labels != wanted["node"].cells:
        raise ValueError(f"the layout has {layout.labels} labels, the structure {wanted['node'].cells}")
    differ = [name for name in {**wanted, **layout.slots} if wanted.get(name) != layout.slots.get(name)]
    raise ValueError(
        f"the layout does not fit {structure.describe()}: its slots {', '.join(sorted(differ))} differ; "
        "make it for this structure"
    )
