"""Mean field: below log Z, trees at least as close as single variables, and true to what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.errors import InfeasibleError
from crfkit.inference.methods import Enumeration, MeanField
from tests.cases.graphs import grid, pairwise, random_graph, tree_graph

NAIVE, FOREST = MeanField(), MeanField("forest")


def test_bounds_are_below_log_z_and_trees_come_closer() -> None:
    rng = np.random.default_rng(1)
    gaps, proved = [], 0
    for trial in range(150):
        scores = random_graph(rng, arity=4, graphs=2, forbidden=0.1 * (trial % 2), cliques=5, labels=(1, 4))
        right = inference.log_partition(scores, method=Enumeration())
        naive = inference.log_partition(scores, method=NAIVE)
        forest = inference.log_partition(scores, method=FOREST)
        assert (naive <= right + 1e-9).all()
        assert (forest <= right + 1e-9).all()
        assert (naive <= forest + 1e-6).all()
        assert ((naive > -np.inf) == (right > -np.inf)).all()
        for answer in (naive, forest):
            assert answer.info.converged.all()
            np.testing.assert_array_equal(answer.info.lower, answer)
            np.testing.assert_allclose(answer[answer.info.exact], right[answer.info.exact], atol=1e-9)
        proved += int(forest.info.exact.sum()) - int(naive.info.exact.sum())
        there = right > -np.inf
        gaps.append([(right[there] - naive[there]).sum(), (right[there] - forest[there]).sum()])
    mean = np.mean(gaps, axis=0)
    assert mean[1] < 0.95 * mean[0]
    assert proved > 10


@pytest.mark.parametrize("method", [NAIVE, FOREST])
def test_the_value_is_the_bound_of_the_marginals(method: MeanField) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        scores = random_graph(rng, arity=3, graphs=1, forbidden=0.05, labels=(2, 3))
        if inference.log_partition(scores, method=Enumeration())[0] == -np.inf:
            continue
        found = inference.marginals(scores, method=method)
        batch = scores.batch
        for kind, node in found.node.items():
            np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=1e-12)
            for name, clique in found.clique.items():
                for axis, member in enumerate(batch.graph.cliques[name].kinds):
                    if member == kind:
                        others = tuple(i + 1 for i in range(clique.ndim - 1) if i != axis)
                        own = batch.scopes[name][:, axis] - batch.kind_ptr[kind][0]
                        np.testing.assert_allclose(clique.sum(axis=others), node[own], atol=1e-12)
        if method is NAIVE:  # variables are independent, and so is their entropy
            p = np.concatenate([node.ravel() for node in found.node.values()])
            entropy = -float(np.sum(p[p > 0.0] * np.log(p[p > 0.0])))
            expected = scores.expected_score(found.clique)
            np.testing.assert_allclose(found.log_partition, expected + entropy, rtol=1e-9, atol=1e-9)


def test_trees_are_exact() -> None:
    rng = np.random.default_rng(3)
    for forbidden, strength in ((0.0, 1.0), (0.2, 1.0), (0.0, 800.0), (0.3, 800.0)):  # beyond exp's range
        scores = tree_graph(rng, 7, 3, forbidden=forbidden, strength=strength)
        right = inference.marginals(scores, method=Enumeration())
        found = inference.marginals(scores, method=FOREST)
        assert found.info.exact.all()
        np.testing.assert_allclose(found["node"], right["node"], atol=1e-9)
        np.testing.assert_allclose(found.clique["edge"], right.clique["edge"], atol=1e-9)
        np.testing.assert_allclose(found.log_partition, right.log_partition, rtol=1e-9)
        assert not inference.log_partition(scores, method=NAIVE).info.exact.any()


def test_restarts_leave_a_saddle_point() -> None:
    scores = grid(np.random.default_rng(4), 4, 4, 2, strength=0.0, pair=[[2.0, 0.0], [0.0, 2.0]])
    local = inference.log_partition(scores, method=MeanField(restarts=1))
    both = inference.log_partition(scores, method=MeanField(restarts=2))
    assert local > 45.0  # equal probabilities are a fixed point, with the bound 16 log 2 + 24
    assert both == local


def test_a_graph_that_is_cut_in_a_batch_answers_alone_too() -> None:
    rng = np.random.default_rng(5)
    scores = random_graph(rng, graphs=5, forbidden=0.05)
    constant: Any = scores.constant
    all_of_them = inference.log_partition(scores, method=FOREST)
    for n, value in enumerate(all_of_them):
        alone = replace(scores, constant=np.where(np.arange(5) == n, constant, -np.inf))
        np.testing.assert_allclose(inference.log_partition(alone, method=FOREST)[n], value, rtol=1e-12)


@pytest.mark.parametrize("method", [MeanField(sweeps=5), MeanField("forest", sweeps=5)])
def test_threads_change_no_bit(method: MeanField) -> None:
    scores = grid(np.random.default_rng(6), 150, 150, 2)
    one = inference.marginals(scores, method=method, threads=1)
    two = inference.marginals(scores, method=method, threads=3)
    np.testing.assert_array_equal(one["node"], two["node"])
    np.testing.assert_array_equal(one.clique["edge"], two.clique["edge"])
    assert one.log_partition == two.log_partition
    assert not one.info.converged.any()
    assert one.info.sweeps[0] == (5 if method.structure == "naive" else 10)


def test_colorings_are_found() -> None:
    rng = np.random.default_rng(7)
    color = np.argsort(rng.random(60)) % 3
    edges = [(u, v) for u in range(60) for v in range(u) if color[u] != color[v] and rng.random() < 0.08]
    scores = pairwise(rng, 60, edges, 3, pair=np.where(np.eye(3), -np.inf, 0.0))
    found = inference.log_partition(scores, method=NAIVE)
    assert np.isfinite(found)


def test_graphs_without_a_labeling_are_named() -> None:
    forbid = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    triangle = Graph.from_factors([2, 2, 2], [([0, 1], forbid), ([1, 2], forbid), ([2, 0], forbid)])
    for method in (NAIVE, FOREST):
        value = inference.log_partition(triangle, method=method)
        assert value == -np.inf
        assert value.info.exact.all()
        with pytest.raises(InfeasibleError):
            inference.marginals(triangle, method=method)


def test_a_search_that_gives_up_says_so() -> None:
    rng = np.random.default_rng(8)
    edges = [(u, v) for u in range(40) for v in range(u) if rng.random() < 0.4]
    scores = pairwise(rng, 40, edges, 4, pair=np.where(np.eye(4), -np.inf, 0.0))
    value = inference.log_partition(scores, method=MeanField(budget=200))
    assert value == -np.inf
    assert not value.info.exact.any()
    assert not value.info.converged.any()
    assert "no allowed labeling of graph 0 was found" in str(value.info)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"structure": "tree"}, ValueError, 'expected "naive" or "forest"'),
        ({"tol": -1.0}, ValueError, "tol is -1.0"),
        ({"sweeps": 0}, ValueError, "sweeps is 0"),
        ({"restarts": 1.5}, TypeError, "whole number"),
        ({"seed": "x"}, TypeError, "seed"),
        ({"budget": 0}, ValueError, "budget is 0"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        MeanField(**options)
