"""What a text may cost: bounds of lines, tokens, columns and memory, and one short sentence beyond them."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from contextlib import suppress

import pytest

from crfkit import read
from crfkit.data import source, stream
from crfkit.data.graphs.files import read_factors
from crfkit.data.graphs.opengm import _equal
from crfkit.errors import DataError
from tests.cases.growth import peak_of

#: What is read may be one long sequence, which is warned of elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.* is one sequence of:crfkit.errors.DataWarning")

LONG = b"x" * ((1 << 20) + 1)
RARE = b"0" * 300  # digits of a number, which Python reads
TEXTS = {
    "columns": b"a b\n\n",
    "conllu": b"1\ta\ta\tN\tN\t_\t0\troot\t_\t_\n\n",
    "crfpp": b"a b\n\n",
    "wapiti": b"a b\n\n",
    "crfsuite": b"A\tx\n\n",
    "mallet": b"x A\n\n",
    "jsonl": b'{"tokens": ["a"]}\n',
    "segmented": b"ab c\n",
}


def error_of(text: bytes, format: str | None) -> DataError:
    with pytest.raises(DataError) as raised:
        read(io.BytesIO(text), format)
    assert len(str(raised.value)) < 500
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("text", "format", "line", "what"),
    [
        (
            b"a b\n\n" + LONG + b" b\n",
            "columns",
            3,
            "token of 1048577 bytes in column 1, expected 1 MiB at most",
        ),
        (b"A\tx\nA\t" + LONG + b"\n", "crfsuite", 2, "an attribute of 1048577 bytes"),
        (b"A\tx\n" + LONG + b"\tx\n", "crfsuite", 2, "a label of 1048577 bytes"),
        (b"x A\n\n" + LONG + b" A\n", "mallet", 3, "an attribute of 1048577 bytes"),
        (b"x A\n\nx " + LONG + b"\n", "mallet", 3, "a label of 1048577 bytes"),
        (b'{"tokens": ["' + LONG + b'"]}', "jsonl", 1, "a string of 1,048,577 letters"),
        (b'{"items": [["' + LONG + b'"]]}', "jsonl", 1, "an attribute of 1048577 bytes"),
        (b'{"items":[{"b": 2.' + RARE + b', "a": {"' + LONG + b'": 1}}]}', "jsonl", 1, "than 1 MiB|1,048,"),
        (b'{"items": [[]], "labels": ["' + LONG + b'"]}', "jsonl", 1, "a label of 1048577 bytes"),
        (b"a " * 16385 + b"\n", "columns", 1, "16385 columns, expected 16384 at most"),
        (b"a\t" * 20000 + b"\n", "columns", 1, "columns, expected 16384 at most"),
        (
            b"sequence" + b",".join(b"%d" % i for i in range(20000)) + b"\n1" + b"," * 19999,
            "csv",
            1,
            "16,384 at most",
        ),
        (
            json.dumps({f"c{i}": ["x"] for i in range(16385)}).encode(),
            "jsonl",
            1,
            "16,385 columns, expected 16,384 at most",
        ),
        (
            b'{"items": [{"' + b"k" * 9000 + b'": [' + b'"",' * 9000 + b'""]}]}',
            "jsonl",
            1,
            "keys of 9,000 letters",
        ),
        (b'{"items": [{"a": ' + b"1" * 10**6 + b"}]}", "jsonl", 1, "a number of 1,000,000 digits"),
        (b'{"items": [{"a": 1e400}]}', "jsonl", 1, "not finite"),
        (b'{"items": [], "weight": 1e400}', "jsonl", 1, "weight"),
        (b"@weight:1e999\nA\tx\n", "crfsuite", 1, "1e999"),
        (b"A\tx:" + b"9" * 10**6 + b"\n", "crfsuite", 1, "999"),
        (b"sequence,w\n1," + b"a" * 200_000, "csv", 2, "field larger than field limit"),
        (b"A:" + b"1" * 100_000 + b"\tx\n", "crfsuite", 1, "gives the label 'A' a value"),
        (b"B" * 100_000 + b":1\tx\n", "crfsuite", 1, "gives the label 'BBB"),
    ],
)
def test_what_is_too_large_is_refused(text: bytes, format: str, line: int, what: str) -> None:
    error = error_of(text, format)
    assert error.line == line
    assert re.search(what, str(error))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("format", [*TEXTS, None])
def test_lines_have_an_end(
    format: str | None, compress: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 19)
    text = TEXTS[format or "columns"] * 2
    assert len(read(io.BytesIO(compress(b"\n" * (1 << 20) + text)), format)) == 2
    for endless in (text + b" " * (1 << 20), b"\0" * (1 << 20), b"#" * (1 << 20) + b"\n" + text):
        error = error_of(compress(endless), format)
        assert "a line has more than 0 MiB" in error.what or "NUL" in error.what or "binary" in error.what
        with pytest.raises(DataError, match=r"a line has more than|NUL|binary"):
            list(stream(io.BytesIO(compress(endless)), format, alphabets="fresh"))


def test_files_of_numbers_may_be_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 19)
    text = b"MARKOV 1 400000 1 1 0 400000 " + b"1 " * 400_000
    assert len(read_factors(io.BytesIO(text)).score) == 400_000


@pytest.mark.parametrize("text", [b"a b\n" * 500_000, b" " * 2_000_000, b"\n" * 2_000_000])
def test_gzip_that_grows_without_end_is_refused(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGE", 1 << 19)
    error = error_of(gzip.compress(text), "columns")
    assert "bytes become more than" in error.what
    assert "decompress it first" in error.what
    many = b"".join(b"%d x\n" % (i * 7919 % 104729) for i in range(100_000))
    assert len(read(io.BytesIO(gzip.compress(many)), "columns")) == 1


SIZE = 3_000_000
MEMORY = {
    "tokens": ("columns", b"a\n" * (SIZE // 2)),
    "sequences": ("columns", b"a\n\n" * (SIZE // 3)),
    "columns": ("columns", b"a " * (SIZE // 2)),
    "rows": ("crfsuite", b"A\n\n" * (SIZE // 3)),
    "attributes": ("crfsuite", b"A" + b"\tx" * (SIZE // 2) + b"\n"),
    "distinct attributes": ("crfsuite", b"A" + b"".join(b"\t%x" % i for i in range(SIZE // 6))),
    "features": ("mallet", b"x" + b" " * SIZE + b"A\n"),
    "items": ("jsonl", b'{"items":[' + b"[]," * (SIZE // 3) + b"[]]}"),
    "rare items": ("jsonl", b'{"items":[{"a":1,"a":2},' + b"{}," * (SIZE // 3) + b"{}]}"),
    "names behind keys": ("jsonl", b'{"items":[{"' + b"k" * 9000 + b'":[' + b'"",' * 100_000 + b'""]}]}'),
    "items behind labels": ("jsonl", b'{"labels":null,"items":[' + b"{}," * (SIZE // 3) + b"{}]}"),
    "brackets": ("jsonl", b'{"tokens":["a"],"x":[' + b"[]," * (SIZE // 3) + b"[]]}"),
    "characters": ("segmented", "中文字典".encode() * (SIZE // 12)),
    "cells": ("csv", b"sequence,w\n" + b"1,a\n" * (SIZE // 4)),
    "cells of a row": ("csv", b"sequence" + b"," * SIZE + b"\n1" + b"," * SIZE),
    "blank lines": (None, b"\n" * SIZE + b"a b\n"),
}


@pytest.mark.parametrize("case", MEMORY)
def test_memory_is_bounded_by_the_size_of_a_text(case: str) -> None:
    format, text = MEMORY[case]

    def use() -> None:
        with suppress(DataError):
            read(io.BytesIO(text), format)

    assert peak_of(use) < 64 * len(text) + (64 << 20)


def test_formulas_of_many_axes_take_little_memory() -> None:
    assert peak_of(lambda: _equal((2,) * 22)) < 40 << 20
