"""Opening what a path names: files, and where that makes sense pipes and devices, never waiting for ever.

A folder, a device or a socket in the place of a file is refused by name, and so is a named pipe that nobody
opens for writing within `LONGEST_WAIT` seconds: whoever opens it in the usual way waits until someone does.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from typing import Any

LONGEST_WAIT = 10  #: seconds until somebody writes to a named pipe
_PAUSE = 0.01  # seconds


class NotAFileError(ValueError):
    """A path names something that is not read: what it is, and what to do.

    Examples
    --------
    >>> print(NotAFileError("m.crf", "is a folder"))
    m.crf is a folder; give a file
    """

    def __init__(self, path: str, what: str, remedy: str = "give a file") -> None:
        super().__init__(path, what, remedy)
        self.path, self.what, self.remedy = path, what, remedy

    def __str__(self) -> str:
        return f"{self.path} {self.what}; {self.remedy}"


def open_file(
    path: str | os.PathLike[str], *, pipes: bool = False, devices: bool = False
) -> io.BufferedReader:
    """Open a file for reading; it closes as others do.

    Parameters
    ----------
    path : path
    pipes : bool
        Take pipes too, such as the shell's ``<(...)`` and named ones.
    devices : bool
        Take devices too, such as a terminal. They may have no end, as pipes may: read them within a bound.

    Raises
    ------
    NotAFileError
        The path names something else.
    OSError
        It cannot be opened.

    Examples
    --------
    >>> open_file("/")
    Traceback (most recent call last):
    crfkit.data.opening.NotAFileError: / is a folder; give a file
    """
    name = os.fsdecode(path)
    try:
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP) and stat.S_ISSOCK(os.stat(name).st_mode):
            raise NotAFileError(name, "is a socket") from None
        raise
    try:
        mode = os.fstat(handle).st_mode
        refused = _kind(mode, pipes, devices)
        if refused is not None:
            raise NotAFileError(name, refused)
        beginning = _beginning(handle, name) if stat.S_ISFIFO(mode) else b""
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    file = io.FileIO(handle, "rb")
    return io.BufferedReader(_Begun(file, beginning) if beginning else file)


def _kind(mode: int, pipes: bool, devices: bool) -> str | None:
    """Return what is wrong with what a path names; None: nothing."""
    if stat.S_ISDIR(mode):
        return "is a folder"
    if stat.S_ISFIFO(mode):
        return None if pipes else "is a pipe"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return None if devices else "is a device"
    return None if stat.S_ISREG(mode) else "is not a file"


def _beginning(handle: int, name: str) -> bytes:
    """Wait until a pipe has a writer; return what was read to find that out."""
    end = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            found = os.read(handle, 1 << 12)
        except BlockingIOError:  # it has one that did not write yet
            return b""
        if found or not _is_named(handle, name):  # without a name nobody else can open it
            return found
        if time.monotonic() > end:
            raise NotAFileError(
                name, f"is a pipe that nobody writes to, for {LONGEST_WAIT} seconds", "start its writer first"
            )
        time.sleep(_PAUSE)


def _is_named(handle: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(os.path.realpath(name)))
    except OSError:
        return False


class _Begun(io.RawIOBase):
    """A file of which some bytes were read already."""

    def __init__(self, file: io.FileIO, beginning: bytes) -> None:
        self._file, self._left = file, memoryview(beginning)

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Read what is left of the beginning, then from the file."""
        if not self._left:
            return self._file.readinto(buffer)
        into = memoryview(buffer).cast("B")
        size = min(len(into), len(self._left))
        into[:size], self._left = self._left[:size], self._left[size:]
        return size

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
