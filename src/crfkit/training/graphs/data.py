"""Graphs to learn from: what they must have, and what makes two of them the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.linear.objective import Objective
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph


def checked_graphs(given: Any, graph: Graph, name: str) -> GraphBatch:
    """Return graphs with labels that are of this graph; refuse others."""
    if not isinstance(given, GraphBatch):
        raise TypeError(f"{name} is a {type(given).__name__}, expected graphs of graph.batch(...)")
    if given.graph != graph:
        raise ValueError(f"{name} is of another graph: {given.graph!r}, not {graph!r}")
    if not given.variables:
        raise ValueError(f"{name} has {given.graphs} graphs and no variables (0 samples)")
    if given.label is None or not (given.label >= 0).any():
        raise ValueError(
            f"{name} has no labels: give graph.batch(labels={{kind: ids}}), -1 only where a label is hidden"
        )
    return given


def _check_allowed(batch: GraphBatch) -> None:
    """Refuse labels that fixed scores of -inf forbid: no weights could give them."""
    assert batch.label is not None
    for name, clique in batch.graph.cliques.items():
        if clique.fixed is None or not np.isneginf(clique.fixed).any():
            continue
        label = batch.label[batch.scopes[name]]  # [M, a]
        known = np.flatnonzero((label >= 0).all(axis=1))
        wrong = known[np.isneginf(clique.fixed[tuple(label[known].T)])]
        if len(wrong):
            m = int(wrong[0])
            n, ids = int(batch.graph_of[batch.scopes[name][m, 0]]), ", ".join(map(str, label[m]))
            raise ValueError(
                f"graph {n}: factor {m} of clique {name!r} has the labels {ids}, which its fixed scores "
                f"forbid (-inf), and so do {len(wrong) - 1} more; correct the labels or the fixed scores"
            )


def check_learnable(batch: GraphBatch, objective: Objective) -> list[str]:
    """Refuse hidden labels where an objective has to know all; return notes about what cannot be learned."""
    assert batch.label is not None
    for kind, (first, last) in batch.kind_ptr.items():
        hidden = int((batch.label[first:last] < 0).sum())
        if hidden and not objective.covers(batch.graph, ["path"]) and objective.covers(batch.graph, ["set"]):
            what = (
                f"no variable of kind {kind!r} has a label"
                if hidden == last - first
                else f"{hidden} of {last - first} variables of kind {kind!r} have no label"
            )
            raise ValueError(
                f"{what}, and the objective {objective.name} needs all labels; give them, or use "
                "objective=Likelihood(), which sums over hidden labels"
            )
    _check_allowed(batch)
    return [
        f"clique {name!r} has no factors in the data: its weights stay where they start"
        for name, scope in batch.scopes.items()
        if not len(scope)
    ]


def has_hidden_kind(batch: GraphBatch) -> bool:
    """Return whether all variables of a kind that has several labels are without one."""
    assert batch.label is not None
    by_kind = batch.by_kind(batch.label).items()
    return any(len(label) and batch.graph.width(kind) > 1 and (label < 0).all() for kind, label in by_kind)


def arrays_of(batch: GraphBatch) -> list[Any]:
    """Return the arrays that graphs are made of."""
    parts: list[Any] = [batch.width, batch.graph_of, *batch.scopes.values()]
    parts += [] if batch.label is None else [batch.label]
    for each in batch.features.values():
        parts += (
            [each.dense] if each.dense is not None else [tuple(x for x in each.rows or () if x is not None)]
        )
    return parts
