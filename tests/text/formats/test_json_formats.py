"""JSON of annotation tools: what each says in its own way, and what is counted."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from crfkit.errors import DataError, DataWarning
from crfkit.text import Doc, read, write
from crfkit.text.formats.evidence import fitting_unit
from crfkit.text.formats.record import Remarks

FOLDER = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "annotation/doccano"
ROCKET = "\U0001f680"


def lines(*rows: Any) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


# ---- plain


def test_plain_lines_take_spans_as_people_write_them() -> None:
    rows = lines(
        {"text": "Ana ran", "spans": [[0, 3, "PER"]], "id": 7, "source": "web"},
        {"text": "Ana ran", "spans": [{"start": 0, "end": 3, "label": "PER", "probability": 0.5}]},
        {"text": "Ana ran"},
    )
    first, second, third = read(rows)
    assert (first.spans[0].text, first.id, first.meta) == ("Ana", "7", {"source": "web"})
    assert (second.spans[0].probability, third.spans) == (0.5, ())


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([[0, 3]], "is not a span"),
        ([["0", 3, "A"]], "its ends are no whole numbers"),
        ([[0, 3, None]], "has the label None"),
        ([{"start": 0, "label": "A"}], "does not have the fields start, end and label"),
        ("PER", "'P' is not a span"),
        (7, "not iterable"),
    ],
)
def test_spans_that_are_none(spans: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"line 1: .*{message}"):
        list(read(lines({"text": "Ana ran", "spans": spans})))


def test_spans_out_of_range_stay_for_align_to_count() -> None:
    (doc,) = read(lines({"text": "Ana", "spans": [[1, 9, "A"], [2, 1, "B"], [-4, 1, "C"]]}))
    assert [span[:3] for span in doc.spans] == [(1, 9, "A"), (2, 1, "B"), (-4, 1, "C")]


# ---- doccano


def test_doccano_counts_as_its_browser_does() -> None:
    """The example of doccano's issue 2290."""
    text = "\U0001f468\U0001f3fb\u200d\U0001f692 firemen drive firetrucks"
    (doc,) = read(lines({"id": 1, "text": text, "label": [[22, 32, "T"]], "Comments": []}))
    assert doc.spans[0].text == "firetrucks"
    assert (doc.id, doc.meta) == ("1", {"Comments": []})


def test_doccano_with_entities_and_relations() -> None:
    entities = [{"id": 4, "label": "PER", "start_offset": 0, "end_offset": 3}]
    row = {"text": "Ana ran", "entities": entities, "relations": [{"id": 0, "from_id": 4, "to_id": 4}]}
    docs = read(lines(row, {"text": "x", "label": ["spam", "ham"]}))
    with pytest.warns(DataWarning, match=r"1 relation .*line 1.*2 labels of a whole document .*line 2"):
        first, second = docs
    assert (first.spans[0].text, second.spans) == ("Ana", ())
    with pytest.raises(DataError, match=r"line 1: has 3 for 'label'"):
        list(read(lines({"text": "x", "label": 3})))


def test_doccanos_own_examples(tmp_path: Path) -> None:
    if not FOLDER.exists():
        pytest.skip(f"no {FOLDER}")
    docs = list(read(FOLDER / "data_export_example.jsonl"))
    assert [[span.text for span in doc.spans] for doc in docs] == [
        ["EU", "German"],
        ["Peter Blackburn"],
        ["Obama"],
    ]
    write(docs, tmp_path / "again.jsonl", "doccano")
    assert [*read(tmp_path / "again.jsonl")] == docs
    with pytest.warns(DataWarning, match=r"1 document without text .*line 3"):
        first, second = read(FOLDER / "data_import_example.jsonl")
    assert (first.meta, second.meta) == ({"wikiPageID": 1}, {"wikiPageID": 2})


