"""Reading from bytes, writing to bytes and spelling out what was read, for the tests of formats."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns, Dataset
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.errors import DataError


def columns(text: bytes, format: str | None = "columns", **options: Any) -> Columns:
    made = crfkit.read(io.BytesIO(text), format, **options)
    assert isinstance(made, Columns)
    return made


def attributes(text: bytes, format: str | None = "crfsuite", **options: Any) -> Dataset:
    made = crfkit.read(io.BytesIO(text), format, **options)
    assert isinstance(made, Dataset)
    return made


def rows(text: bytes, format: str | None = "columns", **options: Any) -> list[list[tuple[str, ...]]]:
    return list(columns(text, format, **options))


def items(dataset: Dataset) -> list[list[tuple[str | None, dict[str, float]]]]:
    """Spell a dataset out, one position at a time; no attribute may stand twice at one position."""
    batch, made = dataset.batch, []
    for n in range(batch.sequences):
        sequence = []
        for p in range(batch.seq_ptr[n], batch.seq_ptr[n + 1]):
            label = -1 if batch.label is None else int(batch.label[p])
            span = range(batch.attr_ptr[p], batch.attr_ptr[p + 1])
            values = {
                dataset.attributes[int(batch.attr[i])]: 1.0 if batch.value is None else float(batch.value[i])
                for i in span
            }
            assert len(values) == len(span)
            sequence.append((None if label < 0 else dataset.labels[label], values))
        made.append(sequence)
    return made


def fails(text: bytes, format: str | None, line: int | None, what: str, **options: Any) -> None:
    with pytest.raises(DataError, match=what) as caught:
        crfkit.read(io.BytesIO(text), format, **options)
    assert caught.value.line == line
    assert caught.value.path == "input"
    assert str(caught.value).startswith("input: " if line is None else f"input, line {line}: ")


def written(given: Columns | Dataset, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    data.write(out, given, format, **options)
    return out.getvalue()


def dataset(
    items: list[tuple[str | None, dict[str, float]]], weight: float | None = None, empty: bool = False
) -> Dataset:
    labels, names = Alphabet(), Alphabet()
    batch = Batch(
        seq_ptr=[0, len(items), len(items)] if empty else [0, len(items)],  # type: ignore[arg-type]
        attr_ptr=np.cumsum([0, *(len(item) for _, item in items)]),
        attr=names.ids(name for _, item in items for name in item),
        value=np.array([value for _, item in items for value in item.values()], dtype=np.float64),
        label=np.array([-1 if label is None else labels.add(label) for label, _ in items], dtype=np.int32),
        weight=None if weight is None else np.array([weight]),
    )
    return Dataset(batch, labels, names, Alphabet())


def same_bits(one: Columns | Dataset, two: Columns | Dataset) -> None:
    """Hold two data sets to the same arrays and alphabets."""
    arrays: list[tuple[Any, Any]]
    if isinstance(one, Columns):
        assert isinstance(two, Columns)
        arrays = [(one.seq_ptr, two.seq_ptr), *zip(one.ids, two.ids, strict=True)]
        alphabets = list(zip(one.alphabets, two.alphabets, strict=True))
        assert one.names == two.names
    else:
        assert isinstance(two, Dataset)
        names = ("seq_ptr", "attr_ptr", "attr", "value", "label", "weight")
        arrays = [(getattr(one.batch, name), getattr(two.batch, name)) for name in names]
        alphabets = [(one.labels, two.labels), (one.attributes, two.attributes)]
    for a, b in arrays:
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
    for mine, other in alphabets:
        assert mine.strings() == other.strings()


def spelt(made: Columns | Dataset) -> object:
    """Everything in the data, in strings and numbers."""
    if isinstance(made, Columns):
        return made.names, list(made)
    batch = made.batch
    names, labels = made.attributes.strings(), made.labels.strings()
    value = np.ones(len(batch.attr)) if batch.value is None else batch.value
    label = np.full(batch.positions, -1) if batch.label is None else batch.label
    weight = np.ones(batch.sequences) if batch.weight is None else batch.weight
    return (
        batch.seq_ptr.tolist(),
        batch.attr_ptr.tolist(),
        [names[i] for i in batch.attr],
        value.tolist(),
        [None if i < 0 else labels[i] for i in label],
        weight.tolist(),
    )


class Bytewise(io.BytesIO):
    """Gives one byte at a time."""

    def read1(self, size: int | None = -1) -> bytes:
        return self.read(1)
