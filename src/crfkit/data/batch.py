"""Batches: many sequences of attributes as flat arrays.

Position p has the attributes ``attr[attr_ptr[p] : attr_ptr[p + 1]]`` with values ``value`` (all 1 when
absent); edge attributes describe the step from p - 1 to p in the same way, and the first position of a
sequence has none. Segment attributes belong to place ``p * D + d - 1``, the segment of d positions that
begins at p; those of beginnings and ends belong to all segments that begin or end at p. Real-valued rows
(`dense`) need no names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from crfkit._safe.pickling import Restored
from crfkit.arrays import Bools, Floats, Ids, Pointers, Ragged, handed_over
from crfkit.data.axes import Along, along, axes, joined, nonzero, renamed, selected

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Batch(Restored):
    """Sequences of attribute ids, one after the other; checked when made, and then nobody can change them.

    Arrays that can be written to are copied.

    Examples
    --------
    >>> import numpy as np
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> batch.sequences, batch.positions, len(batch.attr)
    (1, 2, 3)
    """

    #: [N + 1]
    seq_ptr: Pointers = field(metadata=along("sequence", np.int64, opens="position"))
    #: [P + 1]
    attr_ptr: Pointers = field(metadata=along("position", np.int64, opens="node"))
    #: [nnz]
    attr: Ids = field(metadata=along("node", np.int32, numbers="attributes"))
    #: [nnz]; absent when all are 1
    value: Floats | None = field(default=None, metadata=along("node", np.float64, absent=1.0))
    #: [P], -1 where unknown
    label: Ids | None = field(default=None, metadata=along("position", np.int32, numbers="labels", absent=-1))
    #: [P + 1]
    edge_ptr: Pointers | None = field(default=None, metadata=along("position", np.int64, opens="edge"))
    #: [edge nnz]
    edge_attr: Ids | None = field(default=None, metadata=along("edge", np.int32, numbers="edges"))
    #: [edge nnz]
    edge_value: Floats | None = field(default=None, metadata=along("edge", np.float64, absent=1.0))
    #: [P, K] real-valued features without names
    dense: Floats | None = field(default=None, metadata=along("position", np.float64, columns="features"))
    #: [N] weight of each sequence
    weight: Floats | None = field(default=None, metadata=along("sequence", np.float64, absent=1.0))
    #: [P, L] partial labels: what positions without a label may be
    allowed: Bools | None = field(
        default=None, metadata=along("position", np.bool_, columns="labels", absent=True)
    )
    #: [P, L] soft labels: a distribution at each position
    soft: Floats | None = field(default=None, metadata=along("position", np.float64, columns="labels"))
    #: [P * D + 1]
    segment_ptr: Pointers | None = field(
        default=None, metadata=along("segment place", np.int64, opens="segment")
    )
    #: [segment nnz]
    segment_attr: Ids | None = field(default=None, metadata=along("segment", np.int32, numbers="segments"))
    #: [segment nnz]
    segment_value: Floats | None = field(default=None, metadata=along("segment", np.float64, absent=1.0))
    #: [P + 1]
    begin_ptr: Pointers | None = field(default=None, metadata=along("position", np.int64, opens="begin"))
    #: [begin nnz]
    begin_attr: Ids | None = field(default=None, metadata=along("begin", np.int32, numbers="segments"))
    #: [begin nnz]
    begin_value: Floats | None = field(default=None, metadata=along("begin", np.float64, absent=1.0))
    #: [P + 1]
    end_ptr: Pointers | None = field(default=None, metadata=along("position", np.int64, opens="end"))
    #: [end nnz]
    end_attr: Ids | None = field(default=None, metadata=along("end", np.int32, numbers="segments"))
    #: [end nnz]
    end_value: Floats | None = field(default=None, metadata=along("end", np.float64, absent=1.0))
    #: [P] where the gold segments begin
    begin: Bools | None = field(default=None, metadata=along("position", np.bool_))

    def __post_init__(self) -> None:
        held = []
        for name, axis in axes(Batch).items():
            given = getattr(self, name)
            if given is not None:
                given = axis.converted(name, given)
                object.__setattr__(self, name, given)
                held.append((name, axis, given))
        if not len(self.seq_ptr):
            raise ValueError("seq_ptr must begin with 0")
        for ptr, ids, value in OCCURRENCES.values():
            if (getattr(self, ptr) is None) != (getattr(self, ids) is None):
                raise ValueError(f"only one of {ptr} and {ids} is given; give both or neither")
            if getattr(self, ptr) is None and getattr(self, value) is not None:
                raise ValueError(f"{value} is given without {ptr} and {ids}; give all three")
        self._check_lengths()
        for name, axis, given in held:
            axis.check(name, given, self.size(axis.along))
            if axis.opens is not None and given[-1] != self.size(axis.opens):
                raise ValueError(f"{name} ends at {given[-1]}, expected {self.size(axis.opens)}")
        if self.allowed is not None and not self.allowed.any(axis=1).all():
            p = int(np.argmin(self.allowed.any(axis=1)))
            raise ValueError(f"allowed[{p}] allows no label")
        if self.soft is not None:
            wrong = np.flatnonzero((self.soft < 0.0).any(axis=1) | (abs(self.soft.sum(axis=1) - 1.0) > 1e-6))
            if wrong.size:
                p = int(wrong[0])
                raise ValueError(f"soft[{p}] is not a distribution: {self.soft[p].tolist()}")
        if self.begin is not None:
            firsts = self.seq_ptr[:-1][np.diff(self.seq_ptr) > 0]
            if not self.begin[firsts].all():
                p = int(firsts[np.argmin(self.begin[firsts])])
                raise ValueError(f"begin[{p}] is False; the first position of a sequence begins a segment")
        if self.segment_ptr is not None and self.longest:
            self._check_segments(np.diff(self.segment_ptr).reshape(self.positions, -1))

    def _check_lengths(self) -> None:
        """Refuse places of segments that are not D for each position."""
        if self.segment_ptr is None:
            return
        places, P = len(self.segment_ptr) - 1, self.positions
        if places < 0 or places != self.longest * P:
            raise ValueError(
                f"segment_ptr has {places + 1} entries, expected P * D + 1: as many places for each of "
                f"{P} positions"
            )

    def _check_segments(self, count: Pointers) -> None:
        """Refuse attributes, counted [P, D], of segments that go past the end of their sequence."""
        left = np.repeat(self.seq_ptr[1:], np.diff(self.seq_ptr)) - np.arange(self.positions)  # [P]
        over = np.argwhere((count > 0) & (np.arange(1, self.longest + 1) > left[:, None]))
        if len(over):
            p, d = over[0].tolist()
            raise ValueError(
                f"the segment of {d + 1} positions that begins at {p} has attributes, but only {left[p]} "
                "positions of its sequence are left"
            )

    @classmethod
    def unchecked(cls, **arrays: Any) -> Batch:
        """Return a batch of arrays that are known to be valid, unchecked: a mapped file is not read yet."""
        made = object.__new__(cls)
        for f in fields(cls):
            given = arrays.get(f.name)
            object.__setattr__(made, f.name, None if given is None else handed_over(given))
        return made

    @property
    def sequences(self) -> int:
        """Number of sequences, N."""
        return len(self.seq_ptr) - 1

    @property
    def positions(self) -> int:
        """Number of positions, P."""
        return int(self.seq_ptr[-1])

    def cut(self, positions: int) -> Iterator[slice]:
        """Cut the sequences into parts of at most this many positions; a longer one is a part of its own.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 2, 3, 9], attr_ptr=[0] * 10, attr=[])
        >>> [(run.start, run.stop) for run in batch.cut(4)]
        [(0, 2), (2, 3)]
        """
        begin = 0
        while begin < self.sequences:
            end = int(np.searchsorted(self.seq_ptr, self.seq_ptr[begin] + positions, side="right")) - 1
            end = min(max(end, begin + 1), self.sequences)
            yield slice(begin, end)
            begin = end

    @property
    def longest(self) -> int:
        """Positions of the longest segments that can have attributes, D; 0 where there are none."""
        if self.segment_ptr is None or not self.positions:
            return 0
        return (len(self.segment_ptr) - 1) // self.positions

    def size(self, along: Along) -> int:
        """Return how many sequences, positions, places of segments or entries of attributes there are."""
        if along == "sequence":
            return self.sequences
        if along == "position":
            return self.positions
        if along == "segment place":
            return 0 if self.segment_ptr is None else len(self.segment_ptr) - 1
        ids = getattr(self, OCCURRENCES[along][1])
        return 0 if ids is None else len(ids)

    def occurrences(self, by: str) -> Ragged | None:
        """Return attributes by place, of one kind of `KINDS`; None where there are none.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0])
        >>> batch.occurrences("node").id.tolist(), batch.occurrences("edge")
        ([0, 1, 0], None)
        """
        ptr, ids, value = (getattr(self, name) for name in OCCURRENCES[by])
        return None if ptr is None else Ragged(ptr, ids, value)

    def places(self, by: str) -> int:
        """Return how many places attributes of a kind have: P, or P * D for those of segments."""
        return self.size(axes(Batch)[OCCURRENCES[by][0]].along)

    def weight_by_place(self, by: str) -> Floats:
        """Return the weight of the sequence of each place, 1 where sequences have none."""
        if self.weight is None:
            return np.ones(self.places(by))
        times = self.longest if by == "segment" else 1
        return np.repeat(self.weight, np.diff(self.seq_ptr) * times)

    def select(self, sequences: Sequence[int] | slice | Pointers | Bools) -> Batch:
        """Return some of the sequences, in the given order; a slice of neighbors shares the arrays."""
        return Batch.unchecked(**selected(self, _chosen(self.sequences, sequences)))

    @classmethod
    def concat(cls, batches: Sequence[Batch]) -> Batch:
        """Join batches into one; their ids must mean the same.

        Where only some have values, weights, labels or allowed labels, the others get the default:
        1, 1, -1 and all labels.

        Raises
        ------
        ValueError
            Only some have dense features, soft labels or gold segments, or their columns differ.

        Examples
        --------
        >>> one = Batch(seq_ptr=[0, 1], attr_ptr=[0, 1], attr=[5])
        >>> two = Batch(seq_ptr=[0, 1], attr_ptr=[0, 1], attr=[7], label=[0])
        >>> both = Batch.concat([one, two])
        >>> both.seq_ptr.tolist(), both.attr.tolist(), both.label.tolist()
        ([0, 1, 2], [5, 7], [-1, 0])
        """
        if not batches:
            raise ValueError("batches is empty, expected at least one batch to concatenate")
        return batches[0] if len(batches) == 1 else cls.unchecked(**joined(batches))

    def renamed(
        self,
        *,
        labels: Ids | None = None,
        attributes: Ids | None = None,
        edges: Ids | None = None,
        segments: Ids | None = None,
        label_count: int | None = None,
    ) -> Batch:
        """Return the batch with other ids; drop what gets none.

        Parameters
        ----------
        labels : array of int, optional
            New id of each label; -1: unknown from now on. A position all of whose allowed labels become
            unknown may have any.
        attributes, edges, segments : array of int, optional
            New id of each attribute; -1: dropped.
        label_count : int, optional
            Number of new labels; needed where the batch has `allowed` or `soft`.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
        >>> new = batch.renamed(attributes=np.array([-1, 6]), labels=np.array([2, -1]))
        >>> new.attr_ptr.tolist(), new.attr.tolist(), new.label.tolist()
        ([0, 1, 1], [6], [-1, 2])
        """
        given = {"labels": labels, "attributes": attributes, "edges": edges, "segments": segments}
        maps = {name: np.asarray(new) for name, new in given.items() if new is not None}
        return Batch.unchecked(**renamed(self, maps, label_count))

    def nonzero(self) -> Batch:
        """Return the batch without attributes of value 0, which add nothing to any score.

        Values are left out where all that stay are 1. The batch itself is returned where nothing changes.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], value=[1.0, 0.0, 1.0])
        >>> batch.nonzero().attr.tolist(), batch.nonzero().value
        ([0, 0], None)
        """
        changed = nonzero(self, OCCURRENCES.values())
        if not changed:
            return self
        return Batch.unchecked(**{f.name: getattr(self, f.name) for f in fields(self)} | changed)


#: Pointers, ids and values of each kind of attributes.
OCCURRENCES = {
    "node": ("attr_ptr", "attr", "value"),
    "edge": ("edge_ptr", "edge_attr", "edge_value"),
    "begin": ("begin_ptr", "begin_attr", "begin_value"),
    "end": ("end_ptr", "end_attr", "end_value"),
    "segment": ("segment_ptr", "segment_attr", "segment_value"),
}
#: The kinds of attributes: of positions, steps, and of where segments begin, where they end, and the whole.
KINDS = tuple(OCCURRENCES)


def _chosen(N: int, sequences: Sequence[int] | slice | Pointers | Bools) -> Pointers | slice:
    """Return the numbers of some of N sequences, given by numbers (negative: from the last) or a mask [N]."""
    if isinstance(sequences, slice):
        begin, end, step = sequences.indices(N)
        return slice(begin, max(begin, end)) if step == 1 else np.arange(N)[sequences]
    given = np.asarray(sequences)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise TypeError(f"sequences are chosen by a slice, a list of numbers or a mask, not by {sequences!r}")
    if given.dtype.kind == "b":
        if len(given) != N:
            raise IndexError(f"the mask has {len(given)} entries, expected one for each of {N} sequences")
        return np.flatnonzero(given)
    numbers = given.astype(np.int64)
    outside = (numbers < -N) | (numbers >= N)
    if outside.any():
        raise IndexError(f"there is no sequence {numbers[np.argmax(outside)]}; there are {N}")
    return np.where(numbers < 0, numbers + N, numbers)


def each(batches: Iterable[Batch], function: Callable[..., T], *others: Iterable[Any]) -> Iterator[T]:
    """Return what a function returns for each batch, in order, as `map` does.

    Whatever is counted, checked or summed over all data is a function of one batch, and a sum in the order of
    the batches. So the result is the same wherever the function runs: here, or on other machines.

    Parameters
    ----------
    batches : iterable of Batch
        One with a method ``each`` calls the function where its batches are.
    function : function of a batch
        It can be pickled, and takes from the caller only what it needs.
    *others : iterables
        Further arguments, one for each batch.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 5])
    >>> list(each([batch, batch], lambda batch, n: batch.positions + n, [0, 10]))
    [2, 12]
    """
    own: Callable[..., Iterator[T]] | None = getattr(batches, "each", None)
    return map(function, batches, *others) if own is None else own(function, *others)
