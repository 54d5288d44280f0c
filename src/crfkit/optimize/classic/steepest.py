"""Steepest descent: along the gradient, to a point that meets the Wolfe conditions. For comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit.arrays import Floats
from crfkit.optimize.batch.descent import ScaledDescent, Searching
from crfkit.optimize.batch.run import BatchRun, refuse_l1
from crfkit.optimize.problem import Differentiable, Penalty, Smooth, State

__all__ = ["SteepestDescent"]


@dataclass(frozen=True, kw_only=True)
class SteepestDescent(Searching):
    """Gradient descent with a line search.

    Examples
    --------
    >>> SteepestDescent(max_iterations=50).max_iterations
    50
    """

    needs: ClassVar[tuple[type, ...]] = (Differentiable,)

    c2: float = 0.5

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "SteepestDescent")
        return SteepestRun(self, problem, penalty, w, state)


class SteepestRun(ScaledDescent):
    """A run of steepest descent."""

    def direction(self) -> float:
        """Go along -g."""
        self.vectors.combine([-1.0], [self.gradient], out=self.d)
        return -(self.gradient_norm**2)
