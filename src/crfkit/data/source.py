"""Reading text from a path, standard input or an open file, gzip or plain, in blocks of whole lines.

gzip is recognized by its first two bytes, never by the name. Lines end in LF or CRLF; a byte order mark at
the start is dropped; what is not so is made so by `crfkit.data.encodings`. Every error is a `DataError`
that names the file and the line.

Bounds, so that no input costs much more than its bytes: a line has at most `LONGEST_LINE` bytes, a token, a
label or a name `LONGEST_TOKEN`, and gzip that becomes `LARGE` and more than `MOST_GROWTH` times as long is
refused. What is read whole and is not a file on a disk, such as a pipe, has `MOST_PIPED` at most.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeAlias

from crfkit.data.encodings import ANOTHER, recoded
from crfkit.data.opening import NotAFileError, open_file
from crfkit.errors import DataError

#: What a reader opens: a path, "-" for standard input, or a file opened in binary mode.
Place: TypeAlias = "str | os.PathLike[str] | BinaryIO"

CHUNK = 1 << 18  # of 64 KiB to 1 MiB the quickest: what becomes of a block stays in the cache
WIDE = 32  #: chunks at a time for readers that share them out to threads
LONGEST_LINE = 1 << 27  #: bytes
LONGEST_TOKEN = 1 << 20  #: bytes, as in cpp/text/words.hpp
MOST_GROWTH = 250  #: of gzip that becomes LARGE; text seldom shrinks to less than a hundredth
LARGE = 1 << 30  #: bytes
MOST_PIPED = 1 << 30  #: bytes of a pipe or a device, where all of them are needed at once
_SLICE = 1 << 13  # bytes of gzip at a time: what is behind the end of a member is copied
_NUL = "holds a NUL byte, so it is not text; give text in UTF-8"
#: What messages say of a file that is not text.
BINARY = "is a binary file, such as a model or text in UTF-16; give text in UTF-8, plain or gzip"
GZIP = b"\x1f\x8b"  #: how compressed files begin
_BOM = b"\xef\xbb\xbf"
#: A whole line that is neither blank nor a comment.
_LINE = re.compile(rb"^(?!#)[^\S\n]*[^\s][^\n]*\n", re.MULTILINE)


class EmptyInputError(DataError):
    """An input without a single sequence."""


class Input:
    """Bytes of one input, read once from beginning to end."""

    def __init__(self, name: str, read: Callable[[int], bytes], *, most: int | None = None) -> None:
        self.name = name
        self._most = most  # bytes of the whole
        self.bytes_read = 0  #: after decompression
        self._held: deque[bytes] = deque()
        self._times = 1
        self.has_lines = True  #: whether a line that has no end is refused
        self._text: tuple[str | None, Sequence[bytes]] | None = None
        self.remedy = "convert the file to UTF-8"  #: of text that is not UTF-8
        self.say: Callable[[str], object] | None = None  #: receives what readers decide
        chunks = self._raw(read)
        beginning = b""
        for chunk in chunks:
            beginning += chunk
            if len(beginning) >= len(GZIP):
                break
        chunks = _again(beginning, chunks)
        self.compressed = beginning.startswith(GZIP)  #: by gzip
        plain = self._gunzip(chunks) if self.compressed else chunks
        self._chunks = self._measured(self._recoded(plain))

    def as_text(self, encoding: str | None, binary: Sequence[bytes] = ()) -> None:
        """Read the input as text in an encoding, see `crfkit.data.encodings`; before anything else is read.

        Parameters
        ----------
        encoding : str, optional
            None: what its byte order mark says, else UTF-8.
        binary : sequence of bytes
            The beginnings of files that are no text.
        """
        self._text = encoding, binary
        self.remedy = ANOTHER

    def peek(self, size: int) -> bytes:
        """Return the first bytes without consuming them; fewer only where the input ends."""
        held = sum(map(len, self._held))
        while held < size and (chunk := next(self._chunks, b"")):
            self._held.append(chunk)
            held += len(chunk)
        return b"".join(self._held)[:size]

    def take_line(self, comment: str = "") -> tuple[int, str]:
        """Take out the first line that is neither blank nor a comment; an empty one takes its place.

        Returns its number and its text.
        """
        held = self._peeked(re.compile(_LINE.pattern.replace(b"(?!#)", _but(comment)), re.MULTILINE))
        at, line = 0, 1
        while at < len(held):
            end = held.find(b"\n", at) % (len(held) + 1)  # -1 is the end
            text = _unmarked(held[at:end]) if line == 1 else held[at:end]
            if text.strip() and not (comment and text.startswith(comment.encode())):
                self._held = deque([held[:at] + held[end:]])
                return line, self.decode(text, line).rstrip("\r")
            at, line = end + 1, line + 1
        raise self.nothing()

    def peek_line(self) -> bytes:
        """Return the first bytes up to a line that is neither blank nor a comment, and what came with it.

        At most `LONGEST_LINE` bytes of an input that begins with nothing else are read.
        """
        return self._peeked(_LINE)

    def _peeked(self, wanted: re.Pattern[bytes]) -> bytes:
        held = sum(map(len, self._held))
        found = b"".join(self._held)
        open_line: list[bytes] = []  # the beginning of the last line
        while True:
            whole = found.rfind(b"\n") + 1
            if whole and wanted.search(b"".join([*open_line, found[:whole]])):
                break
            open_line = [found[whole:]] if whole else [*open_line, found]
            if held > LONGEST_LINE or not (found := next(self._chunks, b"")):
                break
            self._held.append(found)
            held += len(found)
        return b"".join(self._held)

    def chunks(self, wide: bool = False) -> Iterator[bytes]:
        """Yield the bytes as they come; `wide` asks for more of them at a time."""
        self._times = WIDE if wide else 1
        while self._held:
            chunk = self._held.popleft()
            self.bytes_read += len(chunk)
            yield chunk
        for chunk in self._chunks:
            self.bytes_read += len(chunk)
            yield chunk

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Yield the number of a line and the text from it on, in whole lines that all end in LF."""
        for line, block in self.whole_lines():
            yield line, self.decode(_unmarked(block) if line == 1 else block, line)

    def whole_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of a line and the bytes from it on, in whole lines that all end in LF."""
        line = 1
        held: list[bytes] = []
        for chunk in self.chunks():
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                held.append(chunk)
                continue
            block = b"".join([*held, chunk[:cut]])
            held = [chunk[cut:]] if cut < len(chunk) else []
            yield line, block
            line += block.count(b"\n")
        if held:
            yield line, b"".join(held) + b"\n"

    def whole(self, *, text: bool = False) -> bytes:
        """Return all bytes, in lines of any length or none; where they should be `text`, without NUL."""
        self.has_lines = False
        found: list[bytes] = []
        for chunk in self.chunks():
            if text and b"\0" in chunk:
                lines = chunk.count(b"\n", 0, chunk.index(b"\0")) + sum(one.count(b"\n") for one in found)
                raise self.error(lines + 1, _NUL)
            if self._most is not None and self.bytes_read > self._most:
                what = "becomes" if self.compressed else "is not a file, and gives"
                how = "unpack it" if self.compressed else "write it"
                raise self.error(
                    None, f"{what} more than {self._most:,} bytes; {how} to a file and give that"
                )
            found.append(chunk)
        return b"".join(found)

    def text(self) -> str:
        """Return the whole input with its line ends as they are."""
        return self._decode(_unmarked(self.whole(text=True)), 1)

    def line_of(self, line: int) -> int:
        """Return the line of the file that a line of this input stands for: the same."""
        return line

    def error(self, line: int | None, what: str) -> DataError:
        """Return an error in this input, to be raised."""
        return DataError(self.name, line, what)

    def nothing(self) -> EmptyInputError:
        """Return the error of an input without a single sequence."""
        what = "holds no sequence, only blank lines, comments or document marks; give one that has data"
        if not self.bytes_read:
            what = "the file is empty; give one with at least one sequence"
        return EmptyInputError(self.name, None, what)

    def decode(self, block: bytes, line: int) -> str:
        """Return whole lines, the first of which has a number, as text whose lines end in LF."""
        text = self._decode(block, line)
        return text.replace("\r\n", "\n") if "\r" in text else text

    def _decode(self, block: bytes, line: int) -> str:
        if b"\0" in block:
            at = line + block.count(b"\n", 0, block.index(b"\0"))
            raise self.error(at, _NUL)
        try:
            return block.decode()
        except UnicodeDecodeError as error:
            at = line + block.count(b"\n", 0, error.start)
            raise self.error(at, f"is not valid UTF-8; {self.remedy}") from None

    def _raw(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        while chunk := read(CHUNK * self._times):
            if not isinstance(chunk, bytes):
                raise TypeError(f"{self.name} gives {type(chunk).__name__}; open it in binary mode")
            yield chunk

    def _recoded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        yield from chunks if self._text is None else recoded(chunks, *self._text, self.error)

    def _measured(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the chunks; raise where a line has no end, soon where it is not text."""
        begun = at = 0  # in bytes: where the last line and the chunk begin
        for chunk in chunks:
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
            before = begun
            begun = at + last + 1 if last >= 0 else begun
            if self.has_lines and max(at + first - before, at + len(chunk) - begun) > LONGEST_LINE:
                where = before if at + first - before > LONGEST_LINE else begun
                what = f"a line has more than {LONGEST_LINE >> 20} MiB; is this the right format?"
                raise self.error(None, f"from byte {where:,} on {what}")
            if self.has_lines and last < 0 and at and b"\0" in chunk:  # the first may be of any file
                raise self.error(None, f"from byte {begun:,} on {_NUL}")
            at += len(chunk)
            yield chunk

    def _gunzip(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the text of a chunk in one piece, or in several where it is long: members may be tiny."""
        member, begun = zlib.decompressobj(wbits=31), False
        taken = given = 0
        try:
            for chunk in chunks:
                most, held = CHUNK * self._times, bytearray()
                for at in range(0, len(chunk), _SLICE):
                    data = chunk[at : at + _SLICE]
                    taken += len(data)
                    while data:
                        if not begun and not (data := data.lstrip(b"\0")):
                            break  # zeros may fill up the room behind a member
                        begun = True
                        held += member.decompress(data, most)
                        data = member.unused_data if member.eof else member.unconsumed_tail
                        if member.eof:
                            member, begun = zlib.decompressobj(wbits=31), False
                        if len(held) >= most:
                            given += len(held)
                            self._check_growth(taken, given)
                            yield bytes(held)
                            held.clear()
                given += len(held)
                if held:
                    yield bytes(held)
        except zlib.error as error:
            raise self.error(None, f"is damaged gzip ({error}); fetch or compress it again") from None
        if begun:
            raise self.error(None, "ends in the middle of its gzip data; fetch or compress it again")

    def _check_growth(self, taken: int, given: int) -> None:
        if given > LARGE and given > MOST_GROWTH * taken:
            what = f"is gzip whose first {taken:,} bytes become more than {given:,}"
            raise self.error(None, f"{what}; if it is meant to, decompress it first")


def _but(comment: str) -> bytes:
    """Return the pattern of no comment."""
    return b"(?!" + re.escape(comment.encode()) + b")" if comment else b""


def _unmarked(block: bytes) -> bytes:
    """Return the first bytes of an input without a byte order mark."""
    return block.removeprefix(_BOM)


def _again(beginning: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if beginning:
        yield beginning
    yield from rest


@contextmanager
def open_input(place: Place) -> Iterator[Input]:
    r"""Open an input; what was opened here is closed again, what the caller opened is not.

    Examples
    --------
    >>> import io
    >>> with open_input(io.BytesIO(b"a b\r\nc")) as source:
    ...     list(source.blocks())
    [(1, 'a b\n'), (2, 'c\n')]
    """
    if isinstance(place, str) and place == "-":
        yield Input("standard input", _reader(sys.stdin.buffer), most=_most_of(sys.stdin.buffer))
    elif isinstance(place, str | os.PathLike):
        name = os.fspath(place)
        try:
            opened = open_file(name, pipes=True, devices=True)
        except NotAFileError as error:
            raise DataError(name, None, f"{error.what}; {error.remedy}") from None
        with opened as file:
            yield Input(name, _reader(file), most=_most_of(file))
    else:
        given: object = getattr(place, "name", None)
        yield Input(given if isinstance(given, str) else "input", _reader(place), most=_most_of(place))


def _most_of(file: Any) -> int | None:
    """Return how many bytes of a file may be read at once; None where they are on a disk or in memory."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # no file of the system
        return None
    return None if stat.S_ISREG(mode) else MOST_PIPED


def _reader(file: Any) -> Callable[[int], bytes]:
    """Return a function that reads some bytes, without waiting for more than there are."""
    if not hasattr(file, "read"):
        raise TypeError(f"expected a path or an open file, not {type(file).__name__}")
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    return read
