"""Writing files: under a temporary name beside the place, renamed when whole.

A failure leaves what was there before, and nothing else. A process that is killed leaves its temporary file;
the next one that writes to the same place removes it. Writers lock their temporary file, so that no other
process removes it. Nobody can read more of it than of the file that it replaces, at any moment.
"""

from __future__ import annotations

import errno
import glob
import gzip
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from crfkit.data.locks import lock
from crfkit.data.source import Place

_ENDING = ".crfkit-tmp"
_STEM = 80  # bytes of the name that the temporary one begins with; a name has 255 at most


def write_bytes(place: Place, pieces: Iterable[bytes]) -> None:
    """Write pieces to a path, "-" (standard output) or an open binary file.

    A path is written as a whole or not at all, gzip where its name ends in ``.gz`` (with the same bytes each
    time). Devices, pipes and open files get the pieces as they come. An error of a path names it.
    """
    if isinstance(place, str) and place == "-":
        _pour(sys.stdout.buffer, pieces)
        sys.stdout.buffer.flush()
    elif not isinstance(place, str | os.PathLike):
        _pour(place, pieces)
    else:
        name = os.fspath(place)
        with _named(name):
            if _is_special(name):
                with open(name, "wb") as file:
                    _pour_as_named(name, file, pieces)
            else:
                _replace(os.path.realpath(name), pieces)


def try_to_write(path: str) -> None:
    """Raise what `write_bytes` would raise before its first byte; nothing changes.

    Examples
    --------
    >>> try_to_write("/no such folder/model.crf")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: '/no such folder/model.crf'
    """
    with _named(path):
        if not _is_special(path):
            folder, name = os.path.split(os.path.realpath(path))
            handle, temporary = _locked_temporary(folder, f".{_stem(name)}.", 0o600)
            os.close(handle)
            os.unlink(temporary)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Let errors name the file, not what it is called before it is whole."""
    try:
        yield
    except OSError as error:
        if error.errno and (error.filename is None or str(error.filename).endswith(_ENDING)):
            error.filename = name
        raise


def _replace(path: str, pieces: Iterable[bytes]) -> None:
    folder, name = os.path.split(path)
    prefix = f".{_stem(name)}."
    _sweep(folder, prefix)
    handle, temporary = _locked_temporary(folder, prefix, 0o600 if os.path.lexists(path) else 0o666)
    try:
        with open(handle, "wb") as file:
            _pour_as_named(path, file, pieces)
            file.flush()
            os.fsync(file.fileno())
            _take_rights(path, file.fileno())
            os.replace(temporary, path)  # while it is locked
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _keep_name(folder)


def _stem(name: str) -> str:
    """Return the beginning of a name: whole letters, without bytes that do not spell any."""
    return os.fsencode(name)[:_STEM].decode(sys.getfilesystemencoding(), "ignore")


def _locked_temporary(folder: str, prefix: str, mode: int) -> tuple[int, str]:
    """Make a locked file, so that no other process takes it for one that was left behind.

    The system takes the process's mask from `mode`: the mask cannot be read without changing it for all
    threads.
    """
    while True:
        path = os.path.join(folder, f"{prefix}{os.urandom(4).hex()}{_ENDING}")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue
        if not lock(handle, wait=True) or os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # swept away before it was locked


def _sweep(folder: str, prefix: str) -> None:
    """Remove temporary files whose writers are gone."""
    for path in glob.glob(f"{glob.escape(os.path.join(folder, prefix))}????????{_ENDING}"):
        with suppress(OSError):  # in use by another process, or already gone
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode) and lock(handle, wait=False):
                    os.unlink(path)
            finally:
                os.close(handle)


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


def _take_rights(path: str, handle: int) -> None:
    """Give a file the rights, and if possible the group, of the one that it replaces."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    try:
        os.fchown(handle, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
    except OSError:  # another group must not get the rights of the old one
        mode = mode & ~0o070 | (mode & 0o007) << 3 & mode
    os.fchmod(handle, mode)


def _keep_name(folder: str) -> None:
    """Flush a folder to the disk, so that the new name is safe; not all folders can be."""
    try:
        entry = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(entry)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(entry)
