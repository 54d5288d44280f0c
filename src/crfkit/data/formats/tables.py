"""Tables with one row per token: data frames in memory, CSV and Parquet on disk.

One column, `sequence` unless named otherwise, says which sequence a token belongs to; rows of one sequence
stand together, and an empty cell there stands for the one above. Cells are strings (whole numbers are written
out). Missing values (None, NaN, nulls) become empty strings, as CSV has them; an empty label is unknown.
Data frames of pandas and Polars are read by themselves, all others through pyarrow by the Arrow PyCapsule
protocol. CSV needs none of these, and is read by `crfkit.data.formats.csv_text`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns, check_columns
from crfkit.data.formats.header import sequence_in
from crfkit.data.formats.numbered import numbered
from crfkit.data.source import Input
from crfkit.errors import DataError

#: Libraries of data frames, and what makes one of a dict of columns there.
_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def from_table(
    table: Any, *, sequence: str | None = None, columns: Sequence[str] | None = None, source: str = "table"
) -> Columns:
    """Make columns from a data frame of pandas, Polars, pyarrow, DuckDB or another Arrow library.

    Parameters
    ----------
    table
        One row per token: a DataFrame of pandas or Polars, or anything with ``__arrow_c_stream__``.
    sequence
        The column that says which sequence a row belongs to; default: the one called ``sequence``,
        ``sentence_id`` or the like.
    columns
        The columns to take, in order; all others by default.
    source
        What to call the table in errors.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame(
    ...     {"sequence": [7, 7, 8], "word": ["the", "dog", "dogs"], "tag": ["D", "N", None]}
    ... )
    >>> list(from_table(frame))
    [[('the', 'D'), ('dog', 'N')], [('dogs', '')]]
    """
    if hasattr(table, "iloc") and hasattr(
        table, "columns"
    ):  # pandas: columns of mixed types do not fit Arrow
        names = [str(name) for name in table.columns]
        found = [table.iloc[:, c].tolist() for c in range(len(names))]
    elif hasattr(table, "get_columns"):  # Polars: needs no pyarrow
        names = list(table.columns)
        found = [column.to_list() for column in table.get_columns()]
    elif hasattr(table, "__arrow_c_stream__"):
        arrow = _need("pyarrow").table(table)
        names = list(arrow.column_names)
        found = [column.to_pylist() for column in arrow.columns]
    else:
        remedy = "; call its collect() first" if hasattr(table, "collect") else ""
        raise TypeError(
            "expected a data frame (pandas, Polars, pyarrow, DuckDB or another one that speaks Arrow), "
            f"not {type(table).__name__}{remedy}"
        )
    try:
        check_columns(names)
    except ValueError as error:
        raise DataError(source, None, str(error)) from None
    return _from_cells(dict(zip(names, found, strict=True)), sequence, columns, source, "table")


def to_table(data: Columns, *, sequence: str = "sequence", kind: str = "pandas") -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    data : Columns
    sequence : str
        The name of the column that numbers the sequences from 0.
    kind : {"pandas", "polars", "pyarrow"}

    Examples
    --------
    >>> to_table(Columns.from_rows([[("the", "D")], [("dogs", "N")]], ["word", "tag"])).values.tolist()
    [[0, 'the', 'D'], [1, 'dogs', 'N']]
    """
    if kind not in _FRAMES:
        raise ValueError(f"kind is {kind!r}, expected one of {', '.join(_FRAMES)}")
    return getattr(_need(kind), _FRAMES[kind])(_to_cells(data, sequence))


def read_parquet(
    source: Input, *, sequence: str | None = None, columns: Sequence[str] | None = None
) -> Columns:
    """Read a Parquet file.

    Arrow gets no file of Python's and no threads: a process that ended while its threads held such a file was
    aborted (pyarrow 26: one of ten).
    """
    parquet = _need("pyarrow.parquet")
    if source.peek(4) not in (b"PAR1", b""):
        raise source.error(None, "is not a Parquet file: it does not begin with PAR1")
    content = source.whole()
    if not content:
        raise source.nothing()
    try:
        file = parquet.ParquetFile(_need("pyarrow").BufferReader(content))
        table = file.read(use_threads=False)
    except (ValueError, OSError) as error:  # pyarrow's errors derive from these
        raise source.error(None, f"is not a Parquet file ({error})") from None
    cells = {name: table.column(name).to_pylist() for name in table.column_names}
    return _from_cells(cells, sequence, columns, source.name, "parquet")


