"""Parts of a batch of graphs: some of its graphs, or its connected components as graphs of their own.

Variables of different components have nothing to do with each other: p(y) is the product over components, and
log Z, the best score and bounds are sums over them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, Table


@dataclass(frozen=True, eq=False)
class Part:
    """Some graphs of a batch, and where their variables and factors are in the whole."""

    batch: GraphBatch
    graphs: Pointers  #: [n] their numbers in the whole
    variables: Pointers  #: [v] flat variables of the whole
    factors: dict[str, Pointers]  #: clique -> [m] factors of the whole

    def potentials(self, whole: GraphPotentials) -> GraphPotentials:
        """Return the scores of these graphs."""
        tables = {}
        for name, table in whole.tables.items():
            at = self.factors[name]  # ascending
            if len(at) == len(whole.batch.scopes[name]):
                tables[name] = table
                continue
            each = table.which is None and len(table.scores) > 1
            tables[name] = Table(
                table.scores[at] if each else table.scores,
                None if table.which is None else table.which[at],
                None if table.scale is None else table.scale[at],
            )
        return GraphPotentials(
            self.batch,
            tables,
            None if whole.constant is None else whole.constant[self.graphs],
            None if whole.observed is None else whole.observed[self.variables],
        )


@dataclass(frozen=True, eq=False)
class Components:
    """A batch in which every connected component is a graph of its own; its variables keep their numbers."""

    batch: GraphBatch
    graph: Ids  #: [C] which graph of the whole a component is of

    def potentials(self, whole: GraphPotentials) -> GraphPotentials:
        """Return the same scores, without the constants of graphs."""
        return GraphPotentials(self.batch, whole.tables, None, whole.observed)

    def values(self, value: Floats, whole: GraphPotentials) -> Floats:
        """Add up a number of each component, [..., C], and the constants of graphs: [..., N]."""
        N = whole.batch.graphs
        total = np.zeros((*value.shape[:-1], N))
        for out, row in zip(total.reshape(-1, N), value.reshape(-1, value.shape[-1]), strict=True):
            out += np.bincount(self.graph, row, minlength=N)
        return total if whole.constant is None else total + whole.constant


def part_of(batch: GraphBatch, graphs: ArrayLike) -> Part:
    """Return some graphs of a batch, in the order given: their numbers, or a mask [N]."""
    chosen = np.asarray(graphs)
    if chosen.dtype == np.bool_ and chosen.shape == (batch.graphs,):
        chosen = np.flatnonzero(chosen)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"graphs must be numbers of graphs, or a mask of {batch.graphs}, not {graphs!r}")
    if chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < batch.graphs:
        raise ValueError(f"graphs has numbers outside 0 to {batch.graphs - 1}")
    number = np.full(batch.graphs, -1, dtype=np.int32)  # graph of the whole -> graph of the part
    number[chosen] = np.arange(len(chosen))
    if (number[chosen] != np.arange(len(chosen))).any():
        raise ValueError("graphs names a graph twice")
    to = number[batch.graph_of]
    order, kinds, kind_ptr, end = [], dict(batch.graph.kinds), {}, 0
    for kind, (first, last) in batch.kind_ptr.items():
        kept = first + np.flatnonzero(to[first:last] >= 0)
        order.append(kept[np.argsort(to[kept], kind="stable")])
        labels = kinds[kind]
        if isinstance(labels, np.ndarray):
            kinds[kind] = labels[order[-1] - first]
        kind_ptr[kind] = (end, end + len(kept))
        end += len(kept)
    variables = np.concatenate(order)
    place = np.full(batch.variables, -1, dtype=np.int32)
    place[variables] = np.arange(end)
    factors = {name: np.flatnonzero(place[scope[:, 0]] >= 0) for name, scope in batch.scopes.items()}
    part = GraphBatch(
        Graph(kinds, **batch.graph.cliques),
        kind_ptr,
        batch.width[variables],
        to[variables],
        len(chosen),
        False,
        {name: np.ascontiguousarray(place[batch.scopes[name][at]]) for name, at in factors.items()},
        None if batch.label is None else batch.label[variables],
        {name: each.take(factors[name]) for name, each in batch.features.items()},
        None if batch.cost is None else batch.cost[variables],
    )
    return Part(part, chosen.astype(np.int64), variables, factors)


def components(batch: GraphBatch) -> Components:
    """Return the connected components of all graphs, made once."""
    return batch.prepared("components", lambda: _components(batch))


def _components(batch: GraphBatch) -> Components:
    of = _native.components(batch.variables, list(batch.scopes.values()))
    count = int(of.max(initial=-1)) + 1
    graph = np.zeros(count, dtype=np.int32)
    graph[of] = batch.graph_of
    alone = replace(batch, graph_of=of, graphs=count, single=False, _kept={})
    return Components(alone, graph)
