"""RProp: each weight has its own step, which grows while its gradient keeps its sign and else shrinks.

Igel & Huesken (2000). When the sign of a weight turns, "plus" (iRprop+) takes its last move back if the
objective rose, "minus" (iRprop-) leaves the weight where it is; both then treat its gradient as 0 once.
Only signs are used, so that one evaluation makes a step and no line search is needed; the objective may
rise on the way. Under L1 the signs are those of the pseudo-gradient, and a weight that would change its sign
stops at 0.

Wapiti (rprop.c), after Riedmiller & Braun (1993), differs: rprop+ takes moves back whether or not the
objective rose, rprop- moves on by the shorter step, and under L1 steps that disagree with the pseudo-gradient
are dropped, but weights may jump over 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.optimize.batch.run import BatchRun, Stopping
from crfkit.optimize.problem import Differentiable, End, Penalty, Smooth, State, Stopped


@dataclass(frozen=True, kw_only=True)
class RProp(Stopping):
    """Resilient propagation; L1 and L2.

    Parameters
    ----------
    variant : {"plus", "minus"}
        With and without taking moves back.
    stpini, stpmin, stpmax : float
        First, least and largest step of a weight; names and values are Wapiti's.
    stpinc, stpdec : float
        What steps are multiplied by when the sign of the gradient stays, and when it turns.

    Examples
    --------
    >>> RProp(variant="minus").stpinc
    1.2
    """

    needs: ClassVar[tuple[type, ...]] = (Differentiable,)

    variant: Literal["plus", "minus"] = "plus"
    stpini: float = 0.1
    stpmin: float = 1e-8
    stpmax: float = 50.0
    stpinc: float = 1.2
    stpdec: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("variant", self.variant, ("plus", "minus"))
        if not 0.0 < self.stpmin <= self.stpini <= self.stpmax:
            raise ValueError(f"expected 0 < stpmin <= stpini <= stpmax, not {self}")
        if not 0.0 < self.stpdec < 1.0 < self.stpinc:
            raise ValueError(
                f"stpdec is {self.stpdec} and stpinc {self.stpinc}, expected stpdec < 1 < stpinc"
            )

    def start(self, problem: Smooth, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        return RPropRun(self, problem, penalty, w, state)


class RPropRun(BatchRun):
    """A run of RProp."""

    def __init__(self, options: RProp, problem: Smooth, penalty: Penalty, w: Floats, state: State) -> None:
        F = problem.size
        self.options = options
        self.gradient, self.trial = np.zeros(F), np.zeros(F)
        self.pseudo, self.spare = np.zeros(F), np.zeros(F)
        self.sign = np.zeros(F)  # of the gradient before; 0 where it must not count
        self.move = np.zeros(F)  # [F] the last move
        self.length = np.full(F, options.stpini)
        self.rose = False  # whether the last move made the objective rise
        super().__init__(options, problem, penalty, w, state)

    def begin(self) -> bool:
        """Evaluate the first weights."""
        objective, norm, weight_norm = self._at(self.w, self.pseudo)
        self.note(objective, norm, weight_norm)
        return isfinite(objective) and isfinite(norm)

    def _at(self, w: Floats, pseudo: Floats) -> tuple[float, float, float]:
        point = self.evaluate(w, self.gradient)
        square, penalty = self.vectors.pseudo_gradient(self.l1, w, self.gradient, pseudo)
        return point.value + penalty, sqrt(square), point.weight_norm

    def advance(self) -> tuple[float, Stopped | None]:
        """Move every weight by its own step, against the sign of its gradient."""
        options, sign = self.options, np.sign(self.pseudo)
        turned = sign * self.sign  # [F] 1: as before, -1: turned, 0: unknown
        factor = np.where(turned > 0.0, options.stpinc, np.where(turned < 0.0, options.stpdec, 1.0))
        np.clip(self.length * factor, options.stpmin, options.stpmax, out=self.length)
        back = -self.move if options.variant == "plus" and self.rose else 0.0
        sign[turned < 0.0] = 0.0
        np.copyto(self.move, np.where(turned < 0.0, back, -sign * self.length))
        np.add(self.w, self.move, out=self.trial)
        if self.penalty.sparse:
            side = np.where(self.w != 0.0, self.w, -self.pseudo)
            self.trial[(side * self.trial < 0.0) & (self.penalty.l1 > 0.0)] = 0.0
            np.subtract(self.trial, self.w, out=self.move)
        objective, norm, weight_norm = self._at(self.trial, self.spare)
        if not (isfinite(objective) and isfinite(norm)):
            return 0.0, Stopped(End.DIVERGED, "diverged: the objective is not finite after the last step")
        self.rose = objective > self.objectives[-1]
        self.sign = sign
        self.w, self.trial = self.trial, self.w
        self.pseudo, self.spare = self.spare, self.pseudo
        self.note(objective, norm, weight_norm)
        return float(self.length.mean()), None

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        for name in _ARRAYS:
            getattr(self, name)[:] = state.floats(name, len(self.w))
        self.rose = state.flag("rose")

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            **super().state(),
            **{name: getattr(self, name).copy() for name in _ARRAYS},
            "rose": int(self.rose),
        }


_ARRAYS = ("pseudo", "sign", "move", "length")
