"""Simulated annealing: Gibbs sampling that grows cold, for a labeling with a high score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.inference.methods.blocks import NONE, blocks_of, first_labelings, notes_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method
from crfkit.native import kernels
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class Annealing(Method):
    """Simulated annealing: a labeling with a high score, without a proof.

    The temperature falls by the same factor from sweep to sweep. At the end each variable takes its best
    label in turn until nothing improves. The best labeling that any restart has seen is the answer.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Annealing
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[1.0, 0.0], [0.0, 2.0]])])
    >>> inference.decode(scores, Annealing())["variable"].tolist()
    [1, 1]
    """

    name: ClassVar[str] = "annealing"
    sweeps: int = 1000  #: over all variables
    hot: float | None = None  #: first temperature; None: twice the spread of scores within tables
    cold: float | None = None  #: last temperature; None: 2 % of the first
    restarts: int = 4  #: the first starts from the best local labels, the others from random ones
    seed: int = 0
    budget: int = 2**24  #: cells that are looked at to find an allowed labeling

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("restarts", self.restarts, 1, whole=True)
        check_number("seed", self.seed, whole=True)
        check_number("budget", self.budget, 1, whole=True)
        for name, given in (("hot", self.hot), ("cold", self.cold)):
            if given is not None:
                check_number(name, given)
                if not 0.0 < given < np.inf:
                    raise ValueError(f"{name} is {given}, expected a temperature above 0")
        if self.hot is not None and self.cold is not None and self.hot < self.cold:
            raise ValueError(f"hot is {self.hot}, below cold, which is {self.cold}")

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling that was found."""
        start, end = first_labelings(potentials, self.restarts, self.seed, self.budget)
        label, score, still = _native.anneal(
            kernels,
            potentials.problem,
            blocks_of(potentials, False),
            start.ravel(),
            self.restarts,
            self._temperatures(potentials),
            self.sweeps,
            self.seed,
            threads,
        )
        how = How.of(
            self.name,
            potentials.batch.graphs,
            exact=end == NONE,
            converged=(still != 0) | (end == NONE),
            sweeps=self.sweeps,
            lower=score,
            notes=notes_of(end),
        )
        return Labeled(label[None], score[None], how)

    def _temperatures(self, potentials: GraphPotentials) -> Floats:
        hot = self.hot or max(2.0 * _spread(potentials), 1e-3, self.cold or 0.0)
        cold = self.cold or 0.02 * hot
        made: Floats = np.geomspace(hot, min(cold, hot), self.sweeps)
        return made


def _spread(potentials: GraphPotentials) -> float:
    """Return the largest mean over the tables of a clique of highest - lowest score, -inf left out."""
    most = 0.0
    for table in potentials.tables.values():
        if not table.scores.size:
            continue
        scores = table.scores.reshape(len(table.scores), -1)
        possible = scores > -np.inf
        rows = possible.any(axis=1)
        if not rows.any():
            continue
        high = np.where(possible, scores, -np.inf)[rows].max(axis=1)
        low = np.where(possible, scores, np.inf)[rows].min(axis=1)
        scale = 1.0 if table.scale is None or not len(table.scale) else float(table.scale.mean())
        most = max(most, scale * float((high - low).mean()))
    return most