def render_csv(data: Columns, *, sequence: str = "sequence", separator: str = ",") -> bytes:
    """Return columns as comma-separated values, or with another separator."""
    cells = _to_cells(data, sequence)
    if any("\0" in field for column in data.strings() for field in column):
        raise ValueError("a token holds NUL; CSV cannot hold it")
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=separator, lineterminator="\r\n"
    )  # with a bare LF, CR would stay unquoted
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return text.getvalue().encode()


def render_parquet(data: Columns, *, sequence: str = "sequence") -> bytes:
    """Return columns as a Parquet file."""
    file = io.BytesIO()
    _need("pyarrow.parquet").write_table(to_table(data, sequence=sequence, kind="pyarrow"), file)
    return file.getvalue()


def _need(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"tables need {package}: pip install {package}") from error


def _from_cells(
    cells: dict[str, list[Any]], sequence: str | None, columns: Sequence[str] | None, source: str, format: str
) -> Columns:
    if sequence is None and (sequence := sequence_in([*cells])) is None:
        lists = [
            name for name, column in cells.items() if column and isinstance(column[0], list | np.ndarray)
        ]
        if lists:
            such = ", ".join(f"frame[{name!r}]" for name in lists[:2])
            what = f"has lists in column {lists[0]!r}, and a row is one token"
            raise DataError(source, None, f"{what}; give the columns, as in fit({such})")
        what = f"no column numbers the sequences by its name, of {', '.join(cells)}"
        remedy = "say which does, as in crfkit.read(frame, sequence='NAME') (--sequence-column NAME)"
        raise DataError(source, None, f"{what}; {remedy}")
    names = [name for name in cells if name != sequence] if columns is None else list(columns)
    for name in [sequence, *names]:
        if name not in cells:
            raise DataError(source, None, f"there is no column {name!r}; there are {', '.join(cells)}")
    if not names:
        raise DataError(source, None, f"{sequence!r} is the only column; give at least one more")
    strings = [_column(cells[name], name, source) for name in [*names, sequence]]
    if not strings[0]:
        raise DataError(source, None, "has no rows; give at least one sequence")
    alphabets = tuple(Alphabet() for _ in strings)
    ids = tuple(a.ids(column) for a, column in zip(alphabets, strings, strict=True))
    rows = np.arange(1, len(strings[0]) + 1)
    whole = Columns(ids, alphabets, np.array([0, len(rows)]), (*names, sequence), source, format)
    made = numbered(whole, len(names), rows)
    return replace(made, ids=ids[:-1], alphabets=alphabets[:-1], names=tuple(names))


def _column(cells: list[Any], name: str, source: str) -> list[str]:
    if all(type(cell) is str for cell in cells):
        return cells
    return [_cell(cell, name, source, line) for line, cell in enumerate(cells, 1)]


def _cell(cell: object, name: str, source: str, line: int) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return str(cell)
    if cell is None or str(cell) in ("nan", "NaT", "<NA>"):  # as pandas has missing values
        return ""
    if isinstance(cell, float) and cell.is_integer():  # whole numbers beside missing ones, in pandas
        return str(int(cell))
    what = f"has {cell!r} in column {name!r}; make every cell a string or a whole number"
    raise DataError(source, line, what)


def _to_cells(data: Columns, sequence: str) -> dict[str, list[Any]]:
    if sequence in data.names:
        raise ValueError(f"a column is called {sequence!r} already; give sequence another name")
    if (np.diff(data.seq_ptr) == 0).any():
        raise ValueError("a sequence is empty; a table cannot hold it")
    number = np.repeat(np.arange(len(data)), np.diff(data.seq_ptr))
    columns = [column.tolist() for column in data.strings()]
    return {sequence: number.tolist(), **dict(zip(data.names, columns, strict=True))}
