"""Dual decomposition: a graph as forests that must agree, and the bound lowered forest by forest.

Every factor is in one forest: rows and columns of a grid, greedy forests of other graphs. A sweep takes one
forest after the other: all other factors hand their max-marginals to the variables, the trees of the forest
are maximized exactly, and on the way back each variable keeps a part of its max-marginals. Each step is
block-coordinate descent on the dual of the linear program, so that the bound never rises: Sontag & Jaakkola
(2009), Tourani et al. (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.ascent import ascend, visits_of
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class DualDecomposition(Method):
    """Dual decomposition into forests: labels, and a bound on the best score.

    It has the same bound in the limit as `TRWS`, which is faster on most graphs; here information runs along
    whole rows and columns in one sweep.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import DualDecomposition
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0], [2.0, 0.0]), ([0, 1], same), ([1, 2], same)])
    >>> found = inference.decode(scores, method=DualDecomposition())
    >>> found["variable"].tolist(), found.info.exact.tolist()
    ([0, 0, 0], [True])
    """

    name: ClassVar[str] = "dual"
    sweeps: int = 200  #: at most, each over all forests
    tol: float = 1e-6  #: a sweep that lowers the bound by less, relative to it, is the last

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("tol", self.tol)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling that was found, and the bound."""
        try:
            visits = visits_of(potentials, forests=True)
        except ValueError as error:
            raise MethodError(str(error)) from error
        return ascend(visits, potentials, self.sweeps, self.tol, threads).labeled(self.name)
