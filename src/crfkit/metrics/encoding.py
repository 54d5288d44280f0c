"""Labels as the metrics count them: one flat array of ids for each system, and where sequences begin.

There are two kinds of input. Lists of lists of strings are checked, numbered and joined into one array. Flat
arrays of ids with ``labels`` and ``seq_ptr``, as a training loop has them, are used as they are, so that
scoring after each iteration takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.cached import once
from crfkit._safe.printable import counted
from crfkit.arrays import pointers

Ints: TypeAlias = NDArray[np.int64]
#: One list of labels for each sequence; with ``labels`` and ``seq_ptr`` a flat array of ids, [P].
LabelSequences: TypeAlias = Sequence[Sequence[str]] | NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Labelings of the same N sequences, P positions in all."""

    names: tuple[str, ...]  #: [L] by id
    columns: tuple[Ints, ...]  #: [P] ids each: the truth, then one or more systems
    seq_ptr: Ints  #: [N + 1]
    absent: int = 0  #: 1 where the last name says that there is no label: tables have no row of it

    @property
    def N(self) -> int:  # noqa: N802
        """Number of sequences."""
        return len(self.seq_ptr) - 1

    @once
    def sequence(self) -> Ints:
        """The sequence of each position, [P]."""
        return np.repeat(np.arange(self.N), np.diff(self.seq_ptr))

    def against(self, system: int) -> Encoded:
        """Return the truth and only one of the systems."""
        return Encoded(self.names, (self.columns[0], self.columns[system]), self.seq_ptr, self.absent)


def encode(
    columns: Mapping[str, LabelSequences], labels: Sequence[str] | None, seq_ptr: NDArray[Any] | None
) -> Encoded:
    """Check labelings against each other and number their labels.

    Examples
    --------
    >>> both = encode({"y_true": [["B", "O"], ["O"]], "y_pred": [["O", "O"], ["B"]]}, None, None)
    >>> both.names, both.columns[1].tolist(), both.seq_ptr.tolist()
    (('B', 'O'), [1, 1, 0], [0, 2, 3])
    """
    if labels is not None:
        return _ids(columns, tuple(labels), seq_ptr)
    if seq_ptr is not None:
        raise ValueError("seq_ptr belongs to flat arrays of ids: give labels, their names, too")
    rows = {argument: _rows(argument, given) for argument, given in columns.items()}
    (first, truth), *systems = rows.items()
    lengths = [len(row) for row in truth]
    for argument, system in systems:
        if len(system) != len(truth):
            raise ValueError(f"{first} has {counted(len(truth), 'sequence')} and {argument} {len(system)}")
        for number, (length, row) in enumerate(zip(lengths, system, strict=True)):
            if len(row) != length:
                raise ValueError(f"sequence {number}: {first} has {length} labels and {argument} {len(row)}")
    flat: dict[str, list[Any]] = {
        argument: list(chain.from_iterable(given)) for argument, given in rows.items()
    }
    for argument, given in flat.items():
        for label in set(given):
            if not isinstance(label, str):
                kind = type(label).__name__
                raise TypeError(f"{argument} has the label {label!r}, of type {kind}: labels are strings")
    names = sorted(set().union(*flat.values()))
    number_of = {name: id for id, name in enumerate(names)}
    ids = tuple(np.fromiter(map(number_of.__getitem__, given), np.int64) for given in flat.values())
    return Encoded(tuple(names), ids, pointers(lengths))


def group(by: Sequence[Hashable] | None, N: int, name: str = "by") -> tuple[list[Hashable], Ints]:
    """Return the distinct groups, in order of appearance, and the group of each sequence, [N].

    Examples
    --------
    >>> group(["b", "a", "b"], 3)
    (['b', 'a'], array([0, 1, 0]))
    """
    if by is None:
        return [], np.zeros(N, np.int64)
    if isinstance(by, str) or len(by) != N:
        given = repr(by) if isinstance(by, str) else f"{len(by)} groups"
        raise ValueError(f"{name} must name the group of each of the {N} sequences; it has {given}")
    number_of: dict[Hashable, int] = {}
    codes = np.fromiter((number_of.setdefault(one, len(number_of)) for one in by), np.int64)
    return list(number_of), codes


def _rows(argument: str, given: LabelSequences) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = list(given)
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise TypeError(
                f"{argument}[{number}] is {row!s}, not a list of labels: give one list for each sequence, "
                "or flat ids with labels= and seq_ptr="
            )
    return rows


def _ids(
    columns: Mapping[str, LabelSequences], names: tuple[str, ...], seq_ptr: NDArray[Any] | None
) -> Encoded:
    ids: dict[str, Ints] = {}
    for argument, given in columns.items():
        if len(given) and not isinstance(given[0], int | np.integer):
            raise TypeError(
                f"{argument}[0] is {given[0]!r}, not an id: with labels= labelings are flat arrays of ids"
            )
        ids[argument] = np.asarray(given, np.int64)
    (first, truth), *systems = ids.items()
    P, L = len(truth), len(names)
    for argument, system in systems:
        if len(system) != P:
            raise ValueError(f"{first} has {P} labels and {argument} {len(system)}")
    for argument, column in ids.items():
        if P and not (column.min() >= 0 and column.max() < L):
            place = int(np.flatnonzero((column < 0) | (column >= L))[0])
            raise ValueError(
                f"{argument}[{place}] is {column[place]}, not an id of the {L} labels; a label that "
                "training never saw needs a name and an id too"
            )
    ptr = np.array([0, P]) if seq_ptr is None else np.asarray(seq_ptr, np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != P or (np.diff(ptr) < 0).any():
        raise ValueError(f"seq_ptr must rise from 0 to the number of labels, {P}")
    return Encoded(names, tuple(ids.values()), ptr)
