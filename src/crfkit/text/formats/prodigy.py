"""Prodigy's JSON lines: text, tokens, spans, and whether a person accepted them.

Examples that were rejected or ignored have nothing that is known: no spans, and no tokens outside of spans;
what was proposed stays in ``meta``. Where a yes or no was asked for one span (``_is_binary``, or the view
``ner`` of older versions), nothing else in the text is known. Nothing is of what has neither an answer nor
spans: it waits for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.json_objects import as_lines, made, objects, rest, span_of, text_of, top_keys
from crfkit.text.formats.record import Options, Remarks, TextFormat, placed

__all__ = ["FORMAT"]

_TOKENS = re.compile(rb'"tokens": ?\[ ?\{"text":')


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    named = options.text or "text"
    for line, record in objects(source):
        place = f"{source.name}, line {line}"
        text = text_of(record, named, place, remarks)
        if text is None:
            continue
        with placed(source, line):
            parts: dict[str, Any] = {"spans": [span_of(one) for one in record.get("spans") or []]}
            meta = rest(record, named, "tokens", "spans", "answer", "relations")
            if relations := record.get("relations"):
                remarks.add("relation", place, len(relations))
            if (answer := record.get("answer", "accept")) != "accept":
                remarks.add("rejected or ignored document", place)
                meta |= {"answer": answer, "proposed": record.get("spans") or []}
                parts |= {"spans": (), "known": ()}
            elif record.get("_is_binary", record.get("_view_id") == "ner") and parts["spans"]:
                parts["known"] = [span[:2] for span in parts["spans"]]
            elif not {"answer", "spans"} & record.keys():
                parts["known"] = ()
            if (tokens := record.get("tokens")) is not None:
                parts["tokens"] = [(token["start"], token["end"]) for token in _objects(tokens)]
            if isinstance(name := meta.pop("id", None), str):
                parts["id"] = name
            elif name is not None:
                meta["id"] = name
        yield made(source, line, text, options, meta=meta, **parts)


def _objects(tokens: Any) -> list[dict[str, Any]]:
    if not isinstance(tokens, list) or not all(
        isinstance(one, dict) and {"start", "end"} <= one.keys() for one in tokens
    ):
        raise ValueError('has tokens that are no list of objects with "start" and "end"')
    return tokens


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    yield from as_lines(_record(doc) for doc in docs)


def _record(doc: Doc) -> dict[str, Any]:
    record: dict[str, Any] = {"text": doc.text}
    meta = dict(doc.meta)
    proposed = meta.pop("proposed", None)
    if doc.tokens is not None:
        words, begins = doc.words(), doc.tokens[:, 0].tolist()
        ends = doc.tokens[:, 1].tolist()
        after = [*begins[1:], None]
        record["tokens"] = [
            {"text": word, "start": start, "end": end, "id": number, "ws": following not in (end, None)}
            for number, (word, start, end, following) in enumerate(
                zip(words, begins, ends, after, strict=True)
            )
        ]
    record["spans"] = proposed if proposed is not None else [_span(span, doc) for span in doc.spans]
    record |= {"answer": meta.pop("answer")} if "answer" in meta else {}
    record |= {key: meta.pop(key) for key in [key for key in meta if key.startswith("_")]}
    named = {} if doc.id is None else {"id": doc.id}
    return record | ({"meta": meta | named} if meta or named else {})


def _span(span: Any, doc: Doc) -> dict[str, Any]:
    made: dict[str, Any] = {"start": span.start, "end": span.end, "label": span.label}
    if span.tokens is not None and span.tokens[0] < span.tokens[1]:
        made |= {"token_start": span.tokens[0], "token_end": span.tokens[1] - 1}
    return made if span.probability is None else made | {"score": span.probability}


def _guess(sample: Sample) -> str:
    keys = top_keys(sample)
    marks = sorted({"answer", "_input_hash", "_task_hash"} & keys)
    if not marks and _TOKENS.search(sample.data):  # what has not been answered yet
        marks = ["tokens that are objects"]
    return f"its objects have {', '.join(marks)}" if "text" in keys and marks else ""


FORMAT = TextFormat(
    "prodigy",
    "Prodigy's JSON lines",
    '{"text": "Ana ran", "tokens": [{"text": "Ana", "start": 0, "end": 3, "id": 0, "ws": true}, '
    '{"text": "ran", "start": 4, "end": 7, "id": 1, "ws": false}], '
    '"spans": [{"start": 0, "end": 3, "label": "PER", "token_start": 0, "token_end": 0}], '
    '"answer": "accept", "_input_hash": 1}\n',
    _read,
    _write,
    keeps=frozenset({"probabilities", "tokens", "id", "meta", "overlaps"}),
    options=frozenset({"unit", "text", "encoding"}),
    guess=_guess,
)
