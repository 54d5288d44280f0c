"""Columns, of CRF++ and Wapiti too: how lines are split, what is checked and what is refused."""

from __future__ import annotations

import io
from typing import Any

import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns
from crfkit.data.formats.columns import CONLLU
from tests.cases.formats import columns, fails, rows, written


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


def test_tabs_separate_where_every_line_has_one() -> None:
    tabs = b"-DOCSTART-\tO\n\nNew York\tB\n\nis\tO\n"
    for format in ("columns", None):
        assert rows(tabs, format) == [[("New York", "B")], [("is", "O")]]
    assert rows(b"a b\tX\nc d\tY\n", separator="blanks") == [[("a", "b", "X"), ("c", "d", "Y")]]
    assert rows(b"a\t\tX\nlonger\tY\nd\t\tX\n") == [[("a", "X"), ("longer", "Y"), ("d", "X")]]
    assert rows(b"a\tX\t\nb\tY\t\n") == [[("a", "X"), ("b", "Y")]]
    assert rows(b"# New York\nNew York\tB\n", comment="#") == [[("New York", "B")]]
    assert rows(b"a b\tX\n", "crfpp") == rows(b"a b\tX\n", "wapiti") == [[("a", "b", "X")]]


CONLLU_TEXT = b"""# sent_id = 1
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_

# text = New York
1\tNew York\tNew York\tPROPN\t_\tNumber=Sing\t0\troot\t_\tSpaceAfter=No
"""


def test_conllu_has_words_only_and_names() -> None:
    for format in ("conllu", None):
        made = crfkit.read(io.BytesIO(CONLLU_TEXT), format)
        assert isinstance(made, Columns)
        assert (made.format, made.names) == ("conllu", CONLLU)
        words = [[row[1] for row in sequence] for sequence in made]
        assert words == [["de", "le"], ["New York"]]
    chunks = data.stream(io.BytesIO(CONLLU_TEXT.replace(b"\n", b"\r\n")), chunk_positions=1)
    assert [len(chunk) for chunk in chunks] == [1, 1]
    assert columns(CONLLU_TEXT, None, comment="#", columns=list("abcdefghij")).names == tuple("abcdefghij")
    fails(CONLLU_TEXT + b"2\tx\n", "conllu", 9, "has 2 columns, expected 10")
    fails(b"1\tx\n", "conllu", None, "expected the 10 of CoNLL-U")
    with pytest.raises(ValueError, match="conllu is read, not written"):
        data.write(io.BytesIO(), made, "conllu")


@pytest.mark.parametrize("separator", ["", "ab", "\n", "é"])
def test_a_separator_is_one_character(separator: str) -> None:
    with pytest.raises(ValueError, match="separator"):
        crfkit.read(io.BytesIO(b"a"), "columns", separator=separator)


def test_ragged_columns_name_the_line() -> None:
    fails(b"a b\n\nc\n", "columns", 3, "has 1 column, expected 2")


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
        crfkit.read(io.BytesIO(text), docstart="yes")


def test_a_blank_at_the_start_of_a_line_ends_a_sequence_in_crfpp_only() -> None:
    text = b"a O\n x y\nb O\n"
    assert rows(text, "crfpp") == [[("a", "O")], [("b", "O")]]
    assert rows(text, "wapiti") == [[("a", "O"), ("x", "y"), ("b", "O")]]


def test_a_long_line_does_not_end_the_file() -> None:
    long = b"x" * 10_000
    assert [len(s) for s in rows(long + b" O\n\nb O\n", "crfpp")] == [1, 1]
    assert rows(b"y" * (1 << 20) + b" O\n") == [[("y" * (1 << 20), "O")]]


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
