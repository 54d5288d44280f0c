"""The native readers of rows: what plain Python reads, however the text is cut, on any number of threads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import rows
from tests.cases.formats import same_bits

CHUNKS = st.sampled_from([1, 2, 3, 7, 20, 1000])
THREADS = st.integers(1, 4)
LETTERS = ["a", "b", "é", "\U0001f600", "\x85", "\ufeff", "\r", "\v", "#", "=", "-"]
FINITE = st.floats(-1e300, 1e300)  # so that sums are finite too
NUMBERS = st.one_of(
    st.one_of(FINITE, st.sampled_from([float("inf"), float("nan")])).map(repr),
    FINITE.map(float.hex),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["1e-400", "1e400", ".5", "5.", ".", "", " 2 ", "+3", "--1", "0x", "0x.8p-2000", "1_0"]),
    st.sampled_from(["5e-324", "2e-324", "3e-324", "1.7976931348623159e308", "0" * 400 + "1", "0x1p99999"]),
    st.sampled_from(["0." + "0" * 400 + "1e390", "1" + "0" * 400 + "e-390", "+-1", "0x-1", "1e", "infinity"]),
)


WORD = st.lists(st.sampled_from([*LETTERS, "\\:", "\\\\", "\\"]), max_size=4).map("".join)
GOOD_VALUE = st.one_of(FINITE.map(repr), st.sampled_from(["1", "-.5e3", "0x1p-3", " 2"]))
FIELD = st.one_of(
    WORD,
    WORD,
    st.builds("{}:{}".format, WORD, GOOD_VALUE),
    st.builds("a:{}:{}".format, GOOD_VALUE, GOOD_VALUE),
)
CRFSUITE = st.builds("B{}\t{}".format, WORD, st.lists(FIELD, max_size=6).map("\t".join))
MALLET = st.lists(st.sampled_from([*LETTERS, "\t", ":1", ""]), max_size=6).map(" ".join)
WRONG = st.one_of(
    NUMBERS.map("B\ta:{}".format), st.sampled_from(["\ta", ":", "B:1", "@weight:x", "@", "B\t:"])
)


@st.composite
def texts(draw: st.DrawFn, row: st.SearchStrategy[str], more: list[str]) -> bytes:
    """Lines, at most one of which is wrong or not even text."""
    lines = draw(st.lists(st.one_of(row, row, row, st.sampled_from(["", "", *more])), max_size=12))
    written = [line.encode() for line in lines]
    if draw(st.booleans()) and draw(st.booleans()):
        bad = st.one_of(WRONG.map(str.encode), st.sampled_from([b"a \0", b"\xff", b"a\xed\xa0\x80"]))
        written.insert(draw(st.integers(0, len(lines))), draw(bad))
    ends = draw(st.lists(st.sampled_from([b"\n", b"\n", b"\r\n"]), min_size=13, max_size=13))
    text = b"".join(line + end for line, end in zip(written, ends, strict=False))
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text[: draw(st.sampled_from([None, -1]))]


def check(text: bytes, format: str, chunk: int, threads: int, wanted: rows.Answer) -> None:
    def read() -> rows.Sequences:
        made = rows.natively(text, format, chunk, threads)
        return [] if made is None else rows.spelled(made)

    assert rows.answer(read) == wanted


@given(text=texts(CRFSUITE, ["@weight:2", "@weight:-.5", "B\t\ta\t"]), chunk=CHUNKS, threads=THREADS)
def test_crfsuite_text(text: bytes, chunk: int, threads: int) -> None:
    check(text, "crfsuite", chunk, threads, rows.answer(lambda: rows.crfsuite(text)))


@given(text=texts(MALLET, [" \t", "O", "a  a O "]), chunk=CHUNKS, threads=THREADS, labeled=st.booleans())
def test_mallet_text(text: bytes, chunk: int, threads: int, labeled: bool) -> None:
    format = "mallet" if labeled else "mallet-without-labels"
    check(text, format, chunk, threads, rows.answer(lambda: rows.mallet(text, labeled)))


NAME = st.text(st.sampled_from(["a", "b", ":", "é", '"', "\\", "\n", "/", "\U0001f600", "\x7f"]), max_size=3)
SCALAR = st.one_of(st.booleans(), st.integers(-3, 3), FINITE, NAME, NAME)
INNER: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALAR, st.lists(NAME, max_size=3)),
    lambda inner: st.dictionaries(NAME, inner, max_size=3),
    max_leaves=6,
)
ITEM = st.one_of(st.lists(NAME, max_size=4), st.dictionaries(NAME, INNER, max_size=4))


@st.composite
def json_line(draw: st.DrawFn) -> str:
    """A line that is right, or has one mistake at most."""
    items: list[Any] = draw(st.lists(ITEM, max_size=4))
    record: dict[str, Any] = {"items": items}
    if draw(st.booleans()):
        label = st.one_of(st.none(), NAME)
        labels = st.lists(label, min_size=len(items), max_size=len(items))
        record["labels"] = draw(st.one_of(st.none(), labels))
    if draw(st.booleans()):
        record["weight"] = draw(st.one_of(st.integers(-2, 2), st.floats(0.25, 4.0)))
    keys = draw(st.permutations(list(record)))
    line = json.dumps({key: record[key] for key in keys}, ensure_ascii=draw(st.booleans()))
    return draw(st.sampled_from(["", " ", "\t"])) + line + draw(st.sampled_from(["", " ", "\r"]))


HOSTILE = st.sampled_from(
    [
        *['"', "\\", "\\u", "\\ud800", "\\ud83d\\ude00", "{", "}", "[", "]", ",", ":", "null", "true", "NaN"],
        *[
            "-Infinity",
            "1e999",
            "1" * 400,
            "-0",
            "-0.0",
            "01",
            "1.",
            "1e",
            "-",
            "\x01",
            '"a"',
            '{"a": 1, "a": 2}',
        ],
        *['"items": []', '"labels": null, ', '"segments": [[0, 1, "X"]]', " ", "\v", "0", "1E+2", "é"],
    ]
)


@st.composite
def json_text(draw: st.DrawFn) -> bytes:
    lines = [draw(json_line()) for _ in range(draw(st.integers(1, 5)))]
    if draw(st.booleans()):
        i = draw(st.integers(0, len(lines) - 1))
        a, b = sorted((draw(st.integers(0, len(lines[i]))), draw(st.integers(0, len(lines[i])))))
        lines[i] = lines[i][:a] + draw(HOSTILE) + lines[i][min(b, a + 3) :]
    text = draw(st.sampled_from(["\n", "\n\n", "\r\n"])).join(lines).encode()
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text


@given(text=json_text(), chunk=CHUNKS, threads=THREADS)
def test_json_lines(text: bytes, chunk: int, threads: int) -> None:
    wanted = rows.answer(lambda: rows.spelled(rows.json_lines(text)))
    check(text, "jsonl", chunk, threads, wanted)
    if isinstance(wanted, list):
        made = rows.natively(text, "jsonl", chunk, threads)
        assert made is not None
        same_bits(made, rows.json_lines(text))


@pytest.mark.parametrize(
    ("line", "native"),
    [
        (
            '{"items": [{"a": {"b": ["c"], "d": -1.5e-3}}, ["\\ud83d\\ude00"]], "labels": null, "weight": 2}',
            True,
        ),
        (' {"weight": 0.5 , "labels" :[null,"B"],"items":[[],{"x":true}]}\r', True),
        ('{"items": [["x"]], "segments": [[0, 1, "X"]]}', False),
        ('{"items": [{"a": ' + "1" * 301 + "}]}", False),
        ('{"items": [' + '{"a": ' * 70 + "1" + "}" * 70 + "]}", False),
    ],
)
def test_what_is_rare_goes_to_python(line: str, native: bool) -> None:
    text = line.encode() + b"\n"
    made, wanted = rows.natively(text, "jsonl", 1000, 1), rows.json_lines(text)
    assert made is not None
    same_bits(made, wanted)
    assert rows.refuses(text, "jsonl") != native


@pytest.mark.parametrize(
    ("format", "one"),
    [
        ("crfsuite", b"B%d\ta%d\tb:%d\n\n"),
        ("mallet", b"a%d b B%d %d\n\n"),
        ("jsonl", b'{"items": [{"a": %d, "b": [".%d"]}], "weight": %d}\n'),
    ],
)
def test_ids_are_the_same_for_any_number_of_threads(format: str, one: bytes) -> None:
    text = b"".join(one % (i % 7, i % 97, i % 13) for i in range(3000))
    whole = rows.natively(text, format, len(text), 1)
    assert whole is not None
    for threads in (2, 3, 8):
        for chunk in (len(text), 1 << 12):
            other = rows.natively(text, format, chunk, threads)
            assert other is not None
            same_bits(other, whole)


def test_many_refused_lines_are_not_read_again_and_again() -> None:
    """Each refused line costs at most what was read before it, not what is left."""
    line = b'{"items": [{"a": 2.' + b"0" * 300 + b'}]}\n{"items": [["b"]]}\n'
    made = rows.natively(line * 3000, "jsonl", 1 << 20, 2)
    assert made is not None
    assert made.batch.value is not None
    assert made.batch.value.tolist() == [2.0, 1.0] * 3000
