"""JSON arrays of the objects that JSON lines have, integers as labels, and JSON that is something else."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns, source
from crfkit.errors import DataError
from tests.cases.formats import Bytewise, spelt
from tests.cases.growth import check_growth

TOKENS: list[Any] = [
    {"tokens": ["a", '[{"\\'], "labels": ["X", "}]"]},
    {"labels": ["é"], "tokens": ["\n"]},
    {"tokens": [], "labels": []},
]
ITEMS: list[Any] = [
    {"items": [["a"], {"b": 2, "c": ["{", '\\"']}], "labels": ["B", None]},
    {"items": [[], ["c"]], "weight": 0.5, "labels": ["I", "B"]},
]


@pytest.mark.parametrize("objects", [TOKENS, ITEMS])
@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("before", ["", "\ufeff", " \r\n\n"])
def test_an_array_is_what_its_lines_are(objects: list[Any], indent: int | None, before: str) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in objects).encode()
    expected = spelt(crfkit.read(io.BytesIO(lines), "jsonl"))
    made = (before + json.dumps(objects, indent=indent)).encode()
    for format in (None, "jsonl"):
        for given in (io.BytesIO(made), Bytewise(made), io.BytesIO(made + b"\n \n")):
            assert spelt(crfkit.read(given, format)) == expected
    blocks = list(data.stream(io.BytesIO(made), alphabets="fresh"))
    assert sum(map(len, blocks)) == len(objects)
    chunks = data.stream(io.BytesIO(made), chunk_positions=1)
    assert sum(map(len, chunks)) == len(objects)


def test_lines_are_those_of_the_array() -> None:
    text = b'[\n\n{"tokens": ["a"]},\n{\n"tokens":\n["b"]}, {"tokens": ["c"]}\n]\n'
    for given in (io.BytesIO(text), Bytewise(text)):
        made = crfkit.read(given)
        assert isinstance(made, Columns)
        assert made.lines is not None
        assert made.lines.begin.tolist() == [3, 4, 6]
    [block] = data.stream(io.BytesIO(text), alphabets="fresh")
    assert isinstance(block, Columns)
    assert block.lines is not None
    assert block.lines.begin.tolist() == [3, 4, 6]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (b'[{"tokens": ["a"]}\n,\n{"tokens": [1.5]}]', 3, "has 1.5 at place 0 of 'tokens'"),
        (b'[{"tokens": ["a"]},\n{"tokens": "a"}]', 2, "has no list 'tokens'"),
        (b'[{"items": [["a"]]},\n{"items": 3}]', 2, "has no list"),
        (b'[{"tokens": ["a"]},\n]', 2, r"has '\]', expected an object after the comma"),
        (b'[{"tokens": ["a"]}\n{"tokens": ["a"]}]', 2, "has '{', expected a comma"),
        (b'[{"tokens": ["a"]}]\n[', 2, "expected nothing after the array"),
        (b'[{"tokens": ["a"]}, 3]', 1, "has '3', expected an object"),
        (b'[{"tokens": ["a"]},\n{"tokens": ["b"', 2, "ends in the middle of its array"),
        (b'[{"tokens": ["a"]},\n', 2, "ends in the middle of its array"),
        (b'[{"tokens": ["a"]},\n{"tokens": ["b\n"]}]', 2, "has a line end within a string"),
        (b'[{"tokens": ["a"]},\n{"tokens": [}]]', 2, "is not JSON"),
        (b"[]\n", None, "no sequence"),
        (b'["a", "b"]', 1, "has '\"', expected an object, as in"),
    ],
)
def test_mistakes_name_the_line(text: bytes, line: int | None, what: str) -> None:
    for given in (io.BytesIO(text), Bytewise(text)):
        with pytest.raises(DataError, match=what) as caught:
            crfkit.read(given, "jsonl")
        assert caught.value.line == line
    with pytest.raises(DataError, match=what) as caught:
        list(data.stream(io.BytesIO(text), "jsonl", alphabets="fresh"))
    assert caught.value.line == line


def test_an_array_may_be_one_line_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 19)
    text = json.dumps([{"tokens": ["a"] * 100}] * 2000).encode()
    assert len(crfkit.read(io.BytesIO(text))) == 2000
    assert sum(map(len, data.stream(io.BytesIO(text), alphabets="fresh"))) == 2000


def test_the_cost_of_arrays_grows_as_they_do() -> None:
    check_growth(lambda n: json.dumps(TOKENS * n).encode(), lambda text: crfkit.read(io.BytesIO(text)), 2000)
    check_growth(lambda n: b"[" + b"[" * n, lambda text: _refused(text), 300_000)
    check_growth(lambda n: b'[{"' + b"\\\\" * n, lambda text: _refused(text), 300_000)


def _refused(text: bytes) -> None:
    with pytest.raises(DataError):
        crfkit.read(io.BytesIO(text), "jsonl")


def test_integers_are_labels() -> None:
    tokens = crfkit.read(io.BytesIO(b'{"tokens": ["a", 7], "ner_tags": [0, -1]}\n'))
    assert list(tokens) == [[("a", "0"), ("7", "-1")]]
    items = crfkit.read(io.BytesIO(b'{"items": [["a"], ["b"]], "labels": [3, null]}\n'))
    assert spelt(items) == spelt(
        crfkit.read(io.BytesIO(b'{"items": [["a"], ["b"]], "labels": ["3", null]}\n'))
    )
    for text in (b'{"tokens": ["a"], "labels": [true]}\n', b'{"items": [["a"]], "labels": [1.0]}\n'):
        with pytest.raises(DataError, match="expected a string"):
            crfkit.read(io.BytesIO(text))
    with pytest.raises(DataError, match="expected a string"):
        crfkit.read(io.BytesIO(b'{"items": [[1]]}\n'))


def test_text_with_spans_is_refused_by_name() -> None:
    text = b'{"text": "New York", "spans": [{"start": 0, "end": 8, "label": "LOC"}]}\n'
    with pytest.raises(DataError, match=r'line 1: has a "text", .* give a list "tokens"'):
        crfkit.read(io.BytesIO(text))


@pytest.mark.parametrize(
    "text", [b'{\n "data": [\n  {"tokens": ["a"]}\n ]\n}\n', b'[\n "a",\n "b"\n]\n', b"[[1, 2], [3]]"]
)
def test_other_json_files_are_refused_with_the_remedy(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text)
    for read in (crfkit.read, lambda p: list(data.stream(p, alphabets="fresh"))):
        with pytest.raises(DataError, match=r"neither JSON lines nor an array .* \(format jsonl\)"):
            read(path)
