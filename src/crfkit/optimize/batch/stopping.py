"""When a batch method ends by itself, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from crfkit.optimize.problem import End, Stopped

__all__ = ["Stopping"]


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """Options that all batch methods share.

    Parameters
    ----------
    max_iterations : int
        The most steps.
    tolerance : float
        Converged when the norm of the gradient falls below tolerance * max(1, norm of the weights). Under
        L1 it is that of the pseudo-gradient.
    period, delta : int and float, optional
        Converged when the objective improved by less than delta, relative to itself, over the last `period`
        steps: CRFsuite's rule, which has 10 and 1e-5. Off when period is None.
    threads : int, optional
        For passes over vectors of weights; default: one for each core. Results do not depend on it.
    """

    max_iterations: int = 1000
    tolerance: float = 1e-5
    period: int | None = None
    delta: float = 1e-5
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations is {self.max_iterations}, expected 1 or more")
        if not self.tolerance >= 0.0:
            raise ValueError(f"tolerance is {self.tolerance}, expected 0 or more")
        if self.period is not None and self.period < 1:
            raise ValueError(f"period is {self.period}, expected 1 or more, or None")
        if not self.delta >= 0.0:
            raise ValueError(f"delta is {self.delta}, expected 0 or more")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads is {self.threads}, expected 1 or more")

    @property
    def needs(self) -> tuple[type, ...]:
        """The views of a loss that the method needs: none by default."""
        return ()

    def converged(self, gradient_norm: float, weight_norm: float) -> Stopped | None:
        """Return an end if the gradient is small."""
        relative = gradient_norm / max(1.0, weight_norm)
        if relative < self.tolerance:
            return Stopped(End.CONVERGED, f"converged: gradient norm {relative:.2g} below {self.tolerance:g}")
        return Stopped(End.CONVERGED, "converged: the gradient is 0") if relative == 0.0 else None

    def stalled(self, objectives: list[float]) -> Stopped | None:
        """Return an end if the objective no longer improves; the last value is the current one."""
        if self.period is None or len(objectives) <= self.period:
            return None
        now, then = objectives[-1], objectives[-1 - self.period]
        rate = (then - now) / abs(now) if now else 0.0
        if isfinite(rate) and rate < self.delta:
            why = f"converged: improved by {rate:.2g} over {self.period} steps, below {self.delta:g}"
            return Stopped(End.SETTLED, why)
        return None

    def exhausted(self, iteration: int) -> Stopped | None:
        """Return an end if the most steps are made."""
        if iteration < self.max_iterations:
            return None
        return Stopped(End.LIMIT, f"reached {iteration} iterations")
