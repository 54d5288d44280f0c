"""Label Studio's JSON and JSON-MIN: tasks with their annotations, or with predictions.

Offsets count code points since version 1.4, where its editor turns those of the browser into them
(`fixCodePointsInRange` of its selection-tools.js), and UTF-16 units before (its issues 1008 and 1347); the
text that each region brings decides. Regions of HyperText have ``globalOffsets``, which are read where they
lead to the region's text. A task that nobody has annotated is not known, and has the spans of its first
prediction. Of several annotations the first that was not canceled is read. The others are counted, and so are
drafts and regions that do not label text. Documents whose spans have probabilities are written as
predictions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.evidence import Said, fitting_unit, misfits
from crfkit.text.formats.json_objects import as_id, made, objects, top_keys
from crfkit.text.formats.record import NO_TEXT, Options, Remarks, TextFormat, placed

__all__ = ["FORMAT"]

_TASK = {"annotations", "completions", "predictions"}
_OF_TEXT = ("labels", "hypertextlabels")
_MIN = {"annotator", "annotation_id", "lead_time"}  # of JSON-MIN


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    before = None
    for line, record in objects(source):
        place = f"{source.name}, line {line}" + ("" if "id" not in record else f", task {record['id']!s:.40}")
        with placed(source, line):
            data = _data(record)
            results, annotated = _results(record, place, remarks)
            named = _text_field(data, options.text or before, results)
            if named is None:
                remarks.add(NO_TEXT, place)
                continue
            before = named
            spans, said, lost = _spans(results, data[named], place, remarks)
            unit = options.unit or fitting_unit(data[named], said, FORMAT.unit, place, remarks)
            rest = {key: value for key, value in data.items() if key != named}
            own = {"id": as_id(record.get("id")), "known": None if annotated and not lost else ()}
        yield made(source, line, data[named], options, unit, spans=spans, meta=rest, **own)


def _data(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a task."""
    if "data" not in record:  # JSON-MIN
        marks = {"id", "created_at", "updated_at", *_MIN}
        return {key: value for key, value in record.items() if key not in marks and not _are_regions(value)}
    if not isinstance(record["data"], dict):
        raise ValueError(f"has {record['data']!r:.60} for data, expected an object")
    return record["data"]


def _text_field(data: dict[str, Any], known: str | None, results: list[dict[str, Any]]) -> str | None:
    """Return the field of the text: the known one, else "text", else the only string that has the spans."""
    if isinstance(data.get(known or "text"), str):
        return known or "text"
    if known is not None or not any(map(_labels, results)):
        return None
    texts = [key for key, value in data.items() if isinstance(value, str)]
    fitting = texts if len(texts) == 1 else [key for key in texts if _fits(data[key], results)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(text: str, results: list[dict[str, Any]]) -> bool:
    """Return whether regions say what the text has in their places."""
    said = _spans(results, text, "", Remarks())[1]
    return bool(said) and not misfits(text, said, FORMAT.unit)[1]


def _results(record: dict[str, Any], place: str, remarks: Remarks) -> tuple[list[Any], bool]:
    """Return the regions of a task, and whether a person has made them."""
    if "data" not in record:
        regions = [one for value in record.values() if _are_regions(value) for one in value]
        kinds = [_OF_TEXT["hypertextlabels" in one] if isinstance(one, dict) else "" for one in regions]
        return [{"type": kind, "value": one} for kind, one in zip(kinds, regions, strict=True)], True
    given = record.get("annotations", record.get("completions")) or []
    if isinstance(drafts := record.get("drafts"), list) and drafts:
        remarks.add("draft", place, len(drafts))
    for made_by, annotated in ((given, True), (record.get("predictions") or [], False)):
        if not isinstance(made_by, list) or not all(isinstance(one, dict) for one in made_by):
            raise ValueError("has annotations that are no list of objects")
        kept = [one for one in made_by if not one.get("was_cancelled")]
        if canceled := len(made_by) - len(kept):
            remarks.add("canceled annotation", place, canceled)
        if annotated and len(kept) > 1:
            remarks.add("annotation beside the first", place, len(kept) - 1)
        guesses = record.get("predictions")
        if kept and annotated and isinstance(guesses, list) and guesses:
            remarks.add("prediction beside an annotation", place, len(guesses))
        if kept:
            results = kept[0].get("result") or []
            if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
                raise ValueError(f"has the result {results!r:.60}, expected a list of regions")
            return results, annotated
    return [], False


def _are_regions(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) and "start" in one for one in value)


