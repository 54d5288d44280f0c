"""Small graphs with cycles whose labels are drawn from known weights, for tests of learning by sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit import FeatureSelection, Graph
from crfkit.inference.methods import Elimination
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.objective import Objective
from crfkit.structures.graphs.batch import GraphBatch


def cycles(seed: int, graphs: int, *, hidden: bool = False, strength: float = 1.0) -> GraphBatch:
    """Return cycles of four variables with three labels, two dense features each, and shared tables of pairs.

    Labels are drawn from the model with normal weights; where `hidden`, every fifth is -1.
    """
    rng = np.random.default_rng(seed)
    graph = Graph({"a": 3}, look=["a"], near=["a", "a"])
    first = np.arange(0, 4 * graphs, 4)[:, None]
    near = np.stack([first + np.arange(4), first + np.array([1, 2, 3, 0])], axis=2).reshape(-1, 2)
    features = {"look": rng.normal(size=(4 * graphs, 2))}
    ptr = np.arange(graphs + 1) * 4
    given: dict[str, Any] = {"graph_ptr": ptr, "scopes": {"near": near}, "features": features}
    empty = graph.batch(labels={"a": np.zeros(4 * graphs, dtype=np.int32)}, **given)
    layout = graph_layout(empty, FeatureSelection("all"))
    scores = GraphScores(layout, empty).potentials(strength * rng.normal(size=layout.weights))
    labels = Elimination().sample(scores, 1, seed, 1).label[0].copy()
    if hidden:
        labels[::5] = -1
    return graph.batch(labels={"a": labels}, **given)


def loss_of(objective: Objective, batch: GraphBatch, method: Method, *, threads: int = 1) -> GraphLoss:
    """Return the loss of a batch, with weights for all pairs."""
    return GraphLoss(objective, graph_layout(batch, FeatureSelection("all")), batch, method, threads=threads)
