"""The base of runs of batch methods: weights, the penalized objective, counters, and when a run ends."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from crfkit._safe.documented import Documented
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.batch.vectors import Vectors
from crfkit.optimize.problem import End, Penalty, State, Step, Stopped


@dataclass(frozen=True, kw_only=True)
class Stopping(Documented):
    """Options that all batch methods share.

    Parameters
    ----------
    max_iterations : int
        The most steps.
    tolerance : float
        Converged when the norm of the gradient falls below tolerance * max(1, norm of the weights). Under
        L1 it is that of the pseudo-gradient.
    period, delta : int and float, optional
        Converged when the objective improved by less than delta, relative to itself, over the last `period`
        steps: CRFsuite's rule, which has 10 and 1e-5. Off when period is None.
    threads : int, optional
        For passes over vectors of weights; default: one for each core. Results do not depend on it.
    """

    max_iterations: int = 1000
    tolerance: float = 1e-5
    period: int | None = None
    delta: float = 1e-5
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations is {self.max_iterations}, expected 1 or more")
        if not self.tolerance >= 0.0:
            raise ValueError(f"tolerance is {self.tolerance}, expected 0 or more")
        if self.period is not None and self.period < 1:
            raise ValueError(f"period is {self.period}, expected 1 or more, or None")
        if not self.delta >= 0.0:
            raise ValueError(f"delta is {self.delta}, expected 0 or more")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads is {self.threads}, expected 1 or more")

    def converged(self, gradient_norm: float, weight_norm: float) -> Stopped | None:
        """Return an end if the gradient is small."""
        relative = gradient_norm / max(1.0, weight_norm)
        if relative < self.tolerance:
            return Stopped(End.CONVERGED, f"converged: gradient norm {relative:.2g} below {self.tolerance:g}")
        return Stopped(End.CONVERGED, "converged: the gradient is 0") if relative == 0.0 else None

    def stalled(self, objectives: list[float]) -> Stopped | None:
        """Return an end if the objective no longer improves; the last value is the current one."""
        if self.period is None or len(objectives) <= self.period:
            return None
        now, then = objectives[-1], objectives[-1 - self.period]
        rate = (then - now) / abs(now) if now else 0.0
        if isfinite(rate) and rate < self.delta:
            why = f"converged: improved by {rate:.2g} over {self.period} steps, below {self.delta:g}"
            return Stopped(End.SETTLED, why)
        return None

    def exhausted(self, iteration: int) -> Stopped | None:
        """Return an end if the most steps are made."""
        if iteration < self.max_iterations:
            return None
        return Stopped(End.LIMIT, f"reached {iteration} iterations")


class Point(NamedTuple):
    """The smooth part of the objective at some weights."""

    value: float  #: loss plus L2 penalty
    slope: float  #: of the value along a direction; 0 without one
    gradient_norm: float
    weight_norm: float

    @property
    def finite(self) -> bool:
        """Whether all of it is a number."""
        return all(map(isfinite, self))


class BatchRun:
    """A run that moves as a whole: `w` is the live array, which later steps write over."""

    def __init__(self, options: Stopping, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        F = problem.size
        self.problem, self.penalty, self.stopping = problem, penalty, options
        self.vectors = Vectors(F, options.threads)
        self.l2 = _strength(penalty.l2, "l2", F)
        self.l1 = _strength(penalty.l1, "l1", F)
        kept = None if state is None else Fields.of(state)
        begin = w if kept is None else kept.floats("w", F)
        self.w: Floats = np.array(begin, dtype=np.float64, order="C")
        if self.w.shape != (F,):
            raise ValueError(f"w has shape {self.w.shape}, expected ({F},)")
        if not np.isfinite(self.w).all():
            at = int(np.flatnonzero(~np.isfinite(self.w))[0])
            raise ValueError(f"w[{at}] is {self.w[at]}; a run must begin at finite weights")
        self.iteration, self.evaluations = 0, 0.0
        self.objectives: list[float] = []  # the last period + 1; empty before the first evaluation
        self.gradient_norm = self.weight_norm = nan
        self.ended: Step | None = None
        if kept is not None:
            self.recall(kept)

    # ---- what methods define

    def advance(self) -> tuple[float, Stopped | None]:
        """Make one iteration; return its length and, where it failed, why."""
        raise NotImplementedError

    def begin(self) -> bool:
        """Evaluate the first weights; return whether everything is finite."""
        raise NotImplementedError

    @property
    def uphill(self) -> Floats:
        """The gradient of the objective at the present weights, [F]; the pseudo-gradient under L1."""
        raise NotImplementedError

    @property
    def gap(self) -> float:
        """How far the objective is from its optimum at most; nan where the method does not know."""
        return nan

    def recall(self, state: Fields) -> None:
        """Restore a state, except `w`."""
        self.iteration = state.count("iteration")
        self.evaluations = state.number("evaluations", least=0.0)
        self.objectives = state.numbers("objectives", most=1 + (self.stopping.period or 0))
        begun = bool(self.objectives)
        self.gradient_norm = state.number("gradient_norm", least=0.0, finite=begun)
        self.weight_norm = state.number("weight_norm", least=0.0, finite=begun)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            "w": self.w.copy(),
            "iteration": self.iteration,
            "evaluations": self.evaluations,
            "objectives": np.array(self.objectives),
            "gradient_norm": self.gradient_norm,
            "weight_norm": self.weight_norm,
        }

    # ---- what they share

    def step(self) -> Step:
        """Move on by one iteration."""
        if self.ended is not None:
            return self.ended
        if not self.objectives and not self.begin():
            why = "diverged: the objective is not finite at the first weights"
            return self._report(nan, Stopped(End.DIVERGED, why))
        stop = self._enough()  # at the first weights already, or at those of a state
        if stop:
            return self._report(nan, stop)
        length, stop = self.advance()
        self.iteration += not stop
        return self._report(length, stop or self._enough())

    def _enough(self) -> Stopped | None:
        rules = self.stopping
        return (
            rules.converged(self.gradient_norm, self.weight_norm)
            or rules.stalled(self.objectives)
            or rules.exhausted(self.iteration)
        )

    def _report(self, length: float, stop: Stopped | None) -> Step:
        step = Step(
            self.objectives[-1] if self.objectives else nan,
            gradient_norm=self.gradient_norm,
            length=length,
            evaluations=self.evaluations,
            gap=self.gap,
            stopped=stop.why if stop else "",
            end=stop.end if stop else None,
        )
        if stop:
            self.ended = step
        return step

    def evaluate(self, w: Floats, gradient: Floats, direction: Floats | None = None) -> Point:
        """Evaluate loss plus L2 penalty at w; the gradient of both goes to `gradient`."""
        loss = float(self.problem.value_and_grad(w, gradient))
        self.evaluations += 1.0
        pull, weight, square, slope = self.vectors.add_l2(self.l2, w, gradient, direction)
        return Point(loss + 0.5 * pull, slope, sqrt(square), sqrt(weight))

    def note(self, objective: float, gradient_norm: float, weight_norm: float) -> None:
        """Keep the numbers of the present weights."""
        self.objectives = [*self.objectives, objective][-1 - (self.stopping.period or 0) :]
        self.gradient_norm, self.weight_norm = gradient_norm, weight_norm


def refuse_l1(penalty: Penalty, method: str) -> None:
    """Raise an error if a method for smooth objectives gets an L1 penalty."""
    if penalty.sparse:
        raise ValueError(f"{method} cannot do L1, which has no gradient at 0: use LBFGS or RProp, or l1 = 0")


def _strength(given: float | Floats, name: str, F: int) -> Floats:
    strength = np.ascontiguousarray(np.atleast_1d(np.asarray(given, dtype=np.float64)))  # [1] or [F]
    if strength.shape not in ((1,), (F,)):
        raise ValueError(f"{name} has shape {strength.shape}, expected a number or ({F},)")
    return strength
