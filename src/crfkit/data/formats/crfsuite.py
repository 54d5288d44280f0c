"""CRFsuite's text as a record; it is read and written by `crfkit.data.formats.crfsuite_text`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.data.formats.record import NEARLY_ALL, Format, FormatOptions, Sample

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.source import Input


def _parts(source: Input, options: FormatOptions) -> Iterator[Dataset]:
    from crfkit.data.formats.crfsuite_text import parts

    return parts(source)


def _render(data: Any, options: FormatOptions, first: bool) -> bytes:
    from crfkit.data.formats.crfsuite_text import render

    return render(data, first=first).encode()


def _guess(sample: Sample) -> str:
    if b"\t" not in sample.data:
        return ""
    fields = [line.rstrip("\t").split("\t") for line in sample.lines]
    tabs = [line for line in fields if len(line) > 1]
    if not tabs or len(tabs) < NEARLY_ALL * len(fields):
        return ""
    behind = [field for line in tabs for field in line[1:] if field]
    named = sum("=" in field[1:] or ":" in field[1:] for field in behind)
    if behind and named >= NEARLY_ALL * len(behind):
        return "nearly all fields behind the first TAB are names with = or :"
    return "" if sample.tabs or sample.blanks else "lines have fields between TABs, and not the same number"


FORMAT = Format("crfsuite", "attributes", _parts, _render, guess=_guess)
