"""Nonlinear conjugate gradients, preconditioned by an approximate diagonal Hessian.

    d = -M g + beta d,   beta = max(0, (g' - g).M g' / g.M g)      Polak & Ribiere, kept positive

with a strict Wolfe line search (Nocedal & Wright 2006, section 5.2). M is the identity, or the inverse of
the diagonal of the Hessian, where the square of a feature summed over a sequence is replaced by the sum of
its squares (Sha & Pereira 2003, section 3.1): a good guide far from the optimum and a poor one close to it,
whence their *mixed* training, which drops it after some iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.optimize.batch.descent import Searching
from crfkit.optimize.batch.run import BatchRun, refuse_l1
from crfkit.optimize.classic.steepest import ScaledDescent
from crfkit.optimize.problem import Curvature, Differentiable, Penalty, Smooth, State, view_of


@dataclass(frozen=True, kw_only=True)
class ConjugateGradient(Searching):
    """Conjugate gradients of Polak and Ribiere.

    Parameters
    ----------
    preconditioner : {"none", "diagonal", "mixed"}
        "diagonal" asks the problem for `diagonal`; "mixed" does so in the first `preconditioned` iterations.
    preconditioned : int
        Iterations after which "mixed" goes on without.
    refresh : int
        The diagonal is computed anew after this many iterations, at the price of one evaluation.
    restart : float
        Begin again from the gradient when it is less orthogonal than this to the one before (Powell 1977).
    c1, c2 : float
        As in `crfkit.optimize.LBFGS`; a good conjugate direction needs a small c2.

    Examples
    --------
    >>> ConjugateGradient(preconditioner="mixed").preconditioned
    20
    """

    preconditioner: Literal["none", "diagonal", "mixed"] = "none"
    preconditioned: int = 20
    refresh: int = 5
    restart: float = 0.2
    c2: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("preconditioner", self.preconditioner, ("none", "diagonal", "mixed"))
        if self.preconditioned < 0 or self.refresh < 1 or not self.restart >= 0.0:
            raise ValueError("preconditioned and restart must be 0 or more, refresh 1 or more")

    @property
    def needs(self) -> tuple[type, ...]:
        """Needs a gradient everywhere, and the curvature for a preconditioner."""
        return (Differentiable,) if self.preconditioner == "none" else (Differentiable, Curvature)

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "ConjugateGradient")
        for need in self.needs:
            view_of(problem, need, "ConjugateGradient")
        return ConjugateRun(self, problem, penalty, w, state)


class ConjugateRun(ScaledDescent):
    """A run of conjugate gradients."""

    def __init__(
        self, options: ConjugateGradient, problem: Smooth, penalty: Penalty, w: Floats, state: State
    ) -> None:
        self.options = options
        self.inverse: Floats | None = None  # [F] the preconditioner; None for the identity
        self.scaled = np.zeros(problem.size if options.preconditioner != "none" else 0)
        self.z = self.scaled  # [F] M g; the gradient itself without preconditioner
        self.gz = self.beta = 0.0  # g.M g of the present weights
        self.conjugate = False  # whether d counts
        super().__init__(options, problem, penalty, w, state)

    def begin(self) -> bool:
        """Evaluate the first weights."""
        finite = super().begin()
        if finite:
            self._renew(0)
            self._apply()
            self.gz = self.vectors.dot(self.gradient, self.z)
        return finite

    def direction(self) -> float:
        """Bend -M g towards the direction before."""
        if not self.conjugate:
            self.vectors.combine([-1.0], [self.z], out=self.d)
            return -self.gz
        self.vectors.combine([-1.0, self.beta], [self.z, self.d], out=self.d)
        return self.vectors.dot(self.gradient, self.d)

    def first_length(self, slope: float) -> float:
        """Return 1 for the first direction with a preconditioner, which has a scale; else guess."""
        return 1.0 if self.inverse is not None and not self.promised else super().first_length(slope)

    def learn(self, length: float, slope: float) -> None:
        """Compute beta and the preconditioned gradient."""
        super().learn(length, slope)
        before = self.gz
        changed = self._renew(self.iteration + 1)
        self._apply()
        self.gz, mixed = self.vectors.dots([self.gradient, self.spare], [self.z])[:, 0].tolist()
        self.beta = (self.gz - mixed) / before
        self.conjugate = not changed and self.beta > 0.0 and abs(mixed) < self.options.restart * self.gz

    def forget(self) -> bool:
        """Fall back to the gradient."""
        known = self.conjugate
        self.conjugate = False
        return known

    def _renew(self, at: int) -> bool:
        """Compute the preconditioner if iteration `at` needs one; return whether it was dropped."""
        kind = self.options.preconditioner
        if kind == "none":
            return False
        if kind == "mixed" and at >= self.options.preconditioned:
            dropped = self.inverse is not None
            self.inverse = None
            if dropped:
                self.promised = 0.0
            return dropped
        if at % self.options.refresh == 0:
            seen = view_of(self.problem, Curvature, "ConjugateGradient")
            curvature = np.maximum(seen.diagonal(self.w), 0.0) + self.penalty.l2  # [F]
            self.evaluations += 1.0
            floor = (
                1e-3 * float(curvature.mean()) or 1.0
            )  # directions of hardly any curvature must not get huge steps
            self.inverse = 1.0 / np.maximum(curvature, floor)
        return False

    def _apply(self) -> None:
        if self.inverse is None:
            self.z = self.gradient
        else:
            self.z = np.multiply(self.inverse, self.gradient, out=self.scaled)

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        F = len(self.d)
        self.d[:] = state.floats("d", F)
        known = state.floats("inverse", None, least=0.0)
        if len(known) not in ((0,) if self.options.preconditioner == "none" else (0, F)):
            state.wrong("inverse", "a preconditioner, where the options ask for one")
        self.inverse = known if len(known) else None
        self.gz, self.beta = state.number("gz"), state.number("beta")
        self.conjugate = state.flag("conjugate")
        self._apply()

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            **super().state(),
            "d": self.d.copy(),
            "inverse": np.zeros(0) if self.inverse is None else self.inverse.copy(),
            "gz": self.gz,
            "beta": self.beta,
            "conjugate": int(self.conjugate),
        }
