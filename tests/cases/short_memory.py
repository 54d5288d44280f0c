"""What calls do where memory is short: every limit of address space from little to enough, in children."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["LIMITS", "Outcome", "bad_outcomes", "memory_sweep"]

MB = 1 << 20
LIMITS = tuple(int(MB * x) for x in (0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256))

_SECONDS = 60.0  # until a call counts as one that hangs
_DONE, _SHORT, _WRONG = 0, 3, 4


class Outcome(NamedTuple):
    """How a call ended that had `room` bytes to take."""

    room: int
    status: int  #: of the child: 0 done, 3 a MemoryError, below 0 a signal
    said: str  #: by the error

    @property
    def good(self) -> bool:
        """Whether it was done, or refused for want of memory in words for users."""
        plain = "std::" not in self.said and "vector::" not in self.said
        return self.status == _DONE or (self.status == _SHORT and plain)


def memory_sweep(call: Callable[[], object], rooms: Iterable[int] = LIMITS) -> list[Outcome]:
    """Run a call in a child for each room: so many bytes may it take beside what the process has now.

    The caller has no threads, and has made all that the call needs.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # what was freed is not room
    return [_run(call, room) for room in rooms]


def bad_outcomes(found: Iterable[Outcome]) -> list[Outcome]:
    """Return what should not be: signals, hangs, other errors than MemoryError, words of C++."""
    return [one for one in found if not one.good]


def _run(call: Callable[[], object], room: int) -> Outcome:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        os._exit(_in_child(call, room, writes))
    os.close(writes)
    try:
        status = _wait(child)
        said = os.read(reads, 4000).decode(errors="replace")
    finally:
        os.close(reads)
    return Outcome(room, status, said)


def _in_child(call: Callable[[], object], room: int, writes: int) -> int:
    reserve = bytearray(4 * MB)  # for the message
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    said, status = b"", _DONE
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        call()
    except BaseException as error:
        del reserve
        mapped = isinstance(error, OSError) and error.errno == errno.ENOMEM
        status = _SHORT if mapped or isinstance(error, MemoryError) else _WRONG
        said = repr(error).encode()
    os.write(writes, said[:4000])
    return status


def _wait(child: int) -> int:
    """Return the status of a child, or that of the kill that ends one that hangs."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
