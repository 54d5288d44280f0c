"""The views for optimizers that visit sequence by sequence: flat arrays, and penalties of two groups.

The groups are the weights of attributes and all others: those of edge attributes, transitions, start, stop
and lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.checks import NotFiniteError
from crfkit.native import kernels
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.rules import Rule

_TABLE = 1 << 29  # most bytes of the table of weights that scores are made of


class SegmentRows(NamedTuple):
    """What the rows of sequences stand for that are cut into segments of at most D positions.

    A sequence has a row for each of its positions, which all segments around it share; then one for each
    position where a segment may begin, and one where it may end, if these have attributes; then one for each
    segment that has attributes.
    """

    position_ptr: Pointers  #: [N + 1]
    begin: Ids  #: [P] 1 where a gold segment begins, else 0
    place: Ids  #: of each row of a segment: (first position in its sequence) * D + length - 1
    length_cell: Ids  #: (length - 1) * L + label of each length that has a weight
    longest: int  #: D
    begins: bool
    ends: bool


class EdgeRows(NamedTuple):
    """Edge attributes of the positions of chains, and the steps that each has weights for."""

    ptr: Pointers  #: [P + 1]
    attr: Ids  #: [nnz]
    value: Floats | None  #: [nnz]
    row_ptr: Pointers  #: weights of each edge attribute
    cell: Ids  #: from * L + to of each


@dataclass(frozen=True, eq=False)
class Sequences:
    """Labeled sequences, and which weights exist; in the order of the layout.

    The attributes of a row give it a score for each label; the rows of a chain are its P positions.

    Examples
    --------
    >>> empty = np.zeros(0, dtype=np.int32)
    >>> one = np.array([0, 1])
    >>> arrays = Sequences(one, one, empty[:1], None, empty[:1], 2, one, empty[:1], empty)
    >>> arrays.strengths(Penalty(l1=0.5, l2=1.0), "SGD")
    (0.5, 1.0, 0.5, 1.0)
    """

    seq_ptr: Pointers  #: [N + 1]
    attr_ptr: Pointers  #: [P + 1] attributes of each row
    attr: Ids  #: [nnz]
    value: Floats | None  #: [nnz]
    label: Ids  #: [P] the gold of each row; -1 for a row that the gold does not have
    labels: int  #: L
    row_ptr: Pointers  #: [A + 1] weights of each attribute
    column: Ids  #: label of each
    transition_cell: Ids  #: cell of each label n-gram that has a weight: `crfkit.linear.layout`
    start: bool = False
    stop: bool = False
    weight: Floats | None = None  #: [N] of the sequences
    forbidden: Floats | None = None  #: [(tables + 2) * L] 0 or -inf: transitions, lengths, start, stop
    segments: SegmentRows | None = None  #: None: chains
    before: int = 1  #: k: labels before that a transition looks at; L + ... + L^k rows of tables
    edges: EdgeRows | None = None

    @once
    def native(self) -> _native.Labeled:
        """The arrays as the kernels see them, checked."""
        given = {name: getattr(self, name) for name in Sequences.__dataclass_fields__}
        if self.segments is not None:
            given["segments"] = _native.Segmented(*self.segments)
        if self.edges is not None:
            given["edges"] = _native.EdgeOccurrences(*self.edges)
        return _native.Labeled(**given)

    @once
    def filled(self) -> Pointers:
        """Sequences with at least one position."""
        return np.flatnonzero(np.diff(self.seq_ptr)).astype(np.int64)

    @property
    def occurrences(self) -> int:
        """Attributes of the rows that the gold has: for chains, of all positions."""
        if self.segments is None:
            return len(self.attr)
        return int(np.diff(self.attr_ptr)[self.label >= 0].sum())

    def order(self, seed: int, number: int) -> Pointers:
        """Return the order of a pass, counted from 1: (seed, number) is all that it depends on."""
        drawn: Pointers = np.random.default_rng([seed, number]).permutation(self.filled)
        return drawn

    def scores(self, w: Floats, threads: int) -> tuple[Floats, Floats, Floats | None]:
        """Return the scores by w [F], flat.

        They are those of rows [P * L]; of transitions, and of lengths of segments [tables * L]; of start and
        stop [2 * L], None without them.

        Examples
        --------
        >>> none, one = np.zeros(0, dtype=np.int32), np.array([0, 1])
        >>> label = np.zeros(1, dtype=np.int32)
        >>> arrays = Sequences(one, one, label, None, label, 2, one, label, none, stop=True)
        >>> [part.tolist() for part in arrays.scores(np.array([3.0, 1.0, 2.0]), threads=1)]
        [[3.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
        """
        L, places, attributes = self.labels, len(self.label), int(self.row_ptr[-1])
        rows = _native.Rows(L, self.row_ptr, self.column, _TABLE)
        ready = _native.ReadyRows.of(kernels, rows, w, 0, threads)
        made = np.empty((places, L))
        items = (self.attr_ptr, self.attr, self.value)
        if not _native.score(kernels, ready, *items, None, 0, places, made, threads):
            raise NotFiniteError("some scores are not finite; scale the values of attributes")
        tables = sum(L**h for h in range(1, self.before + 1))
        tables += 0 if self.segments is None else self.segments.longest
        small = np.zeros((tables + 2) * L)  # transitions, lengths, start, stop
        small[self._small_cells(tables)] = w[attributes:]
        if self.forbidden is not None:
            small += self.forbidden
        ends = self.start or self.stop or self.forbidden is not None
        return made.ravel(), small[: tables * L], small[tables * L :] if ends else None

    def _small_cells(self, tables: int) -> Pointers:
        """Return where the weights that belong to no attribute lie in such an array, in their order."""
        L = self.labels
        ends = [
            np.arange(i * L, (i + 1) * L) for i, has in ((tables, self.start), (tables + 1, self.stop)) if has
        ]
        lengths = [] if self.segments is None else [L * L + self.segments.length_cell]
        return np.concatenate([self.transition_cell, *ends, *lengths]).astype(np.int64)

    def strengths(self, penalty: Penalty, who: str) -> tuple[float, float, float, float]:
        """Return l1 and l2 of the attributes, and of all other weights."""
        l1, small_l1 = self._by_group(penalty.l1, "l1", who)
        l2, small_l2 = self._by_group(penalty.l2, "l2", who)
        return l1, l2, small_l1, small_l2

    def _by_group(self, given: float | Floats, name: str, who: str) -> tuple[float, float]:
        if np.ndim(given) == 0:
            return float(given), float(given)
        array, nodes = np.asarray(given, dtype=np.float64), int(self.row_ptr[-1])
        groups = array[:nodes], array[nodes:]
        for group in groups:
            if group.size and (group != group[0]).any():
                raise ValueError(
                    f"{name} differs within the weights of attributes or within the transitions; "
                    f"{who} takes one strength for each of the two groups; LBFGS takes one for each weight"
                )
        first = [float(group[0]) if group.size else 0.0 for group in groups]
        return first[0], first[1]


class PerceptronSequences(Sequences):
    """Labeled sequences of a perceptron loss."""

    remedy: ClassVar[str] = "use the objective Perceptron(), or another optimizer"

    def trainer(self, rule: Rule) -> _native.MistakeTrainer:
        """Return what makes passes over them by a rule: see `crfkit.optimize.sequential.perceptron`."""
        return _native.MistakeTrainer(self.native, *rule)


@dataclass(frozen=True, eq=False)
class DualSequences(Sequences):
    """Labeled sequences as the dual takes them: chains, or segments."""

    pairs: tuple[Ids, Ids] | None = None  #: ptr and source of `crfkit.linear.fast.steps`; None: all steps

    @property
    def positions(self) -> int:
        """Rows of all sequences."""
        return len(self.label)

    @property
    def visits(self) -> int:
        """Sequences that a pass visits."""
        return len(self.filled)


@runtime_checkable
class Prepared(Protocol):
    """A loss that can prepare its first evaluation."""

    def prepare(self) -> None:
        """Prepare what the first evaluation needs."""
        ...


@runtime_checkable
class SequenceBlocks(Protocol):
    """Labeled sequences in blocks, which need not be in memory together."""

    def sizes(self, who: str) -> Pointers:
        """Return how many sequences of each block are not empty; refuse those that cannot be visited."""
        ...

    def block(self, i: int) -> Sequences:
        """Return the sequences of one block."""
        ...


class OneBlock:
    """Sequences in memory, as the only block."""

    def __init__(self, sequences: Sequences) -> None:
        self.sequences = sequences

    def sizes(self, who: str) -> Pointers:
        """Return how many sequences are not empty."""
        return np.array([len(self.sequences.filled)])

    def block(self, i: int) -> Sequences:
        """Return all of them."""
        return self.sequences


def begin_at(w: Floats, size: int) -> Floats:
    """Return a copy of the weights to begin at, checked."""
    w = np.array(w, dtype=np.float64) + 0.0  # -0 marks a place without a weight in cpp/shared/live.hpp
    if w.shape != (size,):
        raise ValueError(f"w has shape {w.shape}, expected ({size},)")
    if not np.isfinite(w).all():
        raise ValueError(f"w[{int(np.argmin(np.isfinite(w)))}] is not finite")
    return w
