"""All cases of `python -m tests.harden`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.harden.case import Case, Trials
from tests.harden.faults import Disks, Interrupts, NoThreads, Pipes
from tests.harden.kills import Kills
from tests.harden.living import Forks, Replacements
from tests.harden.models import Bytes, Fields
from tests.harden.patterns import Patterns
from tests.harden.readers import All
from tests.harden.runs import Runs

__all__ = ["CASES"]


def fault(name: str, about: str, start: Callable[[Path], Trials]) -> Case:
    """Return a case whose inputs are programs in processes of their own."""
    return Case(name, about, start, seconds=30.0, sanitized=False)


CASES: tuple[Case, ...] = (
    Case("texts", "random bytes against readers and templates", lambda _: All(), share=2.0),
    Case("model files", "model files of all programs, damaged anywhere", lambda _: Bytes(), share=3.0),
    Case("model fields", "one field of a model file, behind its sums", Fields, share=8.0),
    Case("patterns", "hostile expressions of recipes and constraints", lambda _: Patterns()),
    Case("runs", "one field of a checkpoint or a block, behind its sums", Runs, share=2.0),
    fault("kills", "SIGKILL during training and saving", Kills),
    fault("full disks", "limits of files and a small file system under commands", Disks),
    fault("no threads", "commands where no thread can start", NoThreads),
    fault("interrupts", "SIGINT at random moments of commands", Interrupts),
    fault("pipes", "standard input and output closed, broken or full", Pipes),
    fault("forks", "forks while threads train and ask", Forks),
    fault("replacements", "model files changed in place while they are used", Replacements),
)
