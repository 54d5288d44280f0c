"""Which weights a graph has: for each clique a block of rows by columns.

A row is an attribute of the clique's factors, a dense column, or one row that all factors share where they
have no features. A column is a cell of the clique's table, or several that share a weight (`Clique.cells`),
or a weight that counts in several cells (`Clique.counts`).
Slots and blocks are named as cliques.
"""

from __future__ import annotations

from math import prod

import numpy as np

from crfkit.arrays import Bools, Ids, Pointers, pointers
from crfkit.linear.features import FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block, Estimate
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import CliqueFeatures
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.structure import Slot


def attractive_weights(graph: Graph, layout: Layout) -> Bools | None:
    """Return which weights are those of attractive cliques, [F]; None where there are none."""
    names = [name for name, clique in graph.cliques.items() if clique.attractive]
    if not names:
        return None
    found = np.zeros(layout.weights, dtype=np.bool_)
    for name in names:
        found[layout.parts[name]] = True
    return found


def cell_numbers(graph: Graph, clique: str) -> Ids:
    """Return the column of each cell of the table of a clique, [L1, ..., La]; -1 where it has no weight."""
    return graph.cliques[clique].numbers(graph.shape(clique))


def columns_of(graph: Graph, clique: str) -> int:
    """Return how many columns a clique has."""
    counts = graph.cliques[clique].counts
    return int(cell_numbers(graph, clique).max(initial=-1)) + 1 if counts is None else counts.shape[-1]


def gold_columns(batch: GraphBatch, clique: str) -> Ids:
    """Return the column that the labels of each factor take, [M]; -1 where there is none or one is hidden."""
    scope = batch.scopes[clique]
    if batch.label is None:
        return np.full(len(scope), -1, dtype=np.int32)
    labels = batch.label[scope]  # [M, a]
    known = (labels >= 0).all(axis=1)
    numbers = cell_numbers(batch.graph, clique)
    return np.where(known, numbers[tuple(np.maximum(labels, 0).T)], -1).astype(np.int32)


def graph_layout(batch: GraphBatch, features: FeatureSelection) -> Layout:
    """Return the layout of a batch.

    With observed features an attribute has weights for the columns that the gold takes where it occurs; where
    a clique has factors with hidden labels, and of dense columns, all pairs have weights.
    """
    graph, slots, blocks = batch.graph, {}, []
    for name in graph.cliques:
        if graph.ragged(name):
            raise ValueError(
                f"clique {name!r} has variables with different numbers of labels, which cannot share "
                "weights; give each number of labels a kind of its own"
            )
        given = batch.features.get(name)
        rows = 1 if given is None else given.columns
        for what, many in (("cells in a table", prod(graph.shape(name))), ("attributes", rows)):
            if many > features.max_weights:
                raise ValueError(
                    f"clique {name!r} has {many:,} {what}, more than max_weights = {features.max_weights:,}; "
                    "use fewer labels, number only the attributes that occur, or allow more"
                )
        columns = columns_of(graph, name)
        places = "position" if len(graph.cliques[name].kinds) == 1 else "step"  # as penalties tell them apart
        slots[name] = Slot(((columns,),), places)
        ptr, cell = _rows(batch, name, given, columns, features)
        blocks.append(Block(name, None if given is None else name, ptr, cell))
    Estimate({block.name: len(block.cell) for block in blocks}, 0).check(features.max_weights)
    return Layout(slots, tuple(blocks))


def _rows(
    batch: GraphBatch, clique: str, given: CliqueFeatures | None, columns: int, features: FeatureSelection
) -> tuple[Pointers, Ids]:
    Estimate({clique: columns}, 0).check(features.max_weights)
    every = np.arange(columns, dtype=np.int32)
    if given is None:
        return np.array([0, columns], dtype=np.int64), every
    if given.rows is None:
        Estimate({clique: given.columns * columns}, 0).check(features.max_weights)
        return np.arange(given.columns + 1, dtype=np.int64) * columns, np.tile(every, given.columns)
    rows, least = given.rows, features.min_count
    several = batch.graph.cliques[clique].counts is not None
    hidden = batch.label is None or (batch.label[batch.scopes[clique]] < 0).any()
    if features.which == "all" or hidden or several or not columns:
        kept = np.bincount(rows.id, minlength=given.columns) >= least
        counts = np.where(kept, columns, 0)
        Estimate({clique: int(kept.sum()) * columns}, 0).check(features.max_weights)
        return pointers(counts), np.tile(every, int(kept.sum()))
    at = np.repeat(gold_columns(batch, clique), np.diff(rows.ptr)).astype(np.int64)  # [nnz]
    key = (rows.id.astype(np.int64) * columns + at)[at >= 0]
    pair, count = np.unique(key, return_counts=True)
    pair = pair[count >= least]
    row, cell = np.divmod(pair, columns)
    return pointers(np.bincount(row, minlength=given.columns)), cell.astype(np.int32)
