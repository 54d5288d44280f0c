"""JSON objects of a file: one in each line, or all in an array, in memory for one of them at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from crfkit._safe.printable import quoted
from crfkit._safe.single import single
from crfkit.data.formats.json_array import lined
from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.record import NO_TEXT, Options, Remarks, placed

__all__ = ["as_id", "as_lines", "made", "objects", "rest", "span_of", "text_of", "top_keys"]

_MOST_DIGITS = 400  # Python takes the square of their number, or refuses to
_MARK = re.compile(r'["{}\[\]:,]')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"holds a number of {len(digits):,} digits, too large for an offset")
    return int(digits)


_decode: Final = json.JSONDecoder(object_pairs_hook=single, parse_int=_integer).decode


def objects(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the objects of a file with their lines.

    Examples
    --------
    >>> import io
    >>> from crfkit.data.source import open_input
    >>> with open_input(io.BytesIO(b'[{"a": 1},\n {"b": 2}]')) as source:
    ...     list(objects(source))
    [(1, {'a': 1}), (2, {'b': 2})]
    """
    source = lined(source)
    found = False
    for first, block in source.blocks():
        for number, written in enumerate(block.split("\n")[:-1], start=first):
            if not written.strip(" \t"):
                continue
            line = source.line_of(number)
            with placed(source, number):
                record = _decoded(written)
                if not isinstance(record, dict):
                    raise ValueError(f"is a JSON {type(record).__name__}, expected an object")
            found = True
            yield line, record
    if not found:
        raise source.error(None, "holds no document; give a file that has some")


def _decoded(written: str) -> Any:
    try:
        return _decode(written)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at letter {error.pos + 1})") from None


def text_of(record: dict[str, Any], named: str, place: str, remarks: Remarks) -> str | None:
    """Return the text of an object; None where it has none, which is counted."""
    text = record.get(named)
    if isinstance(text, str):
        return text
    remarks.add(NO_TEXT, place)
    return None


def rest(record: dict[str, Any], *used: str) -> dict[str, Any]:
    """Return the other fields of an object, those of its own ``meta`` among them."""
    meta = record.get("meta")
    own = dict(meta) if isinstance(meta, dict) else {} if meta is None else {"meta": meta}
    return {**own, **{key: value for key, value in record.items() if key not in {*used, "meta"}}}


def as_lines(records: Iterable[object]) -> Iterator[bytes]:
    """Yield objects as lines of JSON; halves of surrogate pairs are escaped."""
    dump = json.JSONEncoder(ensure_ascii=False).encode
    for record in records:
        yield dump(record).encode(errors="backslashreplace") + b"\n"


def top_keys(sample: Sample) -> frozenset[str]:
    r"""Return the keys of the first object, as far as the sample has it.

    Examples
    --------
    >>> sorted(top_keys(Sample(b'{"text": "a: {", "spans": [{"start": 0}], "me')))
    ['spans', 'text']
    """
    text = sample.data.decode(errors="replace").lstrip("\ufeff \t\r\n[")
    if not text.startswith("{"):
        return frozenset()
    keys, depth, at, last = [], 0, 0, ""
    while found := _MARK.search(text, at):
        mark, at = found.group(), found.end()
        if mark == '"':
            whole = _STRING.match(text, found.start())
            if whole is None:
                break
            at, last = whole.end(), whole[1]
        elif mark == ":" and depth == 1:
            keys.append(last)
        depth += (mark in "{[") - (mark in "}]")
        if not depth:
            break
    return frozenset(keys)


def as_id(given: object) -> str | None:
    """Return the name of a document: numbers are written out."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    raise ValueError(f"has the id {quoted(str(given), 40)}, expected a string or a number")


def made(
    source: Input, line: int | None, text: str, options: Options, unit: Any = "codepoint", **parts: Any
) -> Doc:
    """Return a document whose offsets are code points, of parts that count a unit."""
    with placed(source, line):
        return Doc(text, unit=options.unit or unit, **parts).in_unit("codepoint")


def span_of(given: Any, start: str = "start", end: str = "end", probability: str = "score") -> list[Any]:
    """Return a span of an object that names its parts.

    Examples
    --------
    >>> span_of({"start": 0, "end": 3, "label": "PER", "source": "model"})
    [0, 3, 'PER', None]
    """
    if not isinstance(given, dict) or not {start, end, "label"} <= given.keys():
        raise ValueError(f"the span {given!r:.80} does not have the fields {start}, {end} and label")
    score = given.get(probability)
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise ValueError(f"the span {given!r:.80} has the {probability} {score!r:.40}, expected a number")
    return [given[start], given[end], given["label"], score]
