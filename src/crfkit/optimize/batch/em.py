"""Expectation maximization for losses in which something is hidden.

The loss is log Z(w) - log Z_gold(w), where Z_gold sums over what agrees with the gold. At the weights w' of
now, the E-step finds the expected counts c of the features among what agrees (the gradient of log Z_gold);
the M-step lowers

    log Z(w) - c . w + penalty(w)                                       Dempster, Laird & Rubin (1977)

which is convex and, up to a constant, nowhere below the objective, because log Z_gold is convex: what lowers
it lowers the objective, which therefore never rises. A few iterations of L-BFGS are enough for that
(generalized EM). The gradients of both are the same at w', so EM ends where direct methods end.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, dot, norm
from crfkit.optimize.batch.lbfgs import LBFGS
from crfkit.optimize.batch.run import BatchRun, Stopping, refuse_l1
from crfkit.optimize.options import check_counts
from crfkit.optimize.problem import End, Latent, Penalty, Smooth, State, Stopped, view_of


@dataclass(frozen=True, kw_only=True)
class EM(Stopping):
    """Expectation maximization, for hidden states, missing labels and sets of labels.

    Parameters
    ----------
    maximization : int
        Iterations of L-BFGS in each M-step.

    Examples
    --------
    >>> EM(maximization=3).maximization
    3
    """

    needs: ClassVar[tuple[type, ...]] = (Latent,)

    maximization: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(maximization=self.maximization)

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "EM")
        return EMRun(self, problem, penalty, w, state)


class EMRun(BatchRun):
    """A run of EM: an iteration is an E-step and an M-step."""

    def __init__(self, options: EM, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        self.options = options
        self.latent = view_of(problem, Latent, "EM")
        self.gradient: Floats = np.zeros(problem.size)
        super().__init__(options, problem, penalty, w, state)

    @property
    def uphill(self) -> Floats:
        """The gradient of the objective at the present weights, [F]."""
        return self.gradient

    def begin(self) -> bool:
        """Evaluate the first weights."""
        point = self.evaluate(self.w, self.gradient)
        self.note(point.value, point.gradient_norm, point.weight_norm)
        return point.finite

    def advance(self) -> tuple[float, Stopped | None]:
        """Find the expected counts, and lower the loss that takes them for the gold."""
        counts = np.empty(len(self.w))
        self.latent.within(self.w, counts)
        maximization = _Maximization(self.latent, counts)
        options = LBFGS(max_iterations=self.options.maximization, tolerance=0.0, threads=self.options.threads)
        run = options.start(maximization, self.penalty, self.w)
        for _ in range(self.options.maximization):
            if run.step().end is not None:
                break
        self.evaluations += 1.0 + maximization.evaluations
        trial, gradient = np.array(run.w), np.empty(len(self.w))
        moved = norm(trial - self.w)
        point = self.evaluate(trial, gradient)
        if not (point.finite and isfinite(moved)):
            return 0.0, Stopped(End.DIVERGED, "diverged: the objective is not finite after the last step")
        if not point.value < self.objectives[-1]:
            return 0.0, Stopped(End.STUCK, "stuck: the M-step finds no better weights")
        self.w, self.gradient = trial, gradient
        self.note(point.value, point.gradient_norm, point.weight_norm)
        return moved, None

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.gradient[:] = state.floats("gradient", len(self.gradient))

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), "gradient": self.gradient.copy()}


class _Maximization:
    """The loss of an M-step, whose gold is expected counts."""

    def __init__(self, latent: Latent, counts: Floats) -> None:
        self.latent, self.counts, self.evaluations = latent, counts, 0.0

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return len(self.counts)

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return log Z(w) - c . w, and its gradient."""
        self.evaluations += 1.0
        value = self.latent.free(w, gradient)
        gradient -= self.counts
        return value - dot(self.counts, w)
