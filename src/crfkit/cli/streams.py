"""What commands print, made safe for terminals; and standard streams that are closed.

Text that a command prints is for people, or JSON; either way `crfkit._safe.printable.safe` leaves it
readable. Answers for programs are bytes, which go to ``sys.stdout.buffer`` as they are.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from crfkit._safe.printable import safe

_NOT_ASCII = re.compile("[^\x00-\x7f]")


class Safe:
    r"""A text stream on which strangers' text cannot steer a terminal; all else is that of the stream below.

    Letters that the stream's encoding lacks are spelled out too.

    Examples
    --------
    >>> below = io.StringIO()
    >>> print("a\x1bb", file=Safe(below))
    >>> below.getvalue()
    'a\\u001bb\n'
    """

    def __init__(self, below: TextIO) -> None:
        #: Rich writes here: its colors are escape sequences.
        self.rich_proxied_file = below
        encoding = (getattr(below, "encoding", None) or "utf-8").lower().replace("_", "-")
        self._lacking = None if encoding.startswith("utf") else encoding

    def write(self, text: str) -> int:
        """Write text, made safe."""
        made = safe(text)
        if self._lacking is not None:
            made = _NOT_ASCII.sub(self._spelled, made)
        self.rich_proxied_file.write(made)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts, one after the other."""
        for line in lines:
            self.write(line)

    def _spelled(self, found: re.Match[str]) -> str:
        letter = found[0]
        try:
            letter.encode(self._lacking or "utf-8")
        except UnicodeEncodeError:
            return "".join(f"\\u{unit:04x}" for unit in memoryview(letter.encode("utf-16-le")).cast("H"))
        return letter

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def json_line(value: object) -> str:
    r"""Return JSON in one line, with letters that steer a terminal spelled out.

    Examples
    --------
    >>> json_line(["\u202e", "é"])
    '["\\u202e", "é"]\n'
    """
    return safe(json.dumps(value, ensure_ascii=False)) + "\n"


class _Closed(io.RawIOBase):
    """Standard output that nobody opened: a command that writes nothing does without it."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed; open it, or give --output", "standard output")


def ready_streams() -> None:
    """Put something in the place of standard streams that are closed, and let none refuse a letter.

    Files that are opened later must not get the numbers of standard streams.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed(), 1), encoding="utf-8", write_through=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def safe_streams() -> Iterator[None]:
    """Make the text that is printed safe; what is left in buffers at the end is written."""
    before = sys.stdout, sys.stderr
    made: tuple[Any, Any] = (Safe(before[0]), Safe(before[1]))
    sys.stdout, sys.stderr = made
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout, sys.stderr = before


def hush_unwritten(stream: TextIO) -> None:
    """Discard what a standard stream does not take, so that nothing more is said about it at exit."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
