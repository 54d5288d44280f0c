"""What `python -m tests.harden` runs: cases, each of which makes inputs and judges what comes of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol


class Outcome(Enum):
    """What may come of an input; all else is a failure."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


class FailureError(AssertionError):
    """What may not come of an input."""


class SkippedError(Exception):
    """Why a case cannot be tried here."""


class Input(NamedTuple):
    """What is tried: a name for messages, and all that it takes to try it again."""

    name: str
    data: bytes


class Trials(Protocol):
    """Inputs, and what comes of each."""

    def make(self, i: int, chance: random.Random) -> Input:
        """Return the i-th input; the same i and chance give the same one."""

    def judge(self, data: bytes) -> Outcome:
        """Return what came of an input; any exception is a failure."""


@dataclass(frozen=True)
class Case:
    """A named fuzzer or fault. A child process starts it, in a folder of its own."""

    name: str
    about: str
    start: Callable[[Path], Trials]
    #: Processor seconds that one input may take; a hang is ten times that by the clock.
    seconds: float = 5.0
    #: Bytes by which one input may raise the largest memory.
    memory: int = 512 << 20
    #: Of the time, beside the other cases.
    share: float = 1.0
    #: Whether the sanitized module is tried too: not where processes are killed or short of memory.
    sanitized: bool = True
    #: Inputs that `make test` tries; none where it says why.
    short: int = 2
    why: str = ""


@dataclass(frozen=True)
class Drawn:
    """Trials of a function that draws its own input and judges it."""

    function: Callable[[random.Random], object]

    def make(self, i: int, chance: random.Random) -> Input:
        """Return what the function's chance begins with."""
        begin = f"{chance.getrandbits(64):016x}"
        return Input(begin, begin.encode())

    def judge(self, data: bytes) -> Outcome:
        """Call the function."""
        return Outcome.REFUSED if self.function(random.Random(data)) == "refused" else Outcome.ACCEPTED


def chance(name: str, seed: int, i: int) -> random.Random:
    """Return what the i-th input of a case is drawn by."""
    return random.Random(f"{name} {seed} {i}")
