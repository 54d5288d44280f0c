"""Properties of every format: what is written comes back, however the input is cut, packed or damaged."""

from __future__ import annotations

import gzip
import io
import string
import tracemalloc
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit import data
from crfkit.data import Columns, Dataset, source
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from tests.cases.formats import same_bits, spelt

NASTY = st.sampled_from(
    [
        *["", "\\", "\\:", ":", "a:1", "@weight:2", "#", "-DOCSTART-", "nan", '"', ",", "{", "é"],
        *" \t\r\n\0\x85\u2028\v\f\x1c\ufeff\U0001f600",
    ]
)
TEXT = st.one_of(
    NASTY, st.text(st.characters(exclude_categories=["Cs"]), max_size=4), st.builds(str.__add__, NASTY, NASTY)
)
PLAIN = st.text(string.ascii_letters + "é=[]-.", min_size=1, max_size=5)


def rows(text: st.SearchStrategy[str], empty: bool = False) -> st.SearchStrategy[list[list[tuple[str, ...]]]]:
    def of(width: int) -> st.SearchStrategy[list[list[tuple[str, ...]]]]:
        row = st.tuples(*[text] * width)
        return st.lists(st.lists(row, min_size=0 if empty else 1, max_size=4), min_size=1, max_size=4)

    return st.integers(1, 3).flatmap(of)


VALUES = st.one_of(
    st.just(1.0), st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float)
)


@st.composite
def datasets(
    draw: st.DrawFn,
    text: st.SearchStrategy[str],
    values: st.SearchStrategy[float] = VALUES,
    weights: bool = True,
    unlabeled: bool = False,
    empty: bool = False,
) -> Dataset:
    lengths = draw(st.lists(st.integers(0 if empty else 1, 3), min_size=1, max_size=3))
    P = sum(lengths)
    items = [draw(st.dictionaries(text, values, max_size=4)) for _ in range(P)]
    label = st.one_of(text, st.none()) if unlabeled else text
    labels = draw(st.lists(label, min_size=P, max_size=P))
    label_names, names = Alphabet(), Alphabet()
    batch = Batch(
        seq_ptr=np.cumsum([0, *lengths]),
        attr_ptr=np.cumsum([0, *map(len, items)]),
        attr=names.ids(name for item in items for name in item),
        value=np.array([value for item in items for value in item.values()], dtype=np.float64),
        label=np.array([-1 if one is None else label_names.add(one) for one in labels], dtype=np.int32),
        weight=np.array(draw(st.lists(VALUES, min_size=len(lengths), max_size=len(lengths))))
        if weights
        else None,
    )
    return Dataset(batch, label_names, names, Alphabet())


def test_the_comparison_can_fail() -> None:
    text = b"B\ta:2\n\nI\tb\n"
    one = crfkit.read(io.BytesIO(text), "crfsuite")
    for other in (b"B\ta\n\nI\tb\n", b"B\ta:2\nI\tb\n", b"B\ta:2\n\n@weight:2\nI\tb\n", b"B\ta:2\n\nI\tc\n"):
        two = crfkit.read(io.BytesIO(other), "crfsuite")
        assert spelt(one) != spelt(two)
        with pytest.raises(AssertionError):
            same_bits(one, two)


class RefusedError(Exception):
    """The writer said that the format cannot hold this."""


def back(given: Columns | Dataset, format: str, writing: dict[str, Any], reading: dict[str, Any]) -> object:
    out = io.BytesIO()
    try:
        data.write(out, given, format, **writing)
    except ValueError as error:
        raise RefusedError from error
    return spelt(crfkit.read(io.BytesIO(out.getvalue()), format, **writing, **reading))


COLUMN_FORMATS = [
    ("columns", {}, {"docstart": "keep"}),
    ("columns", {"separator": "\t"}, {"docstart": "keep"}),
    ("columns", {"separator": ","}, {"docstart": "keep"}),
    ("crfpp", {}, {}),
    ("wapiti", {}, {}),
    ("csv", {}, {}),
    ("jsonl", {}, {}),
]


