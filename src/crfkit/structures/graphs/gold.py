"""What is known about the labels of graphs: a label of each variable, or -1 where it is hidden.

Hidden labels are summed out: the gold of a graph that has some is the set of labelings that agree with what
is known, and its score is the logarithm of their sum (the clamped graph).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.gold import GoldKind
from crfkit.structures.graphs.cliques import Clique

if TYPE_CHECKING:
    from crfkit.structures.graphs.batch import GraphBatch
    from crfkit.structures.graphs.potentials import GraphPotentials, Table


@dataclass(frozen=True, eq=False)
class GraphGold:
    """A label of each variable, or -1 where it is hidden."""

    begin: ClassVar[None] = None  #: graphs have no segments

    label: Ids  #: [V]
    weight: Floats | None = None  #: [V] of the terms of single labels, for losses that have such terms

    def take(self, variables: Pointers) -> GraphGold:
        """Return what is known of some variables."""
        return GraphGold(self.label[variables], None if self.weight is None else self.weight[variables])

    @property
    def kind(self) -> GoldKind:
        """Whether every label is known: "path", or else "set"."""
        return "set" if (self.label < 0).any() else "path"

    def clamped(self, potentials: GraphPotentials) -> GraphPotentials:
        """Return the same scores, given the known labels."""
        return replace(potentials, observed=self.label)


def gold_of_graphs(batch: GraphBatch) -> GraphGold:
    """Return what a batch knows about its labels; all are hidden where it has none."""
    label = np.full(batch.variables, -1, dtype=np.int32) if batch.label is None else batch.label
    return GraphGold(label)


def factor_weights(batch: GraphBatch, clique: str, table: Table, weight: Floats) -> Floats:
    """Return the weight [N] of the graph of each factor, times the factor's scale: [M]."""
    each: Floats = weight[batch.graph_of[batch.scopes[clique][:, 0]]]
    return each if table.scale is None else each * table.scale


def summed_by_table(table: Table, each: Floats, shares: Floats) -> Floats:
    """Add up shares [M, L1, ..., La] of factors, times `each` [M], by the tables that they take.

    Returns
    -------
    array like ``table.scores``
        The caller may change it.
    """
    K, M = len(table.scores), len(shares)
    flat = shares.reshape(M, prod(table.scores.shape[1:]))  # [M, cells]
    if table.which is None and K == M:
        made = flat * each[:, None]
    elif K == 1:
        made = each[None, :] @ flat
    else:
        from scipy.sparse import csr_array

        taken = csr_array((each, (table.which, np.arange(M))), shape=(K, M))
        made = taken @ flat
    return np.asarray(made, dtype=np.float64).reshape(table.scores.shape)


def add_graph_counts(
    potentials: GraphPotentials, gold: GraphGold, weight: Floats, counts: Mapping[str, Floats]
) -> None:
    """Add to `counts` how often the gold takes each cell of each table, each graph times its weight [N]."""
    if gold.kind == "set":
        raise ValueError("hidden labels cannot be counted: their counts depend on the weights")
    batch = potentials.batch
    for name, table in potentials.tables.items():
        if name not in counts:
            continue
        scope, out = batch.scopes[name], counts[name]
        shape = table.scores.shape
        which = table.which if table.which is not None else (0 if shape[0] == 1 else np.arange(len(scope)))
        labels = gold.label[scope].astype(np.int64)  # [M, a]
        first = np.broadcast_to(np.asarray(which, dtype=np.int64), len(scope))
        each = factor_weights(batch, name, table, weight)
        if out.size > len(scope):  # few cells of many
            np.add.at(out, (first, *labels.T), each)
        else:
            cell = np.ravel_multi_index((first, *labels.T), shape)
            out += np.bincount(cell, each, minlength=out.size).reshape(shape)


def with_hamming(potentials: GraphPotentials, gold: GraphGold) -> GraphPotentials:
    """Return the scores plus the Hamming cost: 1 for each variable with a wrong label, nothing where hidden.

    Where the batch has costs of its own, these take the place of the 1. The cost is a clique of its own for
    each kind, "cost of KIND".
    """
    from crfkit.structures.graphs.potentials import Table

    batch = potentials.batch
    costly = batch.prepared("cost", lambda: _with_cost_cliques(batch))
    tables: dict[str, Any] = dict(potentials.tables)
    for kind, (first, last) in batch.kind_ptr.items():
        label = gold.label[first:last]
        wrong = np.not_equal(np.arange(batch.graph.width(kind)), label[:, None])  # [V, L]
        each = np.where(label >= 0, batch.costs[first:last], 0.0)  # [V]
        tables[_cost(kind)] = Table(wrong * each[:, None])
    return replace(potentials, batch=costly, tables=tables)


def _cost(kind: str) -> str:
    return f"cost of {kind}"


def _with_cost_cliques(batch: GraphBatch) -> GraphBatch:
    from crfkit.structures.graphs.graph import Graph

    cliques = {**batch.graph.cliques, **{_cost(kind): Clique(kind) for kind in batch.graph.kinds}}
    scopes = dict(batch.scopes)
    for kind, (first, last) in batch.kind_ptr.items():
        scopes[_cost(kind)] = np.arange(first, last, dtype=np.int32)[:, None]
    return replace(batch, graph=Graph(batch.graph.kinds, **cliques), scopes=scopes, features={}, _kept={})
