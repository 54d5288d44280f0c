"""Text in any encoding, and with any line ends."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import data
from crfkit.errors import DataError
from tests.cases.formats import Bytewise, spelt

TEXT = "é ä\nthe D\n\nЖ ß\n".replace("Ж", "x")
#: A text of each format that has text.
TEXTS = {
    "columns": TEXT,
    "crfpp": TEXT,
    "wapiti": TEXT,
    "segmented": "le café\nété\n",
    "csv": "sequence,word\n1,é\n1,b\n2,ß\n",
    "mallet": TEXT,
    "crfsuite": "é\tä\nD\tthe\n\nx\tß\n",
    "conllu": "1\té\tß\tX\t_\t_\t0\t_\t_\t_\n\n",
    "jsonl": '{"tokens": ["é"]}\n{"tokens": ["ß", "a"]}\n',
}


def test_every_format_of_text_has_a_case() -> None:
    assert set(TEXTS) == set(data.FORMATS) - {"parquet"}


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_all_encodings_give_the_same(format: str, encoding: str) -> None:
    text = TEXTS[format]
    expected = spelt(crfkit.read(io.BytesIO(text.encode()), format))
    made = text.encode(encoding)
    for given in (io.BytesIO(made), io.BytesIO(gzip.compress(made)), Bytewise(made)):
        assert spelt(crfkit.read(given, format, encoding=encoding)) == expected
    blocks = list(data.stream(io.BytesIO(made), format, alphabets="fresh", encoding=encoding))
    assert sum(map(len, blocks)) == len(crfkit.read(io.BytesIO(made), format, encoding=encoding))
    if encoding in ("utf-16", "utf-32"):
        assert spelt(crfkit.read(io.BytesIO(made), format)) == expected, "by its mark"


@pytest.mark.parametrize("format", TEXTS)
def test_a_mark_of_big_endian_utf16_decides(format: str) -> None:
    made = ("\ufeff" + TEXTS[format]).encode("utf-16-be")
    assert spelt(crfkit.read(io.BytesIO(made), format)) == spelt(
        crfkit.read(io.BytesIO(TEXTS[format].encode()), format)
    )


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("encoding", [None, "utf-16"])
def test_lines_may_end_as_on_old_macs(format: str, encoding: str | None) -> None:
    expected = spelt(crfkit.read(io.BytesIO(TEXTS[format].encode()), format))
    made = TEXTS[format].replace("\n", "\r").encode(encoding or "utf-8")
    for given in (io.BytesIO(made), Bytewise(made)):
        assert spelt(crfkit.read(given, format)) == expected


def test_a_cr_within_lines_that_end_in_lf_stays() -> None:
    read = crfkit.read(io.BytesIO(b"a\rb c\nd e\n"), "columns")
    assert spelt(read) == spelt(data.Columns.from_rows([[("a\rb", "c"), ("d", "e")]]))


def test_line_ends_are_looked_for_in_the_beginning_only() -> None:
    long = b"x" * (1 << 18)
    read = crfkit.read(io.BytesIO(long + b" a\r\nb c\r\n"))  # CR stands where the beginning ends
    assert len(read) == 1
    cut = crfkit.read(io.BytesIO(b"a b\r\r" + b"a b\r" * (1 << 16) + b"c d\r\ne f\r\n"))
    assert len(cut) == 2  # CRLF is one line end


@pytest.mark.parametrize("name", ["utf-9", "base64", "rot13", "", "latin 1 or so", "\0"])
def test_unknown_encodings_are_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=r"encoding is .*expected the name of a text encoding, such as utf-8"
    ):
        crfkit.read(io.BytesIO(b"a b\n"), encoding=name)


def test_parquet_has_no_encoding() -> None:
    with pytest.raises(ValueError, match="format parquet has no option 'encoding'"):
        crfkit.read(io.BytesIO(b"PAR1"), "parquet", encoding="latin-1")
    with pytest.raises(ValueError, match="format parquet has no option 'encoding'"):
        crfkit.read(io.BytesIO(b"PAR1"), encoding="latin-1")


def test_binary_files_may_be_text_without_a_mark() -> None:
    with pytest.raises(DataError, match=r"binary file.*encoding='utf-16'"):
        crfkit.read(io.BytesIO("a b\n".encode("utf-16-le")))


@pytest.mark.parametrize(
    ("made", "options", "line", "what"),
    [
        (b"a b\n\xff c\n", {}, 2, r"is not valid UTF-8 in column 1; give its encoding, .*--encoding latin-1"),
        (
            "a b\nc d\n".encode("utf-16-le") + b"\x00\xd8a\x00",
            {"encoding": "utf-16-le"},
            3,
            "not valid utf-16-le",
        ),
        (b"a b\n\n\xff c\n", {"encoding": "ascii"}, 3, "is not valid ascii"),
        (b"a b\nc \x81\n", {"encoding": "cp1252"}, 2, "is not valid cp1252"),
        ("a b\nc d".encode("utf-16")[:-1], {}, 2, "is not valid utf-16"),
    ],
)
def test_what_cannot_be_decoded_names_the_line(
    made: bytes, options: dict[str, Any], line: int | None, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(made)
    for read in (crfkit.read, lambda *a, **k: list(data.stream(*a, alphabets="fresh", **k))):
        for given in (path, Bytewise(made)):
            with pytest.raises(DataError, match=what) as caught:
                read(given, **options)
            assert caught.value.line == line
