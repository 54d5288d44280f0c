r"""JSON lines: one sequence to a line, as columns or as attributes.

Columns: ``{"tokens": [...], "labels": [...]}`` and any further list of one string per token, each a column.
The columns `token` and `label` have the plural as key, all others their own name; their order is that of the
first line.

Attributes: ``{"items": [...], "labels": [...], "weight": 2}`` where an item is a list of names, or an object
after the rules of python-crfsuite: ``"k": number`` is the attribute ``k`` with that value (true is 1, false
0), ``"k": "v"`` the attribute ``k:v``, and ``"k": [...]`` or ``"k": {...}`` the attributes within, all with
``k:`` before their names. Labels and weight may be missing; a label may be null. The same attribute twice
adds up.

In the place of labels there may be segments, ``"segments": [[0, 2, "PER"], ...]``: start, end (one past the
last position) and label. They are read as tags of BIO, O outside of them.

Everything can be written but edge attributes and dense features, unpaired surrogates, and columns called
`tokens`, `labels`, `segments`, `items` or `weight`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from crfkit.arrays import pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.assemble import DatasetBuilder
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns, spell
from crfkit.data.formats.crfsuite_text import check_plain
from crfkit.data.segmentation import tagged
from crfkit.data.source import Input

__all__ = ["parts", "render"]

_KEYS = {"token": "tokens", "label": "labels"}
_NAMES = {key: name for name, key in _KEYS.items()}
_TAKEN = {"tokens", "labels", "segments", "items", "weight"}


def parts(source: Input, *, names: Sequence[str] | None = None) -> Iterator[Columns | Dataset]:
    """Read sequences, a block of lines at a time; `names` chooses columns and their order."""
    reader: _Items | _Tokens | None = None
    decode = json.JSONDecoder(parse_constant=_no_constant).decode  # json.loads would make one for each line
    for first, text in source.blocks():
        for line, written in enumerate(text.split("\n")[:-1], start=first):
            if not written.strip(" \t"):
                continue
            try:
                record = decode(written)
                if not isinstance(record, dict):
                    raise ValueError(f"is a JSON {type(record).__name__}, expected an object")
                if reader is None:
                    known = _with_labels(record)
                    reader = _Items() if "items" in record else _Tokens.of(known, names, source.name)
                reader.add(_with_labels(record))
            except RecursionError:
                raise source.error(line, "is nested too deeply") from None
            except (ValueError, OverflowError) as error:
                what = f"is not JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
                raise source.error(line, f"{what}; see the JSON lines format") from None
        if reader is not None:
            try:
                yield from reader.take()
            except ValueError as error:
                raise source.error(None, str(error)) from None


def _with_labels(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with labels where it has segments: tags of BIO."""
    if "segments" not in record:
        return record
    if "labels" in record:
        raise ValueError("has labels and segments; give one of them")
    given, over = record["segments"], record.get("items", record.get("tokens"))
    if not isinstance(given, list) or not isinstance(over, list):
        raise ValueError('needs a list "segments" and a list "tokens" or "items"')
    try:
        tags = tagged(given, len(over))
    except TypeError as error:
        raise ValueError(str(error)) from None
    if None in tags:
        raise ValueError("has a segment without a label; give one, or labels with null where none is known")
    return {**{key: value for key, value in record.items() if key != "segments"}, "labels": tags}


def _no_constant(name: str) -> float:
    raise ValueError(f"holds {name}, values must be finite")


def _strings(given: object, what: str) -> list[str]:
    if not isinstance(given, list):
        raise ValueError(f"has no list {what!r}")
    for t, one in enumerate(given):
        if not isinstance(one, str):
            raise ValueError(f"has {json.dumps(one)} at place {t} of {what!r}, expected a string")
        _valid(one)
    return given


def _valid(string: str) -> None:
    if not string.isascii():
        try:
            string.encode()
        except UnicodeEncodeError:
            raise ValueError(f"holds half a surrogate pair in {string!r}") from None


@dataclass
class _Tokens:
    names: list[str]
    source: str
    alphabets: tuple[Alphabet, ...]
    columns: list[list[str]]
    lengths: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, record: dict[str, Any], names: Sequence[str] | None, source: str) -> _Tokens:
        found = [_NAMES.get(key, key) for key, value in record.items() if isinstance(value, list)]
        chosen = found if names is None else list(names)
        if not chosen:
            raise ValueError('has neither a list "tokens" nor a list "items"')
        twice = [name for i, name in enumerate(chosen) if name in chosen[:i]]
        if twice:
            raise ValueError(f"has two columns {twice[0]!r}")
        return cls(chosen, source, tuple(Alphabet() for _ in chosen), [[] for _ in chosen])

    def add(self, record: dict[str, Any]) -> None:
        if "items" in record:
            raise ValueError('has "items", but the lines before have tokens')
        keys = [_KEYS.get(name, name) for name in self.names]
        lists = [_strings(record.get(key), key) for key in keys]
        for key, one in zip(keys, lists, strict=True):
            if len(one) != len(lists[0]):
                raise ValueError(f"has {len(one)} {key} for {len(lists[0])} {keys[0]}")
        for column, one in zip(self.columns, lists, strict=True):
            column += one
        self.lengths.append(len(lists[0]))

    def take(self) -> Iterator[Columns]:
        if self.lengths:
            ids = tuple(a.ids(column) for a, column in zip(self.alphabets, self.columns, strict=True))
            made = pointers(self.lengths)
            self.columns, self.lengths = [[] for _ in self.names], []
            yield Columns(ids, self.alphabets, made, tuple(self.names), self.source, "jsonl")


