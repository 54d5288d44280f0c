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

from crfkit import _native
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.checks import NotFiniteError, check_choice
from crfkit.native import kernels
from crfkit.optimize.margin.certified import ShareWeights, certified_step
from crfkit.optimize.margin.view import MarginChains, MarginSequences
from crfkit.optimize.margin.visits import SparseVisits, Visits
from crfkit.optimize.options import GapPasses, check_counts
from crfkit.optimize.problem import Penalty, State, Step, view_of
from crfkit.optimize.sequential.sequences import begin_at

_ROOM = 4096  # for labelings of a sequence in a state, however few it has


def visits_of(problem: Any, penalty: Penalty, mixture: bool) -> tuple[Visits, int]:
    """Return the visits of a problem, native ones where these cover it, and the number of sequences."""
    sequences = view_of(problem, MarginSequences, "BCFW")
    count, shared = len(sequences.filled), ShareWeights(penalty, problem.size, "BCFW")
    inverse = shared.inverse
    if not (mixture or problem.lacks(MarginChains) or penalty.nonnegative is not None):
        chains = view_of(problem, MarginChains, "BCFW")
        groups = inverse[: chains.row_ptr[-1]], inverse[chains.row_ptr[-1] :]
        if all((group == group[:1]).all() for group in groups):
            each = [float(group[0]) if group.size else 1.0 for group in groups]
            return NativeVisits(chains, sequences.filled, each[0], each[1], len(inverse)), count
    return SparseVisits(sequences, shared, mixture), count


class NativeVisits:
    """Visits in a native loop; see `crfkit.optimize.margin.visits.Visits`.

    Parameters
    ----------
    chains : MarginChains
    filled : array
        The sequences that numbers count.
    inverse, small_inverse : float
        1 / l2 of the weights of attributes, and of all others.
    size : int
        Number of weights, F.
    """

    def __init__(
        self, chains: MarginChains, filled: Pointers, inverse: float, small_inverse: float, size: int
    ) -> None:
        self.chains, self.filled, self.size = chains, filled, size
        self.trainer = _native.MarginTrainer(chains.native, inverse, small_inverse)

    def run(self, order: Pointers, seen: int) -> Floats:
        """Visit sequences in this order, the first as visit number `seen`; return their gaps before."""
        return self._visits(self.filled[order], seen, learns=True)

    def gaps(self) -> Floats:
        """Return the gap of every sequence at the present weights; they add up to the duality gap."""
        return self._visits(self.filled, 0, learns=False)

    def _visits(self, order: Pointers, seen: int, *, learns: bool) -> Floats:
        gaps = np.zeros(len(order))
        if not self.trainer.run(kernels, order, seen, learns, gaps):
            raise NotFiniteError("some scores are not finite; scale the values of attributes")
        return gaps

    def cost(self) -> float:
        """Return the sum of the mean costs."""
        return self.trainer.cost()

    def weights(self) -> Floats:
        """Return the weights of the shares, [F]."""
        out = np.empty(self.size)
        self.trainer.read(out)
        return out

    def late(self) -> Floats:
        """Return u [F]."""
        out = np.empty(self.size)
        self.trainer.read_memory(out)
        return out

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` takes."""
        return {"w": self.weights(), "memory": self.late(), **self.trainer.state()}

    def restore(self, state: Fields) -> None:
        """Go on from a state."""
        lengths = np.diff(self.chains.seq_ptr)
        N = len(lengths)
        count = state.ids("count", N, below=1 << 20)
        room = state.ids("room", N, below=1 << 20)
        if ((count == 0) != (lengths == 0)).any() or (count > room).any():
            state.wrong("count", "the labelings of each sequence, for which there is room")
        if (room > np.maximum(_ROOM, 16 * count)).any():
            state.refuse("room", f"up to {room.max():,}, far more than there are labelings")
        k = count.astype(np.int64)
        shares = int(k.sum())
        share, filled = state.floats("share", shares, least=0.0), k[k > 0]
        total = np.add.reduceat(share, np.cumsum(filled) - filled) if shares else share
        if not (np.abs(total - 1.0) <= 1e-6).all():
            state.refuse("share", "not a distribution for each sequence")
        self.trainer.restore(
            w=state.floats("w", self.size),
            memory=state.floats("memory", self.size),
            count=count,
            room=room,
            path=state.ids("path", int((k * lengths).sum()), below=self.chains.labels),
            share=share,
            cost=state.floats("cost", shares, least=0.0),
            gram=state.floats("gram", int((k * k).sum())),
        )


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
