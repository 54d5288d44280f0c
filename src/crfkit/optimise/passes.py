"""A run of stochastic passes: order, rates, stopping rule and state; the steps themselves are native.

The order of pass p is drawn by a generator seeded with (seed, p), so that the number of the pass is all the
state that it has. Every weight is up to date at the end of a pass: what was left out for weights that no
sequence touched is made up for there.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from crfkit import _native
from crfkit.native import kernels
from crfkit.optimise.online import arrays_of, begin_at, evaluate
from crfkit.optimise.problem import Penalty, Step
from crfkit.structures.labels import Floats, Pointers

__all__ = ["Method", "PassRun"]


class Method(Protocol):
    """What the stochastic optimisers differ in."""

    @property
    def max_passes(self) -> int:
        """The limit of passes."""
        ...

    @property
    def period(self) -> int:
        """Passes in which the objective must fall by `delta`."""
        ...

    @property
    def delta(self) -> float:
        """The least fall, relative to the objective."""
        ...

    @property
    def seed(self) -> int:
        """Of the orders."""
        ...

    @property
    def rule(self) -> int:
        """The `Rule` of cpp/stochastic.hpp."""
        ...

    @property
    def offset(self) -> float:
        """Added to the roots of the sums of squares, where there are any."""
        ...

    @property
    def keeps_best(self) -> bool:
        """Whether a run that ends by itself goes back to its best pass."""
        ...

    def origin(self, run: PassRun) -> float:
        """Prepare a new run: return the time that its rates begin at."""
        ...

    def rates(self, origin: float, first: int, count: int, lam: float) -> Floats:
        """Return the rates of `count` steps after the first ones; `lam` is the l2 of one step."""
        ...

    def check(self, strengths: tuple[float, float, float, float]) -> None:
        """Raise where the penalty is none that the method minimises."""
        ...


class PassRun:
    """Passes over the sequences in random order, until the objective no longer falls."""

    def __init__(
        self, method: Method, problem: Any, penalty: Penalty, w: Floats, state: dict[str, Any] | None
    ) -> None:
        name = type(method).__name__
        self.method, self.problem, self.penalty = method, problem, penalty
        self.arrays = arrays_of(problem, name)
        strengths = self.arrays.strengths(penalty, name)
        method.check(strengths)
        self.visits = len(self.arrays.filled)
        self.strengths = np.array(strengths) / self.visits  # [4] of one step
        self.w = begin_at(w if state is None else state["w"], problem.size)  # [F]
        self.trainer = _native.StochasticTrainer(self.arrays.native, method.rule)
        self.trainer.write(self.w)
        if state is None:
            self.memory = np.zeros(problem.size if method.rule else 0)
            self.due = np.zeros(2)
            self.passes, self.evaluations = 0, 0.0
            self.history: list[float] = []  # the lowest objective so far, after each of the last passes
            self.best, self.best_w = float("inf"), self.w.copy() if method.keeps_best else None
            self.start = method.origin(self)
            self.trainer.write(self.w)
        else:
            self.memory = np.array(state["memory"], dtype=np.float64)
            self.due = np.array(state["due"], dtype=np.float64)
            self.passes, self.evaluations = int(state["passes"]), float(state["evaluations"])
            self.history = [float(x) for x in state["history"]]
            self.best, best_w = float(state["best"]), state["best_w"]
            self.best_w = None if best_w is None else np.array(best_w, dtype=np.float64)
            self.start = float(state["start"])
        if self.memory.size:
            self.trainer.write_memory(self.memory)

    def step(self) -> Step:
        """Make one pass."""
        order, due = self.order(self.passes + 1), self.due.copy()
        rates = self.method.rates(self.start, self.passes * self.visits, self.visits, self.strengths[1])
        with np.errstate(all="ignore"):
            loss = self.trainer.run(kernels, order, rates, self.strengths, self.method.offset, due)
            after = np.empty_like(self.w)
            self.trainer.read(after)
            objective = loss + self.penalty.value(after)
        self.passes += 1
        self.evaluations += 1.0
        if not (np.isfinite(objective) and np.isfinite(after).all()):
            return self._end(
                f"diverged: the loss is not finite in pass {self.passes}; begin with a lower rate"
            )
        self.w, self.due = after, due
        if self.memory.size:
            self.trainer.read_memory(self.memory)
        if objective < self.best:
            self.best = objective
            self.best_w = None if self.best_w is None else after.copy()
        stopped = self._verdict()
        self.history = [*self.history, self.best][-self.method.period :]
        if not stopped:
            return Step(objective, length=float(rates[-1]), evaluations=self.evaluations)
        if self.best_w is not None:
            self.w = self.best_w.copy()
        return self._end(stopped, float(rates[-1]))

    def order(self, number: int) -> Pointers:
        """Return the order of a pass, counted from 1."""
        return self.arrays.order(self.method.seed, number)

    def state(self) -> dict[str, Any]:
        """Return everything that goes on from here needs; the seed is an option."""
        return {
            "w": self.w.copy(),
            "memory": self.memory.copy(),
            "due": self.due.copy(),
            "passes": self.passes,
            "evaluations": self.evaluations,
            "history": list(self.history),
            "best": self.best,
            "best_w": None if self.best_w is None else self.best_w.copy(),
            "start": self.start,
        }

    def _verdict(self) -> str:
        method = self.method
        if len(self.history) == method.period:
            gained = (self.history[0] - self.best) / max(abs(self.best), 1e-300)
            if gained < method.delta:
                return f"the objective fell by less than {method.delta:g} of itself in {method.period} passes"
        if self.passes >= method.max_passes:
            return f"the limit of {method.max_passes} passes is reached"
        return ""

    def _end(self, stopped: str, length: float = float("nan")) -> Step:
        self.evaluations += 1.0
        objective, norm = evaluate(self.problem, self.penalty, self.w)
        return Step(objective, norm, length, self.evaluations, stopped=stopped)
