"""Where text comes from, how it is encoded and packed, how formats are guessed, and real corpora."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns
from crfkit.errors import DataError
from tests.cases.formats import attributes, columns, fails, items, rows

DATA = Path(os.environ.get("CRFKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))


# ---- encoding


def test_a_byte_order_mark_is_dropped() -> None:
    assert rows(b"\xef\xbb\xbfa b\n") == [[("a", "b")]]
    assert items(attributes(b"\xef\xbb\xbfB\ta\n")) == [[("B", {"a": 1.0})]]


@pytest.mark.parametrize("format", ["columns", "crfsuite", "mallet"])
def test_invalid_utf8_names_the_line(format: str) -> None:
    fails(b"a\tb\n\n\xff\tb\n", format, 3, "UTF-8")


def test_invalid_utf8_in_json() -> None:
    fails(b'{"tokens": ["a"]}\n{"tokens": ["\xff"]}\n', "jsonl", 2, "UTF-8")


@pytest.mark.parametrize("format", ["columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv"])
def test_a_nul_byte_is_refused(format: str) -> None:
    fails(b"a b\0c\n", format, 1, "NUL")


# ---- where text comes from, and guessing


def test_empty_and_blank_inputs() -> None:
    for format in ("columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv", None):
        fails(b"", format, None, "the file is empty")
        fails(b" \n\n", None, None, "no sequence")
    for format in ("columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv"):
        fails(b"\n\r\n\n", format, None, "no sequence")
    fails(b"-DOCSTART- O\n", "columns", None, "no sequence")
    fails(gzip.compress(b""), None, None, "the file is empty")


def test_paths_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder") as caught:
        crfkit.read(tmp_path)
    assert caught.value.path == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        crfkit.read(tmp_path / "missing")
    (tmp_path / "x.txt").write_bytes(b"a b\nc\n")
    with pytest.raises(DataError, match="line 2") as caught:
        crfkit.read(str(tmp_path / "x.txt"), "columns")
    assert str(caught.value).startswith(f"{tmp_path / 'x.txt'}, line 2: ")
    with pytest.raises(TypeError, match="binary mode"):
        crfkit.read(io.StringIO("a b\n"), "columns")
    with pytest.raises(TypeError, match="a path or an open file"):
        crfkit.read(7, "columns")


def test_gzip_is_recognized_by_content(tmp_path: Path) -> None:
    text = b"a b\n\nc d\n" * 1000
    half = len(text) // 2
    for packed in (
        gzip.compress(text),
        gzip.compress(text[:half]) + gzip.compress(text[half:]),
        gzip.compress(text) + b"\0" * 512,
    ):
        (tmp_path / "plain.txt").write_bytes(packed)
        made = crfkit.read(tmp_path / "plain.txt")
        assert isinstance(made, Columns)
        assert list(made) == rows(text)
    (tmp_path / "not.gz").write_bytes(text)
    assert len(crfkit.read(tmp_path / "not.gz")) == 1001


def test_a_bomb_is_unpacked_piece_by_piece() -> None:
    packed = gzip.compress(b"a b\n" + b"\n" * 30_000_000 + b"c d\n")
    assert rows(packed) == [[("a", "b")], [("c", "d")]]


def test_damaged_gzip() -> None:
    packed = gzip.compress(b"".join(b"word%d tag\n" % i for i in range(5000)))
    fails(packed[:-4], None, None, "in the middle of its gzip data")
    fails(packed[:100], "columns", None, "in the middle of its gzip data")
    fails(packed[:2], "columns", None, "in the middle of its gzip data")
    fails(packed[:-8] + b"\0\0\0\0" + packed[-4:], "columns", None, "damaged gzip")
    fails(packed + b"more", "columns", None, "damaged gzip")


def test_standard_input_and_output(tmp_path: Path) -> None:
    code = "from crfkit import data; data.write('-', data.stream('-', say=None), 'jsonl')"
    for given in (b"a b\n\nc d\n", gzip.compress(b"a b\n\nc d\n")):
        run = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True)
        assert run.stdout == b'{"0": ["a"], "1": ["b"]}\n{"0": ["c"], "1": ["d"]}\n'


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (b"the D B\ndog N I\n\nx y z\n", "columns"),
        (b"the\ndog\n\ncat\n", "columns"),
        (b"New York\tB\nis\tO\na big city\tO\n", "columns"),
        (b"# a b c\n" + b"w t\n" * 50, "columns"),
        ("New\u00a0York B\nis O\n\u00a0 O\n\nx\u2028y B\n".encode(), "columns"),
        (b"B\tw=the\tpos=D\nI\tw=dog\tpos=N\n", "crfsuite"),
        (b"B\tthe\tx\ty\nI\tdog\n\nO\tcat\tx\n", "crfsuite"),
        (b"\xef\xbb\xbfB\tlen:3\r\nO\tlen:2\tx:1\r\n", "crfsuite"),
        (b"w=the cap N\nw=dog N\n\nw=runs s V\nw=on x y z N\n", "mallet"),
        (b'\n{"tokens": ["a"]}\n', "jsonl"),
        (b'{"items": [["a"]]}\n', "jsonl"),
    ],
)
def test_guesses(text: bytes, format: str) -> None:
    found = data.guess(text)
    assert found is not None
    assert found.format == format
    said: list[str] = []
    if text.startswith(b"#"):  # a few odd lines are mistakes in columns
        with pytest.raises(DataError, match="line 2: has 2 columns, expected 4"):
            crfkit.read(io.BytesIO(text), say=said.append)
    else:
        crfkit.read(io.BytesIO(text), say=said.append)
    assert len(said) == 1
    assert f"'{format}'" in said[0]


def test_a_given_format_is_not_guessed_about() -> None:
    said: list[str] = []
    crfkit.read(io.BytesIO(b"a b\n"), "crfsuite", say=said.append)
    assert said == []


@pytest.mark.parametrize(
    "text",
    [
        b"This is prose, which goes on.\nIt has lines\nof many lengths\n\nand no labels at the end.\n",
        b"a b c\nd e\nf g h i\n",
        b"<t> a b </t>\n<t> c </t>\n<t> d e f g </t>\n",
    ],
)
def test_an_impossible_guess_lists_the_formats(text: bytes) -> None:
    fails(text, None, None, f"one of {', '.join(data.FORMATS)}")
    fails(b"PK\0\0\1", None, None, "binary file")


def test_a_long_first_line_is_guessed_from_its_beginning() -> None:
    line = b'{"tokens": ["' + b"x" * 200_000 + b'"]}\n'
    assert columns(line * 2, None).format == "jsonl"


def test_a_sample_may_end_within_a_line() -> None:
    found = data.guess(b"a b c\nd e f\ng h", whole=False)
    assert found is not None
    assert found.format == "columns"
    assert data.guess(b"a b c\nd e f\ng h", whole=True) is None


def test_unknown_formats_and_options() -> None:
    for call in (crfkit.read, data.stream):
        with pytest.raises(ValueError, match="no format 'conll'; the formats are columns"):
            call(io.BytesIO(b"a"), "conll")
        with pytest.raises(ValueError, match="crfsuite has no option 'separator'; columns, csv have it"):
            call(io.BytesIO(b"a"), "crfsuite", separator=",")
        with pytest.raises(ValueError, match="expected a list of names"):
            call(io.BytesIO(b"a"), "columns", columns="ab")
    with pytest.raises(ValueError, match="has no option 'columns'"):
        crfkit.read(io.BytesIO(b"B\ta=b\n"), columns=["x"])
    with pytest.raises(ValueError, match="chunk_positions"):
        data.stream(io.BytesIO(b"a"), chunk_positions=0)
    with pytest.raises(ValueError, match="no format 'conll'"):
        data.write(io.BytesIO(), Columns.from_rows([[("a",)]]), "conll")


def test_options_decide_where_the_content_does_not() -> None:
    assert columns(b"a,b\nc d,e\n", None, separator=",").sequence(0) == [("a", "b"), ("c d", "e")]
    assert items(attributes(b"a b\n", None, label=False)) == [[(None, {"a": 1.0, "b": 1.0})]]


# ---- real corpora


@pytest.mark.parametrize(
    ("name", "sequences", "tokens", "width"),
    [
        ("conll2000/train.txt.gz", 8936, 211727, 3),
        ("conll2002/esp.train.gz", 8323, 264715, 3),
        ("ud/en_ewt.dev.txt.gz", 2001, 25147, 3),
        ("email_enron/train.txt", 2097, 20048, 2),
        ("usaddress/labeled_train.txt", 1513, 10722, 2),
    ],
)
def test_real_corpora(name: str, sequences: int, tokens: int, width: int) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not there")
    made = crfkit.read(DATA / name)
    assert isinstance(made, Columns)
    assert (len(made), made.positions, len(made.ids)) == (sequences, tokens, width)
    chunks = list(data.stream(DATA / name, chunk_positions=10_000))
    for chunk in chunks[:-1]:
        assert isinstance(chunk, Columns)
        assert chunk.positions - len(chunk.sequence(-1)) < 10_000 <= chunk.positions
    again = data.concatenate(chunks)
    assert isinstance(again, Columns)
    assert all(np.array_equal(a, b) for a, b in zip(made.ids, again.ids, strict=True))
    assert np.array_equal(made.seq_ptr, again.seq_ptr)


def test_a_mistake_in_what_was_read_against_its_looks_names_the_format() -> None:
    text = b"Rockwell NNP B-NP\n: : O\n\nsaid VBD B-VP\n" * 3
    for reader in (crfkit.read, lambda *given, **options: list(data.stream(*given, **options))):
        with pytest.raises(
            DataError, match=r"line 2: .*looks like format 'columns', and was read as 'crfsuite'"
        ):
            reader(io.BytesIO(text), needs="attributes")
    with pytest.raises(DataError, match=r"for a colon in a label$"):
        crfkit.read(io.BytesIO(text), "crfsuite")
