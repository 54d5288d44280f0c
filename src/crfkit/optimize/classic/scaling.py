"""Iterative scaling: the training of Lafferty et al. (2001), section 4, and generalized iterative scaling.

Each weight gets its own update, which maximizes a lower bound of the log-likelihood. With counts
f >= 0, observed E~ and expected E, and T the total count of a labeling (at the most, given its sequence),
the update delta of weight k is the root of

    E~_k - sum_t a_{k,t} exp(delta t) - l2 (w_k + delta) = 0,

where a_{k,t} is the expectation over the sequences with T(x) = t.

========  ==========================================================================================
"iis-s"   Algorithm S: one total for all, S = max T. delta = log(E~ / E) / S without penalty
"iis-t"   Algorithm T: every sequence has its own total, so that short ones allow longer steps
"gis"     Algorithm S with a weight for the slack feature S - sum_k f_k, as Darroch & Ratcliff (1972) have
          it. That weight only shifts all others, w_k - w_slack. A penalty would see the shift, so there
          is none with l2 > 0: "gis" is then the same as "iis-s"
========  ==========================================================================================

The objective never rises, and falls slowly: these methods are here for comparison and for the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, checked_later
from crfkit.checks import check_choice
from crfkit.optimize.batch.run import BatchRun, Stopping, refuse_l1
from crfkit.optimize.options import check_above_zero
from crfkit.optimize.problem import End, Penalty, State, Stopped, view_of


@runtime_checkable
class Counted(Protocol):
    """A log-linear loss whose features are counts of 0 or more, in G groups of sequences."""

    @property
    def size(self) -> int:
        """Number of weights, F."""
        ...

    @property
    def observed(self) -> Floats:
        """Counts in the gold, [F]."""
        ...

    @property
    def totals(self) -> Floats:
        """The largest total count of a labeling in each group, [G]."""
        ...

    @property
    def sequences(self) -> Floats:
        """The weight of the sequences of each group, [G]: their number, unless they are weighted."""
        ...

    def expect(self, w: Floats, expected: Floats) -> float:
        """Return the loss at w, and write the expected counts of each group to `expected` [G, F]."""
        ...


@dataclass(frozen=True, kw_only=True)
class IterativeScaling(Stopping):
    """Generalized and improved iterative scaling.

    Parameters
    ----------
    variant : {"iis-t", "iis-s", "gis"}
        Algorithm T, Algorithm S, or Algorithm S with a slack weight.
    max_change : float
        The most that a weight may change in a step: features that the gold never shows have no finite root.

    Examples
    --------
    A coin that showed 3 heads and 1 tail, with one weight for heads:

    >>> import numpy as np
    >>> class Coin:
    ...     size, observed = 1, np.array([3.0])
    ...     totals, sequences = np.array([1.0]), np.array([4.0])
    ...
    ...     def expect(self, w, expected):
    ...         expected[0] = 4.0 / (1.0 + np.exp(-w))
    ...         return float(4.0 * np.log1p(np.exp(w[0])) - 3.0 * w[0])
    >>> run = IterativeScaling(variant="gis").start(Coin(), Penalty(), np.zeros(1))
    >>> run.step().stopped.partition(":")[0], bool(abs(run.w[0] - np.log(3.0)) < 1e-12)
    ('converged', True)
    """

    needs: ClassVar[tuple[type, ...]] = (Counted,)

    variant: Literal["iis-t", "iis-s", "gis"] = "iis-t"
    max_change: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("variant", self.variant, ("iis-t", "iis-s", "gis"))
        check_above_zero(max_change=self.max_change)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "IterativeScaling")
        counted = view_of(problem, Counted, "IterativeScaling")
        return ScalingRun(self, counted, penalty, w, state, variant=self.variant, max_change=self.max_change)


class ScalingRun(BatchRun):
    """A run of iterative scaling."""

    def __init__(
        self,
        options: Stopping,
        problem: Counted,
        penalty: Penalty,
        w: Floats,
        state: State,
        *,
        variant: str = "iis-t",
        max_change: float,
    ) -> None:
        self.variant, self.max_change = variant, max_change
        G, F = len(problem.totals), problem.size
        self.expected, self.spare = np.zeros((G, F)), np.zeros((G, F))
        super().__init__(options, problem, penalty, w, state)

    def begin(self) -> bool:
        """Evaluate the first weights."""
        self.note(*self._at(self.w, self.expected))
        return isfinite(self.objectives[-1]) and isfinite(self.gradient_norm)

    def _at(self, w: Floats, expected: Floats) -> tuple[float, float, float]:
        """Return objective, norm of the gradient and norm of the weights."""
        loss = self.problem.expect(w, expected)
        self.evaluations += 1.0
        gradient = expected.sum(axis=0) - self.problem.observed
        penalty, weight, square, _ = self.vectors.add_l2(self.l2, w, gradient, None)
        return loss + 0.5 * penalty, sqrt(square), sqrt(weight)

    def advance(self) -> tuple[float, Stopped | None]:
        """Solve for every weight."""
        observed, totals, expected = self.problem.observed, self.problem.totals, self.expected
        if self.variant != "iis-t":
            totals, expected = totals.max(keepdims=True), expected.sum(axis=0, keepdims=True)
        change = scaling_update(observed, expected, totals, self.w, self.l2, self.max_change)
        if self.variant == "gis" and not self.l2.any():
            change -= self._slack(float(totals[0]), float(observed.sum()), float(expected.sum()))
        w = self.w + change
        found = self._at(w, self.spare)
        if not all(map(isfinite, found)):
            return 0.0, Stopped(End.DIVERGED, "diverged: the objective is not finite after the last update")
        if found[0] > self.objectives[-1] + 1e-12 * abs(self.objectives[-1]):
            why = "no further progress: the update does not lower the objective"
            return 0.0, Stopped(End.STUCK, why)
        self.w, self.expected, self.spare = w, self.spare, self.expected
        self.note(*found)
        return nan, None

    def _slack(self, S: float, observed: float, expected: float) -> float:
        """Return the update of the weight of the slack feature."""
        total = S * float(self.problem.sequences.sum())
        if not (total - observed > 0.0 and total - expected > 0.0):
            return 0.0
        change = np.log((total - observed) / (total - expected)) / S
        return float(np.clip(change, -self.max_change, self.max_change))

    def recall(self, state: Fields) -> None:
        """Restore a state."""
        super().recall(state)
        self.expected[:] = state.floats("expected", *self.expected.shape)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), "expected": self.expected.copy()}


def scaling_update(
    observed: Floats, expected: Floats, totals: Floats, w: Floats, l2: Floats, most: float
) -> Floats:
    """Solve observed - sum_t expected_t exp(delta t) - l2 (w + delta) = 0 for delta [F].

    By Newton's method in an interval that shrinks around the root, which begins as [-most, most]; a root
    outside it gives the end that is nearer. The left side falls in delta, so that the root is unique, where
    expectations have the signs of their totals.

    Examples
    --------
    >>> import numpy as np
    >>> none = np.zeros(1)
    >>> delta = scaling_update(
    ...     np.array([6.0]), np.array([[1.0], [1.0]]), np.array([1.0, 2.0]), none, none, 9.0
    ... )
    >>> bool(abs(delta[0] - np.log(2.0)) < 1e-12)  # 2 + 2**2 = 6
    True
    """
    F = len(observed)
    low, high, delta = np.full(F, -most), np.full(F, most), np.zeros(F)
    left = np.flatnonzero(
        (observed > 0.0) | (expected != 0.0).any(axis=0) | (l2 * w != 0.0)
    )  # not yet solved
    strength, t = np.broadcast_to(l2, F), totals[:, None]
    with checked_later():
        for _ in range(100):
            if not left.size:
                break
            at = delta[left]
            terms = expected[:, left] * np.exp(at * t)  # [G, left]
            terms[expected[:, left] == 0.0] = 0.0
            value = observed[left] - terms.sum(axis=0) - strength[left] * (w[left] + at)
            slope = -(terms * t).sum(axis=0) - strength[left]
            low[left] = np.where(value >= 0.0, at, low[left])
            high[left] = np.where(value <= 0.0, at, high[left])
            newton = at - value / slope
            inside = (newton > low[left]) & (newton < high[left])
            delta[left] = np.where(inside, newton, 0.5 * (low[left] + high[left]))
            # Where the root lies beyond the interval, halving ends at its border.
            left = left[abs(delta[left] - at) > 1e-14 * np.maximum(1e-2, abs(at))]
    return delta
