"""The loop: step a run until it stops, the budget is spent, the dev score stays behind, or the user ends it.

Everything that a decision needs is in the record of the run, which a checkpoint keeps: a resumed run decides
as the uninterrupted one would have done. (Only the clock cannot be repeated; it goes on where it was.)

However a run ends, nothing that it has is lost: the last sound state goes to `save`, and where an exception
ends it (of a listener, of the dev metric, of a step), what it has so far goes to `rescue` before the
exception goes on to the caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from crfkit._safe.interrupts import Interrupts, interrupts
from crfkit._safe.printable import counted
from crfkit.arrays import Floats, checked_later
from crfkit.checks import NotFiniteError
from crfkit.optimize.problem import End, Run, Step, Stopped
from crfkit.training.events import Listener, Progress, StopTraining
from crfkit.training.runs.convergence import Certificate, certify, least_of
from crfkit.training.stop import LAST, RunRecord, Stop, seconds_left

_NAN = float("nan")


class NothingLearnedError(ValueError):
    """The first step has failed: there are no weights to keep."""


@dataclass(frozen=True)
class RunInfo:
    """What decides about a run beside the user's options; they follow from the data and the problem."""

    dev_passes: float = 0.0  #: least passes between dev evaluations, where `Stop.dev_every` is None
    enough: float = 1e-4  #: a run that is certified to be so near has converged, however it ended
    judged: bool = False  #: whether nothing else makes it converged
    curvature: float = 0.0  #: strong convexity of the objective
    convex: bool = True
    optimum: bool = True  #: whether there is an optimum to reach: not for the perceptron
    halted: Stopped | None = None  #: why the run must not begin at all


_NO_INFO: Final = RunInfo()


def _verdict(stop: Stop, info: RunInfo, record: RunRecord, seconds: float) -> Stopped | None:
    """Return why the run is over; None while it is not."""
    if info.halted or record.stop:
        return info.halted or record.stop
    if stop.tolerance and record.excess and record.excess[-1] <= stop.tolerance:
        why = f"certified to be within {100.0 * stop.tolerance:.3g} % of the optimum"
        return Stopped(End.CONVERGED, why)
    behind = 0.0 if stop.patience is None else record.behind(stop.patience)
    if behind > 0.0:
        why = (
            f"the dev score has not risen in {behind:.4g} passes over the data; "
            f"the best is that of iteration {record.best_iteration}"
        )
        return Stopped(End.PATIENCE, why)
    if stop.max_iterations is not None and record.iteration >= stop.max_iterations:
        why = f"the limit of {counted(stop.max_iterations or 0, 'iteration')} is reached"
        return Stopped(End.LIMIT if stop.max_iterations and info.optimum else End.PLANNED, why)
    made = record.rows[-1][3] if record.rows else 0.0
    if stop.max_evaluations is not None and made >= stop.max_evaluations:
        return Stopped(End.BUDGET, f"the budget of {stop.max_evaluations:g} evaluations is spent")
    if stop.max_seconds is not None and seconds >= stop.max_seconds:
        return Stopped(End.BUDGET, f"the time budget of {stop.max_seconds:g} s is spent")
    return None


