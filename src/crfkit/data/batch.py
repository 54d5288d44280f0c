"""Batches: many sequences of attributes as flat arrays.

Position p has the attributes ``attr[attr_ptr[p] : attr_ptr[p + 1]]`` with values ``value`` (all 1 when
absent); edge attributes describe the step from p - 1 to p in the same way, and the first position of a
sequence has none. Real-valued rows (`dense`) need no names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Floats, Ids, Pointers, pointers, ranges

__all__ = ["Batch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences of attribute ids, laid end to end; checked when made.

    Examples
    --------
    >>> import numpy as np
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> batch.sequences, batch.positions, len(batch.attr)
    (1, 2, 3)
    """

    seq_ptr: Pointers  #: [N + 1]
    attr_ptr: Pointers  #: [P + 1]
    attr: Ids  #: [nnz]
    value: Floats | None = None  #: [nnz]; absent when all are 1
    label: Ids | None = None  #: [P], -1 where unknown
    edge_ptr: Pointers | None = None  #: [P + 1]
    edge_attr: Ids | None = None  #: [edge nnz]
    edge_value: Floats | None = None  #: [edge nnz]
    dense: Floats | None = None  #: [P, K] real-valued features without names
    weight: Floats | None = None  #: [N] weight of each sequence
    allowed: Bools | None = None  #: [P, L] partial labels: what positions without a label may be
    soft: Floats | None = None  #: [P, L] soft labels: a distribution at each position

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, np.ascontiguousarray(given, dtype=dtype))
        N, P = self.sequences, self.positions
        _check_pointers("seq_ptr", self.seq_ptr, None)
        _check_pointers("attr_ptr", self.attr_ptr, len(self.attr))
        _check_length("attr_ptr", self.attr_ptr, P + 1)
        _check_length("value", self.value, len(self.attr))
        _check_length("label", self.label, P)
        _check_length("weight", self.weight, N)
        for name in ("dense", "allowed", "soft"):
            _check_length(name, getattr(self, name), P)
        if (self.edge_ptr is None) != (self.edge_attr is None):
            raise ValueError("edge_ptr and edge_attr go together")
        if self.edge_ptr is not None and self.edge_attr is not None:
            _check_length("edge_ptr", self.edge_ptr, P + 1)
            _check_pointers("edge_ptr", self.edge_ptr, len(self.edge_attr))
            _check_length("edge_value", self.edge_value, len(self.edge_attr))
        if self.allowed is not None and not self.allowed.any(axis=1).all():
            p = int(np.argmin(self.allowed.any(axis=1)))
            raise ValueError(f"allowed[{p}] allows no label")
        for name in ("value", "edge_value", "dense", "weight", "soft"):
            array = getattr(self, name)
            if array is not None and not np.isfinite(array).all():
                at = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
                raise ValueError(f"{name}{list(at)} is {array[at]}; values must be finite")
        for name in ("attr", "edge_attr"):
            array = getattr(self, name)
            if array is not None and array.size and array.min() < 0:
                raise ValueError(f"{name}[{int(np.argmin(array))}] is {array.min()}, expected 0 or more")
        if self.soft is not None:
            wrong = np.flatnonzero((self.soft < 0.0).any(axis=1) | (abs(self.soft.sum(axis=1) - 1.0) > 1e-6))
            if wrong.size:
                p = int(wrong[0])
                raise ValueError(f"soft[{p}] is no distribution: {self.soft[p].tolist()}")

    @classmethod
    def unchecked(cls, **arrays: Any) -> Batch:
        """Return a batch of arrays that a checked one had: a mapped file is not read before it is needed."""
        made = object.__new__(cls)
        for f in fields(cls):
            object.__setattr__(made, f.name, arrays.get(f.name))
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
        """Cut the sequences into runs of at most so many positions; a longer sequence is a run of its own.

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

    def select(self, sequences: Sequence[int] | slice | Pointers | Bools) -> Batch:
        """Return some of the sequences, in the given order."""
        chosen = _chosen(self.sequences, sequences)
        lengths = np.diff(self.seq_ptr)[chosen]
        rows = ranges(self.seq_ptr[chosen], lengths)

        def part(ptr: Pointers, *arrays: Floats | Ids | None) -> tuple[Pointers, list[Any]]:
            counts = np.diff(ptr)[rows]
            places = ranges(ptr[:-1][rows], counts)
            return pointers(counts), [None if a is None else a[places] for a in arrays]

        attr_ptr, (attr, value) = part(self.attr_ptr, self.attr, self.value)
        made = replace(
            self,
            seq_ptr=pointers(lengths),
            attr_ptr=attr_ptr,
            attr=attr,
            value=value,
            label=None if self.label is None else self.label[rows],
            **{
                name: None if array is None else array[rows]
                for name in ("dense", "allowed", "soft")
                for array in [getattr(self, name)]
            },
            weight=None if self.weight is None else self.weight[chosen],
            edge_ptr=None,
            edge_attr=None,
            edge_value=None,
        )
        if self.edge_ptr is None:
            return made
        edge_ptr, (edge_attr, edge_value) = part(self.edge_ptr, self.edge_attr, self.edge_value)
        return replace(made, edge_ptr=edge_ptr, edge_attr=edge_attr, edge_value=edge_value)


_DTYPES = {
    "seq_ptr": np.int64,
    "attr_ptr": np.int64,
    "attr": np.int32,
    "value": np.float64,
    "label": np.int32,
    "edge_ptr": np.int64,
    "edge_attr": np.int32,
    "edge_value": np.float64,
    "dense": np.float64,
    "weight": np.float64,
    "allowed": np.bool_,
    "soft": np.float64,
}


def _check_length(name: str, array: Floats | Ids | Pointers | Bools | None, expected: int) -> None:
    if array is None:
        return
    axes = 2 if name in ("dense", "allowed", "soft") else 1
    if array.ndim != axes:
        raise ValueError(f"{name} has {array.ndim} axes, expected {axes}")
    if len(array) != expected:
        raise ValueError(f"{name} has {len(array)} entries, expected {expected}")


def _check_pointers(name: str, pointers: Pointers, end: int | None) -> None:
    if not len(pointers) or pointers[0] != 0:
        raise ValueError(f"{name} must begin with 0")
    falls = np.flatnonzero(pointers[1:] < pointers[:-1])
    if falls.size:
        raise ValueError(f"{name}[{falls[0] + 1}] is {pointers[falls[0] + 1]}, below the entry before it")
    if end is not None and pointers[-1] != end:
        raise ValueError(f"{name} ends at {pointers[-1]}, expected {end}")


def _chosen(N: int, sequences: Sequence[int] | slice | Pointers | Bools) -> Pointers:
    """Return the numbers of some of N sequences, given by numbers (negative: from the last) or a mask [N]."""
    if isinstance(sequences, slice):
        return np.arange(N)[sequences]
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
