"""Block coordinate descent: the weights of one attribute at a time (Sokolovska et al. 2010).

For the block of an attribute, over the positions that have it, with marginals p under the present weights,

    g = sum p - gold,  h = sum p (1 - p),  h <- kappa * max(1, max |g / h|) * h
    w <- soft(h w - g, l1) / (h + l2)

which is exact for a quadratic with that diagonal; Wapiti's bcd (Lavergne et al. 2010). Transitions, start and
stop are the last blocks. A round sweeps every sequence once for each attribute that it has: slow by nature,
for small data. It has no rates and no random order, and takes L1, L2 and both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.native import kernels
from crfkit.optimize.options import Settling, check_above_zero
from crfkit.optimize.problem import End, Penalty, State, Step, Stopped, evaluate, view_of
from crfkit.optimize.sequential.sequences import Sequences, begin_at


@dataclass(frozen=True, kw_only=True)
class BlockCoordinate(Settling):
    """Options of block coordinate descent.

    Parameters
    ----------
    kappa : float
        Factor by which the curvature is raised; 1 takes the longest steps.

    Notes
    -----
    The objective of a step is exact: an evaluation costs little beside a round.

    Examples
    --------
    >>> BlockCoordinate(kappa=2.0)
    BlockCoordinate(max_passes=200, period=5, delta=1e-06, kappa=2.0)
    """

    needs: ClassVar[tuple[type, ...]] = (Sequences,)

    kappa: float = 1.5
    max_passes: int = 200
    period: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(kappa=self.kappa)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> CoordinateRun:
        """Begin at w [F], or go on from a state."""
        return CoordinateRun(self, problem, penalty, w, state)


class CoordinateRun:
    """Rounds over all blocks."""

    def __init__(
        self, options: BlockCoordinate, problem: Any, penalty: Penalty, w: Floats, state: State
    ) -> None:
        arrays = view_of(problem, Sequences, "BlockCoordinate")
        self.options, self.problem, self.penalty = options, problem, penalty
        self.strengths = np.array(arrays.strengths(penalty, "BlockCoordinate"))  # [4]
        self.trainer = _native.CoordinateTrainer(arrays.native)
        self.cost = _passes_in_a_round(arrays)
        kept = None if state is None else Fields.of(state)
        self.w = begin_at(w if kept is None else kept.floats("w", problem.size), problem.size)  # [F]
        self.passes = 0 if kept is None else kept.count("passes")
        self.evaluations = 0.0 if kept is None else kept.number("evaluations", least=0.0)
        self.history = [] if kept is None else kept.numbers("history", most=options.period)

    def step(self) -> Step:
        """Make one round."""
        after = self.w.copy()
        self.trainer.run(kernels, after, self.strengths, self.options.kappa)
        self.passes += 1
        self.evaluations += self.cost + 1.0
        stop = None
        if np.isfinite(after).all():
            before, self.w = self.w, after
            objective, norm = evaluate(self.problem, self.penalty, after)
            if not np.isfinite(objective):
                self.w = before
        if self.w is not after:
            why = f"diverged: the loss is not finite in round {self.passes}; raise kappa"
            stop = Stopped(End.DIVERGED, why)
            objective, norm = evaluate(self.problem, self.penalty, self.w)
        stop = stop or self.options.verdict(self.history, objective, self.passes, "rounds")
        self.history = [*self.history, objective][-self.options.period :]
        end, why = stop or (None, "")
        return Step(objective, norm, evaluations=self.evaluations, stopped=why, end=end)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {
            "w": self.w.copy(),
            "passes": self.passes,
            "evaluations": self.evaluations,
            "history": list(self.history),
        }


def _passes_in_a_round(arrays: Sequences) -> float:
    """Return how many positions a round sweeps, over those that there are."""
    lengths = np.diff(arrays.seq_ptr)  # [N]
    of_position = np.repeat(np.arange(len(lengths)), lengths)  # [P]
    of_occurrence = np.repeat(of_position, np.diff(arrays.attr_ptr))  # [nnz]
    known = arrays.attr < len(arrays.row_ptr) - 1
    pairs = np.unique(of_occurrence[known] * np.int64(len(arrays.row_ptr)) + arrays.attr[known])
    return 1.0 + float(lengths[pairs // len(arrays.row_ptr)].sum()) / max(len(of_position), 1)
