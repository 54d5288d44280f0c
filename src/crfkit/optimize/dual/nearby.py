"""The weights near those of a run whose gradient is smallest: what certifies it, some steps before its own.

A run that makes the objective small leaves a gradient that swings where the objective curves most, and

    P(w) - min P <= |g(w)|^2 / (2 l2)                                   (training/runs/convergence.py)

is then far too large. Near the optimum g is linear in w, so the last moves s_k of the weights and y_k of the
gradient foresee it around them, and least squares takes most of the swings out:

    a = argmin |g + sum_k a_k y_k|^2,   w' = w + sum_k a_k s_k

(residual smoothing: Weiss 1994; Zhou & Walker 1994). One evaluation at w' gives the bound itself. On
CoNLL-2000, l2 = 2, it certifies 1e-4 after 19 evaluations; the run's own gradient takes 26, and its weights
are as near to the optimum after 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, solved
from crfkit.optimize.batch.vectors import Kept, Vectors
from crfkit.optimize.dual.passes import passes_left
from crfkit.optimize.problem import Penalty, Smooth, State, evaluate

_MOVES = 12
_SURE = 0.95  # of what is wanted: what is foreseen may be wrong by the rest
_RIDGE = 1e-9  # of the mean square of the moves: they may all but depend on each other


class Nearby:
    """The last moves of a run, and the weights around its own with the smallest gradient.

    Parameters
    ----------
    vectors : Vectors
    curvature : float
        Strong convexity of the objective, such as the smallest l2.
    state : dict, optional
        The state of another one, to go on from.

    Examples
    --------
    On a quadratic with the Hessian diag(1, 10), two moves are enough to know the optimum:

    >>> near, curve = Nearby(Vectors(2), curvature=1.0), np.array([1.0, 10.0])
    >>> for w in (np.array([1.0, 1.0]), np.array([0.5, -1.0]), np.array([0.3, 0.5])):
    ...     near.add(w, curve * w)
    >>> near.foreseen[0], near.foreseen[-1] < 1e-12, bool(np.abs(near.weights()).max() < 1e-6)
    (50.5, True, True)
    """

    def __init__(self, vectors: Vectors, curvature: float, state: State = None) -> None:
        self.vectors, self.curvature = vectors, curvature
        self.w = self.gradient = np.zeros(0)  # [F] the last of each; none before the first
        self.s: list[Kept] = []  # moves of w
        self.y: list[Kept] = []  # and of the gradient
        self.yy, self.yg = np.zeros((0, 0)), np.zeros(0)  # [K, K] y_i.y_j, [K] y_i.g
        self.foreseen: list[float] = []  # the bound at `weights`, after each of the last moves
        self.tried = np.inf  # the bound itself, where it was last evaluated
        if state:
            self._recall(Fields.of(state))

    def _recall(self, state: Fields) -> None:
        F = self.vectors.size
        self.w, self.gradient = state.floats("w", F), state.floats("gradient", F)
        self.yg = state.floats("yg", None)
        K = len(self.yg)
        if K > _MOVES:
            state.wrong("yg", f"numbers of at most {_MOVES} moves")
        self.s, self.y = self.vectors.kept_in(state, "s", K), self.vectors.kept_in(state, "y", K)
        self.yy = state.floats("yy", K, K)
        self.foreseen = state.numbers("foreseen", most=6)
        if not self.foreseen:
            state.wrong("foreseen", "one bound or more")
        self.tried = state.bounds("tried")[0]

    def add(self, w: Floats, gradient: Floats) -> None:
        """Take note of weights [F] that a run has come to, and of the gradient there."""
        if len(self.w):
            self._move(w, gradient)
        else:
            self.w, self.gradient = np.empty_like(w), np.empty_like(gradient)
        self.w[:], self.gradient[:] = w, gradient
        a = self._steps()
        square = self.vectors.dot(gradient, gradient) + float(a @ (2.0 * self.yg + self.yy @ a))
        self.foreseen = [*self.foreseen, max(square, 0.0) / (2.0 * self.curvature)][-6:]

    def _move(self, w: Floats, gradient: Floats) -> None:
        self.vectors.combine([1.0, -1.0], [w, self.w], out=self.w)
        self.vectors.combine([1.0, -1.0], [gradient, self.gradient], out=self.gradient)
        full = len(self.s) == _MOVES
        s, y = (self.s.pop(0), self.y.pop(0)) if full else (None, None)
        self.s.append(self.vectors.keep(self.w, s))
        self.y.append(self.vectors.keep(self.gradient, y))
        found = self.vectors.kept_dots(self.y, [self.gradient, gradient])  # [K, 2]
        yy = np.empty((len(self.y), len(self.y)))
        yy[:-1, :-1] = self.yy[full:, full:]
        yy[-1], yy[:, -1] = found[:, 0], found[:, 0]
        self.yy, self.yg = yy, found[:, 1]

    def _steps(self) -> Floats:
        """Return a, [K]."""
        K = len(self.y)
        ridge = _RIDGE * float(np.trace(self.yy)) / max(K, 1)
        if not ridge > 0.0:
            return np.zeros(K)
        return solved(self.yy + ridge * np.eye(K), -self.yg)

    def promises(self, wanted: float) -> bool:
        """Return whether an evaluation at `weights` is foreseen to bound the optimum as tightly as wanted."""
        return bool(self.foreseen[-1] <= _SURE * min(wanted, self.tried))

    def left(self, wanted: float) -> float:
        """Return how many more moves the trend of the bound foresees; inf where none falls."""
        return passes_left(self.foreseen, wanted) if self.foreseen else np.inf

    def weights(self) -> Floats:
        """Return the weights whose gradient is foreseen to be smallest, [F]."""
        made = np.empty_like(self.w)
        return self.vectors.combine([1.0, *self._steps()], [self.w], made, kept=self.s)

    def evaluate(self, problem: Smooth, penalty: Penalty) -> tuple[Floats, float, float]:
        """Return `weights`, the objective there, and a lower bound of the optimum."""
        w = self.weights()
        objective, norm = evaluate(problem, penalty, w)
        self.tried = norm**2 / (2.0 * self.curvature)
        return w, objective, objective - self.tried

    def state(self) -> dict[str, Any]:
        """Return everything as arrays; nothing before the first weights."""
        if not len(self.w):
            return {}
        names = ("w", "gradient", "s", "y", "yy", "yg", "foreseen")
        return {**{name: np.array(getattr(self, name)) for name in names}, "tried": self.tried}
