"""Weights of labels and of cliques on graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Graph, GraphCRF, Likelihood
from crfkit.graphs import scopes
from crfkit.inference.methods import Enumeration
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.objectives import PseudoLikelihood
from crfkit.structures.graphs.batch import GraphBatch

PTR = np.array([0, 3, 5, 6])


def tagged(label: Any = (0, 1, 1, 0, 0, 1)) -> GraphBatch:
    """Return three chains of words with two kinds of labels."""
    graph = Graph({"tag": ["O", "B"], "case": 2}, word=["tag"], step=["tag", "tag"], both=["tag", "case"])
    return graph.batch(
        graph_ptr=PTR,
        labels={"tag": label, "case": [0, 0, 1, 1, 0, 1]},
        scopes={"step": scopes.chain(PTR)},
        features={"word": np.random.default_rng(0).normal(size=(6, 2))},
    )


def loss_of(objective: Any, batch: GraphBatch, weight: Any = None) -> GraphLoss:
    return GraphLoss(
        objective, graph_layout(batch, FeatureSelection("all")), batch, Enumeration(), weight=weight
    )


def test_a_graph_counts_by_the_mean_of_its_labels_weights() -> None:
    loss = loss_of(Likelihood(label_weights={"tag": {"O": 3.0}}), tagged(), np.array([1.0, 2.0, 1.0]))
    np.testing.assert_allclose(loss.weight, [8.0 / 6.0, 2.0 * 8.0 / 4.0, 1.0])
    by_name = loss_of(Likelihood(label_weights={"O": 3.0}), tagged())
    np.testing.assert_allclose(by_name.weight, [8.0 / 6.0, 2.0, 1.0])
    unnamed = loss_of(Likelihood(label_weights={"case": {"1": 0.0}}), tagged())
    np.testing.assert_allclose(unnamed.weight, [5.0 / 6.0, 3.0 / 4.0, 0.5])


def test_hidden_labels_are_not_in_the_mean() -> None:
    batch = tagged((-1, 1, 1, 0, 0, -1))
    loss = loss_of(Likelihood(label_weights={"tag": {"B": 4.0}}), batch)
    np.testing.assert_allclose(loss.weight, [11.0 / 5.0, 1.0, 1.0])


def test_balanced_counts_kind_by_kind() -> None:
    loss = loss_of(PseudoLikelihood(label_weights="balanced"), tagged((0, 1, 1, 1, 1, -1)))
    assert loss.gold.weight is not None
    np.testing.assert_allclose(loss.gold.weight[:6], [2.5, 0.625, 0.625, 0.625, 0.625, 1.0])
    np.testing.assert_allclose(loss.gold.weight[6:], np.ones(6))


def test_terms_of_pseudo_likelihood_have_the_weights_of_their_labels() -> None:
    batch = tagged()
    plain, weighted = (loss_of(PseudoLikelihood(label_weights=w), batch) for w in (None, {"tag": {"O": 0.0}}))
    w = np.random.default_rng(1).normal(size=plain.size)
    scratch = np.empty_like(w)
    assert (weighted.weight == 1.0).all()
    without_one = batch.label
    assert without_one is not None
    doubled = loss_of(PseudoLikelihood(label_weights={"tag": {"O": 2.0}}), batch)
    value = [loss.value_and_grad(w, scratch) for loss in (weighted, plain, doubled)]
    assert value[0] < value[1] < value[2]
    assert value[2] - value[1] == pytest.approx(value[1] - value[0], rel=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": 1.0}, "'X', which is not a label"),
        ({"tag": {"X": 1.0}}, "'X', which is not a label"),
        ({"token": {"O": 1.0}}, "expected a kind of the graph"),
        ({"tag": {"O": 1.0}, "B": 2.0}, "expected a kind of the graph"),
        ({"O": -1.0}, "0 or more"),
        ({"O": "much"}, "expected a number"),
    ],
)
def test_wrong_weights_of_labels_are_refused(given: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        loss_of(Likelihood(label_weights=given), tagged())


def test_balanced_needs_a_label() -> None:
    batch = Graph({"a": 2}, one=["a"]).batch(labels={"a": [-1, -1]})
    with pytest.raises(ValueError, match="balanced"):
        loss_of(PseudoLikelihood(label_weights="balanced"), batch)


def test_cliques_of_two_variables_have_a_penalty_of_their_own() -> None:
    layout = graph_layout(tagged(), FeatureSelection("all"))
    penalty = Likelihood(l1=0.0, l2=1.0, transition_l2=5.0, transition_l1=0.5).penalty(layout)
    l2, l1 = (np.asarray(part) for part in (penalty.l2, penalty.l1))
    for name, strength in (("word", (1.0, 0.0)), ("step", (5.0, 0.5)), ("both", (5.0, 0.5))):
        assert (l2[layout.parts[name]] == strength[0]).all()
        assert (l1[layout.parts[name]] == strength[1]).all()


def test_weights_of_graphs_are_one_for_each() -> None:
    with pytest.raises(ValueError, match="weight"):
        GraphCRF(tagged().graph).fit(tagged(), sample_weight=[1.0, 2.0])
