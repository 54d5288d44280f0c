"""Layouts: which weights exist, and where each lives in one vector ``w[F]``.

The parts, in this order:

========== ================================================================================
node       attribute by attribute, by rising label: ``node_ptr[A + 1]``, ``node_label``
edge       edge attribute by edge attribute, by rising cell ``from * L + to``: ``edge_ptr``, ``edge_cell``
transition runs of 2 to order + 1 labels whatever the attributes: ``transition_cell``, see below
start      one weight per label for the first position
stop       one weight per label for the last position
dense      ``[K, L]`` for the K columns of `Batch.dense`
========== ================================================================================

A run of h + 1 labels (h = 1: a step) is a cell of a table with h + 1 axes, the oldest label first. The tables
lie end to end, shortest runs first, and ``transition_cell`` holds the cells that have a weight, rising: a
step is the cell ``from * L + to``, the run (x, y, z) the cell ``L**2 + (x * L + y) * L + z``.

Observed pairs are the supported features of Sha & Pereira (2003); all pairs and observed plus likely ones
(Sutton & McCallum 2006, section 1.4.6) add weights for what the training data never shows.
`crfkit.linear.score` turns weights into scores and credits into gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.plan import Estimate, LayoutOptions, Plan, run_sizes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

__all__ = ["Estimate", "Layout", "LayoutOptions", "Place", "likely_pairs"]


class Place(NamedTuple):
    """What one weight belongs to; `before` and `label` are ids of labels.

    Examples
    --------
    >>> Place("transition", None, 2, 0).run, Place("transition", None, (1, 2), 0).run
    ((2, 0), (1, 2, 0))
    """

    kind: str
    attribute: int | None
    before: int | tuple[int, ...] | None  #: one label; of runs of 3 and more, all but the last, oldest first
    label: int

    @property
    def run(self) -> tuple[int, ...]:
        """All the labels, oldest first."""
        if self.before is None:
            return (self.label,)
        return (*self.before, self.label) if isinstance(self.before, tuple) else (self.before, self.label)


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

    >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0, 0, 0, 0], attr=[], label=[1, 0, 1])
    >>> layout = Layout.observed(batch, labels=2, transitions="observed", order=2)
    >>> [layout.describe(i).run for i in range(layout.weights)]
    [(0, 1), (1, 0), (1, 0, 1)]
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
    order: int = 1  #: labels before the current one that a transition looks at

    @classmethod
    def observed(cls, batch: Batch, labels: int, **options: Unpack[LayoutOptions]) -> Layout:
        """Keep the pairs that a labelled batch shows."""
        return cls._of(Plan(batch, labels, False, options))

    @classmethod
    def all_pairs(cls, batch: Batch, labels: int, **options: Unpack[LayoutOptions]) -> Layout:
        """Give every attribute a weight for every label, every edge attribute one for every step."""
        return cls._of(Plan(batch, labels, True, options))

    @classmethod
    def observed_plus(
        cls, batch: Batch, labels: int, pairs: ArrayLike, **options: Unpack[LayoutOptions]
    ) -> Layout:
        """Keep the observed pairs and these (attribute, label) pairs [n, 2]; see `likely_pairs`."""
        return cls._of(Plan(batch, labels, False, options, pairs))

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
        return Plan(batch, labels, all_pairs, options).estimate

    @classmethod
    def _of(cls, plan: Plan) -> Layout:
        plan.estimate.check(plan.options.get("max_weights", 500_000_000))
        return cls(
            plan.L,
            plan.node.ptr,
            plan.node.columns(),
            plan.edge.ptr,
            plan.edge.columns(),
            plan.transition_cell(),
            plan.options.get("start", False),
            plan.options.get("stop", False),
            plan.estimate.parts["dense"] // plan.L,
            plan.budget,
            plan.order,
        )

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

    def transition_tables(self, w: Floats) -> tuple[Floats, ...]:
        """Return the transitions of weights [F]: a table for each order, that of order h with h + 1 axes."""
        sizes = run_sizes(self.labels, self.order)
        flat = np.zeros(sum(sizes))
        flat[self.transition_cell] = w[self.parts["transition"]]
        tables = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
        return tuple(table.reshape((self.labels,) * (h + 1)) for h, table in enumerate(tables, start=1))

    def transition_credit(self, tables: Sequence[Floats]) -> Floats:
        """Return the entries of such tables that have a weight: the transpose of `transition_tables`."""
        flat = np.concatenate([np.zeros(0), *(table.ravel() for table in tables)])
        credit: Floats = flat[self.transition_cell]  # [transition weights]
        return credit

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
            return self._describe_run(int(self.transition_cell[i]))
        if kind == "dense":
            return Place(kind, i // self.labels, None, i % self.labels)
        return Place(kind, None, None, i)

    def _describe_run(self, cell: int) -> Place:
        begins = np.cumsum([0, *run_sizes(self.labels, self.order)])
        h = int(np.searchsorted(begins, cell, side="right"))
        run = np.unravel_index(cell - begins[h - 1], (self.labels,) * (h + 1))
        *before, label = (int(y) for y in run)
        return Place("transition", None, before[0] if h == 1 else tuple(before), label)


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