@pytest.mark.parametrize("first", [5, 6])
def test_doccano_counts_as_the_program_that_made_its_spans(first: int) -> None:
    """Spans that were brought in by a program count code points; where words end says so."""
    known = {"id": 1, "text": f"{ROCKET} in Oslo", "label": [[first, first + 4, "LOC"]]}
    either = {"id": 2, "text": f"{ROCKET}\u6771\u4eac\u3078", "label": [[first - 4, first - 2, "LOC"]]}
    docs = read(lines(known, {"text": "\u00e9t\u00e9", "label": [[0, 3, "X"]]}, either))
    if first == 5:
        with pytest.warns(DataWarning, match=r"2 documents whose offsets count code points .*line 1"):
            found = [*docs]
    else:
        found = [*docs]
        assert not docs.remarks
    assert [doc.spans[0].text for doc in found] == ["Oslo", "\u00e9t\u00e9", "\u6771\u4eac"]
    (given,) = read(lines(known), unit="utf16")
    assert given.spans[0].text == {5: " Osl", 6: "Oslo"}[first]


def test_doccanos_texts_of_older_versions() -> None:
    row = {"id": 1, "data": "Ana ran", "label": [[0, 3, "PER"]]}
    for file in (lines(row), io.BytesIO(json.dumps([row]).encode())):
        docs = read(file)
        assert [(doc.text, doc.spans[0].text, doc.meta) for doc in docs] == [("Ana ran", "Ana", {})]
        assert docs.format == "doccano"


# ---- Prodigy


@pytest.mark.parametrize("mark", [{"_is_binary": True}, {"_view_id": "ner"}])
def test_prodigys_yes_or_no_is_about_one_span(mark: dict[str, Any]) -> None:
    row = {"text": "Ana saw Bo", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"}
    (doc,) = read(lines({**row, **mark}))
    assert (doc.known, len(doc.spans)) == (((0, 3),), 1)
    (doc,) = read(lines({**row, "_is_binary": False, "_view_id": "ner"}))
    assert doc.known is None


def test_prodigy_keeps_what_was_proposed_where_it_was_not_accepted() -> None:
    spans = [{"start": 0, "end": 3, "label": "PER", "token_start": 0, "token_end": 0, "score": 0.75}]
    rows = [
        {"text": "Ana ran", "spans": spans, "answer": one, "_task_hash": 3} for one in ("accept", "reject")
    ]
    docs = read(lines(*rows, {"image": "x.png", "answer": "accept"}))
    with pytest.warns(DataWarning, match=r"1 rejected or ignored document .*line 2.*without text.*line 3"):
        accepted, rejected = docs
    assert (accepted.spans[0].probability, accepted.known) == (0.75, None)
    assert (rejected.spans, rejected.known, rejected.meta["proposed"]) == ((), (), spans)
    file = io.BytesIO()
    with pytest.warns(DataWarning, match="nobody looked at"):
        write([rejected], file, "prodigy")
    assert json.loads(file.getvalue())["spans"] == spans


def test_prodigys_tokens() -> None:
    doc = Doc(f"{ROCKET}Oslo!", [(0, 1), (1, 5), (5, 6)], spans=[(1, 5, "LOC")])
    file = io.BytesIO()
    write([doc], file, "prodigy")
    record = json.loads(file.getvalue())
    assert record["tokens"][1] == {"text": "Oslo", "start": 1, "end": 5, "id": 1, "ws": False}
    assert record["spans"] == [{"start": 1, "end": 5, "label": "LOC", "token_start": 1, "token_end": 1}]
    with pytest.raises(DataError, match="line 1: has tokens that are no list of objects"):
        list(read(lines({"text": "a", "tokens": ["a"], "answer": "accept"})))


def test_prodigys_examples_that_wait_for_a_person_are_not_known() -> None:
    waiting = {"text": "Ana", "tokens": [{"text": "Ana", "start": 0, "end": 3, "id": 0}]}
    docs = read(lines(waiting, waiting | {"answer": "accept"}, waiting | {"spans": []}), "prodigy")
    assert [doc.known for doc in docs] == [(), None, None]


# ---- Label Studio


def task(text: str, *regions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"text": text, "source": "web"}, "annotations": [{"result": [*regions]}], **more}


