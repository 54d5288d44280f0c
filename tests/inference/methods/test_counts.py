"""Expected counts that methods add up by themselves: those of the marginals of factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crfkit import Graph, inference
from crfkit.inference.methods import (
    Auto,
    BeliefPropagation,
    Elimination,
    Enumeration,
    MeanField,
    TreeReweighted,
)
from crfkit.inference.methods.method import Method
from crfkit.structures.graphs.gold import factor_weights, summed_by_table
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graphs import chain_graph, grid, random_graph

METHODS = [
    BeliefPropagation(),
    BeliefPropagation(schedule="sequential"),
    BeliefPropagation(schedule="residual"),
    TreeReweighted(),
    Auto(budget=20),  # some components are eliminated
]


def check(potentials: GraphPotentials, method: Method) -> None:
    weight = np.random.default_rng(1).uniform(-1.0, 2.0, potentials.batch.graphs)
    wanted = Method.expected(method, potentials, weight, 1)
    for threads in (1, 3):
        found = method.expected(potentials, weight, threads)
        np.testing.assert_array_equal(found.value, wanted.value)
        assert [*found.by_score] == [*wanted.by_score]
        for name, each in found.by_score.items():
            assert each.shape == potentials.tables[name].scores.shape
            np.testing.assert_allclose(each, wanted.by_score[name], rtol=1e-9, atol=1e-10)
    again = method.expected(potentials, weight, 2)
    for name, each in again.by_score.items():
        np.testing.assert_array_equal(each, found.by_score[name])


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(method: Method, seed: int) -> None:
    """Tables of one factor, of all and of some, with scales, of up to three variables."""
    check(random_graph(np.random.default_rng(seed)), method)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("labels", [3, 11])
def test_grids(method: Method, labels: int) -> None:
    """Also with labels for which tables are packed."""
    check(grid(np.random.default_rng(0), 6, 7, labels), method)


def test_scores_beyond_what_probabilities_hold() -> None:
    """Some components are summed in logarithms."""
    potentials = chain_graph(np.random.default_rng(0), 5, 3, strength=900.0)
    check(potentials, BeliefPropagation())


def test_many_factors_of_one_table() -> None:
    """They are added up in parts; counts of a table of pairs are those of its factors."""
    potentials = chain_graph(np.random.default_rng(0), 5000, 4)
    name = next(name for name, table in potentials.tables.items() if table.scores.ndim == 3)
    table = potentials.tables[name]
    shared = replace(potentials, tables={**potentials.tables, name: replace(table, scores=table.scores[:1])})
    check(shared, BeliefPropagation())
    _, counts = inference.expected(replace(shared, method=BeliefPropagation()), np.ones(1))
    assert counts[name].sum() == pytest.approx(4999.0)


@pytest.mark.parametrize("seed", range(8))
def test_counts_with_observed_labels(seed: int) -> None:
    """Slices of tables and observed cells come back to where they were cut out."""
    rng = np.random.default_rng(seed)
    potentials = random_graph(rng, forbidden=0.0)
    observed = rng.integers(0, potentials.batch.width).astype(np.int32)
    observed[rng.random(len(observed)) < 0.4] = -1
    given = replace(potentials, observed=observed, method=Enumeration())
    weight = rng.uniform(-1.0, 2.0, potentials.batch.graphs)
    cliques = inference.marginals(given).clique
    _, found = inference.expected(given, weight)
    for name, table in potentials.tables.items():
        each = factor_weights(potentials.batch, name, table, weight)
        wanted = summed_by_table(table, each, cliques[name])
        np.testing.assert_allclose(found[name], wanted, rtol=1e-9, atol=1e-12)


def test_cliques_without_factors_count_nothing() -> None:
    graph = Graph({"v": 2}, own=["v"], pair=["v", "v"])
    batch = graph.batch(graph_ptr=[0, 2], scopes={"pair": np.zeros((0, 2), dtype=int)})
    scores = batch.potentials(own=[0.0, 1.0], pair=np.ones((2, 2)))
    for method in (BeliefPropagation(), TreeReweighted(), MeanField(), Elimination(), Enumeration()):
        found = method.expected(scores, np.ones(1), 1)
        assert not found.by_score["pair"].any(), method
        assert np.allclose(found.by_score["own"].sum(), 2.0), method
