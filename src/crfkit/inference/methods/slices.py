"""Expected counts of sequences of equal slices: chains, and factorial (dynamic) CRFs.

A slice has a variable of each chain. Tables that join a slice to the next one are shared by all graphs, so
that graphs of any length are summed side by side: a step is a product with a matrix for each chain (Sutton,
Rohanimanesh & McCallum (2004)). Counts go into the tables at once, without marginals of each factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats
from crfkit.inference.methods.lanes import constant_of, rest_of
from crfkit.inference.methods.method import Method
from crfkit.native import kernels
from crfkit.structures.graphs.gold import summed_by_table
from crfkit.structures.graphs.potentials import GraphPotentials, Table


@dataclass(frozen=True, eq=False)
class Slices:
    """The components of some potentials that are sequences of equal slices."""

    potentials: GraphPotentials
    plan: _native.Slices

    @once
    def covered(self) -> Bools:
        """Which variables are of such components, [V]."""
        return self.plan.covered()

    @once
    def whole(self) -> Bools:
        """Which graphs have no other components, [N]."""
        batch = self.potentials.batch
        others: Bools = np.bincount(batch.graph_of[~self.covered], minlength=batch.graphs) == 0
        return others

    def expected(
        self, weight: Floats, rest: Method, threads: int
    ) -> tuple[Floats, dict[str, Floats], Floats]:
        """Return log Z [N], counts, and the cells kept [N]; `rest` gives marginals of other components."""
        potentials = self.potentials
        value = np.zeros(potentials.batch.graphs)
        found, lost = self.plan.sum(kernels, potentials.problem, weight, value, threads)
        by_score: dict[str, Floats] = {}
        for (name, table), shares in zip(potentials.tables.items(), found, strict=True):
            made = shares
            if len(shares) != len(table.scores):
                made = summed_by_table(table, np.ones(len(shares)), shares)
            by_score[name] = made.reshape(table.scores.shape)
        cells, left = self.plan.cells(potentials.problem), ~self.covered | lost
        if left.any():
            other = rest_of(potentials, ~left, None if lost.any() else "slices")
            answer = Method.expected(rest, other.potentials, weight[other.graph], threads)
            other.add(value, answer.value)
            for name, table in potentials.tables.items():
                place = other.part.factors[name] if _each(table) else slice(None)
                by_score[name][place] += answer.by_score[name]
            np.maximum.at(cells, other.graph, answer.info.cells)
        return value + constant_of(potentials), by_score, cells


def slices_of(potentials: GraphPotentials, budget: float) -> Slices | None:
    """Return the components that are sequences of equal slices; None: there are none, or too few alike.

    What they are depends on the scopes, and on which cliques have one table: the batch keeps it.

    Examples
    --------
    >>> from crfkit import Graph
    >>> from crfkit.graphs import scopes
    >>> graph = Graph(
    ...     {"pos": 2, "chunk": 3}, pos=["pos", "pos"], chunk=["chunk", "chunk"], both=["pos", "chunk"]
    ... )
    >>> ptr = np.arange(11) * 4  # ten graphs of four slices
    >>> chain = scopes.chain(ptr)
    >>> batch = graph.batch(graph_ptr=ptr, scopes={"pos": chain, "chunk": chain})
    >>> scores = batch.potentials(pos=np.zeros((2, 2)), chunk=np.eye(3), both=np.ones((2, 3)))
    >>> slices_of(scores, 2**20).plan.components
    10
    """
    batch, tables = potentials.batch, potentials.tables
    shared = [len(table.scores) == 1 and table.scale is None for table in tables.values()]
    steps = [
        number
        for number, name in enumerate(tables)
        if shared[number] and len(set(batch.graph.cliques[name].kinds)) == 1 and tables[name].scores.ndim == 3
    ]
    if not steps:
        return None
    key = ("slices", float(budget), tuple(shared), *tables)
    plan = batch.prepared(key, lambda: _native.Slices(potentials.problem, steps, float(budget)))
    return Slices(potentials, plan) if plan.components else None


def _each(table: Table) -> bool:
    """Return whether every factor has a table of its own."""
    return table.which is None and len(table.scores) > 1
