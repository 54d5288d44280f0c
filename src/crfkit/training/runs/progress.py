"""The progress display: a listener that keeps one line up to date, or prints a line now and then.

On a terminal the line is live; elsewhere, when it is asked for, it goes to standard error
every few seconds. It shows the objective, the gradient norm, the certified gap, the dev score, the step, the
passes over the data, and the time left.
Where it cannot be written, training goes on without it.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from crfkit._safe.printable import counted, safe
from crfkit.training.events import Begin, Checkpointed, Event, Failed, Finished, Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

__all__ = ["Display", "Lenient", "line_of", "started"]

_QUIET = 5.0  # seconds between lines where nothing is live


class Live(Protocol):
    """What a thread of Rich draws anew."""

    def start(self) -> None:
        """Show it."""
        ...

    def stop(self) -> None:
        """Take it away."""
        ...


def started(live: Live) -> bool:
    """Start a live display; return False, with nothing shown, where there is no thread to draw it."""
    try:
        live.start()
    except RuntimeError:
        live.stop()
        return False
    return True


class Lenient:
    r"""A log that stops quietly when it cannot be written: nobody reads the pipe, or the disk is full.

    Examples
    --------
    >>> import os
    >>> there, here = os.pipe()
    >>> os.close(there)
    >>> log = Lenient(os.fdopen(here, "w", buffering=1))
    >>> log.write("nobody reads this\n")
    18
    >>> log.close()
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, if that is possible."""
        try:
            return self._file.write(text)
        except (OSError, ValueError):  # ValueError: the file is closed
            self._hush()
            return len(text)

    def flush(self) -> None:
        """Flush, if that is possible."""
        try:
            self._file.flush()
        except (OSError, ValueError):
            self._hush()

    def _hush(self) -> None:
        """Discard the rest, so that full buffers do not fail when the program ends."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Display:
    """Shows events on a console, standard error by default."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        log: Any = Lenient(getattr(sys.stderr, "rich_proxied_file", sys.stderr))
        self.console = console or Console(file=log, highlight=False, soft_wrap=True)
        self._status: Status | None = None
        self._printed = float("-inf")
        self._noted: tuple[str, ...] = ()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Begin):
            self._begin(event)
        elif isinstance(event, Progress):
            self._show(line_of(event))
        elif isinstance(event, Finished):
            self.close()
            self.say(str(event.summary))
            for note in event.summary.notes:
                if note not in self._noted:
                    self.say(f"note: {note}")
        elif isinstance(event, Failed):
            self.close()
        elif isinstance(event, Checkpointed) and self._status is None:
            self.say(f"checkpoint of iteration {event.iteration}: {event.path}")

    def close(self) -> None:
        """Take the live line away; called also when training fails."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _begin(self, event: Begin) -> None:
        self.say(
            ", ".join(
                counted(getattr(event, f"{what}s"), what)
                for what in ("sequence", "position", "label", "attribute", "weight")
            )
        )
        self.say(f"{event.optimizer}: {event.why}")
        if event.forecast:
            self.say(event.forecast)
        self._noted = event.notes
        for note in event.notes:
            self.say(f"note: {note}")
        if event.resumed:
            self.say(f"going on from the checkpoint of iteration {event.resumed}")
        if self.console.is_terminal:
            status = self.console.status("begins", spinner="dots", refresh_per_second=8)
            self._status = status if started(status) else None

    def _show(self, line: str) -> None:
        if self._status is not None:
            self._status.update(safe(line).replace("[", r"\["))
        elif time.monotonic() - self._printed >= _QUIET:
            self._printed = time.monotonic()
            self.say(line)

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(safe(text), markup=False)


def line_of(event: Progress) -> str:
    """Return the state of training in one line.

    Examples
    --------
    >>> from crfkit.optimize.problem import Step
    >>> nan = float("nan")
    >>> print(line_of(Progress(12, Step(13139.39, gap=0.24, evaluations=14.0), 0.94, 0.94, 12, 3.2, 4.0)))
    12 · objective 13,139.4 · gap 0.24 · dev 0.9400 · 14 passes · 3.2 s, 4.0 s left
    """
    step = event.step
    parts = [f"{event.iteration}", f"objective {step.objective:,.6g}"]
    if isfinite(step.gradient_norm):
        parts.append(f"|g| {step.gradient_norm:.3g}")
    if isfinite(step.gap):
        parts.append(f"gap {step.gap:.3g}")
    if isfinite(event.excess) and event.excess < 1.0:
        parts.append(f"within {100.0 * event.excess:.2g} %")
    if not isnan(event.score):
        best = "" if event.best_iteration == event.iteration else f" (best {event.best:.4f})"
        parts.append(f"dev {event.score:.4f}{best}")
    elif not isnan(event.best):
        parts.append(f"best dev {event.best:.4f}")
    if isfinite(step.length):
        parts.append(f"step {step.length:.3g}")
    if step.evaluations:
        parts.append(f"{step.evaluations:.4g} passes")
    left = "" if isnan(event.eta) else f", {_duration(event.eta)} left"
    return " · ".join([*parts, f"{_duration(event.seconds)}{left}"])


def _duration(seconds: float) -> str:
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
