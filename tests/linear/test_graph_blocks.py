"""Blocks of graphs: sequences of slices need none, as their counts are added up at once."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit import Graph
from crfkit.graphs import scopes
from crfkit.inference.methods import Auto, Elimination, MeanField, Method
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.score import GraphScores
from crfkit.objectives import Likelihood


@pytest.mark.parametrize("method", [Elimination(), Auto(), MeanField()])
@pytest.mark.parametrize("skips", [0, 30])
def test_blocks(method: Method, skips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs with skip edges are cut into blocks; no scores are made to find that out."""
    monkeypatch.setattr("crfkit.linear.graphs.loss.BLOCK_BYTES", 4096)
    ptr = np.arange(41) * 5
    graph = Graph({"token": 3}, word=["token"], step=["token", "token"], skip=["token", "token"])
    where = {"step": scopes.chain(ptr), "skip": ptr[:skips, None] + np.array([[0, 2]])}
    features = {"word": np.random.default_rng(0).normal(size=(200, 2))}
    label = np.arange(200, dtype=np.int32) % 3
    batch = graph.batch(graph_ptr=ptr, labels={"token": label}, scopes=where, features=features)
    loss = GraphLoss(Likelihood(), graph_layout(batch, FeatureSelection()), batch, method)
    with monkeypatch.context() as no_scores:
        no_scores.setattr(GraphScores, "potentials", None)
        blocks = loss.blocks
    exact = not isinstance(method, MeanField)
    assert (len(blocks) == 1) == (exact and skips == 0)
    assert method.pools(loss.scores.outline()).sum() == (40 - skips if exact else 0)
    w, gradient = np.linspace(-1.0, 1.0, loss.size), np.zeros(loss.size)
    value = loss.value_and_grad(w, gradient)
    whole = GraphLoss(Likelihood(), loss.layout, batch, Elimination(lanes=False))
    monkeypatch.setattr("crfkit.linear.graphs.loss.BLOCK_BYTES", 2**30)
    wanted = np.zeros(loss.size)
    if exact:
        np.testing.assert_allclose(value, whole.value_and_grad(w, wanted), rtol=1e-12)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-10)
