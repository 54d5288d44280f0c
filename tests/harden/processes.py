"""Programs in processes of their own, and what may come of them when something goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crfkit.datasets.generate import corpus
from tests.harden.case import FailureError

ROOT = Path(__file__).parents[2]
LONGEST = 120.0  #: seconds of a program on a busy machine; a longer one hangs


def start(
    *arguments: object,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | None = subprocess.PIPE,
    before: Callable[[], object] | None = None,
    **environment: str,
) -> subprocess.Popen[bytes]:
    """Start Python with arguments; `before` is called in the new process, to limit it."""
    paths = filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=before,
    )


def command(*arguments: object) -> list[object]:
    """Return the arguments of Python that run a command of crfkit."""
    return ["-m", "crfkit.cli", *arguments]


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said."""

    status: int
    output: bytes
    said: str

    def plainly(self, *statuses: int) -> Ended:
        """Return it, where it did its work, or ended with one of the statuses and a line that says why."""
        if self.status < 0:
            raise FailureError(f"ended by {signal.Signals(-self.status).name}: {self.said[-400:]}")
        if "Traceback" in self.said or self.status not in (0, *statuses):
            raise FailureError(f"status {self.status}: {self.said[-1000:]}")
        if self.status and not self.said.strip():
            raise FailureError(f"status {self.status} without a word")
        return self


def ended(child: subprocess.Popen[bytes], seconds: float = LONGEST) -> Ended:
    """Wait for a program; one that does not end is a failure."""
    try:
        output, said = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        said = child.communicate()[1]
        raise FailureError(
            f"did not end within {seconds:g} s: {said.decode(errors='replace')[-400:]}"
        ) from None
    return Ended(child.returncode, output or b"", said.decode(errors="replace"))


def write_data(path: Path, lines: int, seed: int = 1) -> None:
    """Write labeled data in columns."""
    sentences = ("".join(f"{word} {label}\n" for word, label in line) for line in corpus(lines, seed=seed))
    path.write_text("\n".join(sentences))
