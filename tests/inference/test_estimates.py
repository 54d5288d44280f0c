"""What answers would cost is known before anything is allocated."""

from __future__ import annotations

import time

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import Elimination
from tests.cases.graphs import chain_graph, grid, random_graph


@pytest.mark.parametrize("seed", range(5))
def test_cells_of_elimination_are_those_that_it_keeps(seed: int) -> None:
    scores = random_graph(np.random.default_rng(seed), graphs=3)
    kept = inference.log_partition(scores, method=Elimination()).info.cells
    assert scores.estimate()["elimination"].cells == kept.max()


def test_evidence_and_what_is_forbidden_make_it_cheaper() -> None:
    scores = grid(np.random.default_rng(0), 8, 8, 3)
    whole = scores.estimate()["elimination"]
    assert scores.batch.estimate()["elimination"].cells == whole.cells
    some = np.where(np.arange(64) % 2, 0, -1)
    given = scores.given({"node": some}).estimate()["elimination"]
    assert given.cells < whole.cells / 10
    assert given.bytes == 8 * given.cells
    never = np.full((64, 3), -np.inf)
    never[:, 0] = 0.0
    never[:8] = 0.0
    fixed = scores.batch.potentials(look=never, edge=np.zeros((3, 3)))
    assert fixed.estimate()["elimination"].cells < whole.cells / 10


def test_large_graphs_are_estimated_quickly() -> None:
    graph = Graph({"pixel": 21}, near=["pixel", "pixel"])
    near = np.concatenate(scopes.grid((100, 100)))
    batch = graph.batch(sizes={"pixel": 10_000}, scopes={"near": near})
    began = time.perf_counter()
    found = batch.estimate()
    assert time.perf_counter() - began < 10.0
    assert found["elimination"].cells > 2**27
    assert found["elimination"].wide
    assert " >" in str(found).splitlines()[1]
    bp = found["belief-propagation"]
    assert bp.cells == len(near) * 441
    assert bp.bytes < 100e6
    assert not bp.exact


def test_the_table() -> None:
    found = chain_graph(np.random.default_rng(0), 5, 3).estimate()
    lines = str(found).splitlines()
    assert len(lines) == len(found) + 1
    assert lines[1].split()[:3] == ["elimination", "all", "yes"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(KeyError):
        found["magic"]


def test_fixed_scores_and_variables_of_different_widths() -> None:
    loose = Graph.from_factors([2, 3, 2], [([0, 1], np.zeros((2, 3))), ([1, 2], np.zeros((3, 2)))])
    assert loose.batch.estimate()["elimination"].cells == loose.estimate()["elimination"].cells
    same = Clique("a", "a", fixed=np.where(np.eye(2) > 0, 0.0, -np.inf))
    empty = Graph({"a": 2}, c=same).batch(sizes={"a": 3}, scopes={"c": []})
    assert empty.estimate()["elimination"].cells <= 6
