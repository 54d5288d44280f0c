"""How cost grows with an input, and what calls do where memory is short."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from tests.cases.growing_inputs import growth_cases
from tests.cases.growth import check_growth
from tests.cases.large_calls import make_calls
from tests.cases.short_memory import LIMITS, bad_outcomes, memory_sweep
from tests.harden.case import FailureError, Input, Outcome, SkippedError

LEAST = 2 << 20  # bytes; with less, NumPy itself crashes: adding two arrays of ids ended by a signal


class Growth:
    """Every reader in every dimension in turn: twice the input costs at most 2.5 times as much."""

    def __init__(self) -> None:
        self.cases = {case.name: case for case in growth_cases()}

    def make(self, i: int, chance: random.Random) -> Input:
        name = [*self.cases][i % len(self.cases)]
        return Input(name, name.encode())

    def judge(self, data: bytes) -> Outcome:
        case = self.cases[data.decode()]
        check_growth(case.make, case.use, case.n)
        return Outcome.ACCEPTED


class Memory:
    """Calls of all parts, on one thread, under a limit of memory: done, or a MemoryError in plain words."""

    def __init__(self, folder: Path) -> None:
        if not sys.platform.startswith("linux"):
            raise SkippedError("only Linux limits addresses")
        threadpool_limits(1)  # OpenBLAS waits for ever for threads that find no memory
        self.calls = make_calls(folder, threads=1)

    def make(self, i: int, chance: random.Random) -> Input:
        low, high = LEAST, 4 * max(LIMITS)  # where there are threads, too
        drawn = [[*self.calls][i % len(self.calls)], int(low * (high / low) ** chance.random())]
        return Input(f"{drawn[0]}, {drawn[1]:,} bytes", json.dumps(drawn).encode())

    def judge(self, data: bytes) -> Outcome:
        name, room = json.loads(data)
        found = memory_sweep(self.calls[name], [room])
        for bad in bad_outcomes(found):
            raise FailureError(f"status {bad.status}: {bad.said}")
        return Outcome.REFUSED if found[0].status else Outcome.ACCEPTED
