"""Parts of batches: some graphs, in any order, and components as graphs of their own."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crfkit import _native, inference
from crfkit.structures.graphs.parts import components, part_of
from tests.cases.graphs import grid, random_graph


@pytest.mark.parametrize("seed", range(20))
def test_selected_graphs_answer_as_in_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = random_graph(rng, graphs=4)
    order = rng.permutation(4)[:3]
    some = whole.select(order)
    assert some.batch.graphs == 3
    every, few = inference.marginals(whole), inference.marginals(some)
    np.testing.assert_allclose(few.log_partition, every.log_partition[order], atol=1e-12)
    part = part_of(whole.batch, order)
    for name, p in few.clique.items():
        np.testing.assert_allclose(p, every.clique[name][part.factors[name]], atol=1e-12)
    best = inference.decode(whole)
    flat = np.concatenate([best[kind] for kind in whole.batch.kind_ptr])
    assert whole.select(order).labeling_score(flat[part.variables]).tolist() == pytest.approx(
        np.asarray(best.score)[order].tolist()
    )
    observed = {kind: np.where(rng.random(len(y)) < 0.5, y, -1) for kind, y in best.labels.items()}
    given = whole.given(observed)
    np.testing.assert_allclose(
        inference.log_partition(given.select(order)), inference.log_partition(given)[order], atol=1e-12
    )


@pytest.mark.parametrize("seed", range(20))
def test_components_multiply(seed: int) -> None:
    whole = random_graph(np.random.default_rng(seed), graphs=3, forbidden=0.3 * (seed % 2))
    split = components(whole.batch)
    assert components(whole.batch) is split
    pieces = split.potentials(whole)
    assert split.batch.graphs >= 3
    np.testing.assert_array_equal(split.graph[split.batch.graph_of], whole.batch.graph_of)
    np.testing.assert_allclose(
        split.values(np.asarray(inference.log_partition(pieces)), whole),
        inference.log_partition(whole),
        atol=1e-12,
    )
    assert pieces.problem is not None  # no factor joins two components


def test_what_is_joined_is_one_component() -> None:
    rng = np.random.default_rng(0)
    assert components(grid(rng, 4, 5, 2).batch).batch.graphs == 1
    began = time.perf_counter()
    assert components(grid(rng, 700, 700, 2, pair=np.zeros((2, 2))).batch).batch.graphs == 1
    assert time.perf_counter() - began < 5.0  # 0.1 s on a quiet machine


def test_wrong_selections() -> None:
    batch = random_graph(np.random.default_rng(0), graphs=3).batch
    assert batch.select([]).graphs == 0
    assert batch.select(np.array([True, False, True])).graphs == 2
    for graphs, message in (
        ([3], "outside 0 to 2"),
        ([-1], "outside 0 to 2"),
        ([1, 1], "a graph twice"),
        ([0.5], "must be numbers of graphs"),
        ([[0]], "must be numbers of graphs"),
    ):
        with pytest.raises(ValueError, match=message):
            batch.select(graphs)


def test_components_of_scopes_are_numbered_by_their_first_variables() -> None:
    pairs, triples = np.array([[5, 1], [6, 5]], dtype=np.int32), np.array([[0, 7, 3]], dtype=np.int32)
    assert _native.components(9, [pairs, triples]).tolist() == [0, 1, 2, 0, 3, 1, 1, 0, 4]
    assert _native.components(0, []).tolist() == []
    with pytest.raises(ValueError, match="a scope has variable 6, expected 0 to 5"):
        _native.components(6, [pairs])


def test_components_of_random_scopes_as_by_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        pairs = rng.integers(0, 60, (40, 2), dtype=np.int32)
        joined = coo_array((np.ones(40), pairs.T), shape=(60, 60))
        _, expected = connected_components(joined, directed=False)
        assert _native.components(60, [pairs]).tolist() == expected.tolist()


def test_components_need_no_scipy() -> None:
    code = """
import sys
from crfkit import Graph, inference
from crfkit.inference.methods import Elimination
same = [[1.0, 0.0], [0.0, 1.0]]
scopes = [*([2 * i, 2 * i + 1] for i in range(10)), [20, 21], [21, 22], [20, 22]]
scores = Graph.from_factors([2] * 23, [(scope, same) for scope in scopes])
inference.log_partition(scores, method=Elimination())
sys.exit("scipy" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
