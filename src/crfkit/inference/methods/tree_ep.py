"""Expectation propagation with trees: TreeEP of Minka & Qi (2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.blocks import by_clique
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method, Summed
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class ExpectationPropagation(Method):
    """Tree expectation propagation: marginals and an estimate of log Z.

    The tree follows the factors of high mutual information. Each factor that is not on it is stood for by a
    term on the tree, such that the marginals of the tree's edges are those of the tree with the factor itself
    in place of its term. On trees of factors of two variables this is exact; elsewhere it is usually closer
    than belief propagation, and dearer: a visit of a factor sums over the path between its variables once for
    every label.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import ExpectationPropagation
    >>> pair = [[1.0, 0.0], [0.0, 0.5]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], pair), ([1, 2], pair), ([2, 0], pair)])
    >>> log_z = inference.log_partition(scores, method=ExpectationPropagation())
    >>> bool(abs(log_z - inference.log_partition(scores)) < 1e-3), bool(log_z.info.converged[0])
    (True, True)
    """

    name: ClassVar[str] = "tree-ep"
    convex: ClassVar[bool] = False
    tol: float = 1e-6  #: converged when no probability changes by more
    sweeps: int = 500  #: over all factors that are not on the tree, at the most
    budget: int = 2**26  #: cells that a sweep computes; graphs that need more are refused

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("tol", self.tol)
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("budget", self.budget, 1, whole=True)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return the marginals of the tree; of other factors, those with the factor in place of its term."""
        found = _native.tree_ep(
            potentials.problem, self.tol, self.sweeps, float(self.budget), cliques, threads
        )
        if found["work"] > self.budget:
            raise MethodError(
                f"tree-ep: a sweep would compute more than the {self.budget} cells of its budget; use "
                "method=BeliefPropagation(), or ExpectationPropagation(budget=...)"
            )
        value, exact = found["value"], found["exact"] != 0
        lost = np.flatnonzero((value == -np.inf) & ~exact)
        how = How.of(
            self.name,
            potentials.batch.graphs,
            exact=exact,
            converged=found["converged"] != 0,
            sweeps=found["sweeps"],
            lower=np.where(exact, value, -np.inf),
            upper=np.where(exact, value, np.inf),
            notes=(f"every labeling of graph {lost[0]} met a score of -inf",) if lost.size else (),
        )
        return Summed(value, found["node"], by_clique(potentials, found["clique"]) if cliques else {}, how)
