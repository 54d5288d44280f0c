"""The views for optimisers that visit sequence by sequence: flat arrays, and penalties of two groups.

The groups are the weights of attributes (in C++: rows) and all others: transitions, start and stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.optimise.problem import Penalty

__all__ = ["OneBlock", "PerceptronSequences", "Scored", "SequenceBlocks", "Sequences", "begin_at"]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Labelled sequences, and which weights exist; in the order of the layout.

    Examples
    --------
    >>> empty = np.zeros(0, dtype=np.int32)
    >>> one = np.array([0, 1])
    >>> arrays = Sequences(one, one, empty[:1], None, empty[:1], 2, one, empty[:1], empty)
    >>> arrays.strengths(Penalty(l1=0.5, l2=1.0), "SGD")
    (0.5, 1.0, 0.5, 1.0)
    """

    seq_ptr: Pointers  #: [N + 1]
    attr_ptr: Pointers  #: [P + 1]
    attr: Ids  #: [nnz]
    value: Floats | None  #: [nnz]
    label: Ids  #: [P]
    labels: int  #: L
    row_ptr: Pointers  #: [A + 1] weights of each attribute
    column: Ids  #: label of each
    transition_cell: Ids  #: from * L + to of each transition that has a weight
    start: bool = False
    stop: bool = False
    weight: Floats | None = None  #: [N] of the sequences
    forbidden: Floats | None = None  #: [(L + 2) * L] 0 or -inf: transitions, start, stop

    @cached_property
    def native(self) -> _native.Labelled:
        """The arrays as the kernels see them, checked."""
        return _native.Labelled(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    @cached_property
    def filled(self) -> Pointers:
        """Sequences with at least one position."""
        return np.flatnonzero(np.diff(self.seq_ptr)).astype(np.int64)

    def order(self, seed: int, number: int) -> Pointers:
        """Return the order of a pass, counted from 1: (seed, number) is all that it depends on."""
        drawn: Pointers = np.random.default_rng([seed, number]).permutation(self.filled)
        return drawn

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
    """Labelled sequences of a perceptron loss."""

    remedy: ClassVar[str] = "use the objective Perceptron(), or another optimiser"


@runtime_checkable
class Scored(Protocol):
    """A loss that gives its scores as flat arrays."""

    def scores(self, w: Floats) -> tuple[Floats, Floats, Floats | None]:
        """Return node [P * L], edge [L * L] and start and stop scores [2 * L] (None without them)."""
        ...

    def prepare(self) -> None:
        """Prepare what the first evaluation needs."""
        ...


@runtime_checkable
class SequenceBlocks(Protocol):
    """Labelled sequences in blocks, which need not be in memory together."""

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
