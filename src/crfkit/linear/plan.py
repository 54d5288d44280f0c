"""Plans of layouts: how many weights there would be, and then which.

Counting comes first, so that a layout that is too large is an error and not a full memory.
`crfkit.linear.layout` makes layouts of plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.native import threads_or_all

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Estimate", "LayoutOptions", "Plan", "run_cells", "run_sizes"]

MOST_CELLS = 1 << 28  # of the tables of runs: 2 GB, of which a sweep holds several


class LayoutOptions(TypedDict, total=False):
    """Options of `Layout.observed`, `Layout.all_pairs`, `Layout.observed_plus` and `Layout.estimate`."""

    #: labels before the current one that a transition looks at, 0 (no transitions) to 8 (default 1)
    order: int
    #: transitions: "all" L**(h + 1) runs for each h up to the order (the default), "observed" ones, or "none"
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
    #: number of attributes, where the alphabet has more than the batch shows
    attributes: int
    #: number of edge attributes
    edge_attributes: int
    #: most bytes of the table that `score` fills at each evaluation (default 512 MB)
    table_bytes: int
    #: threads that look for pairs (default: one per core)
    threads: int | None


@dataclass(frozen=True)
class Estimate:
    """How large a layout would be; an optimiser needs several times `weight_bytes` on top."""

    parts: dict[str, int]  #: weights by part
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


def run_sizes(L: int, order: int) -> list[int]:
    """Return how many runs of 2, 3, ..., order + 1 labels there are: the cells of each table.

    Examples
    --------
    >>> run_sizes(3, 2)
    [9, 27]
    """
    return [L ** (h + 1) for h in range(1, order + 1)]


def run_cells(batch: Batch, L: int, order: int) -> list[Pointers]:
    """Return the runs of 2, 3, ..., order + 1 gold labels that end at each position, each [P].

    A run is the cell of its table, flat; -1 where a label is unknown or the sequence has not so many.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 0, 0, 0], attr=[], label=[1, 0, 2])
    >>> [cells.tolist() for cells in run_cells(batch, 3, 2)]
    [[-1, 3, 2], [-1, -1, 11]]
    """
    label = np.full(batch.positions, -1) if batch.label is None else batch.label.astype(np.int64)  # [P]
    first = batch.seq_ptr[:-1]
    cells = [label]
    for _ in range(order):
        longer = np.full(len(label), -1)  # [P]
        known = (cells[-1][:-1] >= 0) & (label[1:] >= 0)
        longer[1:] = np.where(known, cells[-1][:-1] * L + label[1:], -1)
        longer[first[first < len(label)]] = -1
        cells.append(longer)
    return cells[1:]


class Plan:
    """A layout to be: the number of weights first, then the weights."""

    def __init__(
        self,
        batch: Batch,
        labels: int,
        all_pairs: bool,
        options: LayoutOptions,
        extra: ArrayLike | None = None,
    ) -> None:
        self.batch, self.L, self.all_pairs = batch, labels, all_pairs
        self.options = options
        self.order = options.get("order", 1)
        self.minimum = options.get("min_count", 0.0)
        self.threads = threads_or_all(options.get("threads"))
        self.budget = options.get("table_bytes", 1 << 29)
        _check(batch, labels, options, needs_labels=not all_pairs)
        self.node = Pairs(self, "attr", self.L, _count(batch.attr, options.get("attributes"), "attributes"))
        edges = _count(batch.edge_attr, options.get("edge_attributes"), "edge_attributes")
        if edges and self.order != 1:
            raise ValueError(
                f"there are {edges} edge attributes, which need order 1, not {self.order}; edge_attributes=0 "
                "leaves them out"
            )
        self.edge = Pairs(self, "edge_attr", self.L**2, edges)
        if extra is not None:
            self.node.add(extra)
        L, K = self.L, 0 if batch.dense is None else batch.dense.shape[1]
        self.observed_runs = self._observed_runs() if options.get("transitions") == "observed" else None
        self.estimate = Estimate(
            {
                "node": self.node.total,
                "edge": self.edge.total,
                "transition": self._runs(),
                "start": L * options.get("start", False),
                "stop": L * options.get("stop", False),
                "dense": L * K,
            },
            self.node.table_bytes(self.budget),
        )

    def _observed_runs(self) -> Ids:
        """Cells of the observed runs in the tables laid end to end, rising."""
        found, begin = [np.zeros(0, dtype=np.int64)], 0
        sizes = run_sizes(self.L, self.order)
        for size, cells in zip(sizes, run_cells(self.batch, self.L, self.order), strict=True):
            found.append(np.unique(cells[cells >= 0]) + begin)
            begin += size
        return np.concatenate(found).astype(np.int32)

    def _runs(self) -> int:
        if self.observed_runs is not None:
            return len(self.observed_runs)
        return 0 if self.options.get("transitions") == "none" else sum(run_sizes(self.L, self.order))

    def transition_cell(self) -> Ids:
        """Cells of the runs that have a weight, in the tables laid end to end, rising."""
        if self.observed_runs is not None:
            return self.observed_runs
        return np.arange(self._runs(), dtype=np.int32)

    def cells(self, kind: str) -> Ids:
        """Return the label of each position, or the step that enters it; -1 where unknown: [P]."""
        if kind != "attr":
            return run_cells(self.batch, self.L, 1)[0].astype(np.int32)
        label = self.batch.label
        return np.full(self.batch.positions, -1, dtype=np.int32) if label is None else label


_MOST_BITS = 1 << 28  # bytes: above, pairs are found through an index instead of a bit for each


class Pairs:
    """The (attribute, column) pairs of one part."""

    def __init__(self, plan: Plan, kind: str, width: int, attributes: int) -> None:
        self.plan, self.kind, self.width, self.A = plan, kind, width, attributes
        self.extra: Pointers | None = None
        batch = plan.batch
        ptr, attr, value = (
            (batch.attr_ptr, batch.attr, batch.value)
            if kind == "attr"
            else (batch.edge_ptr, batch.edge_attr, batch.edge_value)
        )
        if ptr is None or attr is None:
            ptr, attr = np.zeros(batch.positions + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.weight: Floats | None = None
        if plan.options.get("count", "count") == "value":
            weight = np.ones(batch.sequences) if batch.weight is None else batch.weight
            self.weight = np.repeat(weight, np.diff(batch.seq_ptr))  # [P]
        self.counts: Pointers | None
        self.seen: Ids | None = None  # columns of all rows
        if not plan.all_pairs and plan.minimum <= 0.0 and self._bytes_of_bits() <= _MOST_BITS:
            cells, threads = plan.cells(kind), plan.threads
            made, self.seen = _native.seen_pairs(ptr, attr, cells, attributes, width, threads)
            self.counts = np.diff(made)
        elif not plan.all_pairs:
            self.index = _native.Transpose.of(ptr, attr, value, attributes, width)
            self.counts = np.diff(self._observed(None))
        elif plan.minimum <= 0.0:
            self.counts = None  # every attribute: no need to count, nor to make anything yet
        else:
            each = np.ones(len(attr)) if value is None or self.weight is None else value
            if self.weight is not None:
                each = each * np.repeat(self.weight, np.diff(ptr))
            inside = attr < attributes
            sums = np.bincount(attr[inside], each[inside], minlength=attributes)
            self.counts = np.where(sums >= plan.minimum, width, 0)

    def _bytes_of_bits(self) -> int:
        return 8 * self.A * ((self.width + 63) // 64) * self.plan.threads

    @property
    def total(self) -> int:
        return self.A * self.width if self.counts is None else int(self.counts.sum())

    @property
    def ptr(self) -> Pointers:
        counts = np.full(self.A, self.width) if self.counts is None else self.counts
        made = np.zeros(self.A + 1, dtype=np.int64)
        np.cumsum(counts, out=made[1:])
        return made

    def _observed(self, ptr: Pointers | None) -> Pointers:
        cells = self.plan.cells(self.kind)
        return self.index.observed(cells, self.weight, self.width, self.plan.minimum, ptr, self.plan.threads)

    def add(self, pairs: ArrayLike) -> None:
        """Add (attribute, label) pairs to the observed ones."""
        given = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        wrong = np.flatnonzero((given < 0).any(1) | (given >= [self.A, self.width]).any(1))
        if wrong.size:
            i = int(wrong[0])
            raise ValueError(
                f"pairs[{i}] is {given[i].tolist()}, expected an attribute below {self.A} and a label below "
                f"{self.width}"
            )
        keys = np.repeat(np.arange(self.A), np.diff(self.ptr)) * self.width + self.columns()
        self.extra = np.union1d(keys, given[:, 0] * self.width + given[:, 1])
        self.counts = np.bincount(self.extra // self.width, minlength=self.A).astype(np.int64)

    def columns(self) -> Ids:
        if self.extra is not None:
            return (self.extra % self.width).astype(np.int32)
        if self.plan.all_pairs:
            return np.tile(np.arange(self.width, dtype=np.int32), self.total // self.width)
        if self.seen is not None:
            return self.seen
        return self._observed(self.ptr).astype(np.int32, copy=False)

    def table_bytes(self, budget: int) -> int:
        if self.counts is None:
            return 0
        wide = int(np.count_nonzero((self.counts > _native.Rows.narrow) & (self.counts < self.width)))
        size = wide * ((self.width + 7) // 8 * 8) * 8
        return size if size <= budget else 0


def _count(attr: Ids | None, given: int | None, name: str) -> int:
    shown = 0 if attr is None or not attr.size else int(attr.max()) + 1
    if given is None:
        return shown
    if given < 0:
        raise ValueError(f"{name} is {given}, expected 0 or more")
    return given


def _check(batch: Batch, labels: int, options: LayoutOptions, needs_labels: bool) -> None:
    unknown = set(options) - set(LayoutOptions.__annotations__)
    if unknown:
        raise TypeError(f"{min(unknown)} is not an option of a layout")
    for name, choices in (("transitions", ("all", "observed", "none")), ("count", ("count", "value"))):
        if options.get(name, choices[0]) not in choices:
            raise ValueError(f"{name} is {options.get(name)!r}, expected one of {', '.join(choices)}")
    if not options.get("min_count", 0.0) >= 0.0:
        raise ValueError(f"min_count is {options.get('min_count')}, expected 0 or more")
    if not 1 <= labels < 1 << 12:
        raise ValueError(f"labels is {labels}, expected 1 to {(1 << 12) - 1}")
    order = options.get("order", 1)
    if order not in range(9):
        raise ValueError(f"order is {order}, expected 0 to 8")
    cells = sum(run_sizes(labels, order))
    if cells > MOST_CELLS:
        raise ValueError(
            f"{labels} labels make {cells:,} runs of up to {order + 1} labels, each with a score; at most "
            f"{MOST_CELLS:,} are possible: use a lower order"
        )
    if batch.label is None:
        if needs_labels or options.get("transitions", "all") == "observed":
            raise ValueError("batch.label is None; observed pairs need a labelled batch")
        return
    wrong = np.flatnonzero((batch.label < -1) | (batch.label >= labels))
    if wrong.size:
        p = int(wrong[0])
        raise ValueError(f"label[{p}] is {batch.label[p]}, expected 0 to {labels - 1}, or -1 where unknown")
