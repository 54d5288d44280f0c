"""Putting data together and cutting it: rows become datasets, parts become one, one becomes chunks.

However a file is cut, the result is the same. For that each array has one form: `value` and `weight` are
absent when all are 1, `label` when all are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns

__all__ = ["DatasetBuilder", "concatenate", "cut"]


class DatasetBuilder:
    """Collects rows of attributes; whole sequences leave it.

    The same attribute twice in a row adds up, as in CRFsuite, or with ``once=True`` counts once, as in
    MALLET; either way it is one entry, where it first stood.
    """

    def __init__(self, once: bool = False) -> None:
        self.labels = Alphabet()
        self.attributes = Alphabet()
        self.edge_attributes = Alphabet()
        self.weights: dict[int, float] = {}  #: of sequences not yet taken, by number from the last `take`
        self.last_end = 0  #: rows in finished sequences
        self.rows = 0  #: rows held
        self.sequences = 0  #: finished sequences
        self._once = once
        self._label: list[Ids] = []
        self._count: list[Pointers] = []
        self._attr: list[Ids] = []
        self._value: list[Floats] = []
        self._ends: list[Pointers] = []

    def add(self, label: Ids, count: Pointers, attr: Ids, value: Floats | None, ends: Pointers) -> None:
        """Add rows, and the ends of sequences counted in rows since the last `take`."""
        self._label.append(label)
        self._count.append(count)
        self._attr.append(attr)
        self._value.append(np.ones(len(attr)) if value is None else value)
        self._ends.append(ends)
        self.rows += len(label)
        self.sequences += len(ends)
        if len(ends):
            self.last_end = int(ends[-1])

    def take(self) -> Iterator[Dataset]:
        """Yield the finished sequences, if there are any, and forget them."""
        if not self.sequences:
            return
        label, count = np.concatenate(self._label), np.concatenate(self._count)
        attr, value, ends = (
            np.concatenate(self._attr),
            np.concatenate(self._value),
            np.concatenate(self._ends),
        )
        R = self.last_end
        done = int(count[:R].sum())
        weight = np.array([self.weights.get(n, 1.0) for n in range(self.sequences)])
        self._label, self._count, self._attr = [label[R:]], [count[R:]], [attr[done:]]
        self._value, self._ends = [value[done:]], []
        self.weights = {n - self.sequences: w for n, w in self.weights.items() if n >= self.sequences}
        self.rows -= R
        self.last_end = self.sequences = 0
        whole = _merge(count[:R], attr[:done], value[:done], len(self.attributes), self._once)
        if not np.isfinite(whole[2]).all():
            name = self.attributes[int(whole[1][np.argmin(np.isfinite(whole[2]))])]
            raise ValueError(
                f"the values of attribute {name!r} at one position add up to infinity; scale them"
            )
        batch = Batch(
            seq_ptr=np.concatenate([[0], ends]),
            attr_ptr=pointers(whole[0]),
            attr=whole[1],
            value=whole[2],
            label=label[:R],
            weight=weight,
        )
        yield Dataset(_plain(batch), self.labels, self.attributes, self.edge_attributes)


def _merge(count: Pointers, attr: Ids, value: Floats, A: int, once: bool) -> tuple[Pointers, Ids, Floats]:
    row = np.repeat(np.arange(len(count)), count)
    key = row * max(A, 1) + attr
    if (np.diff(np.sort(key)) != 0).all():
        return count, attr, value
    order = np.argsort(key, kind="stable")
    new = np.concatenate([[True], np.diff(key[order]) != 0])
    kept = order[new]  # the first of each
    total = value[kept] if once else np.bincount(np.cumsum(new) - 1, weights=value[order])
    back = np.argsort(kept)
    left: Pointers = np.bincount(row[kept], minlength=len(count)).astype(np.int64)
    return left, attr[kept[back]], total[back].astype(np.float64)


def _plain(batch: Batch) -> Batch:
    """Leave out fields that have their default everywhere."""
    return replace(
        batch,
        value=None if batch.value is None or (batch.value == 1).all() else batch.value,
        weight=None if batch.weight is None or (batch.weight == 1).all() else batch.weight,
        label=None if batch.label is None or (batch.label == -1).all() else batch.label,
    )


def concatenate(parts: Sequence[Columns | Dataset]) -> Columns | Dataset:
    """Join chunks of one input into one; they must share their alphabets.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> extract = ItemExtractor()
    >>> len(concatenate([extract([[["the"]]]), extract([[["dog"]], [["cat"]]])]))
    3
    """
    if not parts:
        raise ValueError("parts is empty, expected at least one chunk to concatenate")
    if len(parts) == 1:
        return parts[0]
    columns = [part for part in parts if isinstance(part, Columns)]
    datasets = [part for part in parts if isinstance(part, Dataset)]
    if columns and datasets:
        raise ValueError("some parts are columns and some are datasets; concatenate chunks of one input")
    if columns:
        return _join_columns(columns)
    whole = Dataset.concat(datasets)
    return replace(whole, batch=_plain(whole.batch))


def _join_columns(parts: list[Columns]) -> Columns:
    _same([part.alphabets for part in parts])
    return replace(
        parts[0],
        ids=tuple(np.concatenate(column) for column in zip(*(part.ids for part in parts), strict=True)),
        seq_ptr=pointers(np.concatenate([np.diff(part.seq_ptr) for part in parts])),
    )


def _same(alphabets: Sequence[tuple[Alphabet, ...]]) -> None:
    for other in alphabets[1:]:
        if len(other) != len(alphabets[0]) or any(
            a is not b for a, b in zip(alphabets[0], other, strict=True)
        ):
            raise ValueError("the parts have alphabets of their own; concatenate chunks of one input")


def cut(parts: Iterable[Columns | Dataset], positions: int) -> Iterator[Columns | Dataset]:
    """Yield chunks of as few whole sequences as hold so many positions; the last may hold fewer."""
    held: list[Columns | Dataset] = []
    size = 0
    for part in parts:
        held.append(part)
        size += _size(part)
        if size < positions:
            continue
        whole = concatenate(held)
        ends, begin = _seq_ptr(whole), 0
        while True:
            end = int(np.searchsorted(ends, ends[begin] + positions))
            if end >= len(ends):
                break
            yield _slice(whole, begin, end)
            begin = end
        held = [_slice(whole, begin, len(ends) - 1)] if begin < len(ends) - 1 else []
        size = sum(map(_size, held))
    if held:
        yield concatenate(held)


def _size(part: Columns | Dataset) -> int:
    return part.positions if isinstance(part, Columns) else part.batch.positions


def _seq_ptr(part: Columns | Dataset) -> Pointers:
    return part.seq_ptr if isinstance(part, Columns) else part.batch.seq_ptr


def _slice(part: Columns | Dataset, begin: int, end: int) -> Columns | Dataset:
    if isinstance(part, Columns):
        seq_ptr = part.seq_ptr
        a, b = seq_ptr[begin], seq_ptr[end]
        return replace(part, ids=tuple(ids[a:b] for ids in part.ids), seq_ptr=seq_ptr[begin : end + 1] - a)
    return replace(part, batch=_plain(part.batch.select(slice(begin, end))))
