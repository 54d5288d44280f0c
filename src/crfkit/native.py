"""The native kernels: which instruction set runs, and on how many threads.

The widest set that the processor has is chosen at import; the environment variable ``CRFKIT_SIMD``
(``baseline``, ``avx2`` or ``avx512``) overrides it.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from math import ceil
from pathlib import Path

from crfkit import _native

__all__ = ["build_info", "kernels", "threads_or_all", "usable_cores"]

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
    for group in _groups(Path(root), Path(own)):
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


def _groups(root: Path, own: Path) -> list[Path]:
    """Return the folders of the groups that this process is in, and of those above them."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
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
    >>> sorted(crfkit.build_info())
    ['compiler', 'simd', 'simd_available', 'threads', 'version']
    """
    return {
        "version": _native.__version__,
        "simd": kernels.name,
        "simd_available": _native.simd_levels(),
        "compiler": _native.compiler,
        "threads": threads_or_all(None),
    }
