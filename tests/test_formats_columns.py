"""Columns, of CRF++ and Wapiti too: how lines are split, what is checked and what is refused."""

from __future__ import annotations

import io
from typing import Any

import pytest

from crfkit import data
from crfkit.data import Columns
from tests.format_cases import columns, fails, rows, written


def test_columns_are_split_at_runs_of_blanks() -> None:
    assert rows(b"the  D\t x\ndog N y\n\n\n \t \ndogs N z") == [
        [("the", "D", "x"), ("dog", "N", "y")],
        [("dogs", "N", "z")],
    ]


def test_columns_know_their_names_source_and_format() -> None:
    made = columns(b"a b\n", columns=["word", "tag"])
    assert (made.names, made.source, made.format) == (("word", "tag"), "input", "columns")
    assert columns(b"a b\n").names == ("0", "1")
    fails(b"a b\n", "columns", None, "2 columns but 1 names", columns=["word"])


def test_a_chosen_separator_keeps_blanks_and_empty_fields() -> None:
    assert rows(b"New York\tB\n\tO\n", separator="\t") == [[("New York", "B"), ("", "O")]]


@pytest.mark.parametrize("separator", ["", "ab", "\n", "é"])
def test_a_separator_is_one_character(separator: str) -> None:
    with pytest.raises(ValueError, match="separator"):
        data.read(io.BytesIO(b"a"), "columns", separator=separator)


def test_ragged_columns_name_the_line() -> None:
    fails(b"a b\n\nc\n", "columns", 3, "has 1 columns, expected 2")


def test_comments_are_skipped_only_on_request() -> None:
    assert rows(b"# x y z\na b\n", comment="#") == [[("a", "b")]]
    assert rows(b"# x\na b\n") == [[("#", "x"), ("a", "b")]]


def test_docstart_is_skipped_where_it_stands_alone() -> None:
    text = b"-DOCSTART- O\n\na O\n\n-DOCSTART- O\nb O\n"
    assert [len(s) for s in rows(text)] == [1, 2]
    assert [len(s) for s in rows(text, docstart="keep")] == [1, 1, 2]
    assert [len(s) for s in rows(text, "crfpp")] == [1, 1, 2]
    assert [len(s) for s in rows(text, "crfpp", docstart="skip")] == [1, 2]
    with pytest.raises(ValueError, match="docstart"):
        data.read(io.BytesIO(text), docstart="yes")


def test_a_blank_at_the_start_of_a_line_ends_a_sequence_in_crfpp_only() -> None:
    text = b"a O\n x y\nb O\n"
    assert rows(text, "crfpp") == [[("a", "O")], [("b", "O")]]
    assert rows(text, "wapiti") == [[("a", "O"), ("x", "y"), ("b", "O")]]


def test_a_long_line_does_not_end_the_file() -> None:
    long = b"x" * 10_000
    assert [len(s) for s in rows(long + b" O\n\nb O\n", "crfpp")] == [1, 1]
    assert rows(b"y" * 2_000_000 + b" O\n") == [[("y" * 2_000_000, "O")]]


def test_wapiti_splits_at_all_white_space_of_c() -> None:
    assert rows(b"a\vb\fc\n\v\nd e f\r\n", "wapiti") == [[("a", "b", "c")], [("d", "e", "f")]]
    assert rows(b"a\vb\n") == [[("a\vb",)]]


def test_sequences_by_number_and_in_turn() -> None:
    made = columns(b"a b\n\nc d\ne f\n")
    assert made.sequence(1) == made.sequence(-1) == [("c", "d"), ("e", "f")]
    assert list(made) == [made.sequence(0), made.sequence(1)]
    with pytest.raises(IndexError, match="no sequence 2"):
        made.sequence(2)
    assert made.column(-1).tolist() == made.column("1").tolist() == [0, 1, 2]
    for which in ("2", 2, -3):
        with pytest.raises(ValueError, match="no column"):
            made.column(which)


def test_rows_must_be_tuples_of_one_width() -> None:
    with pytest.raises(ValueError, match="token 1 of sequence 0 has 1 columns, expected 2"):
        Columns.from_rows([[("a", "b"), ("c",)]])
    with pytest.raises(ValueError, match="expected a tuple of strings"):
        Columns.from_rows([["ab", "cd"]])
    with pytest.raises(ValueError, match="expected 3"):
        Columns.from_rows([[("a", "b")]], names=["x", "y", "z"])
    with pytest.raises(ValueError, match="two columns have the name"):
        Columns.from_rows([[("a", "b")]], names=["x", "x"])
    assert len(Columns.from_rows([], names=["x"])) == 0


def test_columns_are_checked() -> None:
    good = Columns.from_rows([[("a", "b")]])
    for bad in (
        {"ids": ([0], [7])},
        {"ids": ([0], [-1])},
        {"ids": ([0], [0, 0])},
        {"seq_ptr": [0, 2]},
        {"seq_ptr": [1, 1]},
        {"alphabets": good.alphabets[:1]},
    ):
        fields: dict[str, Any] = {"ids": good.ids, "alphabets": good.alphabets, "seq_ptr": [0, 1]}
        with pytest.raises(ValueError, match=r"."):
            Columns(names=("x", "y"), **fields | bad)


@pytest.mark.parametrize(
    ("row", "format", "separator", "what"),
    [
        (("a b", "O"), "columns", None, "holds a blank"),
        (("", "O"), "columns", None, "is empty"),
        (("a\nb", "O"), "columns", "\t", "line feed"),
        (("a\0b", "O"), "columns", "\t", "NUL"),
        (("a\tb", "O"), "columns", "\t", "separator"),
        (("a", "O\r"), "columns", None, "ends in CR"),
        (("", " "), "columns", "\t", "blank in every column"),
        (("\ufeffa", "O"), "columns", None, "byte order mark"),
        (("a\vb", "O"), "wapiti", None, "Wapiti"),
    ],
)
def test_columns_refuse_what_they_cannot_hold(
    row: tuple[str, str], format: str, separator: str | None, what: str
) -> None:
    options = {} if separator is None else {"separator": separator}
    with pytest.raises(ValueError, match=what):
        written(Columns.from_rows([[row]]), format, **options)


def test_columns_refuse_an_empty_sequence() -> None:
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        written(Columns.from_rows([[("a",)], []]), "columns")
