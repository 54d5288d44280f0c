"""Subgradient descent for losses with kinks and an L2 penalty: short steps that get shorter, and an average.

    w_{t+1} = w_t - g_t / (l2 (t + t0)),    average_t = (1 - 2 / (t + 2)) average_{t-1} + 2 / (t + 2) w_t

g_t is a subgradient of the penalized objective P at w_t, which l2 makes strongly convex, so that the average
is within O(1 / t) of the optimum (Shalev-Shwartz et al. 2011, Pegasos; Lacoste-Julien, Schmidt & Bach 2012
for the weights of the average). Each subgradient also bounds P from below by a parabola; the weighted mean of
them has its minimum in closed form, which is the certificate:

    P(v) >= sum_t a_t [P(w_t) + g_t.(v - w_t) + l2/2 |v - w_t|^2],   a_t > 0, sum a_t = 1

Weights that may not be negative are projected after each step, and the minimum of the bound is over v that
are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, dot
from crfkit.optimize.batch.run import refuse_l1
from crfkit.optimize.options import GapRounds, check_above_zero
from crfkit.optimize.problem import End, Penalty, Smooth, State, Step


@dataclass(frozen=True, kw_only=True)
class Subgradient(GapRounds):
    """Averaged subgradient descent, for convex losses with or without kinks and an L2 penalty.

    Parameters
    ----------
    gap : float
        Converged when the objective is certified to be at most this fraction above its optimum.
    delay : float
        t0 above: the higher, the shorter the first steps.

    Examples
    --------
    >>> class Hinge:
    ...     size = 1
    ...
    ...     def value_and_grad(self, w, gradient):
    ...         gradient[:] = -1.0 if w[0] < 1.0 else 0.0
    ...         return float(max(1.0 - w[0], 0.0))
    >>> run = Subgradient(gap=0.01).start(Hinge(), Penalty(l2=0.1), np.zeros(1))
    >>> while not run.step().stopped:
    ...     pass
    >>> abs(float(run.w[0]) - 1.0) < 0.05
    True
    """

    needs: ClassVar[tuple[type, ...]] = ()
    bounds: ClassVar[bool] = True

    max_iterations: int = 2000
    delay: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(delay=self.delay)

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> SubgradientRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "Subgradient")
        if not np.all(np.asarray(penalty.l2) > 0.0):
            raise ValueError("Subgradient needs an L2 penalty above 0 on every weight: set l2")
        return SubgradientRun(self, problem, penalty, w, state)


class SubgradientRun:
    """A run of subgradient descent; `w` is the best average so far."""

    def __init__(
        self, options: Subgradient, problem: Smooth, penalty: Penalty, w: Floats, state: State
    ) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.l2 = np.asarray(penalty.l2, dtype=np.float64)
        if state is None:
            begin = penalty.projected(np.array(w, dtype=np.float64))
            state = {"w": begin, "now": begin, "average": begin, "linear": np.zeros_like(begin)}
            state |= {"steps": 0, "evaluations": 0.0, "constant": 0.0, "best": np.inf, "bound": -np.inf}
        kept = Fields.of(state)
        self.w, self.now, self.average, self.linear = (
            kept.floats(name, problem.size) for name in ("w", "now", "average", "linear")
        )
        self.steps, self.evaluations = kept.count("steps"), kept.number("evaluations", least=0.0)
        self.constant, self.best, self.bound = kept.number("constant"), *kept.bounds("best", "bound")

    def _objective(self, w: Floats, gradient: Floats) -> float:
        value = self.problem.value_and_grad(w, gradient) + self.penalty.add_smooth(w, gradient)
        self.evaluations += 1.0
        return float(value)

    def step(self) -> Step:
        """Take one step; every tenth also evaluates the average."""
        gradient = np.empty_like(self.now)
        objective = self._objective(self.now, gradient)
        share = 2.0 / (self.steps + 2.0)
        self.average += share * (self.now - self.average)
        # The parabola P(w_t) + g.(v - w_t) + l2/2 |v - w_t|^2 is l2/2 |v|^2 + linear.v + constant.
        linear = gradient - self.l2 * self.now
        constant = objective - dot(gradient, self.now) + 0.5 * float(np.sum(self.l2 * self.now**2))
        self.linear += share * (linear - self.linear)
        self.constant += share * (constant - self.constant)
        least = self.penalty.inward(np.zeros_like(self.linear), self.linear)
        self.bound = max(self.bound, self.constant - 0.5 * float(np.sum(least**2 / self.l2)))
        if objective < self.best:
            self.best, self.w = objective, self.now.copy()
        length = 1.0 / (self.steps + 1.0 + self.options.delay)
        self.now = self.penalty.projected(self.now - length * gradient / self.l2)
        self.steps += 1
        if self.steps % 10 == 0 or self.steps >= self.options.max_iterations:
            averaged = self._objective(self.average, np.empty_like(self.now))
            if averaged < self.best:
                self.best, self.w = averaged, self.average.copy()
        gap = max(self.best - self.bound, 0.0)
        stopped, end = "", None
        if not np.isfinite(objective):
            stopped, end = "diverged: the objective is not finite", End.DIVERGED
        elif gap <= self.options.gap * max(self.bound, 0.0):
            excess = gap / self.bound if gap else 0.0
            stopped, end = f"converged: at most {excess:.2g} above the optimum", End.CONVERGED
        elif self.steps >= self.options.max_iterations:
            stopped, end = f"reached {self.steps} iterations", End.LIMIT
        return Step(self.best, length=length, evaluations=self.evaluations, gap=gap, stopped=stopped, end=end)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        arrays = {name: getattr(self, name).copy() for name in ("w", "now", "average", "linear")}
        names = ("steps", "evaluations", "constant", "best", "bound")
        return arrays | {name: getattr(self, name) for name in names}
