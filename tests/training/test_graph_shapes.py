"""Objectives on small graphs of any shape: by definition, by differences, with any number of threads."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crfkit import Graph, GraphCRF, Likelihood
from crfkit.graphs import Clique
from crfkit.inference.methods import BeliefPropagation, Elimination, Enumeration, MeanField, TreeReweighted
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.layout import Layout
from crfkit.objectives import MaxMargin, Perceptron, PseudoLikelihood, SoftmaxMargin
from crfkit.structures.graphs.batch import GraphBatch
from tests.cases.graph_data import any_graphs

Array = NDArray[Any]


def tables(batch: GraphBatch, layout: Layout, w: Array, name: str) -> Array:
    """Return the scores of the factors of a clique, [M, L1, ..., La], by their definition."""
    clique, shape, block = batch.graph.cliques[name], batch.graph.shape(name), layout.block[name]
    given, M, K = batch.features.get(name), len(batch.scopes[name]), len(block.ptr) - 1
    spread = clique.spread(shape).toarray()
    weight = np.zeros((K, spread.shape[1]))
    weight[np.repeat(np.arange(K), np.diff(block.ptr)), block.cell] = w[layout.parts[name]]
    rows = np.ones((M, 1))
    if given is not None and given.dense is not None:
        rows = given.dense
    elif given is not None:
        assert given.rows is not None
        rows = np.zeros((M, K))
        value = 1.0 if given.rows.value is None else given.rows.value
        np.add.at(rows, (np.repeat(np.arange(M), np.diff(given.rows.ptr)), given.rows.id), value)
    made: Array = (rows @ weight @ spread.T).reshape(M, *shape)
    return made if clique.fixed is None else made + clique.fixed


def by_definition(objective: str, batch: GraphBatch, layout: Layout, w: Array) -> float:
    total, table = 0.0, {name: tables(batch, layout, w, name) for name in batch.scopes}
    assert batch.label is not None
    for n in range(batch.graphs):
        v = np.flatnonzero(batch.graph_of == n)
        Y = np.array([*product(*(range(k) for k in batch.width[v]))], dtype=int).reshape(
            -1 if len(v) else 1, len(v)
        )
        s, gold = np.zeros(len(Y)), batch.label[v]
        for name, scope in batch.scopes.items():
            for m in np.flatnonzero(batch.graph_of[scope[:, 0]] == n):
                s += table[name][m][tuple(Y[:, np.searchsorted(v, scope[m])].T)]
        right = ((gold == Y) | (gold < 0)).all(axis=1)
        wrong = (gold != Y) @ batch.costs[v]
        if objective == "pseudo-likelihood":
            others = [np.delete(gold == Y, i, axis=1).all(axis=1) for i in range(len(v))]
            total += sum(np.logaddexp.reduce(s[same]) for same in others) - len(v) * s[right][0]
            continue
        cost = wrong if objective.endswith("margin") else np.zeros(len(Y))
        soft = objective in ("likelihood", "softmax-margin")
        total += np.logaddexp.reduce(s + cost) if soft else (s + cost).max()
        total -= np.logaddexp.reduce(s[right])
    return float(total)


OBJECTIVES = [Likelihood(), SoftmaxMargin(), MaxMargin(), Perceptron(), PseudoLikelihood()]
METHODS: list[Any] = [Elimination(), Enumeration(), BeliefPropagation(), TreeReweighted(), MeanField()]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: o.name)
def test_values_and_gradients(objective: Any) -> None:
    seen = 0
    for seed in range(70):
        batch, rng = any_graphs(seed), np.random.default_rng(seed)
        assert batch.label is not None
        method, hidden = METHODS[seed % len(METHODS)], bool((batch.label < 0).any())
        layout = graph_layout(batch, FeatureSelection("all" if seed % 2 else "observed"))
        refused = objective.asks != "nothing" and method.lacks(objective.asks)
        if not layout.weights or refused or (hidden and objective.name != "likelihood"):
            continue
        w, d = rng.normal(size=(2, layout.weights))
        one, four = (GraphLoss(objective, layout, batch, method, threads=threads) for threads in (1, 4))
        gradient, again = np.empty((2, layout.weights))
        value = one.value_and_grad(w, gradient)
        four.value_and_grad(d, again)  # what is kept of other weights does not matter
        assert four.value_and_grad(w, again) == value
        np.testing.assert_array_equal(again, gradient)
        if seed % len(METHODS) < 2 or objective.asks == "nothing":
            assert value == pytest.approx(by_definition(objective.name, batch, layout, w), abs=1e-9)
        up, down = (one.value_and_grad(w + h * d, again) for h in (1e-5, -1e-5))
        assert (up - down) / 2e-5 == pytest.approx(gradient @ d, rel=1e-3, abs=1e-3), (seed, method)
        seen += 1
    assert seen > 10


def test_features_of_a_clique_without_weights_say_nothing() -> None:
    graph = Graph({"v": 2}, own=["v"], pair=Clique("v", "v", fixed=[[1.0, 0.0], [0.0, 1.0]]))
    made: dict[str, Any] = {"labels": {"v": [0, 1, 1]}, "scopes": {"pair": [[0, 1], [1, 2]]}}
    plain = GraphCRF(graph).fit(graph.batch(**made))
    for rows in (np.ones((2, 3)), ([0, 1, 2], [0, 1], None)):
        known = GraphCRF(graph).fit(graph.batch(**made, features={"pair": rows}))
        np.testing.assert_array_equal(known.model_.w, plain.model_.w)


def test_tables_of_many_labels_take_no_more_than_their_cells() -> None:
    L = 1500  # a matrix of cells by weights would take terabytes
    assert Clique("v", "v").spread((L, L)).nnz == L * L
    graph = Graph({"v": L}, pair=Clique("v", "v", cells="same"))
    batch = graph.batch(labels={"v": [3, 3, 7]}, scopes={"pair": [[0, 1], [1, 2]]})
    crf = GraphCRF(graph, objective=PseudoLikelihood()).fit(batch)
    table = crf.model_.tables()["pair"]
    assert table.shape == (L, L)
    assert prod(np.unravel_index(table.argmax(), table.shape)) == 9
