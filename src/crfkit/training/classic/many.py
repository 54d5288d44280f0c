"""Many trainings side by side: experts of a pool, columns of a code.

Each runs on threads of its own; results do not depend on how many there are. The first Ctrl-C lets the steps
that run finish and keeps what each training has; those that have not begun keep weights of zero.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Event as Flag
from typing import NamedTuple

import numpy as np

from crfkit._safe.background import Aside
from crfkit._safe.interrupts import Interrupts, interrupts
from crfkit.models.model import SequenceModel
from crfkit.native import threads_or_all
from crfkit.optimize.problem import End
from crfkit.training.events import COLUMNS, Event, Progress, StopTraining, display_for
from crfkit.training.fit import Fit
from crfkit.training.record import TrainingRecord
from crfkit.training.runs.convergence import MISSED, warn_of_end
from crfkit.training.runs.progress import Display


@dataclass(frozen=True)
class Task:
    """One training: what messages call it, and its parts when they are needed."""

    name: str
    make: Callable[[int], Fit]  #: of the number of threads


class Trained(NamedTuple):
    """What many trainings gave, in the order of the tasks."""

    models: list[SequenceModel]
    interrupted: bool  #: whether a signal has ended them
    seconds: float

    @property
    def iterations(self) -> int:
        """Iterations of all together."""
        return sum(0 if one.training is None else one.training.iterations for one in self.models)

    def summary(
        self,
        objective: str,
        *,
        optimizer: str,
        why: str,
        loss: float = float("nan"),
        notes: Sequence[str] = (),
    ) -> TrainingRecord:
        """Return the summary of a model that is made of these; there is no history of the whole."""
        each = [one.training for one in self.models if one.training is not None]
        nan = float("nan")
        done = "stopped by the user" if self.interrupted else f"all {len(self.models)} are trained"
        return TrainingRecord(
            objective=objective,
            loss=loss,
            gap=nan,
            certificate="Nothing is certified of the whole.",
            reason=done,
            optimizer=optimizer,
            why=why,
            seconds=self.seconds,
            iterations=self.iterations,
            passes=float(sum(one.passes for one in each)),
            kept=self.iterations,
            score=nan,
            metric="",
            random_state=each[0].random_state if each else 0,
            notes=tuple(notes),
            versions=each[0].versions if each else {},
            history={name: np.zeros(0) for name in COLUMNS},
            end=(End.INTERRUPTED if self.interrupted else End.CONVERGED).value,
            converged=not self.interrupted and all(bool(one.converged) for one in each),
        )


def train_all(
    tasks: Sequence[Task], *, threads: int | None = None, progress: bool | None = False, what: str = "models"
) -> Trained:
    """Train all tasks, as many at a time as there are threads; warn once of those that did not converge.

    Parameters
    ----------
    tasks : sequence of Task
    threads : int, optional
        Threads of all together; default: all cores. Results do not depend on it.
    progress : bool, optional
        Say when each is trained; None: where standard error is a terminal.
    what : str
        What messages call the tasks.
    """
    begun, total = time.perf_counter(), threads_or_all(threads)
    display, halt = display_for(progress), Flag()
    with interrupts() as signals:

        def one(n: int) -> SequenceModel:
            try:
                fit = tasks[n].make(max(total // len(tasks), 1))
                if signals.asked or halt.is_set():
                    return fit.model(np.zeros(fit.layout.weights))
                return _run(fit, signals, halt, display, f"{tasks[n].name} ({n + 1} of {len(tasks)})")
            except BaseException:
                halt.set()  # the others need not go on
                raise

        models = _side_by_side(one, len(tasks), min(total, len(tasks)), halt)
        interrupted = signals.asked
    _warn(tasks, models, what)
    return Trained(models, interrupted, time.perf_counter() - begun)


def _side_by_side(
    make: Callable[[int], SequenceModel], count: int, threads: int, halt: Flag
) -> list[SequenceModel]:
    """Return make(n) for n below count, on threads that take one after the other; this one is among them."""
    left = iter(range(count))
    made: dict[int, SequenceModel] = {}

    def work() -> None:
        for n in left:
            if halt.is_set():
                return
            made[n] = make(n)

    with ExitStack() as asides:
        working = [asides.enter_context(Aside()).submit(work) for _ in range(threads - 1)]
        try:
            work()
            for one in working:
                one.result()
        except BaseException:
            halt.set()
            raise
    return [made[n] for n in range(count)]


def _run(fit: Fit, signals: Interrupts, halt: Flag, display: Display | None, name: str) -> SequenceModel:
    def listen(event: Event) -> None:
        if isinstance(event, Progress) and (signals.asked or halt.is_set()):
            raise StopTraining(signals.why if signals.asked else "another training has failed")

    model = fit.run(None, None, None, [listen], time.perf_counter(), warn=False)
    if display is not None:
        display.say(f"{name}: {model.training}")
    return model


def _warn(tasks: Sequence[Task], models: Sequence[SequenceModel], what: str) -> None:
    """Warn of trainings that ended before they converged, with the first as an example."""
    ends = [(task, one.training) for task, one in zip(tasks, models, strict=True) if one.training is not None]
    missed = [(task, s) for task, s in ends if not s.converged and End(s.end) in MISSED]
    if missed:
        task, summary = missed[0]
        reason = f"{len(missed)} of {len(tasks)} {what}, as {task.name}: {summary.reason}"
        warn_of_end(End(summary.end), False, reason, "Raise the limit or the tolerance in stop.")
