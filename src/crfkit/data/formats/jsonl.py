"""JSON lines, and arrays of the same objects, as a record.

They are read by `crfkit.data.formats.jsonlines`, and written by `crfkit.data.formats.json_written`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crfkit.data.formats.record import Format, FormatOptions, Sample

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.data.source import Input


def _parts(source: Input, options: FormatOptions) -> Iterator[Columns | Dataset]:
    from crfkit.data.formats.jsonlines import parts

    return parts(source, names=options.columns)


def _render(data: Columns | Dataset, options: FormatOptions, first: bool) -> bytes:
    from crfkit.data.formats.json_written import render

    return render(data).encode()


def _lined(source: Input) -> Input:
    from crfkit.data.formats.json_array import lined

    return lined(source)


def _guess(sample: Sample) -> str:
    if sample.data.lstrip()[:1] in (b"[", b"\xef"):
        from crfkit.data.formats.json_array import is_array

        if is_array(sample.data):
            return "it is a JSON array of objects"
    objects = all(line.lstrip().startswith("{") for line in sample.lines)
    return "every line is a JSON object" if sample.lines and objects else ""


FORMAT = Format(
    "jsonl",
    "either",
    _parts,
    _render,
    frozenset({"columns"}),
    _guess,
    endings=(".jsonl",),
    line_by_line=True,
    names_columns=True,
    lined=_lined,
)
