"""Layouts: which weights exist, and where each lives in one vector ``w[F]``.

The parts, in this order:

========== ================================================================================
node       attribute by attribute, by rising label: ``node_ptr[A + 1]``, ``node_label``
edge       edge attribute by edge attribute, by rising cell ``from * L + to``: ``edge_ptr``, ``edge_cell``
transition cells ``from * L + to`` of steps whatever the attributes: ``transition_cell``
start      one weight per label for the first position
stop       one weight per label for the last position
dense      ``[K, L]`` for the K columns of `Batch.dense`
========== ================================================================================

Observed pairs are the supported features of Sha & Pereira (2003); all pairs and observed plus likely ones
(Sutton & McCallum 2006, section 1.4.6) add weights for what the training data never shows.
`crfkit.scoring` turns weights into scores and credits into gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

import numpy as np

from crfkit import _native
from crfkit.batch import Batch
from crfkit.native import threads_or_all
from crfkit.structures.labels import Floats, Ids, Pointers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

__all__ = ["Estimate", "Layout", "LayoutOptions", "Place", "likely_pairs"]


class LayoutOptions(TypedDict, total=False):
    """Options of `Layout.observed`, `Layout.all_pairs`, `Layout.observed_plus` and `Layout.estimate`."""

    #: plain steps: "all" L * L of them (the default), "observed" ones, or "none"
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


class Place(NamedTuple):
    """What one weight belongs to; `before` and `label` are ids of labels."""

    kind: str
    attribute: int | None
    before: int | None
    label: int | None


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


@dataclass(frozen=True, eq=False)
class Layout:
    """Which weights exist; made by `observed`, `all_pairs` or `observed_plus`, options in `LayoutOptions`.

    A pair (attribute, label) is kept when its number of occurrences (``count="count"``) or its sum of
    sequence weight * value (``count="value"``) is at least `min_count`; with all pairs an attribute is kept
    or dropped with all its labels, by what it has itself. A `min_count` of 0 keeps everything: unlike
    CRFsuite, whose rule "value" drops pairs with negative sums even then. Steps and labels are not counted.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> layout = Layout.observed(batch, labels=2, transitions="observed")
    >>> layout.weights, layout.parts["transition"]
    (4, slice(3, 4, None))
    >>> [tuple(layout.describe(i)) for i in (0, 3)]
    [('node', 0, None, 0), ('transition', None, 1, 0)]
    """

    labels: int  #: L
    node_ptr: Pointers  #: [A + 1]
    node_label: Ids  #: [node weights]
    edge_ptr: Pointers  #: [edge attributes + 1]
    edge_cell: Ids  #: [edge weights]
    transition_cell: Ids  #: [transition weights]
    start: bool = False
    stop: bool = False
    dense: int = 0  #: K
    table_bytes: int = 1 << 29

    @classmethod
    def observed(cls, batch: Batch, labels: int, **options: Unpack[LayoutOptions]) -> Layout:
        """Keep the pairs that a labelled batch shows."""
        return _Plan(batch, labels, False, options).layout()

    @classmethod
    def all_pairs(cls, batch: Batch, labels: int, **options: Unpack[LayoutOptions]) -> Layout:
        """Give every attribute a weight for every label, every edge attribute one for every step."""
        return _Plan(batch, labels, True, options).layout()

    @classmethod
    def observed_plus(
        cls, batch: Batch, labels: int, pairs: ArrayLike, **options: Unpack[LayoutOptions]
    ) -> Layout:
        """Keep the observed pairs and these (attribute, label) pairs [n, 2]; see `likely_pairs`."""
        return _Plan(batch, labels, False, options, pairs).layout()

    @staticmethod
    def estimate(
        batch: Batch, labels: int, *, all_pairs: bool = False, **options: Unpack[LayoutOptions]
    ) -> Estimate:
        """Count the weights of a layout without making it.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 1], attr_ptr=[0, 2], attr=[0, 9], label=[1])
        >>> Layout.estimate(batch, labels=3).parts["node"]
        2
        >>> Layout.estimate(batch, labels=3, all_pairs=True, attributes=10**9).weight_bytes
        24000000072
        """
        return _Plan(batch, labels, all_pairs, options).estimate

    @property
    def attributes(self) -> int:
        """Number of attributes, A."""
        return len(self.node_ptr) - 1

    @property
    def edge_attributes(self) -> int:
        """Number of edge attributes."""
        return len(self.edge_ptr) - 1

    @property
    def weights(self) -> int:
        """Number of weights, F."""
        return int(self.parts["dense"].stop)

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where each part lies in the vector of weights."""
        L = self.labels
        sizes = {
            "node": len(self.node_label),
            "edge": len(self.edge_cell),
            "transition": len(self.transition_cell),
            "start": L * self.start,
            "stop": L * self.stop,
            "dense": L * self.dense,
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - n, end) for (name, n), end in zip(sizes.items(), ends, strict=True)}

    @cached_property
    def rows(self) -> _native.Rows:
        """The node weights as the kernels see them, checked."""
        return _native.Rows(self.labels, self.node_ptr, self.node_label, self.table_bytes)

    @cached_property
    def edge_rows(self) -> _native.Rows:
        """The edge weights as the kernels see them, checked."""
        return _native.Rows(self.labels**2, self.edge_ptr, self.edge_cell, self.table_bytes)

    def describe(self, index: int) -> Place:
        """Tell what the weight at an index belongs to."""
        if not 0 <= index < self.weights:
            raise IndexError(f"weight {index} does not exist; there are {self.weights}")
        kind = next(name for name, part in self.parts.items() if index < part.stop)
        i = index - self.parts[kind].start
        if kind == "node":
            a = int(np.searchsorted(self.node_ptr, i, side="right")) - 1
            return Place(kind, a, None, int(self.node_label[i]))
        if kind == "edge":
            a = int(np.searchsorted(self.edge_ptr, i, side="right")) - 1
            return Place(kind, a, *divmod(int(self.edge_cell[i]), self.labels))
        if kind == "transition":
            return Place(kind, None, *divmod(int(self.transition_cell[i]), self.labels))
        if kind == "dense":
            return Place(kind, i // self.labels, None, i % self.labels)
        return Place(kind, None, None, i)


class _Plan:
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
        self.minimum = options.get("min_count", 0.0)
        self.threads = threads_or_all(options.get("threads"))
        self.budget = options.get("table_bytes", 1 << 29)
        _check(batch, labels, options, needs_labels=not all_pairs)
        self.node = _Pairs(self, "attr", self.L, _count(batch.attr, options.get("attributes"), "attributes"))
        edges = _count(batch.edge_attr, options.get("edge_attributes"), "edge_attributes")
        self.edge = _Pairs(self, "edge_attr", self.L**2, edges)
        if extra is not None:
            self.node.add(extra)
        L, K = self.L, 0 if batch.dense is None else batch.dense.shape[1]
        steps = options.get("transitions", "all")
        if steps == "observed":
            cells = np.unique(self.cells("edge_attr"))
            self.transition_cell: Ids = cells[cells >= 0].astype(np.int32)
        else:
            self.transition_cell = np.arange(L**2 if steps == "all" else 0, dtype=np.int32)
        self.estimate = Estimate(
            {
                "node": self.node.total,
                "edge": self.edge.total,
                "transition": len(self.transition_cell),
                "start": L * options.get("start", False),
                "stop": L * options.get("stop", False),
                "dense": L * K,
            },
            self.node.table_bytes(self.budget),
        )

    def layout(self) -> Layout:
        self.estimate.check(self.options.get("max_weights", 500_000_000))
        return Layout(
            self.L,
            self.node.ptr,
            self.node.columns(),
            self.edge.ptr,
            self.edge.columns(),
            self.transition_cell,
            self.options.get("start", False),
            self.options.get("stop", False),
            self.estimate.parts["dense"] // self.L,
            self.budget,
        )

    def cells(self, kind: str) -> Ids:
        """Return the label of each position, or the step that enters it; -1 where unknown."""
        label = self.batch.label
        if label is None:
            return np.full(self.batch.positions, -1, dtype=np.int32)
        if kind == "attr":
            return label
        cell = np.full(len(label), -1, dtype=np.int32)
        cell[1:] = np.where((label[1:] >= 0) & (label[:-1] >= 0), label[:-1] * self.L + label[1:], -1)
        first = self.batch.seq_ptr[:-1]
        cell[first[first < len(cell)]] = -1
        return cell


class _Pairs:
    """The (attribute, column) pairs of one part."""

    def __init__(self, plan: _Plan, kind: str, width: int, attributes: int) -> None:
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
        if not plan.all_pairs:
            self.index = _native.Transpose.of(ptr, attr, value, attributes, width)
            self.counts: Pointers | None = np.diff(self._observed(None))
        elif plan.minimum <= 0.0:
            self.counts = None  # every attribute: no need to count, nor to make anything yet
        else:
            each = np.ones(len(attr)) if value is None or self.weight is None else value
            if self.weight is not None:
                each = each * np.repeat(self.weight, np.diff(ptr))
            inside = attr < attributes
            sums = np.bincount(attr[inside], each[inside], minlength=attributes)
            self.counts = np.where(sums >= plan.minimum, width, 0)

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
    if batch.label is None:
        if needs_labels or options.get("transitions", "all") == "observed":
            raise ValueError("batch.label is None; observed pairs need a labelled batch")
        return
    wrong = np.flatnonzero((batch.label < -1) | (batch.label >= labels))
    if wrong.size:
        p = int(wrong[0])
        raise ValueError(f"label[{p}] is {batch.label[p]}, expected 0 to {labels - 1}, or -1 where unknown")


def likely_pairs(batch: Batch, node_probabilities: ArrayLike, epsilon: float) -> Pointers:
    """Return unobserved pairs that a model finds likely: [n, 2], sorted.

    These are the (attribute, label) pairs that the labelled batch never shows, but to which some position
    that has the attribute gives the label with a probability above epsilon: the weights that keep a model
    from errors it makes now (Sutton & McCallum 2006, section 1.4.6).

    Parameters
    ----------
    batch : Batch
        Training data with labels.
    node_probabilities : array [P, L]
        Marginals of a model trained so far, on the same batch.
    epsilon : float
        The least probability that makes a pair likely; 0.01 is a good start.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> likely_pairs(batch, [[0.7, 0.3], [0.001, 0.999]], 0.01).tolist()
    [[0, 1]]
    """
    p = np.asarray(node_probabilities, dtype=np.float64)  # [P, L]
    if batch.label is None:
        raise ValueError("batch.label is None; likely pairs need a labelled batch")
    if p.ndim != 2 or len(p) != batch.positions:
        raise ValueError(f"node_probabilities has shape {p.shape}, expected ({batch.positions}, labels)")
    if not 0.0 <= epsilon < 1.0:
        raise ValueError(f"epsilon is {epsilon}, expected 0 or more, below 1")
    L = p.shape[1]
    counts = np.diff(batch.attr_ptr)  # [P]
    found = np.zeros(0, dtype=np.int64)
    for y in range(L):  # one label at a time: at most one key per occurrence in memory
        at = np.repeat((p[:, y] > epsilon) & (batch.label != y), counts)
        found = np.concatenate([found, np.unique(batch.attr[at]).astype(np.int64) * L + y])
    gold = np.repeat(batch.label, counts)
    shown = batch.attr[gold >= 0].astype(np.int64) * L + gold[gold >= 0]
    keys = np.setdiff1d(found, shown)
    return np.stack([keys // L, keys % L], axis=1)
