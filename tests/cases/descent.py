"""An optimizer for the tests of training: small, with a state, and as slow as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.optimize.problem import Penalty, Smooth, Step


@dataclass(frozen=True)
class Descent:
    """Gradient descent with momentum: the smallest optimizer that obeys the contract and has a state."""

    rate: float = 0.01
    momentum: float = 0.5
    pause: float = 0.0  # seconds that a step takes at least

    @property
    def needs(self) -> tuple[type, ...]:
        return ()

    def start(
        self, problem: Smooth, penalty: Penalty, w: Floats, *, state: dict[str, Any] | None = None
    ) -> Descending:
        return Descending(self, problem, penalty, w, state)


class Descending:
    def __init__(
        self, options: Descent, problem: Smooth, penalty: Penalty, w: Floats, state: dict[str, Any] | None
    ) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.w = np.array(w if state is None else state["w"])
        self.moving = [np.zeros_like(self.w)] if state is None else state["moving"]
        self.passes = 0 if state is None else state["passes"]

    def step(self) -> Step:
        if self.options.pause:
            import time

            time.sleep(self.options.pause)
        gradient = np.empty_like(self.w)
        self.problem.value_and_grad(self.w, gradient)
        self.penalty.add_smooth(self.w, gradient)
        self.moving = [self.options.momentum * self.moving[0] - self.options.rate * gradient]
        self.w += self.moving[0]
        value = self.problem.value_and_grad(self.w, gradient) + self.penalty.value(self.w)
        self.penalty.add_smooth(self.w, gradient)
        self.passes += 2
        norm = float(np.linalg.norm(gradient))
        stopped = "the gradient vanishes" if norm < 1e-9 else ""
        return Step(value, norm, self.options.rate, float(self.passes), stopped=stopped)

    def state(self) -> dict[str, Any]:
        return {"w": self.w, "moving": self.moving, "passes": self.passes}
