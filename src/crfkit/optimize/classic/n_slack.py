"""The n-slack cutting plane: Tsochantaridis et al. (2005), algorithm 1, for margin rescaling.

Every sequence has a slack variable, and a working set of labelings that have violated its margin. A round
asks for the most violating labeling of every sequence at the present weights, adds those that violate more
than their working set does, and solves the dual program over all working sets, one block after the other:
the shares of one sequence are a program on a simplex, whose first constraint is the gold (cost 0, nothing
to change). The program is solved to a fraction of the gap, then the next round begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.margin.certified import ShareWeights, certified_step
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.margin.working_set import WorkingSet
from crfkit.optimize.options import GapRounds, check_counts
from crfkit.optimize.problem import Penalty, State, Step, view_of
from crfkit.optimize.sequential.sequences import begin_at

_SHARE = 0.1  # of the gap: the program of a round is solved until its own gap is so small
_SWEEPS = 50  # over the working sets in a round, at most; in the first rounds fewer, as sets soon change


@dataclass(frozen=True, kw_only=True)
class NSlack(GapRounds):
    """The n-slack cutting plane, for max-margin with an L2 penalty.

    Parameters
    ----------
    idle : int
        Labelings without a share in this many rounds are forgotten.

    Examples
    --------
    >>> NSlack(gap=1e-4).max_iterations
    500
    """

    needs: ClassVar[tuple[type, ...]] = (MarginSequences,)
    bounds: ClassVar[bool] = True

    idle: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(idle=self.idle)

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> NSlackRun:
        """Begin at w, or go on from a state."""
        return NSlackRun(self, problem, penalty, w, state)


class NSlackRun:
    """A run of the n-slack cutting plane; `w` is the best point so far."""

    def __init__(self, options: NSlack, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.options, self.penalty = options, penalty
        self.sequences = view_of(problem, MarginSequences, "NSlack")
        self.shared = ShareWeights(penalty, problem.size, "NSlack")
        self.sets = [WorkingSet() for _ in self.sequences.filled]
        self.w = penalty.projected(begin_at(w, problem.size))  # [F] the best
        self.now = self.shared.w  # [F] those of the shares
        self.at = self.w.copy()  # [F] where the next round asks
        self.rounds, self.best, self.bound = 0, np.inf, 0.0
        if state is not None:
            kept, F = Fields.of(state), problem.size
            self.rounds = kept.count("rounds")
            self.best, self.bound = kept.bounds("best", "bound")
            self.w, self.at = kept.floats("w", F), kept.floats("at", F)
            self.shared.restore(kept.part("shared"))
            self.sets = [WorkingSet.of(one, F) for one in kept.parts("sets", len(self.sets))]

    def step(self) -> Step:
        """Make one round: ask for violations, and solve the program."""
        self.rounds += 1
        found = self.sequences.violations(self.at, self.sequences.filled)
        worst = found.losses(self.at)  # [n]
        objective = float(worst.sum()) + self.penalty.value(self.at)
        if objective < self.best:
            self.best, self.w = objective, self.at.copy()
        if np.isfinite(objective):
            known = np.array([working.losses(self.at).max() for working in self.sets])
            apart = max(self.best - self.bound, 0.0)
            least = _SHARE * apart / max(len(worst), 1)
            for i in np.flatnonzero(worst > known + least).tolist():
                part = slice(found.ptr[i], found.ptr[i + 1])
                self.sets[i].add(found.place[part], found.amount[part], found.cost[i], self.shared.inverse)
            self._solve(_SHARE * apart)
            for working in self.sets:
                working.forget(self.options.idle)
            self.at = self.now.copy()
        limit = ("max_iterations", self.options.max_iterations)
        return certified_step(self.best, self.bound, self.options.gap, self.rounds, limit, float(self.rounds))

    def _solve(self, enough: float) -> None:
        """Sweep over the working sets until the gap of their program is small, or nearly."""
        least = 0.5 * enough / max(len(self.sets), 1)
        for _ in range(min(_SWEEPS, 2 * self.rounds)):
            left = 0.0
            for working in self.sets:
                if len(working.cost) > 1:
                    losses = working.losses(self.now)
                    gap = float(losses.max() - working.share @ losses)
                    left += gap
                    if gap > least:
                        working.solve(losses, self.shared)
            if left <= enough:
                break
        cost = sum(float(working.share @ working.cost) for working in self.sets)
        self.bound = max(self.bound, cost - self.penalty.value(self.now))

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        names = ("w", "at", "rounds", "best", "bound")
        return {name: getattr(self, name) for name in names} | {
            "shared": self.shared.state(),
            "sets": [working.state() for working in self.sets],
        }