@pytest.mark.parametrize(("format", "writing", "reading"), COLUMN_FORMATS)
@given(sequences=rows(TEXT, empty=True))
def test_any_columns_come_back_or_are_refused(
    format: str, writing: dict[str, Any], reading: dict[str, Any], sequences: list[list[tuple[str, ...]]]
) -> None:
    given_columns = Columns.from_rows(sequences)
    if not given_columns.names:
        return
    try:
        assert back(given_columns, format, writing, reading) == spelt(given_columns)
    except RefusedError:
        assert format != "jsonl"


@pytest.mark.parametrize(("format", "writing", "reading"), COLUMN_FORMATS)
@given(sequences=rows(PLAIN))
def test_plain_columns_are_never_refused(
    format: str, writing: dict[str, Any], reading: dict[str, Any], sequences: list[list[tuple[str, ...]]]
) -> None:
    given_columns = Columns.from_rows(sequences)
    assert back(given_columns, format, writing, reading) == spelt(given_columns)


@pytest.mark.parametrize("format", ["crfsuite", "jsonl", "mallet"])
@given(made=datasets(TEXT, unlabeled=True, empty=True))
def test_any_attributes_come_back_or_are_refused(format: str, made: Dataset) -> None:
    label = made.batch.label
    unlabeled = format == "mallet" and label is not None and bool((label < 0).all())
    try:
        assert back(made, format, {}, {"label": False} if unlabeled else {}) == spelt(made)
    except RefusedError:
        assert format != "jsonl"


@given(made=datasets(PLAIN))
def test_plain_attributes_are_never_refused(made: Dataset) -> None:
    assert back(made, "crfsuite", {}, {}) == spelt(made)


@given(made=datasets(PLAIN, values=st.just(1.0), weights=False))
def test_plain_features_are_never_refused(made: Dataset) -> None:
    assert back(made, "mallet", {}, {}) == spelt(made)


# ---- texts, well formed and not

FORMATS = ["columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl"]
PIECES = {
    "columns": ["a b\n", "c d\n", "e\tf\n", "\n", " \n", "\n\n", " x y\n", "-DOCSTART- O\n", "é z\n"],
    "crfsuite": ["B\ta\n", "I\ta:2\tb\n", "O\tb\ta\tb:0.5\n", "\n", "\n\n", "B\n", "I\tx\\:y:1:2\n"],
    "mallet": ["a b O\n", "a  B\n", "O\n", "\n", " \t\n", "\n\n", "c c O \n"],
    "tokens": [
        '{"tokens": ["a", "b"], "labels": ["O", "B"]}\n',
        '{"labels": ["é"], "tokens": ["c"]}\n',
        '{"tokens": [], "labels": []}\n',
        "\n",
    ],
    "items": [
        '{"items": [["a"], {"b": 2}], "labels": ["B", null]}\n',
        '{"items": [["a", "a"]]}\n',
        '{"items": [[], ["c"]], "weight": 0.5, "labels": ["I", "B"]}\n',
        "\n",
    ],
}
KINDS = [
    ("columns", "columns"),
    ("crfpp", "columns"),
    ("wapiti", "columns"),
    ("crfsuite", "crfsuite"),
    ("mallet", "mallet"),
    ("jsonl", "tokens"),
    ("jsonl", "items"),
]


def texts(kind: str) -> st.SearchStrategy[bytes]:
    """Texts that are right, with something in them, with or without a last line end."""
    body = st.lists(st.sampled_from(PIECES[kind]), max_size=30).map("".join)
    if kind == "crfsuite":
        one = st.sampled_from(["B\ta\n@weight:2\n\n", "@weight:0.5\nI\tb:3\n\n"])
        body = st.lists(st.one_of(body.map(lambda text: text + "\n"), one), max_size=4).map("".join)
    return st.builds(
        lambda text, cut: (PIECES[kind][0] + text)[: -1 if cut else None].encode(), body, st.booleans()
    )


def read(text: bytes, format: str) -> Columns | Dataset:
    return crfkit.read(io.BytesIO(text), format)


