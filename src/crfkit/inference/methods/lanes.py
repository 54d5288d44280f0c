"""Many small graphs at once: components with the same pattern of scopes share one elimination program.

The lanes of the vectors are components. `Elimination` asks `lanes_of` first, and does what is left itself:
components whose pattern is rare, or whose tables are large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids, ranges
from crfkit.inference.methods.method import Summed
from crfkit.native import kernels
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.parts import Part, components, part_of
from crfkit.structures.graphs.potentials import GraphPotentials

#: Components that must have a pattern in common: fewer would leave most lanes empty.
LEAST_SHARE = 8


@dataclass(frozen=True, eq=False)
class Rest:
    """Components of some potentials as graphs of their own."""

    part: Part  #: of the batch of all components
    potentials: GraphPotentials
    graph: Ids  #: [n] which graph of the whole each of them is of

    def add(self, to: Floats, value: Floats) -> None:
        """Add a number of each component, [n], to those of whole graphs, [N]."""
        to += np.bincount(self.graph, value, minlength=len(to))

    def fill(self, node: Floats, clique: Mapping[str, Floats], summed: Summed, whole: GraphBatch) -> None:
        """Write marginals of these components where they are in the whole."""
        variables, factors = self.part.variables, self.part.factors
        node[ranges(whole.label_ptr[variables], self.part.batch.width.astype(np.int64))] = summed.node
        for name, table in clique.items():
            table[factors[name]] = summed.clique[name]


def rest_of(potentials: GraphPotentials, covered: Bools, kept: str | None) -> Rest:
    """Return the components with variables that are not covered; `kept`: as what the batch keeps them."""
    split = components(potentials.batch)

    def make() -> Part:
        chosen = np.zeros(split.batch.graphs, dtype=np.bool_)
        chosen[split.batch.graph_of[~covered]] = True
        return part_of(split.batch, chosen)

    key = ("rest", kept, *potentials.tables)
    part = make() if kept is None else potentials.batch.prepared(key, make)
    return Rest(part, part.potentials(split.potentials(potentials)), split.graph[part.graphs])


@dataclass(frozen=True, eq=False)
class Lanes:
    """The components of some potentials that are swept in lanes, without those that are not."""

    potentials: GraphPotentials
    programs: _native.SmallGraphs

    @property
    def all(self) -> bool:
        """Whether every component is swept in lanes."""
        return self.programs.covers_all

    @once
    def covered(self) -> Bools:
        """Which variables are of components that are swept in lanes, [V]."""
        return self.programs.covered()

    @once
    def cells(self) -> Floats:
        """Cells of the largest covered component of each graph, [N]."""
        return self.programs.cells(self.potentials.problem)

    @once
    def rest(self) -> Rest | None:
        """The components that are not covered."""
        return None if self.all else rest_of(self.potentials, self.covered, "lanes")

    def log_partition(self, threads: int) -> Floats:
        """Return the sum of log Z over the covered components of each graph, [N], without the constant."""
        value = np.zeros(self.potentials.batch.graphs)
        self.programs.log_partition(kernels, self.potentials.problem, value, threads)
        return value

    def marginals(self, cliques: bool, threads: int) -> tuple[Floats, Floats, dict[str, Floats]]:
        """Return the same with marginals of variables and, where `cliques`, of factors; 0 elsewhere."""
        batch = self.potentials.batch
        fresh = np.empty if self.all else np.zeros
        value, node = np.zeros(batch.graphs), fresh(int(batch.label_ptr[-1]))
        tables = self.potentials.tables if cliques else {}
        shapes = {name: (len(batch.scopes[name]), *t.scores.shape[1:]) for name, t in tables.items()}
        room, clique = fresh(sum(map(math.prod, shapes.values()))), {}  # in one piece: on large pages
        for name, shape in shapes.items():
            clique[name], room = room[: math.prod(shape)].reshape(shape), room[math.prod(shape) :]
        flat = [table.reshape(-1) for table in clique.values()]
        self.programs.marginals(kernels, self.potentials.problem, value, node, flat, threads)
        return value, node, clique

    def best(self, threads: int) -> tuple[Floats, Ids]:
        """Return the best score of the covered components of each graph, [N], and labels, [V].

        Labels are -1 where a component has no labeling or is not covered. Of equal scores the first label
        of the variable that is eliminated last wins, then of the one before it, and so on.
        """
        value = np.zeros(self.potentials.batch.graphs)
        label = np.full(self.potentials.batch.variables, -1, dtype=np.int32)
        self.programs.best(kernels, self.potentials.problem, value, label, threads)
        return value, label


def lanes_of(potentials: GraphPotentials, threads: int = 1) -> Lanes:
    """Return the components that share a pattern with at least `LEAST_SHARE` - 1 others.

    Programs depend on scopes alone, so the batch keeps them.

    Examples
    --------
    >>> from crfkit import Graph
    >>> graph = Graph({"a": 2, "b": 3}, pair=["a", "b"])
    >>> potentials = graph.batch(sizes={"a": 10, "b": 10}).potentials(pair=[[0.0, 1, 2], [3, 4, 5]])
    >>> lanes = lanes_of(potentials)
    >>> lanes.all, lanes.programs.components, lanes.programs.patterns
    (True, 10, 1)
    >>> value, label = lanes.best(threads=1)
    >>> value.tolist(), label.tolist()[:3]
    ([50.0], [1, 1, 1])
    """
    key = ("lanes", *potentials.tables)
    problem = potentials.problem
    programs = potentials.batch.prepared(key, lambda: _native.SmallGraphs(problem, LEAST_SHARE, threads))
    return Lanes(potentials, programs)


def constant_of(potentials: GraphPotentials) -> Floats:
    """Return the score of every labeling of each graph, [N]."""
    return np.zeros(potentials.batch.graphs) if potentials.constant is None else potentials.constant
