"""Passes of the dual over the sequences, as Python sees them: weights, bounds, threads, state.

The state of all sequences is native (`cpp/kernels/learn/dual.hpp`,
`cpp/engine/sequential/dual_pass.hpp`): their marginals, a lower bound of
their entropies, and v = sum (gold - marginals), from which w = soft(v, l1) / l2.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from crfkit import _native
from crfkit._safe.background import Later
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.native import kernels, threads_or_all, usable_cores
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.sequences import DualSequences

_HELPS = 1.2  # processor time by wall time, below which threads wait for a core
# Attributes of a position move together, and curve more than each does alone. Evaluations of L-BFGS, means
# of seeds: CoNLL-2000 15.3 instead of 18.0, Penn Treebank 10.0 and 9.3, part of CoNLL-2002 20.0 and 20.5.
TOGETHER = 4.0


class Grouped(Protocol):
    """Weights in two groups, of attributes and others: `Sequences`, here or elsewhere."""

    @property
    def row_ptr(self) -> Pointers:
        """[A + 1] weights of each attribute."""
        ...

    def strengths(self, penalty: Penalty, who: str) -> tuple[float, float, float, float]:
        """Return l1 and l2 of the attributes, and of all other weights."""
        ...


class DualPasses:
    """The distributions of all sequences, and passes that raise the dual.

    Parameters
    ----------
    arrays : DualSequences
    penalty : Penalty
    strengths : array [4]
        Strengths of the penalty, by `strengths_of`.
    ease : float
        How many times the L2 penalty the passes are made with.
    exponentiated : bool
        Which step a visit takes.
    relax, seed, threads
        As in `Dual`.
    """

    def __init__(
        self,
        arrays: DualSequences,
        penalty: Penalty,
        strengths: Floats,
        ease: float,
        exponentiated: bool,
        relax: float,
        seed: int,
        threads: int | None,
    ) -> None:
        strengths = strengths.copy()
        strengths[[1, 3]] *= ease
        self.penalty, self.ease, self.relax, self.seed = penalty, ease, relax, seed
        # Threads meet at barriers: more of them than cores only wait for each other.
        self.threads = min(threads_or_all(threads), usable_cores())
        self.arrays, self.filled, self.positions = arrays, arrays.filled, len(arrays.label)
        self.dual, self.met = 0.0, np.inf  # the dual now; the sum of the gaps that the last pass met
        self.rounding = 0.0  # what the rounding of marginals may add to the dual
        self.meanwhile: Later[None] | None = None  # what runs beside the passes
        pairs = arrays.pairs or (None, None)
        self.trainer = _native.DualTrainer(arrays.native, strengths, exponentiated, self.threads, *pairs)

    def run(self, number: int, threshold: float) -> None:
        """Visit all sequences, in an order by the number of the pass; small moves may wait."""
        order = np.random.default_rng([self.seed, number]).permutation(self.filled)
        also = self.meanwhile is not None and self.meanwhile.running
        threads = max(self.threads - also, 1)
        wall, busy = time.perf_counter(), time.process_time()
        self.met, gain, _, _ = self.trainer.run(kernels, order, self.relax, threshold, number == 0, threads)
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        if threads > 1 and busy < _HELPS * wall:  # others have the cores; bits do not depend on threads
            self.threads = 1
        self.dual += gain

    def begin(self, w: Floats, arrays: DualSequences | None = None) -> None:
        """Set the distribution of every sequence to the one that w gives, by scores of other arrays."""
        node, edge, ends = (arrays or self.arrays).scores(w, self.threads)
        self.rounding = self.rounding_at(node, edge)
        self.met, gain, _, _ = self.trainer.begin(kernels, node, edge, ends, self.filled, self.threads)
        self.dual += gain

    def rounding_at(self, node: Floats, edge: Floats) -> float:
        """Return what rounding may add to the dual, by the scores of rows and of transitions.

        Marginals are stored as floats: the dual at them differs from that of any distribution by at most
        2^-24 of the scores that they are multiplied with.
        """
        rows = node.reshape(self.positions, -1)  # [P, L]; the largest of each without a copy of them
        largest = float(np.sum(np.maximum(rows.max(axis=1), -rows.min(axis=1))))
        finite = np.abs(edge[np.isfinite(edge)])
        shared = self.arrays.before if self.arrays.segments is None else 2  # tables that add to a position
        return 2.0**-24 * (largest + shared * self.positions * float(finite.max(initial=0.0)))

    def weights(self, F: int) -> Floats:
        """Return w of the distributions now, [F]."""
        v = np.zeros(F)
        self.trainer.read(v)
        return self._shrunk(v) / (self.ease * np.asarray(self.penalty.l2))

    def exact(self, F: int) -> float:
        """Return the dual as the stored marginals have it, with the penalty itself."""
        v = np.empty(F)
        self.trainer.exact(v, self.threads)
        shrunk = self._shrunk(v)
        return float(self.trainer.entropy()) - 0.5 * float(np.sum(shrunk / self.penalty.l2 * shrunk))

    def bound(self, F: int) -> float:
        """Return a lower bound of the optimum."""
        return self.exact(F) - self.rounding

    def _shrunk(self, v: Floats) -> Floats:
        if not np.any(self.penalty.l1):
            return v
        shrunk: Floats = v - np.clip(v, -np.asarray(self.penalty.l1), self.penalty.l1)
        return shrunk

    def diagonal(self, F: int) -> Floats:
        """Return roughly the diagonal of the Hessian of the loss, [F], larger where weights move together."""
        diagonal = np.empty(F)
        self.trainer.diagonal(diagonal, self.threads)
        diagonal[: self.arrays.row_ptr[-1]] *= TOGETHER
        return diagonal

    def state(self, F: int) -> dict[str, Any]:
        """Return everything that passes need to go on from here."""
        v = np.zeros(F)
        self.trainer.read(v)
        numbers = {"dual": self.dual, "met": self.met, "rounding": self.rounding}
        return {**numbers, "v": v, "trainer": self.trainer.state()}

    def recall(self, state: Fields, F: int) -> None:
        """Restore a state."""
        self.dual, self.rounding = state.number("dual"), state.number("rounding", least=0.0)
        self.met = state.bounds("met")[0]
        parts = state.part("trainer")
        now = self.trainer.state()
        arrays = {name: parts.floats(name, len(now[name]), dtype=now[name].dtype) for name in now}
        self.trainer.restore(state.floats("v", F), arrays)


def strengths_of(arrays: Grouped, penalty: Penalty, F: int) -> Floats:
    """Return l1 and l2 of attributes, then of transitions and ends, [4]; refuse an L2 penalty of 0."""
    strengths = np.array(arrays.strengths(penalty, "Dual"))
    if not (strengths[1] > 0.0 and (strengths[3] > 0.0 or arrays.row_ptr[-1] == F)):
        raise ValueError("Dual needs an L2 penalty above 0: set l2, or use LBFGS")
    strengths[3] = strengths[3] or strengths[1]
    return strengths


def strain(occurrences: int, sequences: int, l2: float) -> float:
    """Return how weak a penalty is for the dual: attributes of a sequence (of its gold) on average, by l2.

    A step for one sequence moves weights by so much more than the others agree to. On ten corpora the gap
    fell by a tenth or more with a pass where this was below 500, with two exceptions, and by less above 1500.
    Four passes at 1000, then L-BFGS with the penalty itself: 20 to 30 evaluations less of 100 to 180.

    Examples
    --------
    >>> strain(4000, 10, 2.0)
    200.0
    """
    return occurrences / max(sequences, 1) / l2 if l2 > 0.0 else float("inf")


def passes_left(gaps: list[float], wanted: float) -> float:
    """Return how many more passes take a gap to the wanted one, by the trend of the last ones.

    Examples
    --------
    >>> passes_left([0.8, 0.4, 0.2], 0.05)
    2.0
    >>> passes_left([0.9, 0.95], 0.05)
    inf
    """
    if gaps[-1] <= wanted:
        return 0.0
    if len(gaps) < 2 or not 0.0 < gaps[-1] < gaps[0]:
        return float("inf")
    rate = np.log(gaps[0] / gaps[-1]) / (len(gaps) - 1)
    return float(np.log(gaps[-1] / wanted) / rate)
