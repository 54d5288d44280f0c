"""Texts of n, for each format of data and each dimension."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

from crfkit import read
from crfkit.data import stream
from crfkit.features import Dictionary, Gazetteer
from tests.cases.growth import GrowthCase, refused


def text_cases() -> list[GrowthCase]:
    """Return the cases of all formats of data, of compressed text, and of lists of phrases."""
    return [*_columns(), *_headed(), *_rows(), *_json(), *_others()]


def reads(format: str | None, **options: Any) -> Callable[[bytes], object]:
    return lambda data: read(io.BytesIO(data), format, **options)


def _columns() -> list[GrowthCase]:
    some = reads("columns")
    conllu = "1\tdog\tdog\tN\tN\t_\t0\troot\t_\t_\n"

    def fresh(data: bytes) -> object:
        return list(stream(io.BytesIO(data), "columns", alphabets="fresh"))

    def chunks(data: bytes) -> object:
        return list(stream(io.BytesIO(data), "columns", chunk_positions=9))

    return [
        GrowthCase("columns: sequences", lambda n: b"a b\n\n" * n, some, 100_000),
        GrowthCase("columns: tokens of a sequence", lambda n: b"a b\n" * n, some, 200_000),
        GrowthCase("columns: columns", lambda n: b"a " * n + b"\n", some, 4000),
        GrowthCase("columns: refused columns", lambda n: b"a " * n + b"\n", refused(some), 2_000_000),
        GrowthCase("columns: lines of many columns", lambda n: (b"a " * 2000 + b"\n\n") * n, some, 40),
        GrowthCase("columns: bytes of a token", lambda n: b"a" * n + b" b\n", some, 500_000),
        GrowthCase(
            "columns: bytes of a refused token", lambda n: b"a" * n + b" b\n", refused(some), 4_000_000
        ),
        GrowthCase("columns: blanks in a line", lambda n: b"a" + b" " * n + b"b\n", some, 4_000_000),
        GrowthCase("columns: blanks around lines", lambda n: b" a b \n" * n, some, 100_000),
        GrowthCase(
            "columns: distinct tokens", lambda n: b"".join(b"w%d x\n" % i for i in range(n)), some, 50_000
        ),
        GrowthCase("columns: blank lines", lambda n: b"\n" * n + b"a b\n", some, 1_000_000),
        GrowthCase(
            "columns: comments", lambda n: b"#\n" * n + b"a b\n", reads("columns", comment="#"), 500_000
        ),
        GrowthCase("columns: CRLF", lambda n: b"a b\r\n\r\n" * n, some, 100_000),
        GrowthCase(
            "columns: carriage returns", lambda n: b"a b" + b"\r" * n + b"\n", refused(some), 2_000_000
        ),
        GrowthCase("columns: document marks", lambda n: b"-DOCSTART- x\n\n" * n + b"a b\n", some, 100_000),
        GrowthCase("columns: a separator", lambda n: b"a,b\n" * n, reads("columns", separator=","), 200_000),
        GrowthCase("columns: UTF-8", lambda n: "é ü\n".encode() * n, some, 100_000),
        GrowthCase(
            "columns: other widths at the end", lambda n: b"a b\n" * n + b"c\n", refused(some), 200_000
        ),
        GrowthCase("columns in blocks: sequences", lambda n: b"a b\n\n" * n, fresh, 100_000),
        GrowthCase("columns in blocks: tokens of a sequence", lambda n: b"a b\n" * n, fresh, 300_000),
        GrowthCase("columns in blocks: lines of TABs", lambda n: b"a b\n\t\n" * n, fresh, 100_000),
        GrowthCase("columns in chunks: sequences", lambda n: b"a b\n\n" * n, chunks, 8000),
        GrowthCase("guess: blank lines", lambda n: b"\n" * n + b"a b\n", reads(None), 1_000_000),
        GrowthCase("guess in blocks: blank lines", lambda n: b"\n" * n + b"a b\n", _guesses, 1_000_000),
        GrowthCase("guess in blocks: comments", lambda n: b"# a\n" * n + b"a b\n", _guesses, 500_000),
        GrowthCase("guess: a line", lambda n: b"a b " * n, refused(reads(None)), 100_000),
        GrowthCase("conllu: sequences", lambda n: f"{conllu}\n".encode() * n, reads("conllu"), 20_000),
        GrowthCase(
            "conllu: multiword tokens",
            lambda n: (f"1-2{conllu[1:]}" * n + conllu).encode(),
            reads("conllu"),
            40_000,
        ),
        GrowthCase(
            "conllu: digits",
            lambda n: b"1" * n + b"-" + b"1" * n + conllu[1:].encode() + conllu.encode(),
            reads("conllu"),
            200_000,
        ),
        GrowthCase(
            "conllu: comments", lambda n: b"# a = b\n" * n + conllu.encode(), reads("conllu"), 200_000
        ),
        GrowthCase("crfpp: sequences", lambda n: b"a b\n \n" * n, reads("crfpp"), 100_000),
        GrowthCase("wapiti: white space", lambda n: b"a\v\f\rb\n\n" * n, reads("wapiti"), 50_000),
    ]


def _headed() -> list[GrowthCase]:
    """Return the cases of headers, columns of sequences, encodings and line ends."""
    numbered = reads("columns", separator="\t", sequence="id")

    def many(n: int) -> bytes:
        return b"id\tw\n" + b"".join(b"%d\tx\n" % i for i in range(n))

    names = refused(reads("columns", header=True))
    return [
        GrowthCase("header: sequences by a column", many, numbered, 50_000),
        GrowthCase("header: tokens of a sequence", lambda n: b"id\tw\n" + b"1\tx\n" * n, numbered, 200_000),
        GrowthCase("header: empty cells", lambda n: b"id\tw\n1\tx\n" + b"\tx\n" * n, numbered, 200_000),
        GrowthCase(
            "header: columns",
            lambda n: b" ".join(b"c%d" % i for i in range(n)) + b"\n" + b"a " * n + b"\n",
            names,
            4000,
        ),
        GrowthCase("header: blank lines", lambda n: b"\n" * n + b"a b\nc d\n", names, 1_000_000),
        GrowthCase(
            "encodings: latin-1", lambda n: b"\xe9 b\n\n" * n, reads("columns", encoding="latin-1"), 100_000
        ),
        GrowthCase(
            "encodings: UTF-16", lambda n: ("a b\n\n" * n).encode("utf-16"), reads("columns"), 100_000
        ),
        GrowthCase("encodings: CR", lambda n: b"a b\r\r" * n, reads("columns"), 100_000),
        GrowthCase("encodings: CR, in small pieces", lambda n: b"a b\r" * n, _small_columns, 20_000),
    ]


def _small_columns(data: bytes) -> object:
    class Small(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return self.read(9)

    return read(Small(data), "columns")


def _guesses(data: bytes) -> object:
    return list(stream(io.BytesIO(data), alphabets="fresh", comment="#"))


def _rows() -> list[GrowthCase]:
    crfsuite, mallet = reads("crfsuite"), reads("mallet")
    return [
        GrowthCase("crfsuite: sequences", lambda n: b"A\tx\ty:2\n\n" * n, crfsuite, 50_000),
        GrowthCase("crfsuite: items of a sequence", lambda n: b"A\tx\ty:2\n" * n, crfsuite, 50_000),
        GrowthCase(
            "crfsuite: items of a sequence, in small pieces", lambda n: b"A\tx\n" * n, _small_pieces, 50_000
        ),
        GrowthCase(
            "crfsuite: attributes",
            lambda n: b"A" + b"".join(b"\tx%d" % i for i in range(n)) + b"\n",
            crfsuite,
            50_000,
        ),
        GrowthCase("crfsuite: the same attribute", lambda n: b"A" + b"\tx:2" * n + b"\n", crfsuite, 30_000),
        GrowthCase(
            "crfsuite: distinct names",
            lambda n: b"".join(b"A\tx%d\n" % i for i in range(n)),
            crfsuite,
            50_000,
        ),
        GrowthCase(
            "crfsuite: labels", lambda n: b"".join(b"A%d\tx\n" % i for i in range(n)), crfsuite, 50_000
        ),
        GrowthCase("crfsuite: bytes of a name", lambda n: b"A\t" + b"x" * n + b"\n", crfsuite, 500_000),
        GrowthCase(
            "crfsuite: bytes of refused names",
            lambda n: b"A\t" + b"x" * n + b"\n",
            refused(crfsuite),
            1_100_000,
        ),
        GrowthCase("crfsuite: bytes of a label", lambda n: b"A" * n + b"\tx\n", crfsuite, 500_000),
        GrowthCase("crfsuite: escapes", lambda n: b"A\t" + b"\\:\\\\" * n + b"\n", crfsuite, 250_000),
        GrowthCase("crfsuite: colons", lambda n: b"A\tx" + b":1" * n + b"\n", refused(crfsuite), 200_000),
        GrowthCase("crfsuite: digits", lambda n: b"A\tx:0." + b"1" * n + b"\n", crfsuite, 500_000),
        GrowthCase("crfsuite: a long exponent", lambda n: b"A\tx:1e-" + b"1" * n + b"\n", crfsuite, 500_000),
        GrowthCase("crfsuite: TABs", lambda n: b"A\t" + b"\t" * n + b"x\n", crfsuite, 2_000_000),
        GrowthCase("crfsuite: blank lines", lambda n: b"\n" * n + b"A\tx\n", crfsuite, 1_000_000),
        GrowthCase("crfsuite: weights", lambda n: b"@weight:2\nA\tx\n\n" * n, crfsuite, 50_000),
        GrowthCase("crfsuite: carriage returns", lambda n: b"A\tx" + b"\r" * n + b"\n", crfsuite, 500_000),
        GrowthCase("mallet: sequences", lambda n: b"x y A\n\n" * n, mallet, 50_000),
        GrowthCase(
            "mallet: features", lambda n: b"".join(b"x%d " % i for i in range(n)) + b"A\n", mallet, 50_000
        ),
        GrowthCase(
            "mallet: distinct names", lambda n: b"".join(b"x%d A\n" % i for i in range(n)), mallet, 50_000
        ),
        GrowthCase("mallet: spaces", lambda n: b"x" + b" " * n + b"A\n", mallet, 200_000),
        GrowthCase("mallet: spaces behind", lambda n: b"x A" + b" " * n + b"\n", mallet, 2_000_000),
        GrowthCase("mallet: blank lines", lambda n: b" \n" * n + b"x A\n", mallet, 2_000_000),
        GrowthCase("mallet: no labels", lambda n: b"x y\n\n" * n, reads("mallet", label=False), 50_000),
    ]


class _Drops(io.BytesIO):
    """A file that gives little at a time, as pipes do."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(1 << 12)


