"""Comma-separated values: one row for each token, the first row with the names.

A column says which sequence a token belongs to: ``sequence``, one with a name such as ``sentence_id``, or as
given; without any, blank lines are between sequences. Instead of commas there may be another separator; where
the first row has no comma, a semicolon, a TAB or a bar is found by itself. A column without a name, such as
the index that pandas writes, is left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from crfkit._safe.printable import counted
from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns, check_columns
from crfkit.data.formats.header import Head, no_column, place_in, sequence_in, warn_of_values
from crfkit.data.formats.numbered import numbered
from crfkit.data.formats.record import FormatOptions
from crfkit.data.lines import Lines
from crfkit.data.source import Input

_OTHERS = (";", "\t", "|")


def read_csv(source: Input, given: FormatOptions) -> Columns:
    r"""Read comma-separated values.

    Examples
    --------
    >>> import io
    >>> import crfkit
    >>> text = b"sentence_id;word;tag\n1;the;DET\n1;dog;NOUN\n2;cats;NOUN\n"
    >>> [len(sequence) for sequence in crfkit.read(io.BytesIO(text), "csv")]
    [2, 1]
    """
    table, lines, ends = _rows(source, given.separator)
    header = given.header is not False
    if len(table) < 1 + header:
        raise source.nothing()
    names = table.pop(0) if header else list(given.columns or map(str, range(len(table[0]))))
    begin = lines.pop(0) if header else None
    if header:
        ends = [end - 1 for end in ends]
        try:
            check_columns(names)
        except ValueError as error:
            raise source.error(begin, str(error)) from None
    elif len(names) != len(table[0]):
        what = f"has {counted(len(table[0]), 'column')} but {len(names)} names were given"
        raise source.error(None, f"{what}; give one for each")
    sequence = given.sequence if given.sequence is not None else sequence_in(names)
    place = None if sequence is None else place_in(names, sequence)
    if given.sequence is not None and place is None:
        raise no_column(source, None, given.sequence, names)
    cuts = sorted({0, *(end for end in ends if 0 < end < len(table)), len(table)})
    if place is None and len(cuts) == 2:
        what = f"there is no column 'sequence'; there are {', '.join(names[:20])}"
        remedy = (
            "name the column that numbers the sequences with sequence (--sequence-column NAME), or leave a"
        )
        if header and given.header is None and any(row[-1] == names[-1] for row in table):
            what = f"{what}, as the first line says, which looks like a token (--no-header reads it as one)"
        raise source.error(None, f"{what}; {remedy} blank line between sequences")
    if header and given.header is None:
        warn_of_values(source, begin, names[-1], (row[-1] for row in table))
    chosen = tuple(given.columns) if given.columns is not None and header else None
    known = set(names)
    for name in chosen or ():
        if name not in known:
            raise no_column(source, None, name, names)
    if chosen is None:
        chosen = tuple(name for c, name in enumerate(names) if c != place and name)
        if "" in names and source.say is not None:
            number = names.index("") + 1
            source.say(f"{source.name}: column {number} has no name, as an index of pandas: it is left out.")
    if not chosen:
        raise source.error(None, f"{sequence!r} is the only column; give at least one more")
    alphabets = tuple(Alphabet() for _ in names)
    ids = tuple(a.ids(column) for a, column in zip(alphabets, zip(*table, strict=True), strict=True))
    rows = np.array(lines, dtype=np.int64)
    seq_ptr = np.array(cuts)
    where = Lines.of_rows(rows, seq_ptr[:-1])
    made = Columns(ids, alphabets, seq_ptr, tuple(names), source.name, "csv", where)
    if place is not None:
        made = numbered(made, place, rows)
    return Head(tuple(names), chosen, headed=header).shaped(made)


def _rows(source: Input, separator: str | None) -> tuple[list[list[str]], list[int], list[int]]:
    """Return all rows with the lines that they begin in, and how many rows come before each blank line."""
    text = source.text()
    rows = csv.reader(
        io.StringIO(text, newline=""),
        strict=True,
        delimiter=_separator(text) if separator is None else separator,
    )
    table: list[list[str]] = []
    lines: list[int] = []
    ends: list[int] = []
    line = 1
    try:
        for row in rows:
            if not row:
                ends.append(len(table))
            else:
                table.append(row)
                lines.append(line)
                if len(row) != len(table[0]):
                    what = f"has {counted(len(row), 'field')}, expected {len(table[0])} as in the first row"
                    raise source.error(rows.line_num, what)
            line = rows.line_num + 1
    except csv.Error as error:
        raise source.error(
            rows.line_num, f"is not CSV ({error}); quote fields with commas or quotes"
        ) from None
    return table, lines, ends


def _separator(text: str) -> str:
    first = next((line for line in _lines(text) if line.strip()), "")
    return "," if "," in first else max(_OTHERS, key=first.count) if any(s in first for s in _OTHERS) else ","


def _lines(text: str) -> Sequence[str]:
    return text[: 1 << 16].splitlines()
