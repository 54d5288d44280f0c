r"""Data for a model that is there already, block by block, in memory that does not grow with the input.

Blocks end where sequences end and are read each for itself, with alphabets of their own: `crfkit.data.stream`
keeps one alphabet for the whole input, which on an endless one would fill the memory. A block is what has
come so far, at most 256 KB unless a sequence is longer, so that in a pipe answers do not wait for more.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from crfkit import data
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.guess import Guess, guess
from crfkit.data.formats.record import SAMPLE, Sample
from crfkit.data.formats.registry import DEFAULTS, by_name, find, names
from crfkit.data.source import BINARY, EmptyInputError, FormatError, Input, open_input

__all__ = ["blocks"]

_BLANK_LINE = re.compile(rb"\n *\r?\n")


def blocks(
    path: str,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str | None = None,
    attributes: bool | None = None,
    docstart: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Iterator[Columns | Dataset]:
    """Read data in blocks of whole sequences; an empty input has none.

    Parameters
    ----------
    path : str
        A path, or "-" for standard input.
    format, columns, separator, comment, docstart, say
        As in `crfkit.data.read`.
    attributes : bool, optional
        Whether data with attributes are needed (True) or columns (False): decides where guesses differ.
    """
    plain = format is None and separator is None and comment is None  # with these, it is columns
    if format is not None and format not in names():
        raise ValueError(f"--format is {format!r}, expected one of {', '.join(names())}")
    table = find(format) if format is not None else by_name(path) if plain else None
    if table is not None and table.whole:
        options: dict[str, Any] = {"columns": columns, "separator": separator, "comment": comment}
        yield data.read(path, table.name, say=say, **options)
        return
    with open_input(path) as source:
        chunks = source.chunks()
        first = b""
        for chunk in chunks:
            first += chunk
            lines = first.split(b"\n")[:-1]
            if any(line.strip() and not line.startswith(b"#") for line in lines):
                break
        if not first.strip():
            return
        chosen = _choose(source, first, format, comment, attributes, say)
        if chosen.format == "columns":  # for all blocks alike
            tabs = Sample(first[:SAMPLE], False, comment).tabs
            between: str | None = separator or ("\t" if tabs else "blanks")
        else:
            between = None if chosen.format == "conllu" and separator == "\t" else separator
        options = {"columns": columns, "separator": between, "comment": comment}
        options["docstart"] = docstart if "docstart" in find(chosen.format).options else None
        width: int | None = None
        for line, piece in _cut(chain([first], chunks), find(chosen.format).line_by_line):
            if not piece.strip():
                continue
            try:
                part = _read(source.name, line, piece, chosen.format, options)
            except EmptyInputError:  # of this block; there may be more
                continue
            if isinstance(part, Columns):
                width = width or len(part.names)
                if len(part.names) != width:
                    what = f"from here on there are {len(part.names)} columns, expected {width} as before"
                    raise FormatError(source.name, line, what)
            yield part


def _choose(
    source: Input,
    first: bytes,
    format: str | None,
    comment: str | None,
    attributes: bool | None,
    say: Callable[[str], object] | None,
) -> Guess:
    """Guess the format where it is not given, among those that give what is needed."""
    if format is not None:
        return Guess(format, "as given")
    if b"\0" in first[:SAMPLE]:
        raise source.error(None, BINARY)
    found = guess(first[:SAMPLE], whole=False, comment=comment)
    holds = None if found is None else find(found.format).holds
    if found is not None and holds == "either":
        return found
    if attributes is True and holds != "attributes":
        return Guess(DEFAULTS["attributes"], "the model needs attributes")
    if attributes is False and holds != "columns":
        return Guess(DEFAULTS["columns"], "the model needs columns")
    if found is None:
        known = ", ".join(names())
        raise source.error(None, f"its format could not be guessed; give --format, one of {known}")
    if say is not None:
        say(f"{source.name} is taken for format {found.format!r}: {found.why}.")
    return found


def _cut(chunks: Iterator[bytes], lines: bool) -> Iterator[tuple[int, bytes]]:
    """Yield pieces that end with a sequence, and the number of their first line."""
    held: list[bytes] = []
    line = 1
    for chunk in chunks:
        tail = held[-1][-64:] if held else b""
        end = 0
        if lines:
            end = chunk.rfind(b"\n") + 1
        else:
            joined = tail + chunk
            for blank in _BLANK_LINE.finditer(joined, max(joined.rfind(b"\n\n"), 0)):
                end = blank.end() - len(tail)
        if end <= 0:
            held.append(chunk)
            continue
        piece = b"".join([*held, chunk[:end]])
        held = [chunk[end:]] if end < len(chunk) else []
        yield line, piece
        line += piece.count(b"\n")
    if held:
        yield line, b"".join(held)


def _read(name: str, line: int, piece: bytes, format: str, options: dict[str, Any]) -> Columns | Dataset:
    try:
        part = data.read(io.BytesIO(piece), format, **options)
    except EmptyInputError:
        raise
    except FormatError as error:
        at = None if error.line is None else error.line + line - 1
        raise FormatError(name, at, error.what) from None
    return replace(part, source=name) if isinstance(part, Columns) else part
