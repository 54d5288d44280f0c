"""All cases of `python -m tests.harden`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.harden.case import Case, Trials
from tests.harden.costs import Growth, Memory
from tests.harden.faults import Disks, Interrupts, NoThreads, Pipes
from tests.harden.kills import Kills
from tests.harden.models import Bytes, Fields
from tests.harden.patterns import Patterns
from tests.harden.readers import All
from tests.harden.runs import Runs


def fault(name: str, about: str, start: Callable[[Path], Trials], why: str = "") -> Case:
    """Return a case whose inputs are programs in processes of their own."""
    return Case(name, about, start, seconds=30.0, sanitized=False, short=0 if why else 1, why=why)


def cost(name: str, about: str, start: Callable[[Path], Trials], why: str) -> Case:
    """Return a case that measures: sanitizers have costs of their own."""
    return Case(name, about, start, seconds=60.0, sanitized=False, short=0, why=why)


CASES: tuple[Case, ...] = (
    Case("texts", "random bytes against readers and templates", lambda _: All(), share=2.0),
    Case("model files", "model files of all programs, damaged anywhere", lambda _: Bytes(), share=3.0),
    Case("model fields", "one field of a model file, behind its sums", Fields, share=8.0),
    Case("patterns", "hostile expressions of recipes and constraints", lambda _: Patterns()),
    Case("runs", "one field of a checkpoint or a block, behind its sums", Runs, share=2.0),
    cost(
        "growth",
        "how the cost of readers grows with their inputs",
        lambda _: Growth(),
        why="tests/whole/test_growth.py tries all of it",
    ),
    cost(
        "memory",
        "calls under limits of memory",
        Memory,
        why="tests/whole/test_short_memory.py tries all calls, and fewer limits",
    ),
    fault(
        "kills",
        "SIGKILL during training and saving",
        Kills,
        why="tests/harden/test_kills.py tries it on fewer data",
    ),
    fault("full disks", "limits of files and a small file system under commands", Disks),
    fault("no threads", "commands where no thread can start", NoThreads),
    fault("interrupts", "SIGINT, SIGTERM and SIGHUP at random moments of commands", Interrupts),
    fault("pipes", "standard input and output closed, broken or full", Pipes),
)
