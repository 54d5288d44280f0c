"""One run of training, whatever is trained: choose the optimizer, start, follow the run, summarize it, warn.

What differs between sequences (`training/fit.py`) and graphs (`training/graphs/fit.py`), data, models and dev
sets, is left to subclasses.
"""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit._safe.interrupts import interrupts
from crfkit.arrays import Floats, checked_later
from crfkit.checks import NotFiniteError
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Objective
from crfkit.optimize.problem import End, Optimizer, Penalty, Stopped, closed, held_by_l1
from crfkit.training.choose import by_name, check_suits, choose, name_of
from crfkit.training.events import (
    COLUMNS,
    Begin,
    Event,
    Failed,
    Finished,
    Listener,
    Preparing,
    Progress,
    tell,
)
from crfkit.training.record import TrainingRecord
from crfkit.training.runs.checkpoint import Checkpoints, Saver, described
from crfkit.training.runs.convergence import (
    Certificate,
    can_certify,
    certify,
    curvature_of,
    exact_step,
    has_converged,
    least_of,
    remedy_for,
    warn_of_end,
    with_exact_bound,
)
from crfkit.training.runs.loop import NothingLearnedError, Outcome, RunInfo, follow
from crfkit.training.stop import RunRecord, Stop

M = TypeVar("M")
_ENOUGH = 1e-4  # the tolerance by default
_ENOUGH_OF_L1 = 1e-2  # for bounds under L1 alone, which are 100 times as far as the optimum or more


