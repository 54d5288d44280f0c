"""Graphs without variables, batches without graphs, and graphs of which all is observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.inference.methods import Annealing, ExpectationPropagation, Gibbs, MeanField, Method

GRAPH = Graph({"node": 2}, look=["node"], edge=["node", "node"])
SUMMING = [MeanField(), MeanField("forest"), ExpectationPropagation(), Gibbs(), Gibbs(block=True)]


@pytest.mark.parametrize("method", SUMMING, ids=str)
@pytest.mark.parametrize(
    "given",
    [
        {"sizes": {"node": 0}, "scopes": {"edge": []}},
        {"graph_ptr": [0], "scopes": {"edge": []}},
        {"graph_ptr": [0, 0, 3, 3], "scopes": {"edge": [[0, 1]]}},
    ],
)
def test_empty_graphs_have_one_labeling(method: Method, given: dict[str, Any]) -> None:
    batch = GRAPH.batch(**given)
    nodes = batch.variables
    for tables in ({}, {"look": np.zeros((nodes, 2)), "edge": np.zeros((2, 2))}):
        scores = batch.potentials(**tables)
        found = inference.marginals(scores, method=method)
        np.testing.assert_allclose(found["node"], np.full((nodes, 2), 0.5), atol=0.05)
        if method.sums:
            sizes = np.bincount(batch.graph_of, minlength=batch.graphs)
            right = np.atleast_1d(inference.log_partition(scores, method=method))
            np.testing.assert_allclose(right, sizes * np.log(2.0), atol=1e-12)
        assert inference.sample(scores, 3, method=Gibbs())["node"].shape == (3, nodes)
        assert inference.decode(scores, Annealing())["node"].shape == (nodes,)


@pytest.mark.parametrize("method", SUMMING, ids=str)
def test_all_is_observed(method: Method) -> None:
    batch = GRAPH.batch(sizes={"node": 3}, scopes={"edge": [[0, 1], [1, 2]]})
    scores = batch.potentials(edge=[[1.0, 0.0], [0.0, 1.0]]).given({"node": [0, 1, 1]})
    assert inference.marginals(scores, method=method)["node"].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert inference.sample(scores, 2, method=Gibbs()).score.tolist() == [1.0, 1.0]
    assert inference.decode(scores, Annealing()).score == 1.0
