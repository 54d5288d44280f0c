"""Clocks and memory of a measured process. Imports nothing of crfkit: any version of it can be measured."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np


class Clock:
    """Seconds on the wall and of the processor since it was made, without what happened in pauses."""

    def __init__(self) -> None:
        self.begin = np.array([time.perf_counter(), time.process_time()])

    def read(self) -> dict[str, float]:
        seconds, cpu = np.array([time.perf_counter(), time.process_time()]) - self.begin
        return {"seconds": float(seconds), "cpu": float(cpu)}

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        before = np.array([time.perf_counter(), time.process_time()])
        yield
        self.begin += np.array([time.perf_counter(), time.process_time()]) - before


class HighWater:
    """The largest resident memory in MB, without what happened in between `pause` and `resume`."""

    def __init__(self) -> None:
        self.peak = 0.0

    def pause(self) -> float:
        self.peak = max(self.peak, _resident_peak())
        return self.peak

    def resume(self) -> None:
        with contextlib.suppress(OSError):  # elsewhere than on Linux the peak covers everything
            Path("/proc/self/clear_refs").write_text("5")  # sets the mark to the memory of now


def _resident_peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would include the parent's
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)
