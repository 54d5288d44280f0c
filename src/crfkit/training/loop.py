"""The loop: step a run until it stops, the budget is spent, the dev score stays behind, or the user says so.

Everything that a decision needs is in the course of the run, which a checkpoint keeps: a resumed run decides
as the uninterrupted one would have done. (The clock alone cannot be repeated; it goes on where it was.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.events import COLUMNS, Listener, Progress, StopTraining
from crfkit.optimise.problem import Run, Step
from crfkit.structures.labels import Floats
from crfkit.training.certificate import certify
from crfkit.training.forecast import seconds_left
from crfkit.training.interrupt import interrupts

__all__ = ["Course", "Outcome", "Rules", "follow"]

_NAN = float("nan")


@dataclass
class Course:
    """What a run has done so far."""

    rows: list[list[float]] = field(default_factory=list)  #: `COLUMNS` of each iteration
    excess: list[float] = field(default_factory=list)  #: certified, of each iteration
    best_w: Floats | None = None  #: [F] weights of the highest dev score
    best_score: float = _NAN
    best_iteration: int = 0
    stale: int = 0  #: evaluations since
    stopped: str = ""  #: why the optimiser has ended

    @property
    def iteration(self) -> int:
        """How many steps are done."""
        return len(self.rows)

    def step(self, iteration: int) -> Step:
        """Return what the run said after an iteration, counted from 1."""
        objective, gradient_norm, length, evaluations, gap, *_ = self.rows[iteration - 1]
        return Step(objective, gradient_norm, length, evaluations, gap)

    def column(self, name: str) -> Floats:
        """Return one number of each iteration."""
        at = COLUMNS.index(name)
        return np.array([row[at] for row in self.rows])

    def add(self, step: Step, excess: float, score: float, seconds: float, w: Floats) -> None:
        """Note a step, and its weights where the dev score is the best so far."""
        self.rows.append(
            [step.objective, step.gradient_norm, step.length, step.evaluations, step.gap, score, seconds]
        )
        self.excess.append(excess)
        self.stopped = step.stopped
        if np.isnan(score):
            return
        self.stale += 1
        if not score <= self.best_score:  # also where there is none yet
            self.best_score, self.best_iteration, self.stale = score, self.iteration, 0
            self.best_w = w.copy()

    def state(self) -> dict[str, Any]:
        """Return numbers and arrays for a checkpoint."""
        return {
            "rows": np.array(self.rows, dtype=np.float64).reshape(-1, len(COLUMNS)),
            "excess": np.array(self.excess, dtype=np.float64),
            "best_w": self.best_w,
            "best_score": self.best_score,
            "best_iteration": self.best_iteration,
            "stale": self.stale,
            "stopped": self.stopped,
        }

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Course:
        """Return the course that gave this state."""
        return cls(**{**state, "rows": state["rows"].tolist(), "excess": state["excess"].tolist()})


@dataclass(frozen=True)
class Rules:
    """When to stop, and how a step is judged."""

    max_seconds: float | None = None
    max_iterations: int | None = None
    patience: int | None = None  #: dev evaluations without a better one
    tolerance: float = 0.0  #: stop when certified to be this fraction above the optimum, at most
    dev_every: int = 1
    curvature: float = 0.0  #: strong convexity of the objective
    convex: bool = True
    halted: str = ""  #: why the run must not begin at all

    def verdict(self, course: Course, seconds: float) -> str:
        """Return why the run is over, in words; empty while it is not."""
        if self.halted or course.stopped:
            return self.halted or course.stopped
        if self.tolerance > 0.0 and course.excess and course.excess[-1] <= self.tolerance:
            return f"certified to be within {100.0 * self.tolerance:.3g} % of the optimum"
        if self.patience is not None and course.best_iteration and course.stale >= self.patience:
            return (
                f"the dev score has not risen in {course.stale} evaluations; "
                f"the best is that of iteration {course.best_iteration}"
            )
        if self.max_iterations is not None and course.iteration >= self.max_iterations:
            return f"the limit of {self.max_iterations} iterations is reached"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return f"the time budget of {self.max_seconds:g} s is spent"
        return ""

    def eta(self, course: Course) -> float:
        """Return how many seconds are left by the trend, nan where there is none."""
        return seconds_left(
            course.column("seconds"),
            np.array(course.excess),
            self.tolerance,
            max_seconds=self.max_seconds,
            max_iterations=self.max_iterations,
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a run ended."""

    reason: str
    w: Floats  #: [F] the weights to keep
    kept: int  #: their iteration; 0 before the first
    score: float  #: their dev score
    seconds: float
    asked: bool  #: the user or a listener has ended it


