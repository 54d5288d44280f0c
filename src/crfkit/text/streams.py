"""Texts that are read piece by piece: one of any size in windows of whole sentences, or one in each line."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from crfkit.data.source import CHUNK, Input, open_input
from crfkit.errors import DataWarning, warn_about
from crfkit.text.sentences import Sentences

__all__ = ["lines_of", "windows"]

_LEAST: Final = 1 << 10  #: characters of a window


def lines_of(source: Input) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of an input that are not blank, each with its number.

    Examples
    --------
    >>> import io
    >>> with open_input(io.BytesIO(b"one text\n\nanother\r\n")) as source:
    ...     list(lines_of(source))
    [(1, 'one text'), (3, 'another')]
    """
    for first, block in source.blocks():
        for number, line in enumerate(block.split("\n")[:-1], first):
            if line.strip():
                yield number, line


def windows(file: Any, sentences: Sentences, size: int = 1 << 20) -> Iterator[tuple[int, str]]:
    r"""Yield pieces of a text that end with sentences, each with where it begins, in characters.

    A sentence that is longer than a window is cut, at a blank where it has one.

    Examples
    --------
    >>> import io
    >>> found = windows(io.StringIO("one line\n" * 200), Sentences("lines"), 1024)
    >>> [(begin, len(piece)) for begin, piece in found]
    [(0, 1017), (1017, 783)]
    """
    if size < _LEAST:
        raise ValueError(f"window is {size}, expected {_LEAST:,} characters or more")
    begin, held, whole = 0, "", True
    with _pieces(file, min(size, CHUNK)) as pieces:
        for piece in pieces:
            held += piece
            while len(held) >= size:
                end, surely = _end(held[:size], sentences)
                if whole and not surely:
                    warn_about(f"a sentence is longer than the window of {size:,} and is cut", DataWarning)
                whole = whole and surely
                yield begin, held[:end]
                begin, held = begin + end, held[end:]
    if held:
        yield begin, held


def _end(text: str, sentences: Sentences) -> tuple[int, bool]:
    """Return the end of the last sentence that is surely whole, else of the last word; and which it is."""
    begins = sentences(text)
    if len(begins) > 2:
        return int(begins[-2]), True
    blank = max(text.rfind(mark) for mark in (" ", "\n", "\t")) + 1
    return blank or len(text), False


@contextmanager
def _pieces(file: Any, size: int) -> Iterator[Iterable[str]]:
    """Open a file as text, piece by piece; line ends stay as they are."""
    if not isinstance(file, str | os.PathLike) and not hasattr(file, "read"):
        raise TypeError(f"file is {file!r:.60}, expected a path or an open file")
    if hasattr(file, "read") and isinstance(file.read(0), str):
        yield iter(lambda: file.read(size), "")
        return
    with open_input(file) as source:
        source.has_lines = False
        yield _decoded(source)


def _decoded(source: Input) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    line = 1
    for chunk in _ended(source.chunks()):
        try:
            text = decode(chunk or b"", chunk is None)
        except UnicodeDecodeError as error:
            at = line + error.object[: error.start].count(b"\n")
            raise source.error(at, f"is not valid UTF-8; {source.remedy}") from None
        if "\0" in text:
            raise source.error(line + text.count("\n", 0, text.index("\0")), "holds a NUL, so it is not text")
        line += text.count("\n")
        yield text


def _ended(chunks: Iterator[bytes]) -> Iterator[bytes | None]:
    yield from chunks
    yield None
