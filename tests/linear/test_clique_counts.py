"""Weights that count in several cells: tables, gradients, learned weights, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Graph, GraphCRF, Likelihood
from crfkit.graphs import Clique
from crfkit.inference.methods import Enumeration
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.score import GraphScores

COUNTS = np.random.default_rng(0).integers(0, 3, (2, 3, 4)).astype(float)


def batch_of(clique: Clique, **features: Any) -> Any:
    rng = np.random.default_rng(1)
    graph = Graph({"a": 2, "b": 3}, pair=clique)
    labels = {"a": rng.integers(0, 2, 6), "b": rng.integers(0, 3, 6)}
    return graph.batch(labels=labels, features=features)


@pytest.mark.parametrize("kind", ["none", "dense", "sparse"])
def test_tables_and_gradients(kind: str) -> None:
    rng = np.random.default_rng(2)
    cases: dict[str, dict[str, Any]] = {
        "none": {},
        "dense": {"pair": rng.normal(size=(6, 2))},
        "sparse": {"pair": (np.arange(7) * 2, rng.integers(0, 3, 12), None)},
    }
    given = cases[kind]
    batch = batch_of(Clique("a", "b", counts=COUNTS), **given)
    layout = graph_layout(batch, FeatureSelection())
    w = rng.normal(size=layout.weights)
    table = GraphScores(layout, batch).potentials(w).tables["pair"]
    if kind == "none":
        assert table.scores[0] == pytest.approx(COUNTS @ w)
    if kind == "dense":
        wanted = np.einsum("abw,mk,kw->mab", COUNTS, given["pair"], w.reshape(2, 4))
        assert (table.scores if table.which is None else table.scores[table.which]) == pytest.approx(wanted)
    loss = GraphLoss(Likelihood(), layout, batch, Enumeration())
    gradient, scratch = np.empty_like(w), np.empty_like(w)
    loss.value_and_grad(w, gradient)
    for i, step in enumerate(1e-6 * np.eye(len(w))):
        slope = (loss.value_and_grad(w + step, scratch) - loss.value_and_grad(w - step, scratch)) / 2e-6
        assert slope == pytest.approx(gradient[i], abs=1e-6)


def test_cells_are_counts_of_one() -> None:
    cells = np.array([[0, 1, -1], [2, 0, 1]])
    counts = (cells[..., None] == np.arange(3)).astype(float)
    made = [
        GraphCRF(batch.graph, objective=Likelihood(l2=0.1)).fit(batch).model_
        for batch in (batch_of(Clique("a", "b", cells=cells)), batch_of(Clique("a", "b", counts=counts)))
    ]
    assert made[0].w == pytest.approx(made[1].w, abs=1e-9)
    assert made[0].tables()["pair"] == pytest.approx(made[1].tables()["pair"], abs=1e-9)
    assert made[1].graph.cliques["pair"] == Clique("a", "b", counts=counts) != Clique("a", "b")


def test_bad_counts() -> None:
    with pytest.raises(ValueError, match="cells or counts, not both"):
        Clique("a", "b", cells=[[0, 1]], counts=COUNTS)
    with pytest.raises(ValueError, match="expected finite numbers with 3 axes"):
        Clique("a", "b", counts=COUNTS[0])
    with pytest.raises(ValueError, match="'pair': counts has shape"):
        Graph({"a": 2, "b": 2}, pair=Clique("a", "b", counts=COUNTS))
    with pytest.raises(ValueError, match="several weights"):
        Clique("a", "b", counts=COUNTS).numbers((2, 3))