class Validation(ABC, Generic[M]):
    """The dev score of weights, as a function of them.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while its names stay.
    name : str
        What the score is called.
    threads : int, optional
    """

    def __init__(self, model: M, name: str, threads: int | None) -> None:
        self.model, self.name, self.threads = model, name, threads
        self.notes: list[str] = []

    @abstractmethod
    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]; more is better."""


class TrainingRun(ABC, Generic[M]):
    """One training: a problem, its penalty, an optimizer, and when to stop."""

    problem: Any
    penalty: Penalty
    layout: Layout
    objective: Objective
    optimizer: Optimizer
    why: str  #: why this optimizer
    stop: Stop
    seed: int
    threads: int | None
    notes: list[str]
    outlook: str = ""  #: what is expected of it, for those who watch
    audience: Sequence[Listener] = ()  #: who hears of preparations
    named: bool  #: whether the optimizer was given by name, or chosen: it has a tolerance by default

    # ---- what differs

    @abstractmethod
    def model(self, w: Floats, training: TrainingRecord | None = None) -> M:
        """Return a model with these weights [F]."""

    @abstractmethod
    def marks(self, dev: Any) -> dict[str, str]:
        """Return what the result depends on beside the options that all runs have."""

    @abstractmethod
    def sizes(self) -> tuple[int, int, int, int]:
        """Return how many samples, positions or variables, labels and attributes there are."""

    @abstractmethod
    def validation(self, dev: Any, metric: Any) -> Validation[M]:
        """Return the dev score as a function of weights [F]."""

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

    def choose_optimizer(self, given: Optimizer | str, *, graphs: bool = False) -> None:
        """Take the optimizer that is given, or the fastest sound one; refuse one that does not suit."""
        self.named, self.why = isinstance(given, str), "as asked for"
        tolerance = self.stop.tolerance
        if not isinstance(given, str):
            self.optimizer = given
        elif given == "auto":
            self.optimizer, self.why = choose(
                self.problem, self.penalty, seed=self.seed, threads=self.threads, tolerance=tolerance
            )
        else:
            certified = curvature_of(self.penalty, self.problem.convex) > 0.0
            self.optimizer = by_name(
                given, self.seed, self.threads, tolerance, graphs=graphs, certified=certified
            )
        check_suits(self.problem, self.optimizer, self.penalty)

    def fingerprint(self, dev: Any, metric: str) -> dict[str, str]:
        """Return everything that the result depends on; `metric` is empty without a dev set."""
        every = self.stop.dev_every
        return {
            "version": _native.__version__,
            **self.marks(dev),
            "metric": metric and (metric if every is None else f"{metric} every {every}"),
            "objective": described(self.objective),
            "optimizer": described(self.optimizer),
        }

    def begin(self, resumed: int, metric: str) -> Begin:
        """Return the event that training begins; `resumed` iterations come from a checkpoint."""
        optimizer, notes = name_of(self.optimizer), tuple(self.notes)
        samples, positions, labels, attributes = self.sizes()
        sizes = (samples, positions, labels, attributes, self.layout.weights)
        return Begin(*sizes, optimizer, self.why, notes, resumed, self.outlook, metric)

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
        held = nullcontext() if keep is None else keep.held()
        with interrupts() as signals, held as keep:  # there is something to lose
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
    ) -> tuple[Outcome, TrainingRecord]:
        validate = None if dev is None else self.validation(dev, metric)
        self.notes += [] if validate is None else validate.notes
        name = "" if validate is None else validate.name
        self.audience = audience
        mark = {} if keep is None else self.fingerprint(dev, name)
        saved = None if keep is None else keep.load(mark)
        halted: Stopped | None = None
        if saved is None:
            record = RunRecord()
            w, halted = self.start(begun)
            if halted is not None and halted.end is End.SETTLED:
                record.end, record.stopped = halted.end.value, halted.why
        else:
            if saved.has("pairs"):
                self.restore(saved, "pairs")
            F = self.problem.size
            w, record = saved.floats("w", F), RunRecord.of_state(saved.part("course"), F)
        info = self._info(dev, halted)
        if validate is not None:
            validate.model = self.model(w)
        state = None if saved is None else saved.part("run")
        try:
            with checked_later():
                started = self.optimizer.start(self.problem, self.penalty, w, state=state)
        except NotFiniteError as error:
            raise NothingLearnedError(str(error)) from error
        run = ending.enter_context(closed(started))
        tell(audience, self.begin(record.iteration, name))

        def snapshot() -> dict[str, Any]:
            return {"run": run.state(), "w": run.w, "course": record.state(), "pairs": self.extra_state()}

        def say(event: Event) -> None:
            tell(audience, event)

        def rescue(outcome: Outcome, error: BaseException) -> None:
            say(Failed(error, self.model(outcome.w, summed_up(self, outcome, record, info, name))))

        save = None if keep is None else Saver(keep, mark, record, snapshot, say, self.notes)
        stop = self.stop
        if stop.tolerance is None:
            stop = replace(stop, tolerance=_ENOUGH if self.named else 0.0)
        outcome = follow(
            run, record, stop, info, validate=validate, save=save, rescue=rescue, listener=say, begun=begun
        )
        return outcome, summed_up(self, outcome, record, info, name)

    def _info(self, dev: Any, halted: Stopped | None) -> RunInfo:
        enough = self.stop.tolerance
        if enough is None:
            enough = _ENOUGH_OF_L1 if held_by_l1(self.problem, self.penalty) else _ENOUGH
        return RunInfo(
            dev_passes=0.0 if dev is None else 5.0 * self.dev_share(dev),
            enough=enough,
            judged=self.named
            and getattr(self.optimizer, "certifies", False)
            and enough > 0.0
            and can_certify(self.problem, self.penalty),
            curvature=curvature_of(self.penalty, self.problem.convex),
            convex=self.problem.convex,
            optimum=self.problem.minimizes,
            halted=halted,
        )

    def briefly(self, problem: Any, w: Floats, iterations: int, begun: float, what: str = "") -> Outcome:
        """Train for a few iterations, as a preparation; where it has a name, those who watch hear of it."""

        def say(event: Event) -> None:
            if what and isinstance(event, Progress):
                tell(self.audience, Preparing(what, event.iteration, iterations, event.seconds))

        stop = Stop(max_seconds=self.stop.max_seconds, max_iterations=iterations)
        optimizer = by_name("lbfgs", self.seed, self.threads)
        if getattr(problem, "drawn", False):
            optimizer = by_name("adagrad", self.seed, graphs=True)
        elif not problem.minimizes:
            optimizer = self.optimizer
        with checked_later():
            run = optimizer.start(problem, self.penalty, w)
        return follow(run, RunRecord(), stop, listener=say, begun=begun)


def halted_by(outcome: Outcome) -> Stopped | None:
    """Return why training must not go on after a preparation."""
    return Stopped(outcome.end, outcome.reason) if outcome.asked else None


def summed_up(
    fit: TrainingRun[Any], outcome: Outcome, record: RunRecord, info: RunInfo, metric: str
) -> TrainingRecord:
    """Return the summary of a training; `metric` is the name of the dev score."""
    evaluations = record.rows[-1][3] if record.rows else 0.0
    step = record.step(outcome.kept) if outcome.kept else None
    if step is None or not (np.isfinite(step.gap) or np.isfinite(step.gradient_norm)):
        step = exact_step(fit.problem, fit.penalty, outcome.w, evaluations)
    step = with_exact_bound(step, fit.problem, fit.penalty, outcome.w)
    evaluations = step.evaluations
    own = certify(step, info.curvature, convex=info.convex)
    others = (
        certify(record.step(i + 1), info.curvature, convex=info.convex) for i in range(record.iteration)
    )
    certificate = fit.certified(own.with_bound(least_of(others)), outcome.w)
    excess = min([certificate.excess, *record.excess[-1:]], key=lambda e: (np.isnan(e), e))
    history = {name: record.column(name) for name in COLUMNS}
    for column in history.values():
        column.setflags(write=False)
    return TrainingRecord(
        objective=repr(fit.objective),
        loss=step.objective,
        gap=certificate.gap,
        certificate=str(certificate),
        reason=outcome.reason,
        optimizer=name_of(fit.optimizer),
        why=fit.why,
        seconds=outcome.seconds,
        iterations=record.iteration,
        passes=evaluations,
        kept=outcome.kept,
        score=outcome.score,
        metric=metric,
        random_state=fit.seed,
        notes=(*fit.notes, *fit.closing()),
        versions={
            "crfkit": _native.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        history=history,
        end=outcome.end.value,
        converged=has_converged(outcome.end, excess, info.enough, judged=info.judged),
    )
