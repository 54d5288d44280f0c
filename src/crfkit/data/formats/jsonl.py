"""JSON lines as a record; they are read and written by `crfkit.data.formats.jsonlines`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crfkit.data.formats.record import Format, Given, Sample

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.data.source import Input

__all__ = ["FORMAT"]


def _parts(source: Input, options: Given) -> Iterator[Columns | Dataset]:
    from crfkit.data.formats.jsonlines import parts

    return parts(source, names=options.columns)


def _render(data: Columns | Dataset, options: Given, first: bool) -> bytes:
    from crfkit.data.formats.jsonlines import render

    return render(data).encode()


def _guess(sample: Sample) -> str:
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
)
