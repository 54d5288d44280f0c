"""Locks on files: whoever has one is alive, since the system takes it away with the process.

A lock is advice to other processes of crfkit, not a barrier (flock). Its file says who has it; a file that is
left behind means nothing. Where a file system has no locks, everybody goes on without.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from crfkit._safe.printable import cut, shown

LOCK = "crfkit.lock"  #: the file in a folder that is locked by whoever uses the folder
_LONGEST = 4096  # bytes of a note that are read
_HELD: WeakSet[HeldLock] = WeakSet()


def lock(handle: int, *, wait: bool) -> bool | None:
    """Lock an open file; False where another has it, None where the file system has no locks.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as one, open(one.name) as other:
    ...     lock(one.fileno(), wait=True), lock(other.fileno(), wait=False)
    (True, False)
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


class HeldLock:
    """A lock file that this process has, until `release` or its own end; a forked child does not have it.

    Parameters
    ----------
    handle : int
        The open file.
    path : str
    """

    def __init__(self, handle: int, path: str) -> None:
        self._handle, self._path = handle, path
        _HELD.add(self)

    @property
    def held(self) -> bool:
        """Whether this process still has it."""
        return self._handle >= 0

    def leave(self) -> None:
        """Close the file, as a child does: the parent still has the lock."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def release(self) -> None:
        """Remove the file and the lock; others who have opened the file find that it has gone."""
        if self.held:
            with suppress(OSError):
                os.unlink(self._path)
            self.leave()


def _leave_all() -> None:
    for held in list(_HELD):
        held.leave()


os.register_at_fork(after_in_child=_leave_all)


def take_lock(path: str) -> HeldLock | None:
    """Lock a file, which is made where it does not exist; None where another process has it.

    Raises
    ------
    OSError
        The file cannot be made, or is not a plain file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     held = take_lock(folder + "/lock")
    ...     print(take_lock(folder + "/lock"))
    ...     held.release()
    None
    """
    while True:
        flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
        except PermissionError:
            handle = os.open(path, os.O_RDONLY | flags)  # another user's
        held = HeldLock(handle, path)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            held.leave()
            raise OSError(errno.EINVAL, "is not a plain file, as a lock must be; remove it", path)
        if lock(handle, wait=False) is False:
            held.leave()
            return None
        if _is_still(path, handle):
            _write_note(handle)
            return held
        held.leave()  # released, and so removed, before it was locked here


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, where it does not exist.

    Examples
    --------
    >>> make_folder(Path("/dev/null"))
    Traceback (most recent call last):
    NotADirectoryError: [Errno 20] is not a folder; give the name of one: '/dev/null'
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        words = "is not a folder; give the name of one"
        raise NotADirectoryError(errno.ENOTDIR, words, str(folder)) from None


@contextmanager
def locked_folder(folder: Path, remedy: str) -> Iterator[None]:
    """Lock a folder for the time of a block; say who has it where another process does.

    A folder in which no lock can be made (it is read-only, the disk is full) is used without.

    Parameters
    ----------
    folder : Path
    remedy : str
        What to do when it is in use.

    Raises
    ------
    ValueError
        Another process, or another thread, has it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name, locked_folder(Path(name), "wait"):
    ...     os.listdir(name)
    ['crfkit.lock']
    """
    path, held = os.path.join(folder, LOCK), None
    with suppress(OSError):
        held = take_lock(path)
        if held is None:
            raise ValueError(f"{folder} is in use by {_holder(path)}; {remedy}")
    try:
        yield
    finally:
        if held is not None:
            held.release()


def _is_still(path: str, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(handle))
    return False


def _write_note(handle: int) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    command = shlex.join(sys.argv)[:200]
    note = {"pid": os.getpid(), "host": os.uname().nodename, "since": since, "command": command}
    with suppress(OSError):  # the lock is what counts
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(note).encode(), 0)


def _holder(path: str) -> str:
    """Return who has a lock, as its file says."""
    try:
        with open(path, "rb") as file:
            note = json.loads(file.read(_LONGEST))
        known = {name: cut(shown(note[name]), 200) for name in ("pid", "host", "since", "command")}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another process"
    return "process {pid} on {host} since {since} ({command})".format(**known)
