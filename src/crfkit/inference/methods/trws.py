"""TRW-S: the best labeling by sequential tree-reweighted message passing, with a bound.

Kolmogorov (2006) for pairs; factors of any size as in Kolmogorov (2015). The bound is that of the linear
program over the local polytope, or somewhat weaker; on forests it is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit.checks import check_number
from crfkit.inference.methods.ascent import ascend, visits_of
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class TRWS(Method):
    """Sequential tree-reweighted message passing: good labels of large graphs, and a bound on the best score.

    ``info.upper`` is the bound: no labeling scores more. Where the labels reach it, ``info.exact`` is true.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import TRWS
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0], [2.0, 0.0]), ([0, 1], same), ([1, 2], same)])
    >>> found = inference.decode(scores, method=TRWS())
    >>> found["variable"].tolist(), found.score, found.info.exact.tolist()
    ([0, 0, 0], 4.0, [True])
    """

    name: ClassVar[str] = "trws"
    sweeps: int = 200  #: at most, each forward and backward
    tol: float = 1e-6  #: a sweep that lowers the bound by less, relative to it, is the last

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("tol", self.tol)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling that was found, and the bound."""
        visits = visits_of(potentials)
        return ascend(visits, potentials, self.sweeps, self.tol, threads).labeled(self.name)
