"""The parallel update of the exponential loss: every weight at once, by a bound that each step lowers.

Lafferty, McCallum & Pereira (2001) section 6; Collins, Schapire & Singer (2000). With d_k the difference of
feature k between a labeling and the gold, and S the largest sum of |d_k| that a labeling can have,

    exp(sum_k delta_k d_k) <= 1 + sum_k |d_k| / S * (exp(sign(d_k) S delta_k) - 1),

so that the loss falls by at least what the best delta_k make of this bound, one by one:

    W+_k exp(S delta_k) - W-_k exp(-S delta_k) + l2 (w_k + delta_k) = 0,

where W+_k and W-_k are the expected sums of |d_k| over labelings in which d_k is above and below 0. Without a
penalty delta_k = log(W-_k / W+_k) / 2S. That is iterative scaling with totals of S and -S
(`crfkit.optimize.classic.scaling`). W+ and W- come from one sweep for all features, because a feature that
occurs at several positions is taken as several: the bound holds as well, and `crfkit.linear.signed` sums the
parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from crfkit.arrays import Floats
from crfkit.optimize.batch.run import BatchRun, Stopping, refuse_l1
from crfkit.optimize.classic.scaling import Counted, ScalingRun
from crfkit.optimize.options import check_above_zero
from crfkit.optimize.problem import Penalty, State, view_of


class Signed(Counted, Protocol):
    """A loss as W+ and -W-, in two groups with the totals S and -S; nothing is observed."""

    remedy: ClassVar[str] = "use the objective exponential, or another optimizer"


@dataclass(frozen=True, kw_only=True)
class ParallelUpdate(Stopping):
    """The parallel update of boosting, for the objective `exponential`.

    The objective never rises, and falls slowly: L-BFGS needs far fewer passes.

    Parameters
    ----------
    max_change : float
        The most that a weight may change in a step: features that the gold never shows have no finite root.

    Examples
    --------
    >>> ParallelUpdate(max_iterations=500).max_change
    2.0
    """

    needs: ClassVar[tuple[type, ...]] = (Signed,)

    max_change: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(max_change=self.max_change)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> BatchRun:
        """Begin at w, or go on from a state."""
        refuse_l1(penalty, "ParallelUpdate")
        signed = view_of(problem, Signed, "ParallelUpdate")
        return ScalingRun(self, signed, penalty, w, state, max_change=self.max_change)
