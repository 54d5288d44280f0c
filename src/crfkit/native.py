"""The native kernels: which instruction set runs, on how many threads, and in how much memory.

The widest set that the processor has is chosen at import; the environment variable ``CRFKIT_SIMD``
(``baseline``, ``avx2`` or ``avx512``) overrides it.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from math import ceil, prod
from pathlib import Path

from crfkit import _native

__all__ = ["build_info", "check_memory", "kernels", "threads_or_all", "usable_cores"]

kernels = _native.Kernels.named(os.environ.get("CRFKIT_SIMD") or _native.simd_levels()[-1])

# Native code looks for signals, such as Ctrl-C, on the thread whose handlers Python runs: in a child of a
# fork that is the one that forked.
_native.handle_signals_in(threading.main_thread().ident or 0)
os.register_at_fork(after_in_child=lambda: _native.handle_signals_in(threading.get_ident()))

_MOST = 1 << 16  # threads; native code counts them in 32 bits


def threads_or_all(threads: int | None) -> int:
    """Return the given number of threads, or one for each core that this process may use.

    Examples
    --------
    >>> threads_or_all(2), threads_or_all(10**12)
    (2, 65536)
    """
    return usable_cores() if threads is None else min(threads, _MOST)


def usable_cores() -> int:
    """Return how many cores this process may keep busy: its affinity, and the quota of its container."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, ceil(min(cores, quota())))


@cache
def quota(root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float:
    """Return how many processors the control groups of Linux allow this process; inf without a limit.

    Version 2 has the limit in ``cpu.max`` ("200000 100000": two cores) of the group and of each one above it,
    version 1 in two files.
    """
    least = float("inf")
    for group in _groups("cpu", Path(root), Path(own)):
        try:
            if (group / "cpu.max").exists():
                allowed, period = (group / "cpu.max").read_text().split()
            else:
                allowed = (group / "cpu.cfs_quota_us").read_text()
                period = (group / "cpu.cfs_period_us").read_text()
            if allowed != "max" and float(allowed) > 0.0:  # -1: none, in version 1
                least = min(least, float(allowed) / float(period))
        except (OSError, ValueError):  # a group without a limit has no such file
            continue
    return least


def machine_bytes(
    root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup", info: str = "/proc/meminfo"
) -> int:
    """Return how much memory this process could ever have: the machine's, or its control groups', and swap.

    Where the system makes swap as it is needed, that may be some times what the machine has.
    """
    try:
        lines = (line.split() for line in Path(info).read_text().splitlines())
        has = {line[0]: int(line[1]) << 10 for line in lines if len(line) == 3}
        most, swap = has["MemTotal:"], has.get("SwapTotal:", 0)
    except (OSError, ValueError, KeyError):
        try:
            return 4 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            return _native.most_memory()
    for group in _groups("memory", Path(root), Path(own)):
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                most = min(most, int((group / name).read_text()))
            except (OSError, ValueError):  # no such file, or "max"
                continue
    return most + swap


def check_memory(what: str, *shape: int, each: int = 8) -> None:
    """Raise a MemoryError where an array, of `each` bytes a number, takes more than there can ever be.

    Systems promise memory that they do not have, and end the process that uses it.

    Examples
    --------
    >>> check_memory("scores", 10**12, 10**12)
    Traceback (most recent call last):
    MemoryError: there is not enough memory: scores would take more than any machine has
    """
    _native.check_memory(what, min(each * prod(shape), 2**63))


def _groups(controller: str, root: Path, own: Path) -> list[Path]:
    """Return the folders of the groups that this process is in, and of those above them."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        below = Path(path.lstrip("/"))
        found += [top / part for part in (below, *below.parents)]
    return found


def build_info() -> dict[str, str | int | list[str]]:
    """Return what runs: version, instruction set, compiler, threads.

    Examples
    --------
    >>> import crfkit
    >>> sorted(crfkit.native.build_info())
    ['compiler', 'simd', 'simd_available', 'threads', 'version']
    """
    return {
        "version": _native.__version__,
        "simd": kernels.name,
        "simd_available": _native.simd_levels(),
        "compiler": _native.compiler,
        "threads": threads_or_all(None),
    }


_native.set_most_memory(machine_bytes())
