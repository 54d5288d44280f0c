"""One token to a line, as records: columns, CoNLL-U, and columns as CRF++ and as Wapiti read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from crfkit.data.assemble import concatenate
from crfkit.data.formats.columns import Columns, parts, render
from crfkit.data.formats.header import Head, head_of
from crfkit.data.formats.numbered import numbered
from crfkit.data.formats.record import SAMPLE, Format, FormatOptions, Sample
from crfkit.data.source import Input

_LINE = re.compile(r"\d+([-.]\d+)?\t([^\t]*\t){5}(\d+|_)\t([^\t]*\t){2}[^\t]*")


def separator_of(sample: Sample, options: FormatOptions) -> str | None:
    """Return the separator: as given, or a TAB where every line has one; None: blanks and TABs."""
    if options.separator is not None:
        return None if options.separator == "blanks" else options.separator
    return "\t" if sample.tabs else None


def _read_columns(source: Input, options: FormatOptions) -> Iterator[Columns]:
    found = source.peek(SAMPLE + 1)
    sample = Sample(found[:SAMPLE], len(found) <= SAMPLE, options.comment)
    separator = separator_of(sample, options)
    return headed_parts(source, options, separator, head_of(source, options, separator, sample))


def headed_parts(
    source: Input, options: FormatOptions, separator: str | None, head: Head
) -> Iterator[Columns]:
    """Read columns whose names are settled, and that are cut where the column of sequences changes."""
    read = parts(
        source,
        names=head.names,
        separator=separator,
        comment=options.comment or "",
        skip_docstart=options.docstart != "keep",
    )
    if head.sequence is not None:  # it decides where sequences end, so that all lines are needed
        whole = list(read)
        joined = [] if not whole else [concatenate(whole)]
        read = (numbered(one, one.found(head.sequence)) for one in joined if isinstance(one, Columns))
    return (head.shaped(part) for part in read)


def _reader(format: str) -> Callable[[Input, FormatOptions], Iterator[Columns]]:
    def read(source: Input, options: FormatOptions) -> Iterator[Columns]:
        skip = options.docstart == "skip" or (options.docstart is None and format == "conllu")
        return parts(
            source,
            format,
            names=options.columns,
            separator="\t" if format == "conllu" else None,
            comment=options.comment or "",
            skip_docstart=skip,
        )

    return read


def _writer(format: str) -> Callable[[Any, FormatOptions, bool], bytes]:
    def write(data: Columns, options: FormatOptions, first: bool) -> bytes:
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
    "columns",
    "columns",
    _read_columns,
    _writer("columns"),
    _OPTIONS | {"separator", "header", "sequence"},
    _guess,
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
