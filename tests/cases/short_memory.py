"""What calls do where memory is short: every limit of address space from little to enough, in children."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MB = 1 << 20
LIMITS = tuple(int(MB * x) for x in (0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256))

_SECONDS = 20.0  # until a call counts as one that hangs
_DONE, _SHORT, _WRONG = 0, 3, 4


class Outcome(NamedTuple):
    """How a call ended that had `room` bytes to take."""

    room: int
    status: int  #: of the child: 0 done, 3 a MemoryError, below 0 a signal
    said: str  #: by the error, or of one that hangs

    @property
    def good(self) -> bool:
        """Whether it was done, or refused for want of memory in words for users."""
        plain = "std::" not in self.said and "vector::" not in self.said
        return self.status == _DONE or (self.status == _SHORT and plain)


def memory_sweep(call: Callable[[], object], rooms: Iterable[int] = LIMITS) -> list[Outcome]:
    """Run a call in a child for each room: so many bytes may it take beside what the process has now.

    The caller has no threads, and has made all that the call needs.
    """
    return [_run(call, room) for room in rooms]


def bad_outcomes(found: Iterable[Outcome]) -> list[Outcome]:
    """Return what should not be: signals, hangs, other errors than MemoryError, words of C++."""
    return [one for one in found if not one.good]


def address_space() -> int:
    """Return how many bytes of addresses this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _run(call: Callable[[], object], room: int) -> Outcome:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        os._exit(_in_child(call, room, writes))
    os.close(writes)
    try:
        status, hangs = _wait(child)
        said = os.read(reads, 4000).decode(errors="replace")
    finally:
        os.close(reads)
    return Outcome(room, status, f"has not ended after {_SECONDS:g} s" if hangs else said)


def _in_child(call: Callable[[], object], room: int, writes: int) -> int:
    reserve = bytearray(4 * MB)  # for the message
    said, status = b"", _DONE
    _leave(room)
    try:
        call()
    except BaseException as error:
        del reserve
        status = _SHORT if _is_short(error) else _WRONG
        said = repr(error).encode()
    os.write(writes, said[:4000])
    return status


def _is_short(error: BaseException) -> bool:
    """Whether an error says that memory is short; Python itself may lose its MemoryError on the way."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    lost = isinstance(error, SystemError) and "without" in str(error) and "nanobind" not in str(error)
    return lost or isinstance(error, MemoryError)


def _leave(room: int) -> None:
    """Take what was freed, and limit what can be had to so many bytes."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.malloc_trim(0)
    used = address_space()
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
    with suppress(MemoryError):  # Python itself has none left
        for size in (MB, MB >> 3, MB >> 6, MB >> 9):
            while libc.malloc(size):
                pass
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))


def _wait(child: int) -> tuple[int, bool]:
    """Return the status of a child, and whether it was killed as it did not end."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), True
