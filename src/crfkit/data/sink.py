"""Writing files: under a temporary name beside the place, renamed when whole.

A failure leaves what was there before, and nothing else. A process that is killed leaves its temporary file;
the next one that writes to the same place removes it. Writers lock their temporary file, so that no other
process removes it.
"""

from __future__ import annotations

import fcntl
import glob
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from crfkit.data.source import Place

__all__ = ["write_bytes"]

_ENDING = ".crfkit-tmp"


def write_bytes(place: Place, pieces: Iterable[bytes]) -> None:
    """Write pieces to a path, "-" (standard output) or an open binary file.

    A path is written as a whole or not at all, gzip where its name ends in ``.gz`` (with the same bytes each
    time). Devices, pipes and open files get the pieces as they come.
    """
    if isinstance(place, str) and place == "-":
        _pour(sys.stdout.buffer, pieces)
        sys.stdout.buffer.flush()
    elif not isinstance(place, str | os.PathLike):
        _pour(place, pieces)
    elif _is_special(os.fspath(place)):
        with open(place, "wb") as file:
            _pour_as_named(os.fspath(place), file, pieces)
    else:
        _replace(os.path.realpath(place), pieces)


def _replace(path: str, pieces: Iterable[bytes]) -> None:
    folder, name = os.path.split(path)
    prefix = f".{name[:80]}."
    _sweep(folder, prefix)
    handle, temporary = _locked_temporary(folder, prefix)
    try:
        with open(handle, "wb") as file:
            _pour_as_named(path, file, pieces)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, _mode(path))
            os.replace(temporary, path)  # while it is locked
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the new name is safe once its folder is
        entry = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def _locked_temporary(folder: str, prefix: str) -> tuple[int, str]:
    """Make a locked file, so that no other process takes it for one that was left behind."""
    while True:
        handle, path = tempfile.mkstemp(prefix=prefix, suffix=_ENDING, dir=folder)
        if not _lock(handle, wait=True) or os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # swept away before it was locked


def _sweep(folder: str, prefix: str) -> None:
    """Remove temporary files whose writers are gone."""
    for path in glob.glob(f"{glob.escape(os.path.join(folder, prefix))}????????{_ENDING}"):
        with suppress(OSError):  # in use by another process, or already gone
            handle = os.open(path, os.O_RDWR)
            try:
                if _lock(handle, wait=False):
                    os.unlink(path)
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file; False where another has it, or where the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _pour_as_named(name: str, file: BinaryIO, pieces: Iterable[bytes]) -> None:
    if name.endswith(".gz"):
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            _pour(packed, pieces)
    else:
        _pour(file, pieces)


def _pour(file: Any, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        file.write(piece)


def _is_special(path: str) -> bool:
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a folder; give the name of a file")
        return not stat.S_ISREG(mode)
    return False


def _mode(path: str) -> int:
    """Return the rights of the file that is replaced, or those that a new one gets."""
    with suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
