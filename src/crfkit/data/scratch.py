"""Folders of files that are needed for a while: removed in the end, or by the next process if this is killed.

Who made a folder has a lock in it (`crfkit.data.locks`). A folder of this user that nobody has locked was
left behind. Its files go first and its lock last, so that one that is half removed is found again.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crfkit.data.locks import HeldLock, lock, take_lock

_LOCK = ".crfkit-scratch"


@contextmanager
def scratch_folder(prefix: str, beside: str | None) -> Iterator[Path]:
    """Make a folder for the time of a block, and remove those that killed processes have left there.

    Parameters
    ----------
    prefix : str
        What its name, and those of the ones to remove, begin with.
    beside : str, optional
        The folder to make it in; default: that of the system.

    Examples
    --------
    >>> with scratch_folder("crfkit-example-", None) as folder:
    ...     _ = (folder / "x").write_text("much")
    >>> folder.exists()
    False
    """
    place = os.path.abspath(beside or tempfile.gettempdir())
    _sweep(place, prefix)
    folder, held = _locked_folder(place, prefix)
    try:
        yield Path(folder)
    finally:
        if held.held:  # not in a forked child
            with suppress(OSError), _opened(folder) as entry:
                _remove(folder, entry)
            held.leave()


def _locked_folder(place: str, prefix: str) -> tuple[str, HeldLock]:
    while True:
        folder = tempfile.mkdtemp(prefix=prefix, dir=place)
        try:
            held = take_lock(os.path.join(folder, _LOCK))
        except FileNotFoundError:  # swept away before it was locked
            continue
        except OSError:
            os.rmdir(folder)
            raise
        if held is not None:
            return folder, held


def _sweep(place: str, prefix: str) -> None:
    """Remove folders whose makers are gone."""
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(prefix):
                with suppress(OSError), _opened(os.path.join(place, name)) as entry:
                    _remove_if_left(os.path.join(place, name), entry)


def _remove_if_left(folder: str, entry: int) -> None:
    if os.fstat(entry).st_uid != os.geteuid():
        return
    try:
        handle = os.open(_LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=entry)
    except FileNotFoundError:
        os.rmdir(folder)  # killed before it was locked; one that holds anything stays
        return
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and lock(handle, wait=False):
            _remove(folder, entry)
    finally:
        os.close(handle)


def _remove(folder: str, entry: int) -> None:
    """Remove the files of an open folder, and the folder."""
    for name in os.listdir(entry):
        if name != _LOCK:
            os.unlink(name, dir_fd=entry)
    os.unlink(_LOCK, dir_fd=entry)
    os.rmdir(folder)


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    """Open a folder, not what a link points to: what happens in it happens in no other."""
    entry = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield entry
    finally:
        os.close(entry)
