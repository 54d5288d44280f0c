"""Sweeps that lower a bound on the best score, and labels on the way: for TRW-S and dual decomposition.

Labels are chosen in the order of visits, given the labels before and what later factors say, and are improved
by ICM; the best of each graph is kept. A graph is done when its score reaches its bound, or when a sweep
lowers the bound by too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.errors import MethodError
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled
from crfkit.native import kernels
from crfkit.structures.graphs.potentials import GraphPotentials

_ROUNDS = 3  # of ICM after labels were chosen; most of the gain comes in the first


@dataclass(frozen=True, eq=False)
class Ascent:
    """Bounds, and the best labels that were found."""

    label: Ids  #: [V]; -1 in graphs for which no allowed labeling was found
    score: Floats  #: [N] of the labels
    bound: Floats  #: [N] what no labeling is above
    sweeps: Pointers  #: [N]
    converged: Bools  #: [N]
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> Bools:
        """Whether the labels are the best ones, [N]."""
        return same_score(self.score, self.bound)

    def labeled(self, name: str) -> Labeled:
        """Return the labels as the answer of a method; an error where none were found."""
        lost = np.flatnonzero((self.score == -np.inf) & (self.bound > -np.inf))
        if lost.size:
            raise MethodError(
                f"{name} found no allowed labeling of graph {lost[0]}, though there may be one; use "
                "method=Elimination() or CombiLP(seconds=None)"
            )
        how = How.of(
            name,
            len(self.score),
            exact=self.exact,
            converged=self.converged,
            sweeps=self.sweeps,
            lower=self.score,
            upper=np.maximum(self.bound, self.score),
            notes=self.notes,
        )
        return Labeled(self.label[None], self.score[None], how)


def same_score(score: Floats, bound: Floats) -> Bools:
    """Return whether scores reach their bounds, up to rounding; without any labeling both are -inf."""
    with np.errstate(invalid="ignore"):
        near: Bools = bound - score <= 1e-9 * np.maximum(1.0, np.abs(bound))
    near |= bound == -np.inf
    return near


def visits_of(potentials: GraphPotentials, *, forests: bool = False, both: bool = False) -> _native.Visits:
    """Return the engine that visits the variables, in an order that is made once for a batch."""
    order = potentials.batch.prepared("visit order", lambda: _native.VisitOrder(potentials.problem))
    return _native.Visits(kernels, potentials.problem, order, forests, both)


def ascend(
    visits: _native.Visits,
    potentials: GraphPotentials,
    sweeps: int,
    tol: float,
    threads: int,
    until: float = np.inf,
) -> Ascent:
    """Sweep until every graph is done, `sweeps` are over, or it is `until` by the clock."""
    batch = potentials.batch
    N = batch.graphs
    label = np.full(batch.variables, -1, dtype=np.int32)
    score, bound, done = np.full(N, -np.inf), np.full(N, np.inf), np.zeros(N, dtype=np.bool_)
    taken, stalled = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.bool_)
    for sweep in range(1, sweeps + 1):
        late = monotonic() > until
        last = sweep == sweeps or late or bool((stalled | done).all())
        choose = last or sweep <= 3 or sweep % 5 == 0
        active = (~done).astype(np.uint8)
        visits.sweep(active, choose, threads)
        taken += ~done
        lower = visits.bound()
        with np.errstate(invalid="ignore"):
            stalled |= ~(bound - lower > tol * np.maximum(1.0, np.abs(lower)))
        bound = np.minimum(bound, lower)
        done |= bound == -np.inf
        if choose:
            visits.improve(active, _ROUNDS, threads)
            found = visits.score()
            better = (found > score) & ~done
            score[better] = found[better]
            replaced = better[batch.graph_of]
            label[replaced] = visits.label()[replaced]
            done |= stalled | same_score(score, bound)
        if late or done.all():
            break
    return Ascent(label, score, bound, taken, stalled | same_score(score, bound))