def region(start: Any, end: Any, text: str, *labels: str, kind: str = "labels") -> dict[str, Any]:
    value = {"start": start, "end": end, "text": text, "labels": [*labels]}
    return {"id": "a", "from_name": "label", "to_name": "text", "type": kind, "value": value}


@pytest.mark.parametrize(("start", "end"), [(5, 9), (7, 11)])
def test_label_studio_of_either_age(start: int, end: int) -> None:
    """The editor counts code points, versions before 1.4 UTF-16 units; the region's text decides."""
    (doc,) = read(lines(task(f"{ROCKET}{ROCKET} a Oslo", region(start, end, "Oslo", "LOC", "CITY"))))
    assert [(span.text, span.label) for span in doc.spans] == [("Oslo", "LOC"), ("Oslo", "CITY")]
    assert (doc.id, doc.meta) == ("1", {"source": "web"})


def test_label_studio_as_it_was_exported_in_2021() -> None:
    """The example of its issue 1347, of before it counted code points (its pull request 1559)."""
    region = {"start": 13, "end": 23, "text": "annotation", "labels": ["Annotation"]}
    row = {
        "text": "\U0001f4a9This is an annotation. ",
        "id": 1,
        "label": [region],
        "annotator": 1,
        "annotation_id": 2,
    }
    (doc,) = read(lines(row))
    assert [(span.text, span.start) for span in doc.spans] == [("annotation", 12)]


def test_label_studio_counts_what_is_no_span() -> None:
    rows = lines(
        task("Ana ran", region(0, 3, "Ana", "PER"), {"type": "choices", "value": {"choices": ["x"]}}),
        task("Ana ran", region(0, 2, "Ana", "PER")),
        task("Ana ran", {"type": "labels", "value": {"start": 0, "end": 3, "text": "Ana"}}),
        {"id": 3, "data": {"image": "x.png", "n": 1}, "annotations": []},
    )
    docs = read(rows)
    with pytest.warns(DataWarning) as caught:
        list(docs)
    message = str(caught[0].message)
    for part in (
        "1 region of type choices (first in line 1, task 1)",
        "1 span whose text is another (first in line 2, task 1)",
        "1 region without a label (first in line 3, task 1)",
        "line 4",
    ):
        assert part in message


def test_label_studio_counts_drafts_and_what_a_page_alone_has() -> None:
    """Offsets of a page's elements are no offsets of a text; those of all its text are, where they fit."""
    page = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 4, "endOffset": 7}
    fits = {**page, "globalOffsets": {"start": 4, "end": 7}, "text": "ran", "hypertextlabels": ["VERB"]}
    hyper = {"type": "hypertextlabels", "value": fits}
    lost = {"type": "hypertextlabels", "value": {**page, "text": "ran", "hypertextlabels": ["VERB"]}}
    small = {"text": "Ana ran", "id": 9, "ner": [fits], "annotator": 1, "annotation_id": 2}
    draft = [{"result": [region(0, 3, "Ana", "PER")]}]
    guess = [{"result": [region(0, 3, "Ana", "PER")]}]
    rows = [
        task("Ana ran", hyper, region(0, 3, "Ana", "PER"), drafts=draft, predictions=guess),
        {**task("Ana ran", lost, region(0, 3, "Ana")), "id": 8},
    ]
    docs = read(io.BytesIO(json.dumps(rows).encode()))
    with pytest.warns(DataWarning) as caught:
        first, second = docs
    assert [span.text for span in first.spans] == ["ran", "Ana"]
    assert (first.known, second.spans, second.known) == (None, (), ())  # what was lost is no false O
    message = str(caught[0].message)
    for part in (
        "1 draft (first in line 1, task 1)",
        "1 prediction beside an annotation (first in line 1, task 1)",
        "1 region of type hypertextlabels without a place in the text (first in line 1, task 8)",
        "1 region without a label (first in line 1, task 8)",
    ):
        assert part in message
    assert [span.text for doc in read(lines(small)) for span in doc.spans] == ["ran"]


