r"""JSON lines: one sequence to a line, as columns or as attributes.

Columns: ``{"tokens": [...], "labels": [...]}`` and any further list of one string per token, each a column.
The columns `token` and `label` have the plural as key, all others their own name; their order is that of the
first line.

Attributes: ``{"items": [...], "labels": [...], "weight": 2}`` where an item is a list of names, or an object
after the rules of python-crfsuite: ``"k": number`` is the attribute ``k`` with that value (true is 1, false
0), ``"k": "v"`` the attribute ``k:v``, and ``"k": [...]`` or ``"k": {...}`` the attributes within, all with
``k:`` before their names. Labels and weight may be missing; a label may be null. The same attribute twice
adds up.

Tokens and labels may be integers, which are written out. The same objects may be in an array instead of lines
(`crfkit.data.formats.json_array`).

In the place of labels there may be segments, ``"segments": [[0, 2, "PER"], ...]``: start, end (one past the
last position) and label. They are read as tags of BIO, O outside of them.

Everything can be written but edge attributes and dense features, unpaired surrogates, and columns called
`tokens`, `labels`, `segments`, `items` or `weight`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from crfkit._safe.printable import quoted
from crfkit._safe.single import single
from crfkit.arrays import pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns, check_columns
from crfkit.data.formats.rows import RowReader
from crfkit.data.lines import Lines
from crfkit.data.source import LONGEST_TOKEN, Input
from crfkit.tags.segments import to_tags

#: What columns are called in an object, where that is not their name.
KEYS = {"token": "tokens", "label": "labels"}
_NAMES = {key: name for name, key in KEYS.items()}
_FULL_LINE = re.compile(rb"[^ \t\r\n][^\n]*")
_ITEMS_FIRST = re.compile(rb'\{[ \t]*"items"[ \t]*:')
_MOST_DIGITS = 400  # of an integer that is a finite double
_MOST_LETTERS = 64  # of names for each letter of a line, as in cpp/text/json_items.hpp


def parts(source: Input, *, names: Sequence[str] | None = None) -> Iterator[Columns | Dataset]:
    """Read sequences, a block of lines at a time; `names` chooses columns and their order."""
    return _Items(source, "jsonl").parts() if _begins_with_items(source) else _columns(source, names)


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:  # Python takes the square of their number, or refuses to
        raise ValueError(f"holds a number of {len(digits):,} digits, too large for a value")
    return int(digits)


def _no_constant(name: str) -> float:
    raise ValueError(f"holds {name}, values must be finite")


_decode = json.JSONDecoder(object_pairs_hook=single, parse_constant=_no_constant, parse_int=_integer).decode


def _begins_with_items(source: Input) -> bool:
    """Whether the first line has items; a line that is not right has none."""
    found = _FULL_LINE.search(source.peek_line().removeprefix(b"\xef\xbb\xbf"))
    first = b"" if found is None else found.group()
    if _ITEMS_FIRST.match(first):
        return True
    try:
        record = _decode(source.decode(first, 1))
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "items" in record


def _columns(source: Input, names: Sequence[str] | None) -> Iterator[Columns]:
    reader: _Tokens | None = None
    for first, text in source.blocks():
        for line, written in enumerate(text.split("\n")[:-1], start=first):
            if not written.strip(" \t"):
                continue
            with _explained(source, line):
                record = _record(written)
                if reader is None:
                    reader = _Tokens.of(record, names, source.name)
                reader.add(record, source.line_of(line))
        if reader is not None:
            yield from reader.take()


@contextmanager
def _explained(source: Input, line: int) -> Iterator[None]:
    """Make an error of this line of what is raised within."""
    try:
        yield
    except RecursionError:
        raise source.error(line, "is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        what = f"is not JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
        raise source.error(line, f"{what}; see the JSON lines format") from None


def _record(written: str) -> dict[str, Any]:
    record = _decode(written)
    if not isinstance(record, dict):
        raise ValueError(f"is a JSON {type(record).__name__}, expected an object")
    return _with_labels(record)


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
        tags = to_tags(given, len(over), place="segments")
    except TypeError as error:
        raise ValueError(str(error)) from None
    if None in tags:
        raise ValueError("has a segment without a label; give one, or labels with null where none is known")
    return {**{key: value for key, value in record.items() if key != "segments"}, "labels": tags}


def _strings(given: object, what: str) -> list[str]:
    """Return a list of strings; integers, as tags and labels are in some data, are written out."""
    if not isinstance(given, list):
        raise ValueError(f"has no list {what!r}")
    if any(type(one) is int for one in given):
        given = [str(one) if type(one) is int else one for one in given]
    for t, one in enumerate(given):
        if not isinstance(one, str):
            raise ValueError(f"has {json.dumps(one)} at place {t} of {what!r}, expected a string")
        _valid(one)
    return given


def _names(given: list[object], what: str) -> list[str]:
    """Return a list of names of attributes: strings only."""
    for t, one in enumerate(given):
        if not isinstance(one, str):
            raise ValueError(f"has {json.dumps(one)} at place {t} of {what!r}, expected a string")
    return _strings(given, what)


def _valid(string: str) -> None:
    if len(string) > LONGEST_TOKEN:
        raise ValueError(f"has a string of {len(string):,} letters, expected {LONGEST_TOKEN:,} at most")
    if not string.isascii():
        try:
            string.encode()
        except UnicodeEncodeError:
            raise ValueError(f"holds half a surrogate pair in {quoted(string)}") from None


@dataclass
class _Tokens:
    names: list[str]
    source: str
    alphabets: tuple[Alphabet, ...]
    columns: list[list[str]]
    lengths: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, record: dict[str, Any], names: Sequence[str] | None, source: str) -> _Tokens:
        found = [_NAMES.get(key, key) for key, value in record.items() if isinstance(value, list)]
        chosen = found if names is None else list(names)
        if isinstance(record.get("text"), str) and "tokens" not in record:
            raise ValueError(
                'has a "text", whose characters are not cut into tokens; give a list "tokens" with "labels", '
                'or "segments" that count tokens: {"tokens": ["New", "York"], "segments": [[0, 2, "LOC"]]}'
            )
        if not chosen:
            raise ValueError('has neither a list "tokens" nor a list "items"')
        check_columns(chosen)
        return cls(chosen, source, tuple(Alphabet() for _ in chosen), [[] for _ in chosen])

    def add(self, record: dict[str, Any], line: int) -> None:
        if "items" in record:
            raise ValueError('has "items", but the lines before have tokens')
        keys = [KEYS.get(name, name) for name in self.names]
        lists = [_strings(record.get(key), key) for key in keys]
        for key, one in zip(keys, lists, strict=True):
            if len(one) != len(lists[0]):
                raise ValueError(f"has {key!r} of length {len(one)}, and {keys[0]!r} of {len(lists[0])}")
        for column, one in zip(self.columns, lists, strict=True):
            column += one
        self.lengths.append(len(lists[0]))
        self.lines.append(line)

    def take(self) -> Iterator[Columns]:
        if self.lengths:
            ids = tuple(a.ids(column) for a, column in zip(self.alphabets, self.columns, strict=True))
            made, lines = pointers(self.lengths), Lines(np.array(self.lines, dtype=np.int64), 0)
            self.columns, self.lengths, self.lines = [[] for _ in self.names], [], []
            yield Columns(ids, self.alphabets, made, tuple(self.names), self.source, "jsonl", lines)


class _Items(RowReader):
    """Items are read natively; here is what that refuses: what is rare, and what is wrong."""

    def refused(self, line: int, text: str) -> None:
        with _explained(self.source, line):
            self._add(_record(text), _MOST_LETTERS * len(text))

    def _add(self, record: dict[str, Any], most: int) -> None:
        items, labels, weight = record.get("items"), record.get("labels"), record.get("weight", 1)
        if not isinstance(items, list):
            raise ValueError('has no list "items"')
        unknown = record.keys() - {"items", "labels", "weight"}
        if unknown:
            raise ValueError(f"has {quoted(min(unknown))} beside items, labels and weight")
        if labels is None:
            labels = [None] * len(items)
        if not isinstance(labels, list) or len(labels) != len(items):
            raise ValueError(f"needs one label for each of its {len(items)} items")
        spelled = iter(_strings([label for label in labels if label is not None], "labels"))
        labels = [None if label is None else next(spelled) for label in labels]
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(float(weight)):
            raise ValueError(f"has the weight {json.dumps(weight)}, expected a finite number")
        names: list[str] = []
        values: list[float] = []
        ends: list[int] = []
        for t, item in enumerate(items):
            if isinstance(item, list):
                names += _names(item, f"item {t}")
                values += [1.0] * len(item)
            elif isinstance(item, dict):
                most = _object(item, "", names, values, most)
            else:
                raise ValueError(f"has {json.dumps(item)} as item {t}, expected a list or an object")
            ends.append(len(names))
        self.native.add(labels, ends, names, values, float(weight))


def _object(item: dict[str, Any], prefix: str, names: list[str], values: list[float], most: int) -> int:
    """Add the names and values of an object; return how many letters names may still have."""
    for key, value in item.items():
        name = prefix + key
        most -= len(name) * (len(value) if isinstance(value, list) else 1)
        if most < 0:
            raise ValueError(f"has keys of {len(name):,} letters before many names; shorten them")
        if isinstance(value, dict):
            most = _object(value, name + ":", names, values, most)
            continue
        _valid(name)
        if isinstance(value, list):
            names += [f"{name}:{one}" for one in _names(value, name)]
            values += [1.0] * len(value)
        elif isinstance(value, str):
            _valid(value)
            names.append(f"{name}:{value}")
            values.append(1.0)
        elif isinstance(value, int | float):
            if not isfinite(float(value)):
                raise ValueError(f"gives attribute {quoted(name)} a value that is not finite")
            names.append(name)
            values.append(float(value))
        else:
            raise ValueError(f"gives attribute {quoted(name)} the value {json.dumps(value)}")
    return most
