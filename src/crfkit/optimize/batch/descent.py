"""Runs that choose a direction and search along it; methods differ in the direction only.

Weights and gradients live in pairs of buffers that change places when a point is accepted: nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.batch.linesearch import Found, Trial, Wolfe
from crfkit.optimize.batch.run import BatchRun, Stopping
from crfkit.optimize.problem import End, Penalty, State, Stopped

__all__ = ["Descent", "ScaledDescent", "Searching"]


@dataclass(frozen=True, kw_only=True)
class Searching(Stopping):
    """Options of every method that searches along a direction.

    Parameters
    ----------
    c1, c2 : float
        Wolfe conditions: share of the decrease that the slope promises, share of the slope that may be left.
    max_evaluations : int
        The most evaluations of one line search.
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_evaluations: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.rule

    @property
    def rule(self) -> Wolfe:
        """The line search, checked."""
        return Wolfe(self.c1, self.c2, self.max_evaluations)


class Descent(BatchRun):
    """A run with a Wolfe line search."""

    def __init__(self, options: Searching, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.rule = options.rule
        self.gradient, self.spare, self.trial, self.d = (np.zeros(problem.size) for _ in range(4))
        self.least = (inf, inf)  # objective and norm of the gradient
        self.stale = 0  # iterations since one of them fell
        super().__init__(options, problem, penalty, w, state)

    # ---- what methods define

    def direction(self) -> float:
        """Write the direction to `d` and return the slope of the objective along it."""
        raise NotImplementedError

    def first_length(self, slope: float) -> float:
        """Return the length to try first."""
        raise NotImplementedError

    def learn(self, length: float, slope: float) -> None:
        """Look at an accepted step: `gradient` is that of now, `spare` the one before, `trial` the old w."""

    def forget(self) -> bool:
        """Drop what bends the direction away from the gradient; False when there is nothing."""
        return False

    # ---- one iteration

    def begin(self) -> bool:
        """Evaluate the first weights."""
        point = self.evaluate(self.w, self.gradient)
        self.note(point.value, point.gradient_norm, point.weight_norm)
        return point.finite

    @property
    def uphill(self) -> Floats:
        """The gradient, [F]."""
        return self.gradient

    def advance(self) -> tuple[float, Stopped | None]:
        """Search along a direction; where that fails, along the plain one."""
        while True:
            slope = self.direction()
            if -inf < slope < 0.0:
                found = self.search(slope)
                if found.best.length > 0.0:
                    self._accept(found.best.length, slope)
                    return found.best.length, self._worn()
                if found.finite:
                    why = "no further progress: the line search found no better point"
                    failure = Stopped(End.STUCK, why)
                else:
                    why = "diverged: the objective is not finite along the direction, however short the step"
                    failure = Stopped(End.DIVERGED, why)
            else:
                failure = Stopped(End.STUCK, "no further progress: no direction leads down")
            if not self.forget():
                return 0.0, failure

    def search(self, slope: float) -> Found:
        """Find a length; `trial` and `spare` are left at the best one."""

        def phi(length: float) -> tuple[float, float]:
            self.vectors.combine([1.0, length], [self.w, self.d], out=self.trial)
            self.point = self.evaluate(self.trial, self.spare, self.d)
            return (self.point.value, self.point.slope) if self.point.finite else (inf, inf)

        found = self.rule.search(phi, Trial(0.0, self.objectives[-1], slope), self.first_length(slope))
        if 0.0 < found.best.length != found.last.length:
            phi(found.best.length)
            if not self.point.finite:
                return Found(Trial(0.0, self.objectives[-1], slope), Trial(found.best.length, inf, inf))
        return found

    def _accept(self, length: float, slope: float) -> None:
        self.w, self.trial = self.trial, self.w
        self.gradient, self.spare = self.spare, self.gradient
        self.arrive()
        self.learn(length, slope)

    def _worn(self) -> Stopped | None:
        """Return an end if only rounding errors are left."""
        if self.objectives[-1] < self.least[0] or self.gradient_norm < self.least[1]:
            self.stale = 0
        else:
            self.stale += 1
        self.least = (min(self.least[0], self.objectives[-1]), min(self.least[1], self.gradient_norm))
        if self.stale < 10:
            return None
        why = "no further progress: neither the objective nor its gradient falls any more"
        return Stopped(End.SETTLED, why)

    def arrive(self) -> None:
        """Keep the numbers of the point that was accepted."""
        self.note(self.point.value, self.point.gradient_norm, self.point.weight_norm)

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.gradient[:] = state.floats("gradient", len(self.gradient))
        objective, norm = state.extended("least", 2).tolist()
        self.least, self.stale = (objective, norm), state.count("stale")

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            **super().state(),
            "gradient": self.gradient.copy(),
            "least": np.array(self.least),
            "stale": self.stale,
        }


class ScaledDescent(Descent):
    """A run whose directions have no scale of their own: lengths are guessed from the step before.

    The first length tried promises the first-order decrease of the last step (Nocedal & Wright 2006,
    section 3.5).
    """

    promised = 0.0

    def first_length(self, slope: float) -> float:
        """Guess a length from the decrease of the last step; move by 1 at first."""
        return self.promised / slope if self.promised else 1.0 / self.gradient_norm

    def learn(self, length: float, slope: float) -> None:
        """Keep the scale."""
        self.promised = length * slope

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.promised = state.number("promised")

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), "promised": self.promised}
