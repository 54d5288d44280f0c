"""Timing shared by all benchmarks: interleaved repetitions, medians with spread, one JSON file per run."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import crfkit

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: median, and the quartiles around it."""

    median: float
    low: float
    high: float
    repetitions: int

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        return (self.high - self.low) / 2 / self.median


def interleaved(
    calls: dict[str, Callable[[], object]],
    repetitions: int = 9,
    at_least: float = 0.02,
    at_most: float = 20.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time each call in turn, round after round, so that a busy moment of the machine hits all.

    A call shorter than `at_least` seconds is repeated within a round until it is that long; one that would
    need more than `at_most` seconds for all rounds sits out the later ones, but runs three times.
    `time.process_time` as the clock leaves out what other processes take: for calls on one thread.
    """
    inner, rounds = {}, {}
    for name, call in calls.items():
        begin = clock()
        call()
        first = clock() - begin
        inner[name] = max(1, round(at_least / first))
        rounds[name] = max(3, min(repetitions, int(at_most / first)))
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(max(rounds.values())):
        for name, call in calls.items():
            if turn >= rounds[name]:
                continue
            begin = clock()
            for _ in range(inner[name]):
                call()
            seconds[name].append((clock() - begin) / inner[name])
    timings = {}
    for name, values in seconds.items():
        low, median, high = statistics.quantiles(values, n=4)
        timings[name] = Timing(median, low, high, len(values))
    return timings


def machine() -> dict[str, Any]:
    """Describe what ran: processor, versions, commit."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = models[0].split(":", 1)[1].strip() if models else model
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": git.stdout.strip() or "unknown",
        "crfkit": crfkit.native.build_info(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def write(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write the rows of a benchmark with the machine that made them; return the path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    replace_text(path, json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return path


def replace_text(path: Path, text: str) -> None:
    """Write a file so that it is the old or the new one at any moment."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def plain(timing: Timing) -> dict[str, float]:
    """Return a timing as a dictionary for JSON."""
    return asdict(timing)
