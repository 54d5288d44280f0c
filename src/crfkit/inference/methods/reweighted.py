"""Tree-reweighted messages: an upper bound on log Z, and marginals that belong to it.

Wainwright, Jaakkola & Willsky (2005). Every factor is weighted by how often it is in random spanning forests
of the factor graph; the entropy is then a mean of entropies of forests, each too large, and log Z a maximum
over marginals that is too large as well. The problem is convex: there is one answer. Forests of the factor
graph have factors of any arity, and so has the bound. It holds for messages that still move, too: what they
could be off by is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.belief import MessagePassing
from crfkit.inference.methods.method import Expected, Summed
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class TreeReweighted(MessagePassing):
    """Tree-reweighted sums: an upper bound on log Z (``info.upper``), and marginals.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Enumeration, TreeReweighted
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], same), ([1, 2], same), ([2, 0], same)])
    >>> bound = inference.log_partition(scores, method=TreeReweighted())
    >>> bool(bound.info.upper[0] >= inference.log_partition(scores, method=Enumeration()))
    True
    """

    name: ClassVar[str] = "tree-reweighted"
    seed: int = 0  #: of the random spanning forests

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_number("seed", self.seed, None, whole=True)
        if not 0 <= self.seed < 2**64:
            raise MethodError(f"seed is {self.seed}, expected 0 to 2**64 - 1")

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return the marginals and the bound."""
        return self.summed(potentials, cliques, threads, self.seed)

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts by the marginals."""
        return self.counted(potentials, weight, threads, self.seed)
