"""When training ends: the options, the record of a run that they apply to, and the time that is left.

The record has all that decides how a run goes on, so that a checkpoint can keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, log
from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.optimize.problem import End, Step, Stopped
from crfkit.training.events import COLUMNS

__all__ = ["LAST", "SETTLED", "RunRecord", "Stop", "seconds_left"]


@dataclass(frozen=True)
class Stop:
    """Options that decide when training ends.

    Parameters
    ----------
    patience : float, optional
        Training ends when the dev score has not risen for this many passes over the data, and the objective
        fell by less than 1 % in as many passes; before it settles, dev scores do not end it. None: never.
        Passes are counted as `Step.evaluations` are, the same for every optimizer.
    dev_every : int, optional
        Steps between dev evaluations. Default: after each step, but with passes over the data between them
        as five times the size of the dev set over that of the data, so that they take about a third of the
        time at most.
    tolerance : float, optional
        End when the objective is certified to be at most this fraction above its optimum. Default: 1e-4 with
        an optimizer given by name; one given as an object ends by its own rules. 0: never. Under L1 alone,
        where bounds are far larger than what is left, runs also end where the objective hardly falls, and
        warn where they are not certified to 1e-2.
    max_seconds, max_iterations, max_evaluations : optional
        The budget, over all resumed runs: time, steps, and passes over the data, as `Step.evaluations` counts
        them. Training ends with the step that uses it up.

    Examples
    --------
    >>> Stop(max_iterations=50).patience
    10
    >>> Stop(dev_every=0)
    Traceback (most recent call last):
    ValueError: dev_every is 0, expected 1 or more
    """

    patience: float | None = 10
    dev_every: int | None = None
    tolerance: float | None = None
    max_seconds: float | None = None
    max_iterations: int | None = None
    max_evaluations: float | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("patience", 1),
            ("dev_every", 1),
            ("tolerance", 0),
            ("max_seconds", 0),
            ("max_iterations", 0),
            ("max_evaluations", 0),
        ):
            given = getattr(self, name)
            if given is not None:
                check_number(name, given, least)

    @classmethod
    def of(cls, given: Any) -> Stop:
        """Return a Stop, or raise an error that says what to write."""
        if isinstance(given, cls):
            return given
        raise TypeError(f"stop is {given!r}, expected Stop(...), as in stop=Stop(max_iterations=50)")


_NAN = float("nan")
LAST = 8  #: steps that make the trend of `seconds_left`

#: Patience ends a run only where the objective fell by less than this share of itself in as many passes.
#: With patience 10 on CoNLL 2002 Spanish, UD English EWT and SkillSpan, by four to six optimizers: 0.01 keeps
#: the best dev score that is ahead in 13 of 14 runs (SGD on SkillSpan: .5159 of .5174); 0.05 loses three (SGD
#: on Spanish: .7520 of .7592); 0.001 finds that last one, and takes others up to twice the passes.
SETTLED = 0.01


@dataclass
class RunRecord:
    """What a run has done so far."""

    rows: list[list[float]] = field(default_factory=list)  #: `COLUMNS` of each iteration
    excess: list[float] = field(default_factory=list)  #: certified, of each iteration
    best_w: Floats | None = None  #: [F] weights of the highest dev score
    best_score: float = _NAN
    best_iteration: int = 0
    stale: int = 0  #: evaluations since
    stopped: str = ""  #: why the optimizer has ended
    end: str = ""  #: what kind of `End` that was

    @property
    def iteration(self) -> int:
        """How many steps are done."""
        return len(self.rows)

    @property
    def score(self) -> float:
        """The dev score of the last iteration; nan without one."""
        return self.rows[-1][COLUMNS.index("score")] if self.rows else _NAN

    @property
    def stop(self) -> Stopped | None:
        """How the optimizer has ended; one that does not say what kind of end it is has converged."""
        return Stopped(End(self.end or End.CONVERGED), self.stopped) if self.stopped else None

    def step(self, iteration: int) -> Step:
        """Return the step of an iteration, counted from 1."""
        objective, gradient_norm, length, evaluations, gap, *_ = self.rows[iteration - 1]
        return Step(objective, gradient_norm, length, evaluations, gap)

    def column(self, name: str) -> Floats:
        """Return one number of each iteration."""
        at = COLUMNS.index(name)
        return np.array([row[at] for row in self.rows])

    def work(self) -> Floats:
        """Return the passes over the data after each iteration; iterations where no passes are counted."""
        passes = self.column("evaluations")
        return passes if passes[-1:].any() else np.arange(1.0, self.iteration + 1.0)

    def judged(self) -> float:
        """Return the passes at the last dev score; 0 before there is one."""
        scored = np.flatnonzero(~np.isnan(self.column("score")))
        return float(self.work()[scored[-1]]) if scored.size else 0.0

    def behind(self, patience: float) -> float:
        """Return for how many passes the dev score has not risen, once that is a reason to end; else 0.

        It is one after an evaluation, when there were `patience` passes since the best one, and the lowest
        objective fell by less than `SETTLED` of itself in the last `patience` passes.

        Examples
        --------
        >>> record = RunRecord()
        >>> for objective, score in ((9.0, 0.5), (5.0, 0.4), (4.99, 0.4), (4.98, 0.5)):
        ...     record.add(Step(objective), float("nan"), score, 0.0, np.zeros(1))
        >>> record.behind(2), record.behind(3)
        (3.0, 0.0)
        """
        if not self.stale or np.isnan(self.score):
            return 0.0
        work, objective = self.work(), self.column("objective")
        before = np.flatnonzero(work <= work[-1] - patience)
        behind = float(work[-1] - work[self.best_iteration - 1])
        if not before.size or behind < patience:
            return 0.0
        least = objective.min()  # steps of some methods go up as well as down
        fall = objective[: before[-1] + 1].min() - least
        return behind if fall <= SETTLED * abs(least) else 0.0

    def add(self, step: Step, excess: float, score: float, seconds: float, w: Floats) -> None:
        """Note a step, and its weights where the dev score is the best so far."""
        self.rows.append(
            [step.objective, step.gradient_norm, step.length, step.evaluations, step.gap, score, seconds]
        )
        self.excess.append(excess)
        self.stopped, self.end = step.stopped, "" if step.end is None else step.end.value
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
            "end": self.end,
        }

    @classmethod
    def of_state(cls, state: Mapping[str, Any], F: int) -> RunRecord:
        """Return the record that gave this state, of a run on F weights."""
        kept = Fields.of(state)
        rows = kept.floats("rows", None, len(COLUMNS), finite=False)
        sure = [COLUMNS.index(name) for name in ("objective", "evaluations", "seconds")]
        if not (np.abs(rows[:, sure]) <= 1e150).all():
            kept.refuse("rows", "not finite where objectives, passes and seconds are")
        best = kept.count("best_iteration", len(rows))
        score = kept.number("best_score", finite=False)
        if (best > 0) != kept.has("best_w") or (best > 0) == np.isnan(score):
            kept.wrong("best_iteration", "that of the best weights and their score")
        return cls(
            rows=rows.tolist(),
            excess=kept.floats("excess", len(rows), finite=False).tolist(),
            best_w=kept.floats("best_w", F) if best else None,
            best_score=score,
            best_iteration=best,
            stale=kept.count("stale"),
            stopped=kept.text("stopped"),
            end=kept.text("end", ["", *(end.value for end in End)]),
        )


def seconds_left(
    seconds: Sequence[float] | Floats,
    excess: Sequence[float] | Floats,
    tolerance: float,
    *,
    steps: int | None = None,
    max_seconds: float | None = None,
    max_iterations: int | None = None,
) -> float:
    """Return how many seconds are left at most, by whatever comes first; nan when nothing can be said.

    Parameters
    ----------
    seconds, excess : array
        When each of the last steps ended, and how far from the optimum it was at most, as a fraction.
    tolerance : float
        The fraction at which training ends; 0 for none.
    steps : int, optional
        How many there were; default: those that are given.
    max_seconds, max_iterations
        The budget.

    Examples
    --------
    >>> import numpy as np
    >>> round(seconds_left(np.arange(1.0, 5.0), 10.0 ** -np.arange(4.0), 1e-5), 3)
    2.0
    """
    n = len(seconds)
    done = n if steps is None else steps
    ends = []
    if max_seconds is not None and n:
        ends.append(max_seconds - seconds[-1])
    if max_iterations is not None and n:
        first = max(n - LAST, 0)
        pace = (seconds[-1] - seconds[first]) / (n - 1 - first) if n - 1 > first else seconds[-1] / done
        ends.append(pace * (max_iterations - done))
    recent = zip(seconds[-LAST:], excess[-LAST:], strict=True)
    usable = [(t, log(e)) for t, e in recent if isfinite(e) and e > 0.0]
    if tolerance > 0.0 and len(usable) >= 3:  # plain numbers: arrays of eight cost more than all of it
        middle = sum(t for t, _ in usable) / len(usable)
        square = sum((t - middle) ** 2 for t, _ in usable)
        slope = sum((t - middle) * y for t, y in usable) / max(square, 1e-300)
        if slope < 0.0:
            ends.append((log(tolerance) - usable[-1][1]) / slope)
    return max(float(min(ends)), 0.0) if ends else float("nan")
