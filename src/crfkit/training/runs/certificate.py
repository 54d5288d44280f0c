"""Certificates: how far above the optimum a point is at most, in numbers and in words.

A dual method knows its gap. Otherwise strong convexity gives one: with an L2 penalty of at least l2 on every
weight, a convex loss P and any subgradient g at w,

    P(w) - min P <= |g|^2 / (2 l2)

(minimize the quadratic that bounds P from below; Nesterov 2004, theorem 2.1.10). For likelihood with L2 this
is the duality gap between w and the marginals at w. Under L1 the pseudo-gradient is such a g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.arrays import Floats
from crfkit.optimize.problem import Penalty, Smooth, Step, evaluate

__all__ = ["Certificate", "certify", "curvature_of", "exact_step"]


@dataclass(frozen=True)
class Certificate:
    """A bound on how far the objective is above its optimum."""

    objective: float
    gap: float  #: at most so far above the optimum; nan when unknown
    why_not: str = ""  #: why nothing is known
    bounded: bool = False  #: whether another point of the run gave the bound

    @property
    def excess(self) -> float:
        """The gap as a fraction of the optimum; nan when unknown, inf when the bound says nothing."""
        if not np.isfinite(self.gap) or not np.isfinite(self.objective):
            return float("nan")
        least = self.objective - self.gap
        return self.gap / least if least > 0.0 else (0.0 if self.gap <= 0.0 else float("inf"))

    def with_bound(self, least: float) -> Certificate:
        """Return the certificate by a lower bound of the optimum that another point of the run gave.

        A dev set may keep weights whose own gap says little, though the run came near to the optimum later.

        Examples
        --------
        >>> print(Certificate(210.0, 190.0).with_bound(199.0))
        Within 5.6 % of the optimum: at most 11 above it.
        """
        gap = self.objective - least
        if not np.isfinite(gap) or self.gap <= gap:
            return self
        return Certificate(self.objective, max(gap, 0.0), bounded=True)

    def __str__(self) -> str:
        if np.isnan(self.excess):
            return f"No certificate: {self.why_not or 'nothing bounds the optimum from below'}."
        if self.excess >= 1.0 and self.bounded:
            least = self.objective - self.gap
            return f"At most {self.gap:,.3g} above the optimum, which is {least:,.6g} or more."
        if self.excess >= 1.0:
            return (
                f"No useful certificate: the objective is {self.objective:,.6g}, and the optimum may lie "
                f"anywhere between {max(self.objective - self.gap, 0.0):,.3g} and that."
            )
        return f"Within {_percent(self.excess)} of the optimum: at most {self.gap:,.3g} above it."


def curvature_of(penalty: Penalty, convex: bool) -> float:
    """Return the strength of the strong convexity that the penalty gives; 0 for none."""
    return float(np.min(penalty.l2)) if convex else 0.0


def certify(step: Step, curvature: float, *, convex: bool = True) -> Certificate:
    """Return the certificate of a step.

    Examples
    --------
    >>> print(certify(Step(objective=200.0, gap=0.0099), 0.0))
    Within 0.005 % of the optimum: at most 0.0099 above it.
    >>> print(certify(Step(objective=200.0, gradient_norm=0.199), 2.0))
    Within 0.005 % of the optimum: at most 0.0099 above it.
    >>> print(certify(Step(objective=200.0, gradient_norm=0.2), 0.0))
    No certificate: without an L2 penalty on every weight the gradient bounds nothing.
    """
    if np.isfinite(step.gap):
        return Certificate(step.objective, max(step.gap, 0.0))
    if not convex:
        why = "the objective is not convex, so there may be better optima elsewhere"
        return Certificate(step.objective, float("nan"), why)
    if curvature <= 0.0:
        why = "without an L2 penalty on every weight the gradient bounds nothing"
        return Certificate(step.objective, float("nan"), why)
    if not np.isfinite(step.gradient_norm):
        return Certificate(step.objective, float("nan"), "the method knows neither gap nor gradient")
    return Certificate(step.objective, step.gradient_norm * step.gradient_norm / (2.0 * curvature))


def _percent(fraction: float) -> str:
    """Return two digits, rounded up, so that the bound still holds."""
    if fraction <= 0.0:
        return "0 %"
    percent = 100.0 * fraction
    unit = 10.0 ** (np.floor(np.log10(percent)) - 1)
    up = np.ceil(percent / unit * (1.0 - 1e-9)) * unit
    return f"{up:.2g} %" if up >= 1e-4 else f"{up:.1e} %"


def exact_step(problem: Smooth, penalty: Penalty, w: Floats, evaluations: float) -> Step:
    """Return the objective and the norm of its (pseudo-)gradient at w [F], by one pass over the data."""
    objective, norm = evaluate(problem, penalty, w)
    return Step(objective, norm, evaluations=evaluations + 1.0)
