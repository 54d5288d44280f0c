"""Block-coordinate Frank-Wolfe for max-margin: Lacoste-Julien et al. (2013), with the gap as certificate.

A visit of a sequence raises the dual as much as its labelings allow (`crfkit.optimize.margin.visits`); there
is no rate to choose. Sequences with a larger gap, as far as it is
known, are visited more often (Osokin et al. 2016): the gaps of all are found anew every few passes, which
also gives the objective. In the first passes the weighted mean of the weights is better than the last ones;
both are evaluated until it no longer is, and the best of all is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.checks import check_choice
from crfkit.optimize.margin.certified import certified_step
from crfkit.optimize.margin.native_visits import visits_of
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.options import GapPasses, check_counts
from crfkit.optimize.problem import Penalty, State, Step
from crfkit.optimize.sequential.sequences import begin_at

__all__ = ["BCFW"]

_PIECES = 8  # of a pass: sequences are drawn anew for each, by the gaps known then


@dataclass(frozen=True, kw_only=True)
class BCFW(GapPasses):
    """Block-coordinate Frank-Wolfe, for max-margin with an L2 penalty.

    Parameters
    ----------
    step : {"corrective", "mixture"}
        What a visit does: find the best shares of all labelings that the sequence has met, or move towards
        the most violating one, as the method was published.
    every : int
        Passes between two evaluations of the gap.
    sampling : {"gap", "uniform"}
        Draw sequences by their gaps, or go through all in random order.
    averaged : bool
        Evaluate also the mean of the weights after each visit, later ones counting more, while it is better.

    Examples
    --------
    >>> BCFW(sampling="uniform").averaged
    True
    """

    needs: ClassVar[tuple[type, ...]] = (MarginSequences,)
    bounds: ClassVar[bool] = True

    step: str = "corrective"
    every: int = 5
    sampling: str = "gap"
    averaged: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(every=self.every)
        check_choice("step", self.step, ("corrective", "mixture"))
        check_choice("sampling", self.sampling, ("gap", "uniform"))

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> BCFWRun:
        """Begin at the gold labels, with w as the first weights to be better than; or go on from a state."""
        return BCFWRun(self, problem, penalty, w, state)


class BCFWRun:
    """A run of block-coordinate Frank-Wolfe; `w` is the best point so far."""

    def __init__(self, options: BCFW, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.visits, self.count = visits_of(problem, penalty, options.step == "mixture")
        if state is not None:
            kept = Fields.of(state)
            self.visits.restore(kept.part("visits"))
            self.w, self.known = kept.floats("w", problem.size), kept.extended("known", self.count)
            self.passes, self.evaluations = kept.count("passes"), kept.number("evaluations", least=0.0)
            self.best, self.bound = kept.bounds("best", "bound")
            self.averages = kept.flag("averages")
            return
        self.w = penalty.projected(begin_at(w, problem.size))  # [F] the best
        self.known = np.full(self.count, np.inf)  # the gaps as they were last seen
        self.passes, self.evaluations, self.best, self.bound = 0, 0.0, np.inf, 0.0
        self.averages = options.averaged  # until the mean is no better than the last weights

    def step(self) -> Step:
        """Make one pass, and evaluate where it is time to."""
        if self.passes == 0:
            self._try(self.w)
        self.passes += 1
        self.evaluations += 1.0
        pieces = min(_PIECES, max(self.count, 1))
        seen = (self.passes - 1) * self.count + 1
        for piece in range(pieces):
            order = self._order(piece, pieces)
            self.known[order] = self.visits.run(order, seen)
            seen += len(order)
        np.maximum(self.known, 0.0, out=self.known)
        w = self.visits.weights()
        self.bound = max(self.bound, self.visits.cost() - self.penalty.value(w))
        options = self.options
        last = self.passes >= options.max_passes
        near = float(self.known.sum()) <= options.gap * abs(self.best)
        if last or near or self.passes == 1 or self.passes % options.every == 0:
            self._evaluate(w)
        limit = ("max_passes", options.max_passes)
        return certified_step(self.best, self.bound, options.gap, self.passes, limit, self.evaluations)

    def _order(self, piece: int, pieces: int) -> Pointers:
        """Return the sequences of one piece of a pass; (seed, pass, piece) and gaps are all it depends on."""
        first, last = self.count * piece // pieces, self.count * (piece + 1) // pieces
        total = float(self.known.sum())
        if self.options.sampling == "uniform" or not 0.0 < total < np.inf:
            drawn = np.random.default_rng([self.options.seed, self.passes]).permutation(self.count)
            return np.asarray(drawn[first:last], dtype=np.int64)
        rng = np.random.default_rng([self.options.seed, self.passes, piece])
        # Of each sequence its share of the visits, rounded up or down.
        at = (rng.random() + np.arange(last - first)) / max(last - first, 1) * total
        drawn = np.minimum(np.searchsorted(np.cumsum(self.known), at, side="right"), self.count - 1)
        return np.asarray(rng.permutation(drawn), dtype=np.int64)

    def _evaluate(self, w: Floats) -> None:
        """Find all gaps anew, and what the present weights and their mean are worth."""
        self.known = np.maximum(self.visits.gaps(), 0.0)
        self.evaluations += 1.0
        dual = self.visits.cost() - self.penalty.value(w)
        objective = dual + float(self.known.sum())
        if objective < self.best:
            self.best, self.w = objective, w.copy()
        if self.averages:
            seen = float(self.passes * self.count)
            mean = self._try(w - self.visits.late() / (seen * (seen + 1.0)))
            self.averages = mean < objective

    def _try(self, w: Floats) -> float:
        """Return what weights are worth, and keep them where they are the best so far."""
        value = self.problem.value_and_grad(w, np.empty_like(w)) + self.penalty.value(w)
        self.evaluations += 1.0
        if value < self.best or self.best == np.inf:
            self.best, self.w = float(value), w.copy()
        return float(value)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        names = ("w", "known", "passes", "evaluations", "best", "bound", "averages")
        return {name: getattr(self, name) for name in names} | {"visits": self.visits.state()}