def follow(
    run: Run,
    course: Course,
    rules: Rules,
    *,
    judge: Callable[[Floats], float] | None = None,
    save: Callable[[bool], object] | None = None,
    listener: Listener = lambda event: None,
    begun: float | None = None,
) -> Outcome:
    """Step a run to its end.

    Parameters
    ----------
    run : Run
    course : Course
        What it has done before; written on.
    rules : Rules
    judge : function of the weights, optional
        The dev score; the weights of the highest one are kept.
    save : function of a bool, optional
        Called after each step, and with True in the end, when the state of the run is sound.
    listener : function of an event
    begun : float, optional
        Reading of `time.perf_counter` from which time is counted; default: now.
    """
    before = course.rows[-1][-1] if course.rows else 0.0
    since = time.perf_counter() if begun is None else begun

    def clock() -> float:
        return before + time.perf_counter() - since

    good = run.w.copy()  # [F] the last weights that are finite
    reason, whole, asked = "", True, False
    with interrupts() as heard:
        try:
            while not (reason := rules.verdict(course, clock())):
                if heard.asked:
                    raise KeyboardInterrupt
                whole = False
                step, reason = _attempt(run, course.iteration + 1)
                if step is None:
                    break
                good[:] = run.w
                excess = certify(step, rules.curvature, convex=rules.convex).excess
                due = judge is not None and (course.iteration + 1) % rules.dev_every == 0
                score = _scored(judge, good) if judge is not None and due else _NAN
                course.add(step, excess, score, clock(), good)
                whole = True
                listener(_progress(course, step, rules))
                if save is not None:
                    save(False)
        except KeyboardInterrupt:
            reason, asked = "stopped by the user", True
        except StopTraining as stop:
            reason, asked = str(stop) or "a listener has asked for it", True
        if save is not None and whole:
            save(True)
    kept, score = course.iteration, course.rows[-1][5] if course.rows else _NAN
    if judge is not None and kept:
        if np.isnan(score):
            score = _scored(judge, good)
        if course.best_w is not None and not score > course.best_score:
            good, kept, score = course.best_w, course.best_iteration, course.best_score
    return Outcome(reason, good, kept, score, clock(), asked)


def _attempt(run: Run, iteration: int) -> tuple[Step | None, str]:
    """Take a step; without one, say why."""
    kept = f"the weights of iteration {iteration - 1} are kept" if iteration > 1 else "it has not moved"
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # found below, and said in words
            step = run.step()
    except (FloatingPointError, OverflowError) as error:
        return None, f"iteration {iteration} failed ({error}); {kept}"
    except ValueError as error:
        if np.isfinite(run.w).all() and not any(word in str(error) for word in ("finite", "overflow")):
            raise
        return None, f"iteration {iteration} failed ({error}); {kept}"
    if not np.isfinite(step.objective):
        return None, f"the objective became {step.objective} in iteration {iteration}; {kept}"
    if not np.isfinite(run.w).all():
        return None, f"weights were no longer finite in iteration {iteration}; {kept}"
    return step, ""


def _scored(judge: Callable[[Floats], float], w: Floats) -> float:
    score = float(judge(w))
    if np.isnan(score):
        raise ValueError("the metric of the dev set is nan; it must be a number, higher for better")
    return score


def _progress(course: Course, step: Step, rules: Rules) -> Progress:
    row = course.rows[-1]
    return Progress(
        iteration=course.iteration,
        step=step,
        score=row[5],
        best=course.best_score,
        best_iteration=course.best_iteration,
        seconds=row[6],
        eta=rules.eta(course),
        excess=course.excess[-1],
    )
