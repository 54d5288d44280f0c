"""MALLET's SimpleTagger text as a record; it is read and written by `crfkit.data.formats.mallet_text`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.data.formats.record import Format, FormatOptions, Sample, fields_of

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.source import Input


def _parts(source: Input, options: FormatOptions) -> Iterator[Dataset]:
    from crfkit.data.formats.mallet_text import parts

    return parts(source, labeled=options.label is not False)


def _render(data: Any, options: FormatOptions, first: bool) -> bytes:
    from crfkit.data.formats.mallet_text import render

    return render(data, first=first).encode()


def _guess(sample: Sample) -> str:
    lines = sample.lines
    if not lines or sample.tabs or sample.blanks or any("\t" in line.rstrip("\t") for line in lines):
        return ""
    told = sample.without("#")
    if told.tabs or told.blanks:  # columns with comments
        return ""
    ends = Counter(fields_of(line)[-1] for line in lines)
    labels = len(ends) <= (len(lines) + 1) // 2
    if sample.blank and labels and all(" " in line.strip() for line in lines):
        return "lines have fields between spaces, not the same number, and the last ones repeat"
    return ""


FORMAT = Format("mallet", "attributes", _parts, _render, frozenset({"label"}), _guess)
