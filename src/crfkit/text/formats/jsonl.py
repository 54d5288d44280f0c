"""Plain JSON lines, crfkit's own: ``{"text": ..., "spans": [[0, 4, "PER"], ...]}``.

A span is ``[start, end, label]``, with a probability as the fourth, or an object with these names. All that a
`crfkit.text.Doc` has is kept, as `Doc.to_dict` writes it; what else an object has goes to ``meta``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.json_objects import as_id, as_lines, made, objects, rest, text_of, top_keys
from crfkit.text.formats.record import PARTS, Options, Remarks, TextFormat, placed

__all__ = ["FORMAT"]

_OWN = frozenset(one.name for one in fields(Doc)) - {"meta"}


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    named = options.text or "text"
    for line, record in objects(source):
        text = text_of(record, named, f"{source.name}, line {line}", remarks)
        if text is None:
            continue
        own = {key: record[key] for key in _OWN - {"text", "unit", named} if record.get(key) is not None}
        with placed(source, line):
            own["id"] = as_id(record.get("id"))
            own["meta"] = rest(record, *_OWN, named)
            unit = record.get("unit", "codepoint")
        yield made(source, line, text, options, unit, **own)


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    yield from as_lines(doc.to_dict() for doc in docs)


def _guess(sample: Sample) -> str:
    keys = top_keys(sample)
    return "its lines are objects with a text" if "text" in keys else ""


FORMAT = TextFormat(
    "jsonl",
    'JSON lines {"text", "spans"}',
    '{"text": "Ana lives in New York", "spans": [[0, 3, "PER"], [13, 21, "LOC"]]}\n',
    _read,
    _write,
    keeps=frozenset(PARTS),
    options=frozenset({"unit", "text", "encoding"}),
    guess=_guess,
    endings=(".jsonl", ".ndjson"),
)
