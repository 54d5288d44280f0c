"""Text in other encodings than UTF-8, and with the line ends of old Macs, made UTF-8 with LF as it is read.

Readers know only UTF-8 and lines that end in LF or CRLF. UTF-16 and UTF-32 say what they are by a byte order
mark; all other encodings must be named. Where the beginning of a text has CR but no LF, CR ends its lines.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence

#: The beginnings of texts that say their encoding; those of UTF-8 are left to readers.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: What errors say of a text that has another encoding.
ANOTHER = "give its encoding, such as encoding='latin-1' (--encoding latin-1)"
_BEGINNING = 1 << 18  # bytes in which line ends are looked for


def check_encoding(name: str) -> str:
    """Return the name of a text encoding as Python has it; refuse others.

    Examples
    --------
    >>> check_encoding("Latin-1"), check_encoding("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError, TypeError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True) or found.incrementaldecoder is None:
        raise ValueError(
            f"encoding is {name!r}, expected the name of a text encoding, such as utf-8, utf-16, latin-1 or "
            "cp1252"
        )
    return found.name


def recoded(
    chunks: Iterator[bytes],
    encoding: str | None,
    binary: Sequence[bytes],
    fail: Callable[[int, str], Exception],
) -> Iterator[bytes]:
    r"""Yield a text as UTF-8 whose lines end in LF or CRLF.

    Parameters
    ----------
    chunks : iterator of bytes
    encoding : str, optional
        That of the text; None: what a byte order mark says, else UTF-8, as it is.
    binary : sequence of bytes
        What begins with one of these is no text, and stays as it is.
    fail : callable
        Returns the error of a line, to be raised.

    Examples
    --------
    >>> list(recoded(iter(["é".encode("latin-1")]), "latin-1", (), ValueError)) == ["é".encode()]
    True
    >>> b"".join(recoded(iter([b"a\rb\r"]), None, (), ValueError))
    b'a\nb\n'
    """
    beginning = b""
    for chunk in chunks:
        beginning += chunk
        if not any(mark.startswith(beginning) for mark in (*_MARKS, *binary)):
            break
    rest = _chained(beginning, chunks)
    if any(beginning.startswith(mark) for mark in binary):
        yield from rest
        return
    marked = next((name for mark, name in _MARKS.items() if beginning.startswith(mark)), None)
    found = marked if encoding is None else check_encoding(encoding)
    if found not in (None, "utf-8", "utf-8-sig"):
        rest = _decoded(rest, str(found), fail)
    yield from _with_line_ends(rest)


def _chained(beginning: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if beginning:
        yield beginning
    yield from rest


def _decoded(
    chunks: Iterator[bytes], encoding: str, fail: Callable[[int, str], Exception]
) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1

    def decode(chunk: bytes, final: bool = False) -> bytes:
        nonlocal line
        before = decoder.getstate()
        try:
            text = decoder.decode(chunk, final)
        except UnicodeError as error:
            decoder.setstate(before)
            good = decoder.decode(chunk[: max(getattr(error, "start", 0) - len(before[0]), 0)])
            what = f"is not valid {encoding}; {ANOTHER}"
            raise fail(line + good.count("\n"), what) from None
        line += text.count("\n")
        return text.encode("utf-8", "surrogatepass")

    for chunk in chunks:
        if made := decode(chunk):
            yield made
    if made := decode(b"", final=True):
        yield made


def _with_line_ends(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the text with LF for CR, where CR ends its lines; it waits for more only where that is open."""
    held: list[bytes] = []
    size, open = 0, True
    for chunk in chunks:
        open = b"\n" not in chunk[: _BEGINNING - size]
        size += len(chunk)
        held.append(chunk)
        if not open or size >= _BEGINNING:
            break
        if not any(b"\r" in part for part in held):  # there is no line end to be told so far
            yield from held
            held.clear()
    beginning = b"".join(held)
    if not open or b"\r" not in beginning[:-1] or b"\0" in beginning:
        yield from _chained(beginning, chunks)
        return
    ended = False
    for chunk in _chained(beginning, chunks):
        whole = chunk[1:] if ended and chunk.startswith(b"\n") else chunk
        ended = chunk.endswith(b"\r")
        yield whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
