"""Truncated Newton: solve H d = -g roughly by conjugate gradients, then search along d.

Nocedal & Wright (2006), algorithm 7.1. The inner iteration ends when the residual falls below eta * |g|,
with eta = 0.9 (|g| / |g before|)^2 kept within [1e-3, 0.5] (Eisenstat & Walker 1996, choice 2): rough
far from the optimum, fast convergence close to it. H is only ever multiplied by vectors: by
`problem.hessian_vector(w, v, out)` where the problem has it, otherwise by differences of gradients,

    forward  (g(w + e v) - g(w)) / e                error of order e |v|^2, one evaluation
    central  (g(w + e v) - g(w - e v)) / 2e         error of order e^2 |v|^3, two
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.optimize.batch.descent import Descent, Searching
from crfkit.optimize.batch.run import BatchRun, refuse_l1
from crfkit.optimize.options import check_counts
from crfkit.optimize.problem import Differentiable, Penalty, Smooth, State


@runtime_checkable
class Curved(Smooth, Protocol):
    """A loss with products of its Hessian and vectors."""

    def hessian_vector(self, w: Floats, v: Floats, out: Floats) -> None:
        """Write the Hessian of the loss at w times v over `out` [F]."""
        ...


@dataclass(frozen=True, kw_only=True)
class TruncatedNewton(Searching):
    """Newton's method with an inner conjugate-gradient solver.

    Parameters
    ----------
    max_inner : int
        The most products with the Hessian per step.
    differences : {"forward", "central"}
        How to multiply by the Hessian when the problem cannot.

    Examples
    --------
    >>> TruncatedNewton(differences="central").max_inner
    50
    """

    needs: ClassVar[tuple[type, ...]] = (Differentiable,)

    max_inner: int = 50
    differences: Literal["forward", "central"] = "forward"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(max_inner=self.max_inner)
        check_choice("differences", self.differences, ("forward", "central"))

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "TruncatedNewton")
        return NewtonRun(self, problem, penalty, w, state)


class NewtonRun(Descent):
    """A run of truncated Newton."""

    def __init__(
        self, options: TruncatedNewton, problem: Smooth, penalty: Penalty, w: Floats, state: State
    ) -> None:
        self.options = options
        self.norm_before = 0.0  # of the gradient of the step before
        self.plain = False  # whether to go along -g, after a Newton direction that failed
        self.residual, self.p, self.hp = (np.zeros(problem.size) for _ in range(3))
        super().__init__(options, problem, penalty, w, state)

    def direction(self) -> float:
        """Solve H d = -g until the residual is small; stop where H does not curve upwards."""
        if self.plain:
            self.vectors.combine([-1.0], [self.gradient], out=self.d)
            return -(self.gradient_norm**2)
        vectors, d, r, p, hp = self.vectors, self.d, self.residual, self.p, self.hp
        d[:] = 0.0
        vectors.combine([1.0], [self.gradient], out=r)
        vectors.combine([-1.0], [self.gradient], out=p)
        square = self.gradient_norm**2
        goal = (self._forcing() * self.gradient_norm) ** 2
        for _ in range(self.options.max_inner):
            self._times_hessian(p, hp)
            (curvature,), (length,) = vectors.dots([hp, p], [p]).tolist()
            if not curvature > 1e-12 * length:
                break
            alpha = square / curvature
            vectors.combine([1.0, alpha], [d, p], out=d)
            vectors.combine([1.0, alpha], [r, hp], out=r)
            before, square = square, vectors.dot(r, r)
            if not square > goal:
                break
            vectors.combine([-1.0, square / before], [r, p], out=p)
        slope = vectors.dot(self.gradient, d)
        if slope == 0.0:  # no curvature at all: use the gradient
            vectors.combine([-1.0], [self.gradient], out=d)
            slope = -(self.gradient_norm**2)
        return slope

    def _forcing(self) -> float:
        if not self.norm_before:
            return 0.5
        return float(np.clip(0.9 * (self.gradient_norm / self.norm_before) ** 2, 1e-3, 0.5))

    def _times_hessian(self, v: Floats, out: Floats) -> None:
        if isinstance(self.problem, Curved):
            self.problem.hessian_vector(self.w, v, out)
            self.evaluations += 1.0
            out += self.penalty.l2 * v
            return
        central = self.options.differences == "central"
        size = 6e-6 if central else 1.5e-8  # of the rounding error of a gradient: root, cubic root
        e = size * (1.0 + self.weight_norm) / sqrt(self.vectors.dot(v, v))
        self.vectors.combine([1.0, e], [self.w, v], out=self.trial)
        self.evaluate(self.trial, out)
        if not central:
            self.vectors.combine([1.0 / e, -1.0 / e], [out, self.gradient], out=out)
            return
        self.vectors.combine([1.0, -e], [self.w, v], out=self.trial)
        self.evaluate(self.trial, self.spare)
        self.vectors.combine([0.5 / e, -0.5 / e], [out, self.spare], out=out)

    def first_length(self, slope: float) -> float:
        """Return 1 for Newton steps; plain ones move by 1 in all."""
        return 1.0 / self.gradient_norm if self.plain else 1.0

    def learn(self, length: float, slope: float) -> None:
        """Keep what the forcing term needs."""
        self.plain = False
        self.norm_before = sqrt(self.vectors.dot(self.spare, self.spare))

    def forget(self) -> bool:
        """Fall back to the gradient."""
        known = not self.plain
        self.plain = True
        return known

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.norm_before = state.number("norm_before", least=0.0)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), "norm_before": self.norm_before}
