"""Exact inference: variables are summed out one after the other.

Labels that cannot be are dropped first, the graph is split into components, and for each of them an order
of elimination is searched whose tables have as few cells as possible. Two tables at a time are multiplied and
summed (Sutton & McCallum (2006) section 1.4.1), and marginals are the reverse pass of the same program. What
an answer needs is counted before memory is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labelled, Method, MethodError, Summed
from crfkit.native import kernels
from crfkit.structures.graph_potentials import GraphPotentials

__all__ = ["Elimination", "TooWideError"]


class TooWideError(MethodError):
    """A graph whose tables would have more cells than the budget."""

    def __init__(self, graph: int, cells: float, budget: int) -> None:
        """Keep the graph, the cells that it needs, and the budget."""
        super().__init__(
            f"graph {graph} is too wide for exact inference: its tables need {cells:.3g} cells or more, the "
            f"budget is {budget:.3g}; give Elimination(budget=...) more, or use BeliefPropagation()"
        )
        self.graph = graph  #: the first that is too wide
        self.cells = cells  #: that it needs, by the best order that was found, or that were counted before it was given up
        self.budget = budget


@dataclass(frozen=True)
class Elimination(Method):
    """Exact inference by elimination of variables, in tables of up to `budget` cells.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.methods import Elimination
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[0.0, 0.0], [0.0, 1.0]])])
    >>> round(inference.log_partition(scores, method=Elimination()), 6)
    1.743668
    """

    name: ClassVar[str] = "elimination"
    budget: int = 2**27  #: cells of all tables of a component; one takes 8 bytes

    def __post_init__(self) -> None:
        """Check the budget."""
        if not 1 <= self.budget <= 2**40:
            raise MethodError(f"budget is {self.budget}, expected 1 to 2**40 cells")

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z of each graph."""
        value, cells, _, _ = self._plans(potentials).sum(kernels, potentials.problem, False, False, threads)
        self._demand(cells)
        return value, self._how(cells)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return exact marginals."""
        batch = potentials.batch
        value, cells, node, tables = self._plans(potentials).sum(
            kernels, potentials.problem, True, cliques, threads
        )
        self._demand(cells)
        clique = {
            name: flat.reshape(len(batch.scopes[name]), *table.scores.shape[1:])
            for (name, table), flat in zip(
                potentials.tables.items(), tables if cliques else (), strict=cliques
            )
        }
        return Summed(value, node, clique, self._how(cells))

    def best(self, potentials: GraphPotentials, threads: int) -> Labelled:
        """Return the best labelling of each graph."""
        label, cells = self._plans(potentials).best(kernels, potentials.problem, threads)
        self._demand(cells)
        batch = potentials.batch
        none = np.zeros(batch.graphs, dtype=bool)
        none[batch.graph_of[label < 0]] = True
        score = potentials.labelling_score(np.maximum(label, 0))
        score[none] = -np.inf
        return Labelled(label[None], score[None], self._how(cells))

    def estimate(self, potentials: GraphPotentials, threads: int = 1) -> Mapping[str, Any]:
        """Return the cells of each graph, which may be above the budget, and their bytes, [N]."""
        cells = self._plans(potentials).cells(potentials.problem, threads)
        return {"cells": cells, "bytes": 8.0 * cells}

    def _plans(self, potentials: GraphPotentials) -> _native.Elimination:
        """Return what makes plans for this batch, and keeps the last."""
        key = ("elimination", self.budget, *potentials.tables)
        return potentials.batch.prepared(key, lambda: _native.Elimination(float(self.budget)))

    def _demand(self, cells: Floats) -> None:
        wide = np.flatnonzero(cells > self.budget)
        if wide.size:
            raise TooWideError(int(wide[0]), float(cells[wide[0]]), self.budget)

    def _how(self, cells: Floats) -> How:
        return How.of(self.name, len(cells), exact=True, cells=cells)