@pytest.mark.parametrize(("format", "kind"), KINDS)
@given(draw=st.data())
def test_chunks_are_the_whole(format: str, kind: str, draw: st.DataObject) -> None:
    text = draw.draw(texts(kind))
    size, positions = draw.draw(st.integers(1, 40)), draw.draw(st.integers(1, 12))
    whole = read(text, format)
    with mock.patch.object(source, "CHUNK", size):
        chunks = list(data.stream(io.BytesIO(text), format, chunk_positions=positions))
        same_bits(read(text, format), whole)
    same_bits(data.concatenate(chunks), whole)
    for chunk in chunks[:-1]:
        lengths = np.diff(chunk.seq_ptr if isinstance(chunk, Columns) else chunk.batch.seq_ptr)
        assert lengths.sum() - lengths[-1] < positions <= lengths.sum()
    alphabets = [
        (chunk.alphabets if isinstance(chunk, Columns) else (chunk.attributes, chunk.labels))
        for chunk in chunks
    ]
    assert all(a is b for other in alphabets for a, b in zip(alphabets[0], other, strict=True))


@pytest.mark.parametrize(("format", "kind"), KINDS)
@given(draw=st.data())
def test_line_ends_and_packing_do_not_matter(format: str, kind: str, draw: st.DataObject) -> None:
    text = draw.draw(texts(kind))
    whole = read(text, format)
    same_bits(read(text.replace(b"\n", b"\r\n"), format), whole)
    same_bits(read(gzip.compress(text), format), whole)
    same_bits(read(b"\xef\xbb\xbf" + text, format), whole)
    with mock.patch.object(source, "CHUNK", draw.draw(st.integers(1, 20))):
        same_bits(read(gzip.compress(text.replace(b"\n", b"\r\n")), format), whole)


BYTES = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from([piece.encode() for pieces in PIECES.values() for piece in pieces]),
        st.sampled_from(
            [b"\t", b":", b"\\", b"@weight:", b"{", b'"', b"[", b"\x1f\x8b", b"\xef\xbb\xbf", b"1e9", b"\r"]
        ),
    ),
    max_size=12,
).map(b"".join)


@pytest.mark.parametrize("format", [*FORMATS, "csv", None])
@given(text=BYTES, packed=st.booleans(), cut=st.integers(0, 30))
def test_no_bytes_crash_a_reader(format: str | None, text: bytes, packed: bool, cut: int) -> None:
    if packed:
        text = gzip.compress(text, mtime=0)
        text = text[: len(text) - cut]
    wrong: crfkit.errors.DataError | None = None
    try:
        made = crfkit.read(io.BytesIO(text), format)
        assert len(made) > 0
        spelt(made)
    except crfkit.errors.DataError as error:
        wrong = error
    if wrong is not None:
        assert wrong.path == "input"
        ends = max(text.count(b"\n"), text.count(b"\r"))
        assert wrong.line is None or packed or 1 <= wrong.line <= ends + 1


@given(sequences=rows(PLAIN))
def test_chunks_can_be_written(tmp_path_factory: pytest.TempPathFactory, sequences: list[Any]) -> None:
    whole = Columns.from_rows(sequences)
    folder: Path = tmp_path_factory.mktemp("chunks")
    data.write(folder / "whole.txt", whole)
    data.write(
        folder / "parts.txt", data.stream(folder / "whole.txt", "columns", docstart="keep", chunk_positions=1)
    )
    assert (folder / "whole.txt").read_bytes() == (folder / "parts.txt").read_bytes()


class Endless(io.RawIOBase):
    """The same lines again and again, made as they are read."""

    def __init__(self, lines: bytes, times: int) -> None:
        self.lines, self.left = lines, times

    def read(self, size: int = -1) -> bytes:
        self.left -= 1
        return self.lines if self.left >= 0 else b""


@pytest.mark.parametrize(
    ("format", "lines"),
    [
        ("columns", b"word tag x y z\n" * 9 + b"\n"),
        ("crfsuite", b"B\tw=word\tvalue:0.5\n" * 9 + b"\n"),
        ("mallet", b"w=word cap B\n" * 9 + b"\n"),
        ("jsonl", b'{"items": [["a", "b"], ["c"]]}\n' * 2),
    ],
)
def test_streams_need_no_more_memory_for_longer_inputs(format: str, lines: bytes) -> None:
    peaks = []
    for times in (4, 16):
        tracemalloc.start()
        for chunk in data.stream(cast(Any, Endless(lines * 300, times)), format, chunk_positions=1000):
            assert len(chunk)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000  # what is read takes ten times as much
