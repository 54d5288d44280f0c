"""The progress display: a listener that keeps one line up to date, or prints a line now and then.

On a terminal the line is live, below a table of a few steps; elsewhere, when it is asked for, it goes to
standard error every few seconds. It shows the objective, the gradient norm, the certified gap, the dev score,
the step, the passes over the data, and the time left.
Where it cannot be written, training goes on without it.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite, isnan
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from crfkit._safe.printable import counted, safe
from crfkit.training.events import (
    Begin,
    Checkpointed,
    Event,
    Failed,
    Finished,
    Preparing,
    Progress,
)
from crfkit.training.record import TrainingRecord

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_QUIET = 5.0  # seconds between lines where nothing is live
_NAMES = 10  # columns for what lines of a terminal are about
_HEADS = ("passes", "objective", "proved within", "time")


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
        self._next = 1  # the iteration whose row is shown next on a terminal
        self._last: Progress | None = None
        self._scored = False
        self._shown = -1  # the iteration of the last row

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Begin):
            self._begin(event)
        elif isinstance(event, Preparing):
            passes = counted(event.most, "pass", "passes")
            self._show(f"first weights, {event.what}: {event.iteration} of {passes}")
        elif isinstance(event, Progress):
            self._row(event)
            self._show(line_of(event))
        elif isinstance(event, Finished):
            self.close()
            self._end(event.summary)
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
        counts = [
            counted(getattr(event, f"{what}s"), what)
            for what in ("sequence", "position", "label", "attribute", "weight")
        ]
        self._noted, self._last, self._next, self._scored = event.notes, None, 1, bool(event.metric)
        resumed = f"going on from the checkpoint of iteration {event.resumed}" if event.resumed else ""
        if self.console.is_terminal:
            self._fact("data", ", ".join(counts[:3]))
            self._fact("model", ", ".join(counts[3:]))
            self._fact("method", f"{event.optimizer}: {event.why}")
            self._fact("expected", event.forecast.removesuffix(" are expected"))
            self._notes(event.notes)
            self._fact("resumed", resumed)
        else:
            for line in (", ".join(counts), f"{event.optimizer}: {event.why}", event.forecast):
                if line:
                    self.say(line)
            self._notes(event.notes)
            if resumed:
                self.say(resumed)
        if self.console.is_terminal:
            status = self.console.status("begins", spinner="dots", refresh_per_second=8)
            self._status = status if started(status) else None

    def _show(self, line: str) -> None:
        if self._status is not None:
            self._status.update(safe(line).replace("[", r"\["))
        elif time.monotonic() - self._printed >= _QUIET:
            self._printed = time.monotonic()
            self.say(line)

    def _notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            if self.console.is_terminal:
                self._fact("note", note)
            else:
                self.say(f"note: {note}")

    def _fact(self, name: str, told: str, style: str = "dim") -> None:
        """Print what there is to say of something, in lines of whole words."""
        if not told:
            return
        whole = get_terminal_size().columns if self.console.is_dumb_terminal else self.console.width
        wide = max(whole - _NAMES, 20)
        lines = textwrap.wrap(safe(told), wide, break_long_words=False, break_on_hyphens=False)
        for n, line in enumerate(lines):
            self.console.print(f"{name if not n else '':<{_NAMES}}", style=style, markup=False, end="")
            self.console.print(line, markup=False)

    def _row(self, event: Progress) -> None:
        """Print a row of the table: steps 1, 2, 5, 10, 20, 50, ..."""
        if not self.console.is_terminal:
            return
        if self._last is None:
            self._print_row([*_HEADS[:3], *(["best dev"] if self._scored else []), _HEADS[3]], "dim")
        self._last = event
        if event.iteration < self._next:
            return
        while self._next <= event.iteration:
            self._next = self._next * 5 // 2 if str(self._next)[0] == "2" else self._next * 2
        self._print_step(event)
        self._shown = event.iteration

    def _print_step(self, event: Progress) -> None:
        step = event.step
        proved = event.excess
        bound = f"{100.0 * proved:.2g} %" if isfinite(proved) and proved < 1.0 else "-"
        cells = [f"{step.evaluations:,.4g}" if step.evaluations else f"{event.iteration:,}"]
        cells += [f"{step.objective:,.6g}", bound]
        if self._scored:
            cells.append("-" if isnan(event.best) else f"{event.best:.4f}")
        self._print_row([*cells, _duration(event.seconds)])

    def _print_row(self, cells: Sequence[str], style: str = "") -> None:
        widths = (7, 14, 15, *((10,) if self._scored else ()), 10)
        line = "".join(f"{safe(cell):>{wide}}" for cell, wide in zip(cells, widths, strict=True))
        self.console.print(line, style=style or None, markup=False)

    def _end(self, record: TrainingRecord) -> None:
        """Say how the training ended."""
        new = [note for note in record.notes if note not in self._noted]
        if not self.console.is_terminal:
            self.say(str(record))
            self._notes(new)
            return
        last = self._last
        if last is not None and last.iteration != self._shown:
            self._print_step(last)
        took = "" if isnan(record.seconds) else f" in {_duration(record.seconds)}"
        style = "green" if record.converged else "yellow"
        self._fact("stopped", f"{record.reason} ({counted(record.iterations, 'iteration')}{took})", style)
        told = f"objective {record.loss:,.6g} (loss of {record.objective.partition('(')[0]} plus penalty)"
        if record.metric:
            told = f"{record.metric} {record.score:.4f}, {told}"
        if record.kept != record.iterations:
            told = f"the weights of iteration {record.kept}, the best: {told}"
        self._fact("kept", told)
        self._fact("proved", record.certificate)
        self._notes(new)

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
        parts.append(f"{step.evaluations:.4g} pass{'' if step.evaluations == 1 else 'es'}")
    left = "" if isnan(event.eta) else f", {_duration(event.eta)} left"
    return " · ".join([*parts, f"{_duration(event.seconds)}{left}"])


def _duration(seconds: float) -> str:
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
