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

from crfkit import data
from crfkit.batch import Dataset
from crfkit.formats.columns import Columns
from crfkit.formats.guess import SAMPLE, Guess, guess
from crfkit.formats.source import EmptyInputError, FormatError, Source, open_source

__all__ = ["blocks"]

_BLANK_LINE = re.compile(rb"\n *\r?\n")
_COLUMNS = ("columns", "crfpp", "wapiti")


def blocks(
    path: str,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    attributes: bool | None = None,
    docstart: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Iterator[Columns | Dataset]:
    """Read data in blocks of whole sequences; an empty input has none.

    Parameters
    ----------
    path : str
        A path, or "-" for standard input.
    format, columns, docstart, say
        As in `crfkit.data.read`.
    attributes : bool, optional
        Whether data with attributes are needed (True) or columns (False): decides where guesses differ.
    """
    bare = path.removesuffix(".gz")
    if format in ("csv", "parquet") or (format is None and bare.endswith((".csv", ".parquet"))):
        yield data.read(path, format or bare.rpartition(".")[2], columns=columns, say=say)
        return
    if format is not None and format not in data.FORMATS:
        raise ValueError(f"--format is {format!r}, expected one of {', '.join(data.FORMATS)}")
    with open_source(path) as source:
        chunks = source.chunks()
        first = b""
        for chunk in chunks:
            first += chunk
            if b"\n" in first.lstrip():
                break
        if not first.strip():
            return
        chosen = Guess(format, "as given") if format else _choose(source, first, attributes, say)
        width: int | None = None
        for line, piece in _cut(chain([first], chunks), chosen.format == "jsonl"):
            if not piece.strip():
                continue
            try:
                part = _read(source.name, line, piece, chosen, columns, docstart)
            except EmptyInputError:  # of this block; there may be more
                continue
            if isinstance(part, Columns):
                width = width or len(part.names)
                if len(part.names) != width:
                    what = f"from here on there are {len(part.names)} columns, expected {width} as before"
                    raise FormatError(source.name, line, what)
            yield part


def _choose(
    source: Source, first: bytes, attributes: bool | None, say: Callable[[str], object] | None
) -> Guess:
    """Guess the format, among those that give what is needed."""
    if b"\0" in first[:SAMPLE]:
        raise source.error(None, "is a binary file; give one of text")
    found = guess(first[:SAMPLE], whole=False)
    if found is not None and found.format == "jsonl":
        return found
    if attributes is True and (found is None or found.format in _COLUMNS):
        return Guess("crfsuite", "the model needs attributes")
    if attributes is False and (found is None or found.format not in _COLUMNS):
        return Guess("columns", "the model needs columns")
    if found is None:
        known = ", ".join(data.FORMATS)
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


def _read(
    name: str, line: int, piece: bytes, chosen: Guess, columns: Sequence[str] | None, docstart: str | None
) -> Columns | Dataset:
    marks = docstart if chosen.format in _COLUMNS else None
    separator = chosen.separator if chosen.format == "columns" else None
    place = io.BytesIO(piece)
    try:
        part = data.read(place, chosen.format, columns=columns, separator=separator, docstart=marks)
    except EmptyInputError:
        raise
    except FormatError as error:
        at = None if error.line is None else error.line + line - 1
        raise FormatError(name, at, error.what) from None
    return replace(part, source=name) if isinstance(part, Columns) else part