def _due(stop: Stop, info: RunInfo, record: RunRecord, step: Step) -> bool:
    """Return whether to evaluate the dev set after the next step of a record."""
    if stop.dev_every is not None:
        return (record.iteration + 1) % stop.dev_every == 0
    now = step.evaluations or record.iteration + 1.0
    return now - record.judged() >= info.dev_passes


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended."""

    reason: str
    end: End
    w: Floats  #: [F] the weights to keep
    kept: int  #: their iteration; 0 before the first
    score: float  #: their dev score
    seconds: float

    @property
    def asked(self) -> bool:
        """Whether the user or a listener has ended it."""
        return self.end in (End.INTERRUPTED, End.LISTENER)


def follow(
    run: Run,
    record: RunRecord,
    stop: Stop,
    info: RunInfo = _NO_INFO,
    *,
    validate: Callable[[Floats], float] | None = None,
    save: Callable[[bool], object] | None = None,
    rescue: Callable[[Outcome, BaseException], object] | None = None,
    listener: Listener = lambda event: None,
    begun: float | None = None,
) -> Outcome:
    """Step a run to its end.

    Parameters
    ----------
    run : Run
    record : RunRecord
        What it has done before; written on.
    stop : Stop
        A tolerance of None asks for none.
    info : RunInfo, optional
    validate : function of the weights, optional
        The dev score; the weights of the highest one are kept.
    save : function of a bool, optional
        Called after each step, and with True in the end, when the state of the run is sound.
    rescue : function of an outcome and an exception, optional
        Called with what there is so far where the exception ends the run, before that is raised again.
    listener : function of an event
    begun : float, optional
        Reading of `time.perf_counter` from which time is counted; default: now.

    Raises
    ------
    NothingLearnedError
        The first step of all failed, by numbers that are not finite.
    """
    before = record.rows[-1][-1] if record.rows else 0.0
    since = time.perf_counter() if begun is None else begun

    def clock() -> float:
        return before + time.perf_counter() - since

    def certified(step: Step) -> Certificate:
        return certify(step, info.curvature, convex=info.convex)

    good = run.w.copy()  # [F] the last weights that are finite
    least = least_of(map(certified, map(record.step, range(1, record.iteration + 1))))
    whole = True

    def steps(signals: Interrupts) -> Stopped:
        nonlocal whole, least
        try:
            while (end := _verdict(stop, info, record, clock())) is None:
                if signals.asked:
                    raise KeyboardInterrupt
                whole = False
                step, failed = _attempt(run, record.iteration + 1)
                if step is None or failed is not None:
                    return failed or Stopped(End.DIVERGED, "")
                good[:] = run.w
                found = certified(step)
                least = least_of((found,), least)
                excess = found.with_bound(least).excess
                due = validate is not None and _due(stop, info, record, step)
                score = _scored(validate, good) if validate is not None and due else _NAN
                record.add(step, excess, score, clock(), good)
                whole = True
                listener(_progress(record, step, stop))
                if save is not None:
                    save(False)
        except KeyboardInterrupt:
            return Stopped(End.INTERRUPTED, signals.why)
        except StopTraining as asked:
            return Stopped(End.LISTENER, str(asked) or "a listener has asked for it")
        return end

    with interrupts() as signals:
        try:
            ended = steps(signals)
            moved = record.iteration - (record.end == End.DIVERGED)  # a step that says so has gone back
            if ended.end is End.DIVERGED and not moved:
                raise NothingLearnedError(ended.why)
            if save is not None and whole:
                save(True)
            return _outcome(ended, record, good, validate, clock())
        except NothingLearnedError:
            raise
        except BaseException as error:
            if save is not None and whole:
                save(True)  # nothing where that is done
            if rescue is not None:
                why = f"{type(error).__name__}: {error}"
                rescue(_outcome(Stopped(End.FAILED, why), record, good, None, clock()), error)
            raise


def _outcome(
    ended: Stopped, record: RunRecord, w: Floats, validate: Callable[[Floats], float] | None, seconds: float
) -> Outcome:
    """Return the weights of the last step, or those with a higher dev score."""
    kept, score = record.iteration, record.score
    if kept and np.isnan(score) and validate is not None:
        score = _scored(validate, w)
    if record.best_w is not None and not score > record.best_score:
        w, kept, score = record.best_w, record.best_iteration, record.best_score
    return Outcome(ended.why, ended.end, w, kept, score, seconds)


def _attempt(run: Run, iteration: int) -> tuple[Step | None, Stopped | None]:
    """Take a step, and return why it failed, if it did."""
    kept = f"the weights of iteration {iteration - 1} are kept" if iteration > 1 else "it has not moved"
    try:
        with checked_later():
            step = run.step()
    except (FloatingPointError, OverflowError, NotFiniteError) as error:
        return None, Stopped(End.DIVERGED, f"iteration {iteration} failed ({error}); {kept}")
    except ValueError as error:
        if np.isfinite(run.w).all():
            raise
        return None, Stopped(End.DIVERGED, f"iteration {iteration} failed ({error}); {kept}")
    if not np.isfinite(step.objective):
        why = step.stopped or f"the objective became {step.objective} in iteration {iteration}"
        return None, Stopped(End.DIVERGED, f"{why}; {kept}")
    if not np.isfinite(run.w).all():
        why = f"weights were no longer finite in iteration {iteration}; {kept}"
        return None, Stopped(End.DIVERGED, why)
    return step, None


def _scored(validate: Callable[[Floats], float], w: Floats) -> float:
    score = float(validate(w))
    if np.isnan(score):
        raise ValueError("the metric of the dev set is nan; it must be a number, higher for better")
    return score


def _progress(record: RunRecord, step: Step, stop: Stop) -> Progress:
    return Progress(
        iteration=record.iteration,
        step=step,
        score=record.score,
        best=record.best_score,
        best_iteration=record.best_iteration,
        seconds=record.rows[-1][-1],
        eta=seconds_left(
            [row[-1] for row in record.rows[-LAST:]],
            record.excess[-LAST:],
            stop.tolerance or 0.0,
            steps=record.iteration,
            max_seconds=stop.max_seconds,
            max_iterations=stop.max_iterations,
        ),
        excess=record.excess[-1],
    )
