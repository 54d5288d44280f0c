"""Putting data together and cutting it: parts become one, one becomes chunks.

However a file is cut, the result is the same. For that each array has one form: `value` and `weight` are
absent when all are 1, `label` when all are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from crfkit.arrays import Pointers, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.lines import Lines


def plain(batch: Batch) -> Batch:
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
    return replace(whole, batch=plain(whole.batch))


def _join_columns(parts: list[Columns]) -> Columns:
    _same([part.alphabets for part in parts])
    return replace(
        parts[0],
        ids=tuple(np.concatenate(column) for column in zip(*(part.ids for part in parts), strict=True)),
        seq_ptr=pointers(np.concatenate([np.diff(part.seq_ptr) for part in parts])),
        lines=Lines.concat([part.lines for part in parts]),
    )


def _same(alphabets: Sequence[tuple[Alphabet, ...]]) -> None:
    for other in alphabets[1:]:
        if len(other) != len(alphabets[0]) or any(
            a is not b for a, b in zip(alphabets[0], other, strict=True)
        ):
            raise ValueError("the parts have alphabets of their own; concatenate chunks of one input")


def cut(parts: Iterable[Columns | Dataset], positions: int) -> Iterator[Columns | Dataset]:
    """Yield chunks of as few whole sequences as hold that many positions; the last may hold fewer."""
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
        return replace(
            part,
            ids=tuple(ids[a:b] for ids in part.ids),
            seq_ptr=seq_ptr[begin : end + 1] - a,
            lines=None if part.lines is None else part.lines.slice(begin, end),
        )
    return replace(part, batch=plain(part.batch.select(slice(begin, end))))
