"""Hidden labels of graphs: plans are kept, EM and gradients agree, restarts, chains of hidden states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Graph, GraphCRF, HiddenChainCRF, Likelihood, inference
from crfkit.data.batch import Batch
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import BeliefPropagation, Elimination
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.objectives import MaxMargin, PseudoLikelihood
from crfkit.optimize import EM, LBFGS
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.evidence import without_observed
from tests.cases.graph_data import graphs, latent_chains

L2 = 0.5


def objective_at(crf: GraphCRF, data: GraphBatch) -> tuple[float, float]:
    """Return the objective at the weights of an estimator, and the norm of its gradient."""
    model = crf.model_
    loss = GraphLoss(Likelihood(l2=L2), model.layout, data, Elimination())
    gradient = np.empty(len(model.w))
    value = loss.value_and_grad(model.w, gradient)
    return value + L2 / 2 * float(model.w @ model.w), float(np.linalg.norm(gradient + L2 * model.w))


def test_what_is_cut_out_is_kept_with_the_batch() -> None:
    data = graphs(0, hidden=True)
    loss = GraphLoss(Likelihood(), graph_layout(data, FeatureSelection("all")), data, Elimination())
    rng = np.random.default_rng(0)
    first, second = (loss.gold.clamped(loss.potentials(rng.normal(size=loss.size))) for _ in range(2))
    assert without_observed(first).potentials.batch is without_observed(second).potentials.batch
    label = np.asarray(data.label).copy()
    label[1] = (label[1] + 1) % 3
    for observed in (np.asarray(data.label), label, np.asarray(data.label)):
        scores = replace(second, observed=observed)
        exact = inference.log_partition(replace(scores, method=None), method="enumeration")
        assert inference.log_partition(scores) == pytest.approx(np.asarray(exact))


def test_em_and_gradients_end_at_stationary_points_of_one_function() -> None:
    data = latent_chains(0)
    options: dict[str, Any] = {"objective": Likelihood(l2=L2), "selection": "all", "random_state": 1}
    ends = []
    for optimizer in (LBFGS(tolerance=1e-8), EM(tolerance=1e-8, max_iterations=2000)):
        crf = GraphCRF(data.graph, optimizer=optimizer, **options).fit(data)
        value, slope = objective_at(crf, data)
        assert crf.model_.training is not None
        assert value == pytest.approx(crf.model_.training.loss, rel=1e-9)
        assert slope < 1e-4 * max(float(np.linalg.norm(crf.model_.w)), 1.0)
        ends.append(value)
    assert ends[0] == pytest.approx(ends[1], rel=1e-3)


def test_restarts_keep_the_best_and_break_symmetry() -> None:
    data = latent_chains(0)
    crf = GraphCRF(data.graph, objective=Likelihood(l2=0.05), restarts=3, random_state=2).fit(data)
    made = crf.model_.training
    assert made is not None
    note = next(note for note in made.notes if "is the best; their losses are" in note)
    losses = [float(value) for value in note.partition("losses are ")[2].split(", ")]
    assert len(losses) == 3
    assert made.loss == pytest.approx(min(losses), rel=1e-4)
    alike = crf.model_.tables()["step"]
    assert np.abs(alike[0] - alike[1]).max() > 0.01  # two states of one label are not the same
    again = GraphCRF(data.graph, objective=Likelihood(l2=0.05), restarts=3, random_state=2, n_jobs=2).fit(
        data
    )
    assert again.model_.w.tobytes() == crf.model_.w.tobytes()
    plain = graphs(0)
    once = GraphCRF(plain.graph, restarts=3).fit(plain)  # nothing is hidden: one start is enough
    assert once.model_.training is not None
    assert not any("is the best" in note for note in once.model_.training.notes)


def test_a_hidden_chain_is_this_graph() -> None:
    data = latent_chains(0)
    words = data.features["look"].rows
    assert words is not None
    label = np.asarray(data.by_kind(np.asarray(data.label))["label"])
    ptr = np.searchsorted(data.graph_of[: len(label)], np.arange(data.graphs + 1))
    batch = Batch(seq_ptr=ptr, attr_ptr=words.ptr, attr=words.id, value=words.value, label=label)
    chain = HiddenChainCRF(states=2, objective=Likelihood(l2=L2), selection="all").fit(batch)
    made, layout = chain.model_.training, chain.model_.layout
    assert made is not None
    look = np.zeros((layout.attributes, 4))
    rows = np.repeat(np.arange(layout.attributes), np.diff(layout.node_ptr))
    look[rows, layout.node_label] = chain.model_.w[layout.parts["node"]]
    steps = layout.transition_tables(chain.model_.w)[0]
    graph = graph_layout(data, FeatureSelection("all"))
    w = np.zeros(graph.weights)
    w[graph.parts["look"]], w[graph.parts["step"]] = look.ravel(), steps.ravel()
    loss = GraphLoss(Likelihood(l2=L2), graph, data, Elimination())
    value = loss.value_and_grad(w, np.empty(len(w))) + L2 / 2 * float(w @ w)
    assert value == pytest.approx(made.loss, rel=1e-9)


def test_within_a_network_known_labels_are_clamped_where_that_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    n = 30
    y = np.arange(n) // 15
    edges = scopes.simple([[i, j] for i in range(n) for j in range(i) if y[i] == y[j] and rng.random() < 0.2])
    graph = Graph({"paper": ["left", "right"]}, text=["paper"], cites=Clique("paper", "paper", cells="same"))
    known = np.where(rng.random(n) < 0.4, y, -1)
    text = y[:, None] + rng.normal(size=(n, 1))
    data = graph.batch(
        labels={"paper": known},
        scopes={"cites": edges},
        features={"text": np.hstack([text, np.ones((n, 1))])},
    )
    crf = GraphCRF(graph, method=BeliefPropagation(tol=1e-6), objective=Likelihood(l2=0.1)).fit(data)
    p = crf.predict_proba(data, given="labels")["paper"]
    assert (p[known >= 0, known[known >= 0]] == 1.0).all()
    assert (crf.predict(data, given="labels").ids["paper"] == y).mean() > 0.8
    free = crf.predict_proba(data)["paper"]
    assert (free[known >= 0] > 0.0).all()
    with pytest.raises(ValueError, match='given is "labels", and the batch has none'):
        crf.predict(replace(data, label=None), given="labels")


def test_pseudo_likelihood_leaves_hidden_labels_out() -> None:
    """A pixel without a label has no term, and the others are learned from."""
    graph = Graph({"pixel": 2}, look=["pixel"], near=["pixel", "pixel"])
    data = graph.batch(
        labels={"pixel": [0, 1, -1, 1]},
        scopes={"near": [[0, 1], [1, 2], [2, 3]]},
        features={"look": np.eye(2)[[0, 1, 0, 1]]},
    )
    crf = GraphCRF(graph, objective=PseudoLikelihood(l2=0.1)).fit(data)
    assert crf.predict(data)["pixel"][[0, 1, 3]].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="1 of 4 variables of kind 'pixel' have no label"):
        GraphCRF(graph, objective=MaxMargin()).fit(data)
