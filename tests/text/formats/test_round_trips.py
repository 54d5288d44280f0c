"""What every format promises: its example is read and recognized, and what it keeps comes back."""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from crfkit.errors import DataError, DataWarning
from crfkit.text import FORMATS, Doc, read, write
from crfkit.text.formats.record import TextFormat
from crfkit.text.formats.registry import find
from crfkit.text.offsets import UNITS
from tests.cases.texts import DOCS, TEXTS, document

RECORDS = [find(name) for name in FORMATS]
OFFSETS = [one for one in RECORDS if "unit" in one.options]
JSON = ["jsonl", "doccano", "prodigy", "label-studio"]

#: What a format refuses, by its nature.
REFUSED = {"parserator": re.compile("[\x0b\x0c]")}


def there(record: TextFormat) -> Any:
    lacks = bool(record.needs) and importlib.util.find_spec(record.needs) is None
    return pytest.param(record, marks=pytest.mark.skipif(lacks, reason=f"no {record.needs}"), id=record.name)


every = pytest.mark.parametrize("record", [there(one) for one in RECORDS])
json_only = pytest.mark.parametrize("name", JSON)


def kept(doc: Doc, record: TextFormat) -> Doc:
    """Return what of a document a format keeps."""
    parts: dict[str, Any] = {
        part: getattr(doc, part)
        for part in ("tokens", "sentences", "labels", "id", "meta", "known")
        if part in record.keeps
    }
    if "unseen" in record.keeps and doc.known == ():
        parts["known"] = ()
    spans = sorted(doc.spans) if "probabilities" in record.keeps else sorted(span[:3] for span in doc.spans)
    return Doc(doc.text, spans=spans, **parts)


def written(docs: list[Doc], record: TextFormat, folder: Path, **options: Any) -> list[Doc]:
    """Return documents after a way through a file."""
    folder.mkdir(exist_ok=True)
    path = folder / f"docs{record.endings[0] if record.endings and not record.files else ''}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        write(docs, path, record.name, **options)
        return [doc.with_spans(sorted(doc.spans)) for doc in read(path, record.name, **options)]


@every
def test_the_example_is_read_and_recognized(record: TextFormat, tmp_path: Path) -> None:
    if record.name == "spacy":
        pytest.skip("it is no text; tests/text/formats/test_token_formats.py makes one")
    ending = record.endings[0] if record.endings else ".txt"
    path = tmp_path / f"example{ending}"
    files = {ending: record.example} if isinstance(record.example, str) else record.example
    for each, text in files.items():
        (tmp_path / f"example{each}").write_text(text, encoding="utf-8", newline="")
    docs = read(path)
    texts = [span.text for doc in docs for span in doc.spans]
    assert docs.format == record.name
    assert texts, "an example has spans"
    assert not docs.remarks
    assert [*read(path, record.name)] == [*docs]


@every
@pytest.mark.parametrize("doc", DOCS.values(), ids=DOCS)
def test_hostile_text_comes_back(record: TextFormat, doc: Doc, tmp_path: Path) -> None:
    docs = [doc._with(id=f"{number:06}") for number in (1, 2)]
    refused = REFUSED.get(record.name)
    if refused is not None and refused.search(doc.text):
        with pytest.raises(ValueError, match=r"document 000001 holds U\+000B, which XML cannot hold"):
            written(docs, record, tmp_path)
        docs = [document(refused.sub(" ", doc.text), one.id) for one in docs]
    if record.name == "spacy" and "\ufeff" in doc.text:
        return  # it becomes a token
    for unit in UNITS if record in OFFSETS else [None]:
        assert written(docs, record, tmp_path / str(unit), unit=unit) == [kept(one, record) for one in docs]


@every
def test_everything_that_is_kept(record: TextFormat, tmp_path: Path) -> None:
    doc = Doc(
        "Ana lives in New York",
        [(0, 3), (4, 9), (10, 12), (13, 16), (17, 21)],
        [0, 3, 5] if "sentences" in record.keeps else None,
        [(0, 3, "PER", 0.5), (13, 21, "LOC", 0.25)],
        ["a", "b", "c", "d", "e"],
        id="7",
        meta={"by": "Ana"},
        known=[(0, 9), (13, 21)] if "known" in record.keeps else () if "unseen" in record.keeps else None,
    )
    if "overlaps" in record.keeps:
        doc = doc.with_spans([*doc.spans, (0, 9, "X", 0.125)])
    assert written([doc], record, tmp_path) == [kept(doc, record)]


@every
def test_no_documents_and_no_spans(record: TextFormat, tmp_path: Path) -> None:
    doc = Doc("Ana ran", [(0, 3), (4, 7)])
    (again,) = written([doc], record, tmp_path)
    assert (again.text, again.spans) == (doc.text, ())