class _Items:
    def __init__(self) -> None:
        self.builder = DatasetBuilder()
        self._clear()

    def _clear(self) -> None:
        self.labels: list[str] = []
        self.known: list[bool] = []
        self.counts: list[int] = []
        self.names: list[str] = []
        self.values: list[float] = []
        self.ends: list[int] = []

    def add(self, record: dict[str, Any]) -> None:
        items, labels, weight = record.get("items"), record.get("labels"), record.get("weight", 1)
        if not isinstance(items, list):
            raise ValueError('has no list "items"')
        unknown = record.keys() - {"items", "labels", "weight"}
        if unknown:
            raise ValueError(f"has {min(unknown)!r} beside items, labels and weight")
        if labels is None:
            labels = [None] * len(items)
        if not isinstance(labels, list) or len(labels) != len(items):
            raise ValueError(f"needs one label for each of its {len(items)} items")
        _strings([label for label in labels if label is not None], "labels")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(float(weight)):
            raise ValueError(f"has the weight {json.dumps(weight)}, expected a finite number")
        for t, item in enumerate(items):
            before = len(self.names)
            if isinstance(item, list):
                self.names += _strings(item, f"item {t}")
                self.values += [1.0] * len(item)
            elif isinstance(item, dict):
                self._object(item, "")
            else:
                raise ValueError(f"has {json.dumps(item)} as item {t}, expected a list or an object")
            self.counts.append(len(self.names) - before)
        self.labels += [label for label in labels if label is not None]
        self.known += [label is not None for label in labels]
        self.ends.append(self.builder.rows + len(self.counts))
        if weight != 1:
            self.builder.weights[self.builder.sequences + len(self.ends) - 1] = float(weight)

    def _object(self, item: dict[str, Any], prefix: str) -> None:
        for key, value in item.items():
            name = prefix + key
            if isinstance(value, dict):
                self._object(value, name + ":")
                continue
            _valid(name)
            if isinstance(value, list):
                self.names += [f"{name}:{one}" for one in _strings(value, name)]
                self.values += [1.0] * len(value)
            elif isinstance(value, str):
                _valid(value)
                self.names.append(f"{name}:{value}")
                self.values.append(1.0)
            elif isinstance(value, int | float):
                if not isfinite(float(value)):
                    raise ValueError(f"gives attribute {name!r} a value that is not finite")
                self.names.append(name)
                self.values.append(float(value))
            else:
                raise ValueError(f"gives attribute {name!r} the value {json.dumps(value)}")

    def take(self) -> Iterator[Dataset]:
        builder = self.builder
        label = np.full(len(self.known), -1, dtype=np.int32)
        label[np.array(self.known, dtype=bool)] = builder.labels.ids(self.labels)
        builder.add(
            label,
            np.array(self.counts, dtype=np.int64),
            builder.attributes.ids(self.names),
            np.array(self.values, dtype=np.float64),
            np.array(self.ends, dtype=np.int64),
        )
        self._clear()
        yield from builder.take()


def render(data: Columns | Dataset) -> str:
    """Return one line of JSON for every sequence."""
    lines = _token_lines(data) if isinstance(data, Columns) else _item_lines(data)
    dump: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": ")).encode
    return "".join([dump(line) + "\n" for line in lines])


def _token_lines(data: Columns) -> Iterator[dict[str, object]]:
    clash = sorted(_TAKEN & set(data.names))
    if clash:
        raise ValueError(f"the column name {clash[0]!r} has a meaning of its own in JSON lines; rename it")
    if not data.names:
        raise ValueError("the data have no columns, expected at least one to write")
    keys = [_KEYS.get(name, name) for name in data.names]
    strings = [column.tolist() for column in data.strings()]
    ends = data.seq_ptr.tolist()
    for a, b in pairwise(ends):
        yield {key: column[a:b] for key, column in zip(keys, strings, strict=True)}


def _item_lines(data: Dataset) -> Iterator[dict[str, object]]:
    check_plain(data, "JSON lines", empty=True)
    batch = data.batch
    names = spell(data.attributes, batch.attr).tolist()
    values = None if batch.value is None else batch.value.tolist()
    labels: list[str | None] = [None] * batch.positions
    if batch.label is not None:
        known = batch.label >= 0
        spelt = np.full(batch.positions, None, dtype=object)
        spelt[known] = spell(data.labels, batch.label[known])
        labels = spelt.tolist()
    attr_ptr, seq_ptr = batch.attr_ptr.tolist(), batch.seq_ptr.tolist()
    for n in range(batch.sequences):
        begin, end = seq_ptr[n], seq_ptr[n + 1]
        items: list[object] = []
        for i, j in zip(attr_ptr[begin:end], attr_ptr[begin + 1 : end + 1], strict=True):
            if values is None or all(v == 1 for v in values[i:j]):
                items.append(names[i:j])
                continue
            item: dict[str, float] = {}
            for name, value in zip(names[i:j], values[i:j], strict=True):
                item[name] = item.get(name, 0.0) + value
            items.append(item)
        line: dict[str, object] = {"items": items}
        if any(label is not None for label in labels[begin:end]):
            line["labels"] = labels[begin:end]
        if batch.weight is not None and batch.weight[n] != 1:
            line["weight"] = float(batch.weight[n])
        yield line
