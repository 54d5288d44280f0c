"""Input in blocks that know nothing of each other, in memory that does not grow with the input.

Chunks of `crfkit.data.stream` share alphabets, which on an endless input would fill the memory. A block has
alphabets of its own, ends where a sequence ends, and is what has come so far, at most 256 KB unless a
sequence is longer, so that in a pipe answers do not wait for more.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from crfkit.data.assemble import concatenate
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.conll import headed_parts, separator_of
from crfkit.data.formats.guess import Guess
from crfkit.data.formats.header import head_of
from crfkit.data.formats.record import SAMPLE, Format, FormatOptions, Sample
from crfkit.data.formats.registry import find
from crfkit.data.reading import Options, doubted
from crfkit.data.source import EmptyInputError, Input
from crfkit.data.suspicions import watched
from crfkit.errors import DataError

_BLANK_LINE = re.compile(rb"\n *\r?\n")


def blocks(options: Options, source: Input) -> Iterator[Columns | Dataset]:
    """Read an input block by block; `crfkit.data.stream` with ``alphabets="fresh"`` is the way to use it."""
    chosen = options.choose(source, waiting=False)
    record, found = find(chosen.format), False
    parts = (
        record.parts(source, options.given) if record.whole else _parts(record, chosen, options.given, source)
    )
    with doubted(chosen, source):
        for part in watched(parts, record, options.given, source.name):
            found = True
            yield part
    if not found:
        raise source.nothing()


def _parts(record: Format, chosen: Guess, given: FormatOptions, source: Input) -> Iterator[Columns | Dataset]:
    """Read an input whose format is settled, block by block."""
    source = record.lined(source)

    def read(piece: Input) -> Iterator[Columns | Dataset]:
        return record.parts(piece, given)

    if record.name == "columns":  # for all blocks alike
        sample = chosen.sample or Sample(source.peek_line()[:SAMPLE], False, given.comment)
        separator = separator_of(sample, given)
        head = head_of(source, given, separator, sample)

        def read(piece: Input) -> Iterator[Columns | Dataset]:
            return headed_parts(piece, given, separator, head)

        if head.sequence is not None:
            yield from read(source)
            return
    width: int | None = None
    for line, piece in _cut(source.chunks(), record.line_by_line):
        part = _read(read, source, line, piece) if piece.strip() else None
        if part is None:
            continue
        if isinstance(part, Columns):
            width = width or len(part.names)
            if len(part.names) != width:
                what = f"from here on there are {len(part.names)} columns, expected {width} as before"
                raise DataError(source.name, line, what)
        yield part


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
    read: Callable[[Input], Iterator[Columns | Dataset]], source: Input, line: int, text: bytes
) -> Columns | Dataset | None:
    """Return a block, None where it holds no sequence: others may."""
    piece = Input(source.name, io.BytesIO(text).read)
    piece.remedy = source.remedy
    try:
        parts = list(read(piece))
    except EmptyInputError:
        return None
    except DataError as error:
        raise source.error(None if error.line is None else error.line + line - 1, error.what) from None
    if not parts:
        return None
    found = concatenate(parts)
    if isinstance(found, Columns) and found.lines is not None:
        begin = [source.line_of(int(one) + line - 1) for one in found.lines.begin]
        return replace(found, lines=replace(found.lines, begin=np.array(begin, dtype=np.int64)))
    return found
