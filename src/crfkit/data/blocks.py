"""Input in blocks that know nothing of each other, in memory that does not grow with the input.

Chunks of `crfkit.data.stream` share alphabets, which on an endless input would fill the memory. A block has
alphabets of its own, ends where a sequence ends, and is what has come so far, at most 256 KB unless a
sequence is longer, so that in a pipe answers do not wait for more.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

from crfkit.data.assemble import concatenate
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.record import SAMPLE, Sample
from crfkit.data.formats.registry import find
from crfkit.data.reading import Options
from crfkit.data.source import EmptyInputError, FormatError, Input

__all__ = ["blocks"]

_BLANK_LINE = re.compile(rb"\n *\r?\n")


def blocks(options: Options, source: Input) -> Iterator[Columns | Dataset]:
    """Read an input block by block; `crfkit.data.stream` with ``alphabets="fresh"`` is the way to use it."""
    chosen = options.choose(source, waiting=False)
    record, found = find(chosen.format), False
    if record.whole:
        yield from replace(options, format=record.name).parts(source)
        return
    given = options.given
    if record.name == "columns" and given.separator is None:  # for all blocks alike
        sample = chosen.sample or Sample(source.peek_line()[:SAMPLE], False, given.comment)
        given = replace(given, separator="\t" if sample.tabs else "blanks")
    elif record.name == "conllu" and options.format is None:
        given = replace(given, separator=None)  # it has its own
    options = Options(record.name, given)
    width: int | None = None
    for line, piece in _cut(source.chunks(), record.line_by_line):
        part = _read(options, source.name, line, piece) if piece.strip() else None
        if part is None:
            continue
        if isinstance(part, Columns):
            width = width or len(part.names)
            if len(part.names) != width:
                what = f"from here on there are {len(part.names)} columns, expected {width} as before"
                raise FormatError(source.name, line, what)
        found = True
        yield part
    if not found:
        raise source.nothing()


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


def _read(options: Options, name: str, line: int, piece: bytes) -> Columns | Dataset | None:
    """Return a block, None where it holds no sequence: others may."""
    try:
        found = concatenate(list(options.parts(Input(name, io.BytesIO(piece).read))))
    except EmptyInputError:
        return None
    except FormatError as error:
        at = None if error.line is None else error.line + line - 1
        raise FormatError(name, at, error.what) from None
    if isinstance(found, Columns) and found.lines is not None:
        return replace(found, lines=found.lines.after(line - 1))
    return found