@every
def test_what_is_not_kept_is_said(record: TextFormat, tmp_path: Path) -> None:
    doc = Doc("Ana ran", [(0, 3), (4, 7)], spans=[(0, 3, "PER")], known=[(0, 3)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        remarks = write([doc], tmp_path / f"x{(record.endings or ('',))[0]}", record.name)
    assert bool(remarks) == bool(caught) == ("known" not in record.keeps)
    if caught:
        assert "nobody looked at" in str(caught[0].message)


# ---- bad input


@json_only
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b'{"text": "a", "spans": 3', "line 2: is not JSON"),
        (b"[1, 2]", "line 2: is a JSON list"),
        (b'{"text": "\xff"}', "line 2: is not valid UTF-8"),
        (b'{"text": "a", "id": {}}', "line 2: has the id"),
        (b'{"text": "a", "x": ' + b"[" * 100_000, "line 2: is nested too deeply"),
        (b'{"text": "a", "x": ' + b"1" * 5000 + b"}", "line 2: holds a number of 5,000 digits"),
        (b"\0", "line 2: holds a NUL byte"),
    ],
)
def test_what_is_no_json_names_the_line(name: str, given: bytes, message: str) -> None:
    example = str(find(name).example).encode() if name != "label-studio" else b'{"data": {"text": "a"}}\n'
    if name == "prodigy" and b'"id"' in given:
        return  # it may be anything there
    if name == "label-studio":
        given = given.replace(b'"text": "a"', b'"data": {"text": "a"}')
    with pytest.raises(DataError) as caught:
        list(read(io.BytesIO(example + given + b"\n"), name))
    assert message in str(caught.value)


@json_only
def test_a_line_of_100_mb_is_refused_or_read_in_bounded_memory(name: str) -> None:
    """The readers' bound of a line holds here too; `tests/whole/test_growth.py` measures memory."""
    long = b'{"text": "' + b"a" * (130 << 20)
    with pytest.raises(DataError, match="128 MiB"):
        list(read(io.BytesIO(long), name))


def test_documents_without_text_are_counted() -> None:
    rows = b'{"text": "a", "label": []}\n{"label": [[0, 1, "X"]]}\n{"label": []}\n'
    docs = read(io.BytesIO(rows))
    with pytest.warns(DataWarning, match=r"input: 2 documents without text \(first in line 2\)"):
        assert [doc.text for doc in docs] == ["a"]
    assert docs.remarks.counts == {"document without text": 2}
    with pytest.raises(DataError, match=r"no document has a text.*text='\.\.\.'"):
        list(read(io.BytesIO(b'{"body": "a"}\n'), "jsonl"))
    (doc,) = read(io.BytesIO(b'{"body": "a", "spans": []}\n'), "jsonl", text="body")
    assert doc.text == "a"


def test_offsets_within_a_character_name_the_line_and_the_remedy() -> None:
    with pytest.raises(DataError, match=r"line 1: offset 1 lies within .*do not count UTF-16 units"):
        list(read(io.BytesIO('{"text": "\U0001f680a", "label": [[1, 2, "X"]]}'.encode()), unit="utf16"))
    (doc,) = read(io.BytesIO('{"text": "\U0001f680a", "label": [[1, 2, "X"]]}'.encode()), unit="codepoint")
    assert doc.spans[0].text == "a"


def test_halves_of_surrogate_pairs_are_escaped(tmp_path: Path) -> None:
    doc = Doc("\ud83d a", spans=[(2, 3, "X")])
    for name in JSON:
        assert written([doc], find(name), tmp_path)[0].text == doc.text


def test_files_are_read_as_often_as_needed(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    write([DOCS["plain"]] * 3, path)
    docs = read(path)
    assert len([*docs]) == len([*docs]) == 3
    assert repr(docs) == f"Docs({str(path)!r}, 'jsonl')"


def test_wrong_calls() -> None:
    with pytest.raises(FileNotFoundError):
        read("no such file.jsonl")
    with pytest.raises(ValueError, match="no format 'word'"):
        read(io.BytesIO(), "word")
    with pytest.raises(ValueError, match='expected "codepoint", "utf16" or "byte"'):
        read(io.BytesIO(), unit="letters")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names is the string"):
        read(io.BytesIO(), names="abc")
    with pytest.raises(ValueError, match="has no option 'names'"):
        read(io.BytesIO(), "jsonl", names=["O"])
    with pytest.raises(DataError, match="its format could not be guessed; give it, one of jsonl"):
        list(read(io.BytesIO(b"a b\nc d\n")))
    with pytest.raises(ValueError, match=r"does not say the format; give it, one of jsonl"):
        write([], "x.odt")
    with pytest.raises(TypeError, match=r"documents of crfkit\.text\.Doc, not str"):
        write(["a"], io.BytesIO(), "jsonl")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected a path, an open file or a list of rows, not int"):
        list(read(3))  # type: ignore[arg-type]
    assert set(TEXTS) == set(DOCS)
