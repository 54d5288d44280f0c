"""CSV and Parquet as records; they are read and written by `crfkit.data.formats.tables`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.data.formats.record import Format, FormatOptions, Sample

if TYPE_CHECKING:
    from crfkit.data.formats.columns import Columns
    from crfkit.data.source import Input

_OPTIONS = frozenset({"columns", "sequence"})
_SHARED: dict[str, Any] = {"whole": True, "names_columns": True}


def _check_separator(options: FormatOptions) -> None:
    """Refuse what CSV cannot have between its fields."""
    if options.separator in ("blanks", '"'):
        raise ValueError(f"separator is {options.separator!r}, expected one character for CSV, such as ';'")


def _read_csv(source: Input, options: FormatOptions) -> Iterator[Columns]:
    from crfkit.data.formats.csv_text import read_csv

    _check_separator(options)
    yield read_csv(source, options)


def _read_parquet(source: Input, options: FormatOptions) -> Iterator[Columns]:
    from crfkit.data.formats.tables import read_parquet

    yield read_parquet(source, sequence=options.sequence, columns=options.columns)


def _render_csv(data: Any, options: FormatOptions, first: bool) -> bytes:
    from crfkit.data.formats.tables import render_csv

    _check_separator(options)
    return render_csv(data, sequence=options.sequence or "sequence", separator=options.separator or ",")


def _render_parquet(data: Any, options: FormatOptions, first: bool) -> bytes:
    from crfkit.data.formats.tables import render_parquet

    return render_parquet(data, sequence=options.sequence or "sequence")


def _guess(sample: Sample) -> str:
    return "it begins with PAR1" if sample.data.startswith(b"PAR1") else ""


CSV = Format(
    "csv",
    "columns",
    _read_csv,
    _render_csv,
    _OPTIONS | {"separator", "header"},
    endings=(".csv",),
    **_SHARED,
)
PARQUET = Format(
    "parquet",
    "columns",
    _read_parquet,
    _render_parquet,
    _OPTIONS,
    guess=_guess,
    endings=(".parquet",),
    magic=b"PAR1",
    **_SHARED,
)
