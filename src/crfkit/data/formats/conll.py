"""One token to a line, as records: columns, CoNLL-U, and columns as CRF++ and as Wapiti read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from crfkit.data.formats.columns import Columns, parts, render
from crfkit.data.formats.record import SAMPLE, Format, Given, Sample
from crfkit.data.source import Input

__all__ = ["COLUMNS", "CONLLU", "CRFPP", "WAPITI"]

_LINE = re.compile(r"\d+([-.]\d+)?\t([^\t]*\t){5}(\d+|_)\t([^\t]*\t){2}[^\t]*")


def _separator(source: Input, options: Given) -> str | None:
    """Return the separator: as given, or a TAB where every line has one; None: blanks and TABs."""
    if options.separator is not None:
        return None if options.separator == "blanks" else options.separator
    sample = source.peek(SAMPLE + 1)
    return "\t" if Sample(sample[:SAMPLE], len(sample) <= SAMPLE, options.comment).tabs else None


def _reader(format: str) -> Callable[[Input, Given], Iterator[Columns]]:
    def read(source: Input, options: Given) -> Iterator[Columns]:
        skip = options.docstart == "skip" or (options.docstart is None and format in ("columns", "conllu"))
        between = {"columns": _separator, "conllu": lambda *_: "\t"}.get(format)
        return parts(
            source,
            format,
            names=options.columns,
            separator=None if between is None else between(source, options),
            comment=options.comment or "",
            skip_docstart=skip,
        )

    return read


def _writer(format: str) -> Callable[[Any, Given, bool], bytes]:
    def write(data: Columns, options: Given, first: bool) -> bytes:
        separator = None if options.separator == "blanks" else options.separator
        return render(data, format, separator=separator, first=first).encode()

    return write


def _guess(sample: Sample) -> str:
    if sample.tabs:
        return f"lines have {sample.tabs} fields between TABs"
    if sample.blanks:
        return f"lines have {sample.blanks} field{'s' if sample.blanks > 1 else ''} between blanks"
    return ""


def _guess_conllu(sample: Sample) -> str:
    if b"\t" not in sample.data:
        return ""
    tokens = [line for line in sample.lines if not line.startswith("#")]
    if tokens and all(map(_LINE.fullmatch, tokens)):
        return "lines have 10 fields between TABs and are numbered"
    return ""


_OPTIONS = frozenset({"columns", "comment", "docstart"})
COLUMNS = Format(
    "columns", "columns", _reader("columns"), _writer("columns"), _OPTIONS | {"separator"}, _guess
)
CONLLU = Format(
    "conllu",
    "columns",
    _reader("conllu"),
    'give format "columns" and separator "\\t"',
    _OPTIONS,
    _guess_conllu,
)
CRFPP = Format("crfpp", "columns", _reader("crfpp"), _writer("crfpp"), _OPTIONS)
WAPITI = Format("wapiti", "columns", _reader("wapiti"), _writer("wapiti"), _OPTIONS)
