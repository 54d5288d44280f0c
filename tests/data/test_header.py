"""Lines that name the columns, and columns that number the sequences."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns
from crfkit.errors import DataError, DataWarning

TSV = b"sentence_id\tword\ttag\n1\tNew York\tB\n1\tis\tO\n2\tcats\tO\n"
CUT = [[("New York", "B"), ("is", "O")], [("cats", "O")]]


def ways(text: bytes, **options: Any) -> list[tuple[tuple[str, ...], list[list[tuple[str, ...]]]]]:
    """Return names and rows, read whole, in chunks, and in blocks from one byte at a time."""

    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return self.read(7)

    whole = crfkit.read(io.BytesIO(text), **options)
    chunks = list(data.stream(io.BytesIO(text), chunk_positions=1, **options))
    blocks = list(data.stream(io.BytesIO(text), alphabets="fresh", **options))
    slow = crfkit.read(Slow(text), **options)
    made = []
    for parts in ([whole], chunks, blocks, [slow]):
        columns = [part for part in parts if isinstance(part, Columns)]
        made.append((columns[0].names, [rows for part in columns for rows in part]))
    assert all(one == made[0] for one in made)
    return made[:1]


def test_a_header_beyond_doubt_is_used_and_told() -> None:
    said: list[str] = []
    assert ways(TSV) == [(("word", "tag"), CUT)]
    crfkit.read(io.BytesIO(TSV), say=said.append)
    assert said[-1] == (
        "input: the first line names the columns sentence_id, word, tag; 'sentence_id' numbers the sequences."
    )
    blank = b"word\ttag\r\nthe\tD\r\n\r\ndog\tN\r\n"
    assert ways(blank) == [(("word", "tag"), [[("the", "D")], [("dog", "N")]])]
    marked = b"\xef\xbb\xbf" + blank
    assert ways(marked) == ways(blank)


@pytest.mark.parametrize("separator", [";", ",", "|"])
def test_any_separator_may_have_a_header(separator: str) -> None:
    text = TSV.replace(b"\t", separator.encode())
    assert ways(text, separator=separator) == [(("word", "tag"), CUT)]
    assert ways(text.replace(b"sentence_id", b"number"), separator=separator, sequence="number") == [
        (("word", "tag"), CUT)
    ]


def test_a_header_can_be_asked_for_and_refused() -> None:
    text = b"A B C\n1 x D\n1 y N\n2 z N\n"
    assert ways(text, header=True) == [
        (("A", "B", "C"), [[("1", "x", "D"), ("1", "y", "N"), ("2", "z", "N")]])
    ]
    cut = [[("x", "D"), ("y", "N")], [("z", "N")]]
    assert ways(text, header=True, sequence="A") == [(("B", "C"), cut)]
    assert ways(text, sequence="A") == [(("B", "C"), cut)]  # it stands in the first line
    assert ways(text, header=True, sequence="0") == [(("B", "C"), cut)]
    assert ways(text, columns=["C", "B"], sequence="A") == [
        (("C", "B"), [[("D", "x"), ("N", "y")], [("N", "z")]])
    ]
    [(names, rows)] = ways(TSV, header=False)
    assert names == ("0", "1", "2")
    assert rows[0][0] == ("sentence_id", "word", "tag")
    bare = TSV.split(b"\n", 1)[1]
    assert ways(bare, columns=["id", "word", "tag"], sequence="id") == [(("word", "tag"), CUT)]
    assert ways(bare, sequence="0") == [(("1", "2"), CUT)]


def test_comments_come_before_a_header() -> None:
    assert ways(b"# made by hand\n\n" + TSV, comment="#") == [(("word", "tag"), CUT)]
    with pytest.raises(DataError, match="line 4: there is no column 'doc'"):
        crfkit.read(io.BytesIO(b"; a\n\n;b\n" + TSV), comment=";", header=True, sequence="doc")


def test_lines_of_mistakes_count_the_header() -> None:
    with pytest.raises(DataError, match="line 5: has 2 columns, expected 3"):
        crfkit.read(io.BytesIO(TSV + b"2\tx\n"), "columns", separator="\t")
    made = crfkit.read(io.BytesIO(TSV))
    assert isinstance(made, Columns)
    assert made.lines is not None
    assert (made.lines.of(0), made.lines.of(1)) == (2, 4)


def test_an_empty_cell_stands_for_the_number_above_it() -> None:
    text = b"Sentence #,Word,Tag\nSentence: 1,a,O\n,b,O\nSentence: 2,c,O\n,d,O\n"
    expected = [[("a", "O"), ("b", "O")], [("c", "O"), ("d", "O")]]
    assert ways(text, format="csv") == [(("Word", "Tag"), expected)]
    with pytest.raises(DataError, match="line 2: has nothing in column 's'"):
        crfkit.read(io.BytesIO(b"s,w\n,a\n1,b\n"), "csv", sequence="s")


def test_csv_without_commas_without_a_header_and_with_blank_lines() -> None:
    semicolons = b'sentence_id;word;tag\n1;"a;b";X\n2;c;Y\n'
    expected = [[("a;b", "X")], [("c", "Y")]]
    assert ways(semicolons, format="csv") == [(("word", "tag"), expected)]
    assert ways(semicolons, format="csv", separator=";") == [(("word", "tag"), expected)]
    assert ways(b"a,X\nb,Y\n\nc,Z\n", format="csv", header=False) == [
        (("0", "1"), [[("a", "X"), ("b", "Y")], [("c", "Z")]])
    ]
    assert ways(b"1,a,X\n2,b,Y\n", format="csv", header=False, columns=["n", "w", "t"], sequence="n") == [
        (("w", "t"), [[("a", "X")], [("b", "Y")]])
    ]
    assert ways(b"word,tag\na,X\n\nb,Y\n", format="csv")[0][1] == [[("a", "X")], [("b", "Y")]]


def test_an_index_that_pandas_writes_is_left_out_of_csv() -> None:
    said: list[str] = []
    text = b",sentence,word,tag\n0,1,Ana,B\n1,1,ran,O\n2,2,Bo,B\n"
    found = crfkit.read(io.BytesIO(text), "csv", say=said.append)
    assert isinstance(found, Columns)
    assert (found.names, [*found]) == (("word", "tag"), [[("Ana", "B"), ("ran", "O")], [("Bo", "B")]])
    assert said == ["input: column 1 has no name, as an index of pandas: it is left out."]


def test_what_csv_writes_with_a_separator_comes_back() -> None:
    out = io.BytesIO()
    made = Columns.from_rows([[("a;b", "X"), ("c", "Y")], [("d", "Z")]], names=["word", "tag"])
    data.write(out, made, "csv", separator=";")
    assert out.getvalue().startswith(b'sequence;word;tag\r\n0;"a;b";X')
    assert ways(out.getvalue(), format="csv", separator=";") == [(("word", "tag"), list(made))]
    with pytest.raises(ValueError, match="separator is 'blanks', expected one character for CSV"):
        data.write(io.BytesIO(), made, "csv", separator="blanks")
    with pytest.raises(ValueError, match="format columns is written without numbers of sequences"):
        data.write(io.BytesIO(), made, "columns", sequence="s")


@pytest.mark.parametrize(
    ("text", "options", "line", "what"),
    [
        (TSV, {"sequence": "doc"}, None, "no column 'doc'; there are 0, 1, 2; give header=True"),
        (TSV, {"sequence": "doc", "header": True}, 1, "no column 'doc'; there are sentence_id, word, tag"),
        (TSV, {"sequence": "7"}, 1, "no column '7'"),
        (TSV, {"columns": ["word", "pos"], "header": True}, 1, "no column 'pos'"),
        (b"a\ta\nb\tc\n", {"header": True}, 1, "same column name twice, 'a'"),
        (b"a\t\nb\tc\n", {"header": True}, 1, "names a column by nothing"),
        (b"id\n1\n2\n", {"header": True, "sequence": "id"}, 1, "'id' is the only column"),
        (b"id\tw\n1\ta\n2\tb\n1\tc\n", {"sequence": "id"}, 4, "continues sequence '1'"),
        (b"id\tw\n", {"header": True}, None, "no sequence"),
        (b"id w\n1 a\n1 b c\n", {"sequence": "id"}, 3, "has 3 columns, expected 2"),
    ],
)
def test_mistakes_name_the_line(text: bytes, options: dict[str, Any], line: int | None, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        crfkit.read(io.BytesIO(text), **options)
    assert caught.value.line == line
    with pytest.raises(DataError, match=what) as caught:
        list(data.stream(io.BytesIO(text), alphabets="fresh", **options))
    assert caught.value.line == line


def test_wrong_options() -> None:
    wrong: list[Any] = [{"header": "yes"}, {"sequence": ""}]
    for options in wrong:
        with pytest.raises(ValueError, match=r"(header|sequence) is .*expected"):
            crfkit.read(io.BytesIO(TSV), **options)
    for format in ("crfpp", "wapiti", "conllu", "jsonl", "crfsuite", "mallet", "segmented"):
        both: list[Any] = [{"header": True}, {"sequence": "s"}]
        for given in both:
            with pytest.raises(ValueError, match=f"format {format} has no option"):
                crfkit.read(io.BytesIO(TSV), format, **given)


# ---- what is suspicious


def warned(text: bytes, **options: Any) -> list[str]:
    found = []
    for alphabets in (None, "shared", "fresh"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if alphabets is None:
                crfkit.read(io.BytesIO(text), **options)
            else:
                list(data.stream(io.BytesIO(text), alphabets=alphabets, **options))
        assert all(issubclass(one.category, DataWarning) for one in caught)
        found.append([str(one.message) for one in caught])
    assert found[0] == found[1] == found[2]
    return found[0]


def test_words_that_name_columns_between_blanks_are_warned_of() -> None:
    [told] = warned(b"word tag\nthe D\ndog N\n")
    assert told.startswith("input, line 1: is read as a token, but 'tag' occurs nowhere else")
    assert "--header" in told
    assert "--no-header" in told
    assert not warned(b"word tag\nthe D\ndog N\n", header=True)
    assert not warned(b"word tag\nthe D\ndog N\n", header=False)
    assert not warned(b"word tag\nthe D\ntag tag\n")


def test_a_label_that_only_the_first_line_has_is_warned_of() -> None:
    text = b"Form Cat\n" + b"the D\ndog N\n" * 10
    assert "'Cat' occurs nowhere else in the last column" in warned(text)[0]
    assert not warned(text + b"a X\n")  # others occur once, too
    assert "'y' occurs nowhere else" in warned(b"Wort y\n" + b"the B-D\ndog O\n" * 100 + b"a I-D\n")[0]
    assert "'2' occurs nowhere else" in warned(b"0 2\n" + b"the D\ndog N\n" * 100 + b"a X\n")[0]
    assert not warned(b"Form Cat\n" + b"the D\ndog N\n" * 3)  # in few lines that says nothing
    assert not warned(b"Form B-Cat\n" + b"the D\ndog N\n" * 10)


def test_one_giant_sequence_is_warned_of() -> None:
    text = b"the D\ndog N\n" * 501
    [told] = warned(text)
    assert told.startswith("input is one sequence of 1,002 positions: it has no blank line")
    assert "--sequence-column" in told
    assert "input is one sequence of 1,002 positions" in warned(b"N\tw=dog\n" * 1002)[0]
    assert not warned(text + b"\nthe D\n")
    assert not warned(b"the D\ndog N\n" * 500)
    numbered = b"id w\n" + b"".join(b"1 x%d\n" % (i % 7) for i in range(2000))
    assert not warned(numbered, sequence="id")
    assert not warned(b'{"tokens": [' + b'"a", ' * 2000 + b'"b"]}\n')


def test_names_that_are_values_too_make_a_doubtful_header() -> None:
    [told] = warned(b"the D\ndog N\ncat D\n", header=True)
    assert told.startswith("input, line 1: is taken for the names of columns, but 'D' is also a value")
    [told] = warned(b"Ana,B\nran,O\n\nBo,B\n", format="csv")
    assert told.startswith("input, line 1: is taken for the names of columns, but 'B' is also a value")
    assert not warned(b"Ana,B\nran,O\n\nBo,B\n", format="csv", header=False)
    with pytest.raises(DataError, match=r"which looks like a token \(--no-header"):
        crfkit.read(io.BytesIO(b"1,Ana,B\n1,ran,O\n2,Bo,B\n"), "csv")


def test_comments_that_are_read_as_tokens_are_warned_of() -> None:
    text = b"# one\nAna B\nran O\n\n# two\nBo B\n"
    [told] = warned(text)
    assert told.startswith("input, line 1: is read as a token, but every sequence begins with a line")
    assert "--comment '#'" in told
    assert not warned(text, comment="#")
    assert not warned(text + b"\nthe O\n")
    assert not warned(b"#tag B\nran O\n")
    with pytest.raises(DataError, match="--comment '#'"):  # not MALLET's features
        crfkit.read(io.BytesIO(b"# sent 1\nAna B\nran O\n\n# sent 2\nBo B\nran O\n"))
