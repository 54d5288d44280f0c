"""Tables: CSV by itself, pandas and pyarrow where they are installed."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import data
from crfkit.data import Columns
from crfkit.errors import DataError
from crfkit.features import Extractor, Recipe

ROWS: list[list[tuple[str, ...]]] = [
    [("the", "D"), ('"a,b"\n', "N")],
    [("NA", ""), ("nan", "x"), ("7", "\r\n")],
]


def read_frame(frame: Any, *format: str, **options: Any) -> Columns:
    made = crfkit.read(frame, *format, **options)
    assert isinstance(made, Columns)
    return made


def made() -> Columns:
    return Columns.from_rows(ROWS, names=["word", "tag"])


def test_csv_comes_back(tmp_path: Path) -> None:
    for name in ("x.csv", "x.csv.gz"):
        data.write(tmp_path / name, made())
        again = read_frame(tmp_path / name)
        assert isinstance(again, Columns)
        assert (again.names, again.format, list(again)) == (("word", "tag"), "csv", ROWS)


def test_csv_columns_can_be_chosen() -> None:
    text = b"s,word,tag\n1,a,X\n1,b,Y\n0,c,Z\n"
    again = crfkit.read(io.BytesIO(text), "csv", sequence="s", columns=["tag"])
    assert isinstance(again, Columns)
    assert list(again) == [[("X",), ("Y",)], [("Z",)]]
    [whole] = data.stream(io.BytesIO(text), "csv", sequence="s", chunk_positions=3)
    assert len(whole) == 2


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (b"sequence,w\n1,a\n2\n", 3, "has 1 field, expected 2"),
        (b'sequence,w\n1,"a\n', 2, "is not CSV"),
        (b"sequence,w\n1,a\n2,b\n1,c\n", 4, "continues sequence '1'"),
        (b"sequence,sequence\n1,a\n", 1, "same column name twice"),
        (b"number,w\n1,a\n", None, "no column 'sequence'; there are number, w"),
        (b"sequence\n1\n", None, "'sequence' is the only column"),
        (b"sequence,w\n", None, "no sequence"),
    ],
)
def test_bad_csv(text: bytes, line: int | None, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        crfkit.read(io.BytesIO(text), "csv")
    assert caught.value.line == line


def test_a_table_cannot_hold_everything() -> None:
    with pytest.raises(ValueError, match="called 'word' already"):
        data.write(io.BytesIO(), made(), "csv", sequence="word")
    with pytest.raises(ValueError, match="empty"):
        data.write(io.BytesIO(), Columns.from_rows([[("a",)], []]), "csv")
    with pytest.raises(ValueError, match="NUL"):
        data.write(io.BytesIO(), Columns.from_rows([[("a\0",)]]), "csv")


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for kind in ("pandas", "pyarrow"):
        with pytest.raises(ImportError, match=rf"{kind}: pip install {kind}"):
            data.to_table(made(), kind=kind)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_frame(io.BytesIO(b"PAR1"))
    with pytest.raises(TypeError, match="not list"):
        read_frame([1, 2])
    with pytest.raises(ValueError, match="kind is 'spark', expected one of pandas, polars, pyarrow"):
        data.to_table(made(), kind="spark")


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = data.to_table(made())
    assert isinstance(frame, pandas.DataFrame)
    assert frame["sequence"].tolist() == [0, 0, 1, 1, 1]
    again = read_frame(frame)
    assert (again.names, list(again)) == (("word", "tag"), ROWS)
    frame = pandas.DataFrame({"sequence": ["x", "x"], "w": [1, 2]})
    assert list(read_frame(frame)) == [[("1",), ("2",)]]
    with pytest.raises(DataError, match=r"line 2: has 0.5 in column 'w'"):
        read_frame(pandas.DataFrame({"sequence": [1, 1], "w": ["a", 0.5]}))
    with pytest.raises(DataError, match="no rows"):
        read_frame(pandas.DataFrame({"sequence": [], "w": []}))


MIXED: list[list[object]] = [
    ["the", "dog", None],  # strings
    [1, None, 3],  # in pandas a column of floats
]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
@pytest.mark.parametrize("cells", MIXED)
def test_missing_values_of_all_libraries_are_empty(library: str, cells: list[object]) -> None:
    module = pytest.importorskip("pyarrow" if library == "duckdb" else library)
    make = module.DataFrame if library in ("pandas", "polars") else module.table
    table = make({"sequence": [1, 1, 2], "w": cells, "tag": ["X", None, "Y"]})
    if library == "duckdb":
        table = pytest.importorskip("duckdb").from_arrow(table)
    words = ["" if cell is None else str(cell) for cell in cells]
    found = read_frame(table)
    assert list(found) == [[(words[0], "X"), (words[1], "")], [(words[2], "Y")]]


def test_missing_values_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    cells = ["a", None, float("nan"), pandas.NA, pandas.NaT, 7, 8.0]
    frame = pandas.DataFrame({"sequence": ["x"] * len(cells), "w": cells})
    assert [row[0] for row in read_frame(frame).sequence(0)] == ["a", "", "", "", "", "7", "8"]
    with pytest.raises(DataError, match="line 1: has nothing in column 'sequence'"):
        read_frame(pandas.DataFrame({"sequence": [None, "x"], "w": ["a", "b"]}))
    with pytest.raises(DataError, match="same column name twice, 'w'"):
        read_frame(pandas.DataFrame([[1, "a", "b"]], columns=["sequence", "w", "w"]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_go_to_a_table_and_back(kind: str) -> None:
    pytest.importorskip(kind)
    again = read_frame(data.to_table(made(), kind=kind))
    assert (again.names, list(again)) == (("word", "tag"), ROWS)


def test_lazy_frames_are_asked_to_be_collected() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"not LazyFrame; call its collect\(\) first"):
        read_frame(polars.LazyFrame({"sequence": [1], "w": ["a"]}))


def test_a_label_that_is_missing_in_a_table_is_unknown() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"sequence": [1, 1, 2, 2], "word": ["the", "dog", "a", "cat"], "tag": ["D", "N", "D", None]}
    )
    extracted = Extractor(Recipe.parse("word[0]"), label="tag")(read_frame(frame))
    assert extracted.batch.label is not None
    assert (extracted.batch.label.tolist(), extracted.labels.strings()) == ([0, 1, 0, -1], ["D", "N"])


def test_arrow_and_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = data.to_table(made(), kind="pyarrow")
    assert isinstance(table, pyarrow.Table)
    assert list(read_frame(table)) == ROWS
    data.write(tmp_path / "x.parquet", made())
    (tmp_path / "x.parquet").rename(tmp_path / "x")
    again = read_frame(tmp_path / "x")  # known by its content
    assert isinstance(again, Columns)
    assert (again.names, again.format, list(again)) == (("word", "tag"), "parquet", ROWS)
    with pytest.raises(DataError, match="not a Parquet file"):
        read_frame(io.BytesIO(b"PAR1 and no more"))
    with pytest.raises(DataError, match="the file is empty"):
        crfkit.read(io.BytesIO(b""), "parquet")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_empty_cell_stands_for_the_number_above_it(library: str, tmp_path: Path) -> None:
    module = pytest.importorskip(library)
    make = module.DataFrame if library in ("pandas", "polars") else module.table
    cells = {"Sentence #": ["s1", None, "s2"], "w": ["a", "b", "c"], "t": ["X", "Y", "X"]}
    assert list(read_frame(make(cells))) == [[("a", "X"), ("b", "Y")], [("c", "X")]]
    with pytest.raises(DataError, match="line 1: has nothing in column 'Sentence #'"):
        read_frame(make({**cells, "Sentence #": [None, "s1", "s1"]}))


def test_the_column_of_sequences_of_parquet_is_found_as_in_a_frame(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    data.write(path, made(), sequence="sentence_id")
    assert list(crfkit.read(path)) == ROWS
    data.write(path, made(), sequence="s")
    with pytest.raises(DataError, match=r"no column numbers .*--sequence-column NAME\)"):
        crfkit.read(path)


def test_a_frame_with_a_sequence_in_each_row_is_told_how_to_learn_from_it() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tokens": [["a", "b"], ["c"]], "tags": [["X", "Y"], ["X"]]})
    with pytest.raises(DataError, match=r"give the columns, as in fit\(frame\['tokens'\], frame\['tags'\]\)"):
        crfkit.read(frame)
    assert crfkit.ChainCRF().fit(frame["tokens"], frame["tags"]).predict([["c"]]) == [["X"]]


@pytest.mark.slow
def test_a_process_that_read_parquet_ends_in_peace(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    data.write(tmp_path / "x.parquet", made())
    program = "import sys, crfkit; crfkit.read(sys.argv[1])"
    for _ in range(30):  # pyarrow's own threads aborted one of ten
        subprocess.run([sys.executable, "-c", program, tmp_path / "x.parquet"], check=True)
