"""The native kernels: which instruction set runs, and on how many threads.

The widest set that the processor has is chosen at import; the environment variable ``CRFKIT_SIMD``
(``baseline``, ``avx2`` or ``avx512``) overrides it.
"""

from __future__ import annotations

import os

from crfkit import _native

__all__ = ["build_info", "kernels", "threads_or_all"]

kernels = _native.Kernels.named(os.environ.get("CRFKIT_SIMD") or _native.simd_levels()[-1])


def threads_or_all(threads: int | None) -> int:
    """Return the given number of threads, or one for each core that this process may use."""
    if threads is not None:
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def build_info() -> dict[str, str | int | list[str]]:
    """Tell what runs: version, instruction set, compiler, threads.

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
