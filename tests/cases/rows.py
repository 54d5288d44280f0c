"""Readers of rows of attributes in plain Python, a line at a time: what the native ones are held to."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import TypeAlias

from crfkit import data
from crfkit.data import Dataset
from crfkit.data.formats.jsonlines import _Items
from crfkit.data.formats.rows import RowReader
from crfkit.data.source import Input
from crfkit.errors import DataError

Row: TypeAlias = "tuple[str | None, list[tuple[str, float]]]"  # label, names with values
Sequences: TypeAlias = "list[tuple[float, list[Row]]]"  # weight, rows
Answer: TypeAlias = "Sequences | tuple[int | None, str]"  # or the line of a mistake and what it is

_TOKEN = re.compile(r"((?:\\[\\:]|[^\t:])*)([\t:]?)")
_NUMBER = re.compile(
    r"[ \t\v\f\r]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?))[ \t\v\f\r]*"
)


def number(text: str) -> float:
    """Return the number that C would read from the whole text, or NaN."""
    match = _NUMBER.fullmatch(text)
    try:
        return float("nan") if not match else float.fromhex(text) if match["hex"] else float(text)
    except OverflowError:
        return float("inf")


class MistakeError(Exception):
    """What is wrong with a line."""


def lines(text: bytes) -> Iterator[tuple[int, str]]:
    source = Input("input", io.BytesIO(text).read)
    written = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for i, line in enumerate(written[: -1 if written[-1] == b"" else None], start=1):
        yield i, source.decode(line + b"\n", i)[:-1]


def tokens(text: str) -> list[tuple[str, str]]:
    """Return the pieces of a line of CRFsuite's text, each with the mark behind it."""
    made = [(re.sub(r"\\([\\:])", r"\1", m[1]), m[2]) for m in _TOKEN.finditer(re.sub("\t+", "\t", text))]
    return made[:-1] if made[-1] == ("", "") and len(made) > 1 and made[-2][1] == "" else made


def crfsuite_row(text: str) -> tuple[str, list[tuple[str, float]]] | float:
    """Return what a line that is not empty holds: a row or a weight."""
    if text.startswith("\t"):
        raise MistakeError("begins with a TAB, so it has no label; begin with a label or a placeholder")
    (head, mark), *rest = tokens(text.rstrip("\t"))
    if text.startswith("@"):
        if (head, mark, len(rest)) != ("@weight", ":", 1) or rest[0][1]:
            raise MistakeError(
                f"begins with {head!r}; the only declaration is @weight:NUMBER, on its own line"
            )
        return finite(rest[0][0], "@weight")
    if mark == ":":
        raise MistakeError(f"gives the label {head!r} a value; write \\: for a colon in a label")
    row: list[tuple[str, float]] = []
    while rest:
        name, mark = rest.pop(0)
        if mark != ":":
            row.append((name, 1.0))
        while mark == ":":
            value, mark = rest.pop(0) if rest else ("", "")
            row.append((name, finite(value, f"attribute {name!r}")))
            name = ""
    return head, row


def finite(text: str, what: str) -> float:
    value = number(text)
    if not isfinite(value):
        raise MistakeError(
            f"gives {what} the value {text!r}, which is not a finite number; write \\: for a colon in a name"
        )
    return value


def crfsuite(text: bytes) -> Sequences:
    """Read CRFsuite's text."""
    made: Sequences = []
    rows: list[Row] = []
    weight: tuple[int, float] | None = None
    at = 0

    def end() -> None:
        nonlocal rows, weight
        if rows:
            made.append((1.0 if weight is None else weight[1], rows))
        elif weight is not None:
            what = "weighs a sequence that has no items; put @weight inside its sequence"
            raise DataError("input", weight[0], what)
        rows, weight = [], None

    for at, line in lines(text):
        if not line:
            end()
            continue
        try:
            found = crfsuite_row(line)
        except MistakeError as mistake:
            raise DataError("input", at, str(mistake)) from None
        if isinstance(found, float):
            weight = at, found
        else:
            rows.append((found[0], added(found[1])))
    end()
    return made


def added(row: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return a row in which every name stands once, its values added up."""
    sums: dict[str, float] = {}
    for name, value in row:
        sums[name] = sums[name] + value if name in sums else value
    return list(sums.items())


def mallet(text: bytes, labeled: bool = True) -> Sequences:
    """Read SimpleTagger's text."""
    made: Sequences = []
    rows: list[Row] = []
    for _, line in [*lines(text), (0, "")]:
        if line.strip(" \t\v\f\r"):
            fields: list[str] = line.rstrip(" ").split(" ")
            label = fields.pop() if labeled else None
            rows.append((label, [(name, 1.0) for name in dict.fromkeys(fields)]))
        elif rows:
            made.append((1.0, rows))
            rows = []
    return made


def json_lines(text: bytes) -> Dataset:
    """Read JSON lines of items, every line in Python."""
    reader = _Items(Input("input", io.BytesIO(text).read), "jsonl")
    for at, line in lines(text):
        if line.strip(" \t"):
            reader.refused(at, line)
    parts = list(reader._take())
    assert parts
    return parts[0]


def spelled(made: Dataset) -> Sequences:
    """Spell out a dataset as the readers here do."""
    batch, sequences = made.batch, []
    for n, (a, b) in enumerate(zip(batch.seq_ptr[:-1], batch.seq_ptr[1:], strict=True)):
        rows: list[Row] = []
        for p in range(a, b):
            label = None if batch.label is None or batch.label[p] < 0 else made.labels[int(batch.label[p])]
            span = range(batch.attr_ptr[p], batch.attr_ptr[p + 1])
            value = [1.0 if batch.value is None else float(batch.value[i]) for i in span]
            names = [made.attributes[int(batch.attr[i])] for i in span]
            rows.append((label, list(zip(names, value, strict=True))))
        sequences.append((1.0 if batch.weight is None else float(batch.weight[n]), rows))
    return sequences


def natively(text: bytes, format: str, chunk: int, threads: int) -> Dataset | None:
    """Read with the native reader in chunks of so many bytes, with a range of its own for every line."""
    source = Input("input", io.BytesIO(text).read)
    pieces = [text[i : i + chunk] for i in range(0, len(text), chunk)]
    source.chunks = lambda wide=False: iter(pieces)  # type: ignore[method-assign]
    made = _Items if format == "jsonl" else RowReader
    parts = list(made(source, format, threads=threads, least=1).parts())
    whole = data.concatenate(parts) if parts else None
    assert whole is None or isinstance(whole, Dataset)
    return whole


def refuses(text: bytes, format: str) -> bool:
    """Whether the native reader leaves a line to Python."""
    return RowReader(Input("input", lambda size: b""), format).native.read(text, 0, 1, 1) is not None


def answer(call: Callable[[], Sequences]) -> Answer:
    """Return what was read, or where a mistake is and what it is."""
    try:
        return call()
    except DataError as error:
        return error.line, error.what