def _small_pieces(data: bytes) -> object:
    return read(_Drops(data), "crfsuite")


def _json() -> list[GrowthCase]:
    jsonl = reads("jsonl")

    def items(make: Callable[[int], object], n: int) -> bytes:
        return json.dumps({"items": make(n)}).encode() + b"\n"

    def tokens(n: int, **more: list[str]) -> bytes:
        return json.dumps({"tokens": ["a"] * n, "labels": ["A"] * n, **more}).encode() + b"\n"

    def nested(n: int) -> bytes:
        return b'{"items": [' + b'{"a":' * n + b"1" + b"}" * n + b"]}\n"

    def long_keys(n: int) -> bytes:
        return items(lambda n: [{"k" * n: [str(i) for i in range(n // 4)]}], n)

    names = b'{"items": [["a", "b"]], "labels": ["A"]}\n'
    return [
        GrowthCase("items: sequences", lambda n: names * n, jsonl, 20_000),
        GrowthCase("items: items", lambda n: items(lambda n: [["a"]] * n, n), jsonl, 100_000),
        GrowthCase(
            "items: names of an item",
            lambda n: items(lambda n: [[f"x{i}" for i in range(n)]], n),
            jsonl,
            50_000,
        ),
        GrowthCase(
            "items: keys of an item",
            lambda n: items(lambda n: [{f"x{i}": 1 for i in range(n)}], n),
            jsonl,
            50_000,
        ),
        GrowthCase(
            "items: keys of all items",
            lambda n: items(lambda n: [{f"x{i}": 1} for i in range(n)], n),
            jsonl,
            30_000,
        ),
        GrowthCase(
            "items: the same key",
            lambda n: b'{"items": [{' + b'"a": 1,' * n + b'"b": 1}]}\n',
            refused(jsonl),
            100_000,
        ),
        GrowthCase("items: depth", nested, refused(jsonl), 100_000),
        GrowthCase("items: nested items", lambda n: nested(20) * n, jsonl, 2000),
        GrowthCase("items: brackets", lambda n: b'{"items": ' + b"[" * n + b"\n", refused(jsonl), 200_000),
        GrowthCase("items: long keys before names", long_keys, refused(jsonl), 8000),
        GrowthCase(
            "items: digits", lambda n: b'{"items": [{"a": ' + b"1" * n + b"}]}\n", refused(jsonl), 200_000
        ),
        GrowthCase(
            "items: digits of a fraction",
            lambda n: b'{"items": [{"a": 0.' + b"1" * n + b"}]}\n",
            jsonl,
            500_000,
        ),
        GrowthCase(
            "items: digits of a weight",
            lambda n: b'{"items": [], "weight": ' + b"1" * n + b"}\n",
            refused(jsonl),
            200_000,
        ),
        GrowthCase("items: escapes", lambda n: b'{"items": [["' + b"\\u00e9" * n + b'"]]}\n', jsonl, 100_000),
        GrowthCase(
            "items: half a pair",
            lambda n: b'{"items": [["' + b"\\ud800" * n + b'"]]}\n',
            refused(jsonl),
            100_000,
        ),
        GrowthCase("items: white space", lambda n: b'{"items":' + b" " * n + b'[["a"]]}\n', jsonl, 1_000_000),
        GrowthCase(
            "items: labels",
            lambda n: (
                items(lambda n: [], 1)
                + b"".join(b'{"items": [["a"]], "labels": ["A%d"]}\n' % i for i in range(n))
            ),
            jsonl,
            20_000,
        ),
        GrowthCase(
            "items: rare lines",
            lambda n: names + (b'{"items": [{"a": 2.' + b"0" * 300 + b'}], "labels": ["A"]}\n') * n,
            jsonl,
            3000,
        ),
        GrowthCase(
            "items: unknown keys",
            lambda n: names + json.dumps({"items": [], **{f"k{i}": 1 for i in range(n)}}).encode() + b"\n",
            refused(jsonl),
            30_000,
        ),
        GrowthCase(
            "items: segments",
            lambda n: (
                names
                + json.dumps({"items": [["a"]] * n, "segments": [[i, i + 1, "X"] for i in range(n)]}).encode()
            ),
            jsonl,
            10_000,
        ),
        GrowthCase("items: blank lines", lambda n: b"\n" * n + names, jsonl, 1_000_000),
        GrowthCase("jsonl: sequences", lambda n: tokens(2) * n, jsonl, 5000),
        GrowthCase("jsonl: tokens", lambda n: tokens(n), jsonl, 50_000),
        GrowthCase(
            "jsonl: distinct tokens",
            lambda n: json.dumps({"tokens": [f"x{i}" for i in range(n)]}).encode(),
            jsonl,
            50_000,
        ),
        GrowthCase("jsonl: columns", lambda n: tokens(1, **{f"c{i}": ["x"] for i in range(n)}), jsonl, 1500),
        GrowthCase(
            "jsonl: keys",
            lambda n: json.dumps({"tokens": ["a"], **{f"c{i}": 1 for i in range(n)}}).encode(),
            jsonl,
            40_000,
        ),
        GrowthCase(
            "jsonl: bytes of a token", lambda n: json.dumps({"tokens": ["a" * n]}).encode(), jsonl, 500_000
        ),
        GrowthCase("jsonl: escapes", lambda n: b'{"tokens": ["' + b"\\n" * n + b'"]}', jsonl, 200_000),
        GrowthCase(
            "jsonl: depth",
            lambda n: b'{"tokens": ["a"], "x": ' + b"[" * n + b"]" * n + b"}\n",
            refused(jsonl),
            100_000,
        ),
        GrowthCase("jsonl: blank lines", lambda n: b" \n" * n + tokens(1), jsonl, 100_000),
        GrowthCase(
            "jsonl: digits", lambda n: b'{"tokens": ["a"], "x": ' + b"1" * n + b"}\n", refused(jsonl), 200_000
        ),
    ]


def _others() -> list[GrowthCase]:
    segmented, table = reads("segmented"), reads("csv")
    head = b"sequence,word\n"
    columns = reads("columns")
    return [
        GrowthCase("segmented: sentences", lambda n: b"ab c\n" * n, segmented, 20_000),
        GrowthCase("segmented: a line", lambda n: b"ab c " * n, segmented, 20_000),
        GrowthCase("segmented: a word", lambda n: b"a" * n, segmented, 100_000),
        GrowthCase("segmented: white space", lambda n: b" " * n + b"a", segmented, 500_000),
        GrowthCase(
            "segmented: characters",
            lambda n: "".join(chr(0x4E00 + i) for i in range(n)).encode(),
            segmented,
            5000,
        ),
        GrowthCase("csv: rows of a sequence", lambda n: head + b"1,a\n" * n, table, 20_000),
        GrowthCase(
            "csv: sequences", lambda n: head + b"".join(b"%d,a\n" % i for i in range(n)), table, 20_000
        ),
        GrowthCase(
            "csv: columns",
            lambda n: b"".join([b"sequence", *(b",c%d" % i for i in range(n)), b"\n1", b",x" * n]),
            table,
            1500,
        ),
        GrowthCase(
            "csv: twice the same name",
            lambda n: b"".join(
                [b"sequence", *(b",c%d" % i for i in range(n)), b",sequence\n1", b",x" * n, b",1"]
            ),
            refused(table),
            20_000,
        ),
        GrowthCase("csv: quotes", lambda n: head + b'1,"' + b'""' * n + b'"\n', table, 30_000),
        GrowthCase(
            "csv: bytes of a field", lambda n: head + b"1," + b"a" * n + b"\n", refused(table), 60_000
        ),
        GrowthCase("csv: blank lines", lambda n: head + b"\n" * n + b"1,a\n", table, 200_000),
        GrowthCase("gzip: members", lambda n: gzip.compress(b"a b\n") * n, columns, 5000),
        GrowthCase(
            "gzip: empty members", lambda n: gzip.compress(b"") * n + gzip.compress(b"a b\n"), columns, 10_000
        ),
        GrowthCase("gzip: zeros behind", lambda n: gzip.compress(b"a b\n") + b"\0" * n, columns, 2_000_000),
        GrowthCase("gzip: bytes", lambda n: gzip.compress(b"a b\n\n" * n), columns, 100_000),
        GrowthCase("gzip: one line", lambda n: gzip.compress(b" " * n), refused(columns), 4_000_000),
        GrowthCase(
            "gazetteer: phrases", lambda n: b"\n".join(b"a x%d" % i for i in range(n)), _gazetteer, 10_000
        ),
        GrowthCase(
            "gazetteer: lengths",
            lambda n: b"\n".join(b"a" + b" b" * i for i in range(1, 60)) + b"\n" + b"a c\n" * n,
            _gazetteer,
            2000,
        ),
        GrowthCase(
            "dictionary: entries", lambda n: b"\n".join(b"a x%d" % i for i in range(n)), _dictionary, 4000
        ),
        GrowthCase("dictionary: tokens of an entry", lambda n: b"a " * n, _dictionary, 20_000),
        GrowthCase("dictionary: bytes of an entry", lambda n: b"a" * n, _dictionary, 100_000),
    ]


def _gazetteer(data: bytes) -> object:
    text = data.decode()
    return Gazetteer(text.splitlines()).marks(text.split())


def _dictionary(data: bytes) -> object:
    return Dictionary.read(io.BytesIO(data))
