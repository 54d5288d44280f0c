"""doccano's JSON lines: ``{"text": ..., "label": [[0, 4, "PER"], ...]}``, or with ``entities`` and relations.

Offsets count UTF-16 units, as its browser does (doccano issue 2290), and code points where a program brought
them and nobody has touched them since: where only one of the two ends spans with words, that one is meant,
and the report says so. Offsets of projects that count grapheme clusters cannot be read. The text is the field
``text``, or ``data`` of older versions. Labels of whole documents and relations are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.evidence import neat_unit
from crfkit.text.formats.json_objects import (
    as_id,
    as_lines,
    made,
    objects,
    rest,
    span_of,
    text_of,
    top_keys,
)
from crfkit.text.formats.record import Options, Remarks, TextFormat, placed
from crfkit.text.offsets import Unit

__all__ = ["FORMAT"]

_SPANS = ("label", "labels", "entities")


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    unit: Unit = FORMAT.unit
    for line, record in objects(source):
        named = options.text or ("data" if "text" not in record and "data" in record else "text")
        place = f"{source.name}, line {line}"
        text = text_of(record, named, place, remarks)
        if text is None:
            continue
        with placed(source, line):
            spans = [span for key in _SPANS for span in _spans(record.get(key) or [], key, place, remarks)]
            if relations := record.get("relations"):
                remarks.add("relation", place, len(relations))
            own = {"id": as_id(record.get("id")), "meta": rest(record, named, "id", "relations", *_SPANS)}
            if options.unit is None and any(one > "\uffff" for one in text):
                ends = [(one[0], one[1]) for one in spans if [*map(type, one[:2])] == [int, int]]
                unit = neat_unit(text, ends) or unit  # a text that does not tell is as the one before
                if unit != FORMAT.unit:
                    remarks.add("document whose offsets count code points", place)
        yield made(source, line, text, options, unit, spans=spans, **own)


def _spans(given: Any, key: str, place: str, remarks: Remarks) -> Iterator[list[Any]]:
    if not isinstance(given, list):
        raise ValueError(f"has {given!r:.60} for {key!r}, expected a list of [start, end, label]")
    for one in given:
        if isinstance(one, str):
            remarks.add("label of a whole document", place)
        elif isinstance(one, list):
            yield one
        else:
            yield span_of(one, "start_offset", "end_offset")


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    yield from as_lines(_record(doc) for doc in docs)


def _record(doc: Doc) -> dict[str, Any]:
    made: dict[str, Any] = {} if doc.id is None else {"id": doc.id}
    made |= {"text": doc.text, "label": [list(span[:3]) for span in doc.spans]}
    return made | ({"meta": dict(doc.meta)} if doc.meta else {})


def _guess(sample: Sample) -> str:
    keys = top_keys(sample)
    fits = keys & {"text", "data"} and "spans" not in keys and keys & {*_SPANS}
    return "its objects have a text and labels" if fits else ""


FORMAT = TextFormat(
    "doccano",
    "doccano's JSON lines",
    '{"id": 1, "text": "\U0001f680 Ana lives in New York", "label": [[3, 6, "PER"], [16, 24, "LOC"]]}\n',
    _read,
    _write,
    keeps=frozenset({"id", "meta", "overlaps"}),
    unit="utf16",
    options=frozenset({"unit", "text", "encoding"}),
    guess=_guess,
)
