"""What an answer about graphs would cost, before anything is allocated: cells, bytes and rough seconds.

Elimination counts the cells of its tables exactly. Methods that sweep over the graph are counted by factors
and cells; their seconds are those of one thread of a 2.8 GHz machine, right within a factor of a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crfkit.inference.methods.elimination import Elimination
from crfkit.inference.methods.registry import METHODS
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class Cost:
    """What a method needs for the answers about all graphs of a batch."""

    method: str
    answers: str  #: what it is asked for
    exact: bool  #: whether the answer is exact on every graph
    cells: float  #: of tables of the widest graph (elimination), or of all factors; more where `wide`
    bytes: float  #: beyond the scores
    seconds: float  #: on one thread, roughly
    wide: bool = False  #: whether counting was given up, for there are more cells than the default budget


@dataclass(frozen=True)
class _Sweep:
    """What a sweep takes: nanoseconds for a factor and for a cell, and sweeps until the end."""

    answers: str
    factor: float
    cell: float
    sweeps: int


_SWEEPS = {
    "belief-propagation": _Sweep("marginals", 150.0, 3.0, 20),
    "tree-reweighted": _Sweep("upper bound of log Z", 300.0, 8.0, 40),
    "mean-field": _Sweep("lower bound of log Z", 100.0, 4.0, 40),
    "gibbs": _Sweep("samples", 40.0, 0.0, 1000),
    "trws": _Sweep("best labeling", 200.0, 4.0, 100),
    "dual": _Sweep("best labeling", 300.0, 8.0, 100),
    "icm": _Sweep("best labeling", 100.0, 1.0, 10),
}
_PER_CELL = 10e-9  # seconds: marginals by elimination


@dataclass(frozen=True)
class Estimate(Mapping[str, Cost]):
    """Costs by the name of the method; prints as a table.

    Examples
    --------
    >>> from crfkit import Graph
    >>> from crfkit.graphs import scopes
    >>> graph = Graph({"pixel": 2}, near=["pixel", "pixel"])
    >>> near = scopes.grid((30, 30))[0]
    >>> print(graph.batch(sizes={"pixel": 900}, scopes={"near": near}).estimate())  # doctest: +ELLIPSIS
    method              for                   exact     cells   memory  seconds
    elimination         all                   yes   ...
    """

    costs: tuple[Cost, ...]

    def __getitem__(self, method: str) -> Cost:
        """Return the cost of a method."""
        for cost in self.costs:
            if cost.method == method:
                return cost
        raise KeyError(method)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of methods."""
        return iter([cost.method for cost in self.costs])

    def __len__(self) -> int:
        """Return the number of methods."""
        return len(self.costs)

    def __str__(self) -> str:
        """Return a table."""
        lines = ["method              for                   exact     cells   memory  seconds"]
        for cost in self.costs:
            more = ">" if cost.wide else ""
            cells, size, seconds = f"{cost.cells:.3g}", _amount(cost.bytes), f"{cost.seconds:.2g}"
            lines.append(
                f"{cost.method:<19} {cost.answers:<21} {'yes' if cost.exact else 'no':<5} "
                f"{more + cells:>9} {more + size:>8} {more + seconds:>8}"
            )
        return "\n".join(lines)


def estimate(given: GraphBatch | GraphPotentials) -> Estimate:
    """Return what each method would need for the graphs of a batch."""
    potentials = given if isinstance(given, GraphPotentials) else _zeros(given)
    left = without_observed(potentials).potentials
    batch = left.batch
    exact = Elimination()
    each = exact.estimate(left)["cells"]
    widest, work = float(each.max(initial=0.0)), float(each.sum())
    costs = [Cost("elimination", "all", True, widest, 8.0 * widest, work * _PER_CELL, widest > exact.budget)]
    size = {name: int(np.prod(table.scores.shape[1:])) for name, table in left.tables.items()}
    factors = sum(len(batch.scopes[name]) for name in size)
    cells = float(sum(len(batch.scopes[name]) * n for name, n in size.items()))
    labels = float(sum(len(batch.scopes[n]) * sum(left.tables[n].scores.shape[1:]) for n in size))
    for name, sweep in _SWEEPS.items():
        if name in METHODS:
            seconds = sweep.sweeps * 1e-9 * (sweep.factor * factors + sweep.cell * cells)
            memory = 8.0 * (2.0 * labels + float(batch.label_ptr[-1]))
            costs.append(Cost(name, sweep.answers, False, cells, memory, seconds))
    return Estimate(tuple(costs))


def _zeros(batch: GraphBatch) -> GraphPotentials:
    """Return potentials of the same cliques that score nothing; fixed scores forbid what they forbid."""
    tables = {}
    for name, scope in batch.scopes.items():
        if len(scope):
            tables[name] = np.zeros(tuple(batch.width[scope[0]].tolist()))
    return batch.potentials(**tables)


def _amount(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} PB"
