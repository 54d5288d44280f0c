"""How cost grows: twice the input may cost 2.5 times as much, in time and in memory."""

from __future__ import annotations

import gc
import os
import resource
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

T = TypeVar("T")

MOST = 2.5  #: of the cost of n, for 2 n


@dataclass(frozen=True)
class GrowthCase:
    """A dimension: an input of n, and what reads it; n makes a run of some ten milliseconds."""

    name: str
    make: Callable[[int], bytes]
    use: Callable[[bytes], object]
    n: int


def refused(use: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """Return a use that may refuse what it is given: that must not take long either."""

    def tried(data: bytes) -> None:
        with suppress(ValueError):
            use(data)

    return tried


def check_growth(make: Callable[[int], T], use: Callable[[T], object], n: int, *, most: float = MOST) -> None:
    """Check that `use` takes at most `most` times as long on `make(2 n)` as on `make(n)`.

    Times are the processor's, the shortest of all runs so far: where they are too far apart, both are
    measured again, since a busy machine disturbs some runs, not all; then from 2 n to 4 n, and from 4 n to
    8 n, since what leaves a cache or needs fresh pages costs more once, not at every doubling. n should make
    a run of 10 ms or more.
    """
    grown = []
    for doublings in range(3):
        smaller, larger = make(n << doublings), make(n << doublings + 1)
        short, long = float("inf"), float("inf")
        for runs in (1, 2, 3, 4, 5):
            short = min(short, seconds_of(partial(use, smaller), runs))
            long = min(long, seconds_of(partial(use, larger), runs))
            if long < most * max(short, 1e-4):
                return
        grown.append(f"{long / short:.1f}")
    raise AssertionError(f"twice the input took {', '.join(grown)} times as long, expected {most} at most")


def seconds_of(call: Callable[[], object], runs: int = 3) -> float:
    """Return the processor time of a call, the shortest of some runs, without searches for cyclic garbage."""
    best, collected = float("inf"), gc.isenabled()
    gc.disable()
    try:
        for _ in range(runs):
            began = time.process_time()
            call()
            best = min(best, time.process_time() - began)
    finally:
        if collected:
            gc.enable()
    return best


def peak_of(call: Callable[[], object]) -> int:
    """Return the bytes by which a call raises the largest memory of a process, measured in a fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            call()
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            os.write(writing, str(used).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as answer:
        kilobytes = answer.read()
    _, ended = os.waitpid(child, 0)
    assert ended == 0, "the call failed"
    return 1024 * int(kilobytes)
