"""One course of training, whatever is trained: start, follow the run, summarize it, warn.

What differs between sequences and graphs (data, models, dev sets) is left to subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Generic, TypeVar

from crfkit._safe.fields import Fields
from crfkit._safe.interrupts import interrupts
from crfkit.arrays import Floats, checked_later
from crfkit.checks import NotFiniteError
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Objective
from crfkit.optimize.problem import End, Optimizer, Penalty, Stopped, closed
from crfkit.training.choose import by_name
from crfkit.training.events import Begin, Event, Failed, Finished, Listener, Summary
from crfkit.training.runs.certificate import Certificate, curvature_of
from crfkit.training.runs.checkpoint import Checkpoints, Saver, held_checkpoints
from crfkit.training.runs.convergence import remedy_for, warn_of_end
from crfkit.training.runs.loop import Facts, NothingLearnedError, Outcome, follow
from crfkit.training.runs.record import RunRecord
from crfkit.training.runs.summing import summed_up, tell
from crfkit.training.stop import Stop

__all__ = ["Course", "halted_by"]

M = TypeVar("M")
_ENOUGH = 1e-4  # the tolerance by default


class Course(ABC, Generic[M]):
    """One training: a problem, its penalty, an optimizer, and when to stop."""

    problem: Any
    penalty: Penalty
    layout: Layout
    objective: Objective
    optimizer: Optimizer
    why: str  #: why this optimizer
    stop: Stop
    seed: int
    notes: list[str]
    named: bool  #: whether the optimizer was given by name, or chosen: it has a tolerance by default

    # ---- what differs

    @abstractmethod
    def model(self, w: Floats, training: Summary | None = None) -> M:
        """Return a model with these weights [F]."""

    @abstractmethod
    def fingerprint(self, dev: Any, metric: str) -> dict[str, str]:
        """Everything that the result depends on."""

    @abstractmethod
    def begin(self, resumed: int) -> Begin:
        """Return the event that training begins, after so many iterations of a checkpoint."""

    @abstractmethod
    def validation(self, dev: Any, metric: Any) -> Any:
        """Return the dev score as a function of weights [F], with `name`, `notes` and the `model` judged."""

    @abstractmethod
    def dev_share(self, dev: Any) -> float:
        """Return how large the dev set is, by the size of the data."""

    @abstractmethod
    def cause(self) -> str:
        """Return what may be wrong where the first step fails, and the remedy."""

    @abstractmethod
    def start(self, begun: float) -> tuple[Floats, Stopped | None]:
        """Return the first weights [F], and why training must not go on after them."""

    def closing(self) -> list[str]:
        """Return notes about the whole run, for its summary."""
        return []

    def extra_state(self) -> Any:
        """Return what a checkpoint needs beside the run; `restore` takes it."""
        return None

    def restore(self, saved: Fields, name: str) -> None:
        """Take the `extra_state` of a checkpoint, a field that is not None."""
        saved.wrong(name, "nothing: it belongs to another kind of training")

    def certified(self, certificate: Certificate, w: Floats) -> Certificate:
        """Return what a certificate of the run at w [F] is worth."""
        return certificate

    # ---- what they share

    def run(
        self,
        dev: Any,
        metric: Any,
        keep: Checkpoints | None,
        audience: Sequence[Listener],
        begun: float,
        *,
        warn: bool = True,
    ) -> M:
        """Train, from the checkpoint if there is one; send events, and warn if it did not converge."""
        with interrupts() as signals, held_checkpoints(keep) as keep:  # there is something to lose
            try:
                with ExitStack() as ending:
                    outcome, summary = self._run(dev, metric, keep, audience, begun, ending)
            except NothingLearnedError as error:
                raise ValueError(f"nothing can be learned: {error}. {self.cause()}") from error
            if signals.asked:  # perhaps after the last step
                summary = replace(summary, end=End.INTERRUPTED.value)
        model = self.model(outcome.w, summary)
        try:
            tell(audience, Finished(outcome.reason, summary))
        except Exception as error:
            tell(audience, Failed(error, model))
            raise
        if not warn:
            return model
        most = self.stop.max_iterations
        remedy = remedy_for(outcome.end, self.optimizer, most if summary.iterations == most else None)
        known = summary.certificate if 2.0 * summary.gap < summary.loss else ""
        try:
            warn_of_end(outcome.end, bool(summary.converged), outcome.reason, remedy, known)
        except Warning as error:  # a filter makes exceptions of warnings
            tell(audience, Failed(error, model))
            raise
        return model

    def _run(
        self,
        dev: Any,
        metric: Any,
        keep: Checkpoints | None,
        audience: Sequence[Listener],
        begun: float,
        ending: ExitStack,
    ) -> tuple[Outcome, Summary]:
        validate = None if dev is None else self.validation(dev, metric)
        self.notes += [] if validate is None else validate.notes
        name = "" if validate is None else validate.name
        mark = {} if keep is None else self.fingerprint(dev, name)
        saved = None if keep is None else keep.load(mark)
        halted: Stopped | None = None
        if saved is None:
            record = RunRecord()
            w, halted = self.start(begun)
        else:
            if saved.has("pairs"):
                self.restore(saved, "pairs")
            F = self.problem.size
            w, record = saved.floats("w", F), RunRecord.of_state(saved.part("course"), F)
        facts = self._facts(dev, halted)
        if validate is not None:
            validate.model = self.model(w)
        state = None if saved is None else saved.part("run")
        try:
            with checked_later():
                started = self.optimizer.start(self.problem, self.penalty, w, state=state)
        except NotFiniteError as error:
            raise NothingLearnedError(str(error)) from error
        run = ending.enter_context(closed(started))
        tell(audience, self.begin(record.iteration))

        def snapshot() -> dict[str, Any]:
            return {"run": run.state(), "w": run.w, "course": record.state(), "pairs": self.extra_state()}

        def say(event: Event) -> None:
            tell(audience, event)

        def rescue(outcome: Outcome, error: BaseException) -> None:
            say(Failed(error, self.model(outcome.w, summed_up(self, outcome, record, facts, name))))

        save = None if keep is None else Saver(keep, mark, record, snapshot, say, self.notes)
        tolerance = _ENOUGH if self.named else 0.0
        stop = self.stop if self.stop.tolerance is not None else replace(self.stop, tolerance=tolerance)
        outcome = follow(
            run, record, stop, facts, validate=validate, save=save, rescue=rescue, listener=say, begun=begun
        )
        return outcome, summed_up(self, outcome, record, facts, name)

    def _facts(self, dev: Any, halted: Stopped | None) -> Facts:
        return Facts(
            dev_passes=0.0 if dev is None else 5.0 * self.dev_share(dev),
            enough=_ENOUGH if self.stop.tolerance is None else self.stop.tolerance,
            curvature=curvature_of(self.penalty, self.problem.convex),
            convex=self.problem.convex,
            optimum=self.problem.minimizes,
            halted=halted,
        )

    def briefly(
        self, problem: Any, w: Floats, iterations: int, begun: float, threads: int | None = None
    ) -> Outcome:
        """Train for a few iterations, as a preparation."""
        stop = Stop(max_seconds=self.stop.max_seconds, max_iterations=iterations)
        optimizer = by_name("lbfgs", self.seed, threads)
        if not problem.minimizes:
            optimizer = self.optimizer
        with checked_later():
            run = optimizer.start(problem, self.penalty, w)
        return follow(run, RunRecord(), stop, begun=begun)


def halted_by(outcome: Outcome) -> Stopped | None:
    """Return why training must not go on after a preparation."""
    return Stopped(outcome.end, outcome.reason) if outcome.asked else None
