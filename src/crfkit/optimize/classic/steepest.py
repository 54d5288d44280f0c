"""Steepest descent: along the gradient, to a point that meets the Wolfe conditions. For comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.batch.descent import Descent, Searching
from crfkit.optimize.batch.run import BatchRun, refuse_l1
from crfkit.optimize.problem import Differentiable, Penalty, Smooth, State


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


class SteepestRun(ScaledDescent):
    """A run of steepest descent."""

    def direction(self) -> float:
        """Go along -g."""
        self.vectors.combine([-1.0], [self.gradient], out=self.d)
        return -(self.gradient_norm**2)
