"""Exact inference: variables are summed out one after the other.

Labels that cannot be are dropped first, the graph is split into components, and for each of them an order
of elimination is searched whose tables have as few cells as possible. Two tables at a time are multiplied and
summed (Sutton & McCallum (2006) section 1.4.1), and marginals are the reverse pass of the same program. What
an answer needs is counted before memory is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.counting import exact_counts
from crfkit.inference.methods.how import How
from crfkit.inference.methods.lanes import Lanes, Rest, constant_of, lanes_of
from crfkit.inference.methods.method import Expected, Labeled, Method, Summed
from crfkit.inference.methods.slices import slices_of
from crfkit.native import kernels
from crfkit.structures.graphs.potentials import GraphPotentials


class TooWideError(MethodError):
    """Exact inference would need more cells than the budget."""

    def __init__(self, graph: int, cells: float, budget: int) -> None:
        """Keep the graph, the cells that it needs, and the budget."""
        super().__init__(
            f"graph {graph} is too wide for exact inference: its tables need {cells:.3g} cells or more, the "
            f"budget is {budget:.3g}; give Elimination(budget=...) more, or use BeliefPropagation()"
        )
        self.graph = graph  #: the first that is too wide
        self.cells = cells  #: that it needs, as far as they were counted
        self.budget = budget


@dataclass(frozen=True)
class Elimination(Method):
    """Exact inference by elimination of variables, in tables of up to `budget` cells.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Elimination
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[0.0, 0.0], [0.0, 1.0]])])
    >>> round(inference.log_partition(scores, method=Elimination()), 6)
    1.743668
    """

    name: ClassVar[str] = "elimination"
    budget: int = 2**27  #: cells of all tables of a component; one takes 8 bytes
    lanes: bool = True  #: sweep small components that are alike together

    def __post_init__(self) -> None:
        """Check the budget."""
        check_number("budget", self.budget, None, whole=True)
        if not 1 <= self.budget <= 2**40:
            raise MethodError(f"budget is {self.budget}, expected 1 to 2**40 cells")

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z of each graph."""
        lanes = self._lanes(potentials, threads)
        if lanes is None:
            value, cells, _, _ = self._plans(potentials).sum(
                kernels, potentials.problem, False, False, threads
            )
            self._demand(cells)
            return value, self._how(cells)
        value, cells = lanes.log_partition(threads), lanes.cells
        if lanes.rest is not None:
            others, how = self._alone().log_partition(lanes.rest.potentials, threads)
            cells = self._with_rest(lanes.rest, value, others, cells, how)
        return value + constant_of(potentials), self._how(cells)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return exact marginals."""
        batch, lanes = potentials.batch, self._lanes(potentials, threads)
        if lanes is not None:
            return self._marginals_in_lanes(lanes, cliques, threads)
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

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return log Z and exact expected counts."""
        slices = slices_of(potentials, self.budget)
        if slices is None:
            return super().expected(potentials, weight, threads)
        value, by_score, cells = slices.expected(weight, self, threads)
        return Expected(value, by_score, self._how(cells))

    def pools(self, potentials: GraphPotentials) -> Bools:
        """Return which graphs are sequences of equal slices, [N]."""
        slices = slices_of(potentials, self.budget)
        return super().pools(potentials) if slices is None else slices.whole

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph."""
        batch, lanes = potentials.batch, self._lanes(potentials, threads)
        if lanes is None:
            label, cells = self._plans(potentials).best(kernels, potentials.problem, threads)
            self._demand(cells)
            return self._labeled(potentials, label[None], cells)
        score, label = lanes.best(threads)
        cells = lanes.cells
        if lanes.rest is not None:
            found = self._alone().best(lanes.rest.potentials, threads)
            cells = self._with_rest(lanes.rest, score, found.score[0], cells, found.info)
            label[lanes.rest.part.variables] = found.label[0]
        score = score + constant_of(potentials)
        label[np.isneginf(score)[batch.graph_of]] = -1
        return Labeled(label[None], score[None], self._how(cells))

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labeled:
        """Return the k best labelings of each graph; equal scores come in an order that repeats."""
        label = self._labels(potentials, k, "labelings")
        count, cells = self._plans(potentials).kbest(
            kernels, potentials.problem, k, label.reshape(-1), threads
        )
        self._demand(cells)
        score = potentials.labeling_score(np.maximum(label, 0))
        score[np.arange(k)[:, None] >= count] = -np.inf
        # Sums in another order round differently: labelings that score almost the same may swap.
        for n in np.flatnonzero((score[1:] > score[:-1]).any(axis=0)):
            order, mine = np.argsort(-score[:, n], kind="stable"), potentials.batch.graph_of == n
            score[:, n] = score[order, n]
            label[:, mine] = label[np.ix_(order, np.flatnonzero(mine))]
        return Labeled(label, score, self._how(cells))

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return n independent draws of each graph: seed, graph, draw and variable decide a label."""
        label = self._labels(potentials, n, "draws")
        cells = self._plans(potentials).sample(
            kernels, potentials.problem, n, seed, label.reshape(-1), threads
        )
        self._demand(cells)
        return self._labeled(potentials, label, cells)

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labelings are allowed: sums modulo primes, put together."""
        batch, plans, problem = potentials.batch, self._plans(potentials), potentials.problem
        cells = plans.cells(problem, threads)
        self._demand(cells)
        bits = np.bincount(batch.graph_of, np.log2(batch.width), minlength=batch.graphs)
        bound = 1 << int(bits.max(initial=0.0) + 1.0)

        def residues(prime: int) -> list[int]:
            found: list[int] = plans.count(problem, prime, threads)[0].tolist()
            return found

        return exact_counts(residues, batch.graphs, bound), self._how(cells)

    def estimate(self, potentials: GraphPotentials, threads: int = 1) -> Mapping[str, Any]:
        """Return the cells of each graph, which may be above the budget, and their bytes, [N]."""
        lanes = self._lanes(potentials, threads)
        if lanes is None:
            cells = self._plans(potentials).cells(potentials.problem, threads)
        else:
            cells = lanes.cells.copy()
            if lanes.rest is not None:
                rest = self._alone().estimate(lanes.rest.potentials, threads)["cells"]
                np.maximum.at(cells, lanes.rest.graph, rest)
        return {"cells": cells, "bytes": 8.0 * cells}

    def _lanes(self, potentials: GraphPotentials, threads: int) -> Lanes | None:
        """Return the small components that share a program; None: there are none within the budget."""
        if not self.lanes:
            return None
        lanes = lanes_of(potentials, threads)
        fits = lanes.programs.components > 0 and lanes.cells.max(initial=0.0) <= self.budget
        return lanes if fits else None

    def _alone(self) -> Elimination:
        return replace(self, lanes=False)

    def _marginals_in_lanes(self, lanes: Lanes, cliques: bool, threads: int) -> Summed:
        potentials = lanes.potentials
        value, node, clique = lanes.marginals(cliques, threads)
        cells, batch = lanes.cells, potentials.batch
        if lanes.rest is not None:
            summed = self._alone().marginals(lanes.rest.potentials, cliques, threads)
            cells = self._with_rest(lanes.rest, value, summed.value, cells, summed.info)
            lanes.rest.fill(node, clique, summed, batch)
        value = value + constant_of(potentials)
        none = np.isneginf(value)[batch.graph_of]  # [V]
        if none.any():
            node[np.repeat(none, batch.width)] = 0.0
            for name, table in clique.items():
                table[none[batch.scopes[name][:, 0]]] = 0.0
        return Summed(value, node, clique, self._how(cells))

    def _with_rest(self, rest: Rest, value: Floats, others: Floats, cells: Floats, how: How) -> Floats:
        """Add the values of what is not in lanes, [n], to those of graphs; return the cells of graphs."""
        rest.add(value, others)
        most = cells.copy()
        np.maximum.at(most, rest.graph, how.cells)
        return most

    def _labels(self, potentials: GraphPotentials, k: int, what: str) -> Ids:
        """Return room for k labelings, within the budget."""
        V = potentials.batch.variables
        if k * V > self.budget:
            raise MethodError(
                f"{k} {what} of {V} variables need {k * V:.3g} cells, the budget is {self.budget:.3g}; ask "
                "for fewer, or give Elimination(budget=...) more"
            )
        return np.full((k, V), -1, dtype=np.int32)

    def _labeled(self, potentials: GraphPotentials, label: Ids, cells: Floats) -> Labeled:
        """Return labelings [k, V] with their scores; -1 in graphs that have none."""
        batch = potentials.batch
        score = potentials.labeling_score(np.maximum(label, 0))
        score[:, batch.graph_of[label[0] < 0]] = -np.inf
        return Labeled(label, score, self._how(cells))

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
