"""Exponentiated gradient for the dual of max-margin: labelings gain weight by their score plus cost.

    alpha_n(y) <- alpha_n(y) exp(eta [cost_n(y) + w.f_n(y)]) / normalizer

Gupta (2005) section 2.4.2, algorithm 2 and eq. 50; Bartlett, Collins, Taskar & McAllester (2004); online:
Collins et al. (2008). alpha_n is held as scores theta_n of parts, to which each step adds eta times the
present scores; only its marginals are ever computed, by the sum over all labelings.

- Batch: all sequences take the same steps, so that theta_n(y) = W.f_n(y) + H cost_n(y) with W = sum_t eta_t
  w_t and H = sum_t eta_t: a vector of weights and a number stand for all of alpha.
- Online: the weights change after each sequence; every sequence has scores and a rate of its own.

A step that would lower the dual is tried again with half the rate; after one that does not, the rate grows.
The first alpha_n(y) is ~ exp(-b cost_n(y)), near the gold labels, at which no finite theta is: b is the
whole number at which the dual is highest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.optimize.classic.marginal_dual import FactoredSequences, MarginalRun
from crfkit.optimize.options import GapPasses, check_above_zero
from crfkit.optimize.problem import Penalty, State

_NEAREST = 40  # of b: what is left of other labels than the gold ones is below rounding
_HALVINGS = 60  # after so many, a rate is too small to change anything


@dataclass(frozen=True, kw_only=True)
class ExponentiatedMargin(GapPasses):
    """Exponentiated gradient for max-margin losses of any structure with an L2 penalty.

    Parameters
    ----------
    online : bool
        Change the weights after each sequence, not after each pass over all: many times fewer passes.
    eta : float
        The first rate.
    growth : float
        Factor of a rate after a step that raised the dual.

    Examples
    --------
    >>> from crfkit import Chain
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives import MaxMargin
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> loss = MaxMargin().bind(Layout.all_pairs(batch, 2, transitions="none"), Chain(2), batch)
    >>> run = ExponentiatedMargin().start(loss, Penalty(l2=1.0), np.zeros(4))
    >>> while not (step := run.step()).stopped:
    ...     pass
    >>> step.end.value, round(step.objective, 3)
    ('converged', 0.5)
    """

    needs: ClassVar[tuple[type, ...]] = (FactoredSequences,)

    online: bool = True
    max_passes: int = 2000
    eta: float = 0.5
    growth: float = 1.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(eta=self.eta, growth=self.growth)

    def start(
        self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None
    ) -> OnlineRun | BatchRun:
        """Begin near the gold labels, or go on from a state; given weights are refused."""
        return (OnlineRun if self.online else BatchRun)(self, problem, penalty, w, state)


class _ExponentiatedRun(MarginalRun):
    view: FactoredSequences

    def __init__(
        self, options: ExponentiatedMargin, problem: Any, penalty: Penalty, w: Floats, state: State
    ) -> None:
        self.options = options
        limits = (options.max_passes, options.gap)
        super().__init__("ExponentiatedMargin", FactoredSequences, limits, problem, penalty, w, state)

    def nearness(self) -> float:
        """Return b of the first distributions; set the dual and the present weights."""
        zero, near, found = np.zeros(self.problem.size), 0.0, (0.0, np.zeros(self.problem.size))
        for b in range(1, _NEAREST):
            tried = self.view.tilted(zero, -float(b))
            dual = self.at(*tried)
            self.evaluations += 1.0
            if dual <= self.dual and self.dual > 0.0:
                break
            near, found, self.dual = float(b), tried, dual
        self.dual = self.at(*found)
        return near


class BatchRun(_ExponentiatedRun):
    """Steps of all sequences at once; `sum` [F] is W, `cost` is H."""

    def begin(self) -> None:
        """Begin near the gold labels."""
        self.sum, self.cost, self.eta = np.zeros(self.problem.size), -self.nearness(), self.options.eta

    def advance(self) -> float:
        """Take one step; return its rate, 0 where none raises the dual."""
        before = self.now.copy()
        for _ in range(_HALVINGS):
            eta, total = self.eta, self.sum + self.eta * before[:-1]
            found = self.view.tilted(total, self.cost + eta)
            self.evaluations += 1.0
            dual = self.at(*found)
            if dual >= self.dual:
                self.sum, self.cost, self.dual = total, self.cost + eta, dual
                self.eta *= self.options.growth
                return eta
            self.eta /= 2.0
        self.now = before
        return 0.0

    def kept(self) -> dict[str, Any]:
        """Return what stands for the distributions, and the rate."""
        return {"sum": self.sum.copy(), "cost": self.cost, "eta": self.eta}

    def recall(self, state: Fields) -> None:
        """Restore the distributions."""
        self.sum = state.floats("sum", self.problem.size)
        self.cost, self.eta = state.number("cost"), state.number("eta", least=0.0)


class OnlineRun(_ExponentiatedRun):
    """Steps of one sequence after the other; `theta` are scores of parts, `parts` their marginals."""

    def begin(self) -> None:
        """Begin near the gold labels."""
        filled = [int(n) for n in self.view.filled]
        self.eta = dict.fromkeys(filled, self.options.eta)
        near = self.nearness()
        self.theta = {n: self.view.part(n).at_gold(near) for n in filled}
        self._sum_up()

    def _sum_up(self) -> None:
        self.parts = {n: self.view.part(n).marginals(theta) for n, theta in self.theta.items()}

    def advance(self) -> float:
        """Visit all sequences; return the mean rate."""
        order = np.random.default_rng([self.options.seed, self.steps + 1]).permutation(self.view.filled)
        rates = [self._visit(int(n)) for n in order]
        self.evaluations += 1.0
        return float(np.mean(rates)) if rates else 0.0

    def _visit(self, n: int) -> float:
        """Take one step for a sequence; return its rate, 0 where none raises the dual."""
        part, parts = self.view.part(n), self.parts[n]
        scores = part.scores(self.now)
        for _ in range(_HALVINGS):
            eta = self.eta[n]
            theta = {slot: array + eta * scores[slot] for slot, array in self.theta[n].items()}
            found = part.marginals(theta)
            moved = {slot: found[slot] - parts[slot] for slot in scores}
            change = part.features(moved)
            rise = sum(float(np.sum(moved[slot] * scores[slot])) for slot in moved)
            gain = part.weight * (rise - 0.5 * part.weight * self.square(change))
            if gain >= 0.0:
                self.theta[n], self.parts[n] = theta, found
                self.move(change, -part.weight)
                self.dual += gain
                self.eta[n] *= self.options.growth
                return eta
            self.eta[n] /= 2.0
        return 0.0

    def kept(self) -> dict[str, Any]:
        """Return the distributions, sequence by sequence and slot by slot in a row, and the rates."""
        flat = [array.ravel() for theta in self.theta.values() for array in theta.values()]
        return {"theta": np.concatenate(flat), "eta": np.array(list(self.eta.values()))}

    def recall(self, state: Fields) -> None:
        """Restore the distributions."""
        filled, at = [int(n) for n in self.view.filled], 0
        self.eta = dict(zip(filled, state.floats("eta", len(filled), least=0.0).tolist(), strict=True))
        self.theta = {n: self.view.part(n).at_gold(0.0) for n in filled}
        arrays = [array for theta in self.theta.values() for array in theta.values()]
        flat = state.floats("theta", sum(array.size for array in arrays))
        for array in arrays:
            array.ravel()[:] = flat[at : at + array.size]
            at += array.size
        self._sum_up()