def _labels(region: dict[str, Any]) -> list[Any] | None:
    """Return the labels of a region; None where it is no region of a text."""
    kind, value = region.get("type"), region.get("value")
    found = value.get(kind, []) if isinstance(value, dict) and kind in _OF_TEXT else None
    return found if isinstance(found, list) else None


def _spans(
    results: list[dict[str, Any]], text: str, place: str, remarks: Remarks
) -> tuple[list[list[Any]], list[Said], bool]:
    """Return the spans of regions, the text that each should have, and whether one was lost."""
    spans: list[list[Any]] = []
    said: list[Said] = []
    lost = False
    for one in results:
        labels = _labels(one)
        ends = None if labels is None else _ends(one["value"], text)
        if labels is None or ends is None:
            where = "" if labels is None else " without a place in the text"
            remarks.add(f"region of type {one.get('type')!s:.30}{where}", place)
            lost = lost or labels is not None
            continue
        if not labels:
            remarks.add("region without a label", place)
        spans += [[*ends, label, one.get("score")] for label in labels]
        if isinstance(one["value"].get("text"), str) and all(type(each) is int for each in ends):
            said.append((*ends, one["value"]["text"]))
    return spans, said, lost


def _ends(value: dict[str, Any], text: str) -> tuple[Any, Any] | None:
    """Return where a region lies in a text; None where it names elements of a page that is not the text."""
    if not isinstance(value.get("start"), str):
        return value.get("start"), value.get("end")
    whole, says = value.get("globalOffsets"), value.get("text")
    start, end = (whole.get("start"), whole.get("end")) if isinstance(whole, dict) else (None, None)
    if not isinstance(says, str) or type(start) is not int or type(end) is not int:
        return None
    return None if misfits(text, [(start, end, says)], FORMAT.unit)[1] else (start, end)


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    first = True
    for doc in docs:
        written = json.dumps(_task(doc), ensure_ascii=False).encode(errors="backslashreplace")
        yield (b"[\n" if first else b",\n") + written
        first = False
    yield b"[]\n" if first else b"\n]\n"


def _task(doc: Doc) -> dict[str, Any]:
    result = [
        {
            "id": f"s{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": span.start, "end": span.end, "text": span.text, "labels": [span.label]},
        }
        | ({} if span.probability is None else {"score": span.probability})
        for number, span in enumerate(doc.spans)
    ]
    guessed = doc.known == () or any(span.probability is not None for span in doc.spans)
    number = doc.id is not None and doc.id.isdecimal() and len(doc.id) < 19 and str(int(doc.id)) == doc.id
    task: dict[str, Any] = {} if doc.id is None else {"id": int(doc.id) if number else doc.id}
    task["data"] = {**doc.meta, "text": doc.text}
    if not guessed:
        return task | {"annotations": [{"result": result}]}
    return task | ({"predictions": [{"model_version": "crfkit", "result": result}]} if result else {})


def _guess(sample: Sample) -> str:
    keys = top_keys(sample)
    listed = sample.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[" and not keys & {"label", "labels"}
    if "data" in keys and (keys & _TASK or listed):
        return "its objects are tasks with data"
    return "its objects have an annotator" if len(keys & _MIN) > 1 else ""


FORMAT = TextFormat(
    "label-studio",
    "Label Studio's JSON and JSON-MIN",
    '[{"id": 1, "data": {"text": "Ana lives in New York"}, "annotations": [{"result": [{"id": "a", '
    '"from_name": "label", "to_name": "text", "type": "labels", '
    '"value": {"start": 13, "end": 21, "text": "New York", "labels": ["LOC"]}}]}]}]\n',
    _read,
    _write,
    keeps=frozenset({"probabilities", "overlaps", "id", "meta", "unseen"}),
    options=frozenset({"unit", "text", "encoding"}),
    guess=_guess,
)
