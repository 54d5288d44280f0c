"""Cases that fail, each in its own way, and two that do not: what the runner is tested on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.harden.case import Case, Input, Outcome, SkippedError, Trials


@dataclass(frozen=True)
class Numbers:
    """Inputs are their own numbers; what happens at the third is given."""

    happens: Callable[[], object]

    def make(self, i: int, chance: random.Random) -> Input:
        return Input(f"number {i}", str(i).encode())

    def judge(self, data: bytes) -> Outcome:
        if int(data) == 3:
            self.happens()
        return Outcome.REFUSED if int(data) % 2 else Outcome.ACCEPTED


def key_error() -> None:
    raise KeyError("a name")


def busy() -> None:
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass


def large() -> int:
    return len(b"x" * (200 << 20))


def skipped(_: Path) -> Trials:
    raise SkippedError("there is no moon")


CASES = (
    Case("sound", "nothing happens", lambda _: Numbers(time.time)),
    Case("raises", "an exception", lambda _: Numbers(key_error)),
    Case("crashes", "a signal", lambda _: Numbers(os.abort)),
    Case("hangs", "no end", lambda _: Numbers(lambda: time.sleep(100.0)), seconds=0.1),
    Case("slow", "seconds of the processor", lambda _: Numbers(busy), seconds=0.4),
    Case("large", "bytes", lambda _: Numbers(large), memory=100 << 20),
    Case("skipped", "it says why", skipped),
)