def test_label_studio_without_and_with_several_annotations() -> None:
    guess = [{"model_version": "1", "result": [{**region(0, 3, "Ana", "PER"), "score": 0.5}]}]
    nobody = {"id": 1, "data": {"text": "Ana ran"}, "annotations": [], "predictions": guess}
    canceled = {"was_cancelled": True, "result": [region(0, 1, "A", "X")]}
    several = task("Ana ran", region(0, 3, "Ana", "PER"))
    several["annotations"] = [canceled, *several["annotations"], {"result": []}]
    docs = read(io.BytesIO(json.dumps([nobody, several], indent=1).encode()))
    with pytest.warns(DataWarning, match="1 canceled annotation .*1 annotation beside the first"):
        first, second = docs
    assert (first.known, first.spans[0].probability) == ((), 0.5)
    assert (second.known, [*second.spans]) == (None, [(0, 3, "PER", None)])
    file = io.BytesIO()
    write([first, second], file, "label-studio")
    written = json.loads(file.getvalue())
    assert [[*one] for one in written] == [["id", "data", "predictions"], ["id", "data", "annotations"]]


def test_label_studios_text_may_have_any_name() -> None:
    """A task that says nothing of its text has the field that others had; an address of a picture is none."""
    known = task("Ana ran", region(0, 3, "Ana", "PER"))
    known["data"] = {"review": "Ana ran", "n": 1}
    first, second = read(lines(known, {"data": {"review": "Bo sat", "by": "Ana"}, "annotations": []}))
    assert (first.text, second.text, second.meta) == ("Ana ran", "Bo sat", {"by": "Ana"})
    known["data"] = {"url": "http://x", "review": "Ana ran"}  # of two, the one that has what the regions say
    assert [doc.text for doc in read(lines(known))] == ["Ana ran"]
    known["data"]["copy"] = "Ana ran"
    with pytest.raises(DataError, match=r"no document has a text.*text='\.\.\.'"):
        list(read(lines(known)))


def test_label_studios_small_json() -> None:
    row = {
        "review": "Ana ran",
        "id": 4,
        "ner": [{"start": 0, "end": 3, "text": "Ana", "labels": ["PER"]}],
        "annotator": 1,
        "annotation_id": 2,
        "lead_time": 0.5,
    }
    (doc,) = read(lines(row))
    assert (doc.text, [*doc.spans]) == ("Ana ran", [(0, 3, "PER", None)])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"data": 3, "annotations": []}, "has 3 for data"),
        ({"data": {"text": "a"}, "annotations": 3}, "annotations that are no list"),
        ({"data": {"text": "a"}, "annotations": [{"result": 3}]}, "has the result 3"),
        (task("a", region(None, 3, "a", "X")), "its ends are no whole numbers"),
    ],
)
def test_what_is_no_task(row: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"line 1: .*{message}"):
        list(read(lines(row), "label-studio"))


def test_an_empty_file_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.jsonl: is empty"):
        list(read(path))


def test_evidence_ignores_blanks_and_prefers_the_unit_of_the_format() -> None:
    remarks = Remarks()
    assert fitting_unit(f"{ROCKET}a\r\nb", [(1, 5, r"a\nb")], "codepoint", "x", remarks) == "codepoint"
    assert fitting_unit("abc", [], "byte", "x", remarks) == "byte"
    assert fitting_unit(f"{ROCKET} x", [(0, 1, ROCKET)], "utf16", "x", remarks) == "codepoint"
    assert not remarks
