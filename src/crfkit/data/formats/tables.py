"""Tables with one row per token: pandas and pyarrow in memory, CSV and Parquet on disk.

One column, `sequence` unless named otherwise, says which sequence a token belongs to; rows of one sequence
stand together. Cells are strings (whole numbers are written out); a missing cell is an error. pandas and
pyarrow are imported only when used: ``pip install pandas pyarrow``. CSV needs neither, and is read by
`crfkit.data.formats.csv_text`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns
from crfkit.data.source import FormatError, Input

__all__ = [
    "from_table",
    "read_parquet",
    "render_csv",
    "render_parquet",
    "to_table",
]


def from_table(
    table: Any, *, sequence: str = "sequence", columns: Sequence[str] | None = None, source: str = "table"
) -> Columns:
    """Make columns from a pandas DataFrame or a pyarrow Table.

    Parameters
    ----------
    table
        One row per token.
    sequence
        The column that says which sequence a row belongs to.
    columns
        The columns to take, in order; all others by default.
    source
        What to call the table in errors.
    """
    if hasattr(table, "column_names"):
        cells = {name: table.column(name).to_pylist() for name in table.column_names}
    elif hasattr(table, "columns"):
        cells = {str(name): table[name].tolist() for name in table.columns}
    else:
        raise TypeError(f"expected a pandas DataFrame or a pyarrow Table, not {type(table).__name__}")
    return _from_cells(cells, sequence, columns, source, "table", 0)


def to_table(data: Columns, *, sequence: str = "sequence", kind: str = "pandas") -> Any:
    """Return columns as a pandas DataFrame, or with ``kind="pyarrow"`` as a pyarrow Table."""
    if kind not in ("pandas", "pyarrow"):
        raise ValueError(f'kind is {kind!r}, expected "pandas" or "pyarrow"')
    cells = _to_cells(data, sequence)
    return _need("pandas").DataFrame(cells) if kind == "pandas" else _need("pyarrow").table(cells)


def read_parquet(
    source: Input, *, sequence: str = "sequence", columns: Sequence[str] | None = None
) -> Columns:
    """Read a Parquet file."""
    parquet = _need("pyarrow.parquet")
    if source.peek(4) not in (b"PAR1", b""):
        raise source.error(None, "is not a Parquet file: it does not begin with PAR1")
    content = source.whole()
    if not content:
        raise source.nothing()
    try:
        table = parquet.read_table(io.BytesIO(content))
    except (ValueError, OSError) as error:  # pyarrow's errors derive from these
        raise source.error(None, f"is not a Parquet file ({error})") from None
    cells = {name: table.column(name).to_pylist() for name in table.column_names}
    return _from_cells(cells, sequence, columns, source.name, "parquet", 0)


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
    cells: dict[str, list[Any]],
    sequence: str,
    columns: Sequence[str] | None,
    source: str,
    format: str,
    header: int,
) -> Columns:
    names = [name for name in cells if name != sequence] if columns is None else list(columns)
    for name in [sequence, *names]:
        if name not in cells:
            raise FormatError(source, None, f"there is no column {name!r}; there are {', '.join(cells)}")
    if not names:
        raise FormatError(source, None, f"{sequence!r} is the only column; give at least one more")
    strings = [_column(cells[name], name, source, header) for name in names]
    alphabets = tuple(Alphabet() for _ in names)
    ids = tuple(a.ids(column) for a, column in zip(alphabets, strings, strict=True))
    ends = [0]
    seen = set()
    numbers = _column(cells[sequence], sequence, source, header)
    for i, id in enumerate(numbers):
        if i and id == numbers[i - 1]:
            continue
        if id in seen:
            what = f"continues sequence {id!r} after another one; sort the rows by {sequence!r}"
            raise FormatError(source, i + 1 + header, what)
        seen.add(id)
        if i:
            ends.append(i)
    if not numbers:
        raise FormatError(source, None, "has no rows; give at least one sequence")
    return Columns(ids, alphabets, np.array([*ends, len(numbers)]), tuple(names), source, format)


def _column(cells: list[Any], name: str, source: str, header: int) -> list[str]:
    if all(type(cell) is str for cell in cells):
        return cells
    return [_cell(cell, name, source, i + 1 + header) for i, cell in enumerate(cells)]


def _cell(cell: object, name: str, source: str, line: int) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return str(cell)
    what = f"has {cell!r} in column {name!r}; make every cell a string or a whole number"
    raise FormatError(source, line, what)


def _to_cells(data: Columns, sequence: str) -> dict[str, list[Any]]:
    if sequence in data.names:
        raise ValueError(f"a column is called {sequence!r} already; give sequence another name")
    if (np.diff(data.seq_ptr) == 0).any():
        raise ValueError("a sequence is empty; a table cannot hold it")
    number = np.repeat(np.arange(len(data)), np.diff(data.seq_ptr))
    columns = [column.tolist() for column in data.strings()]
    return {sequence: number.tolist(), **dict(zip(data.names, columns, strict=True))}
