"""BayesianCRF: the posterior against brute-force integration, predictions, wrong input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Graph, Likelihood
from crfkit.arrays import Floats
from crfkit.estimators.classic import BayesianCRF
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import Elimination
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.score import GraphScores
from crfkit.structures.graphs.batch import GraphBatch

GRID = np.array(list(itertools.product(np.linspace(-7.0, 11.0, 91), repeat=2)))  # [G, 2]


def chains(N: int, seed: int) -> GraphBatch:
    """Return binary chains of four with two weights: of a dense feature, and of equal neighbors."""
    rng = np.random.default_rng(seed)
    ptr = np.arange(N + 1) * 4
    graph = Graph({"a": 2}, look=Clique("a", cells=np.array([-1, 0])), near=Clique("a", "a", cells="potts"))
    given: dict[str, Any] = {
        "graph_ptr": ptr,
        "scopes": {"near": scopes.chain(ptr)},
        "features": {"look": rng.normal(size=(4 * N, 1))},
    }
    empty = graph.batch(labels={"a": np.zeros(4 * N, dtype=np.int32)}, **given)
    scores = GraphScores(graph_layout(empty, FeatureSelection("all")), empty).potentials(np.array([1.5, 1.0]))
    return graph.batch(labels={"a": Elimination().sample(scores, 1, seed, 1).label[0]}, **given)


def integrated(batch: GraphBatch, variance: float) -> tuple[Floats, Floats, Floats]:
    """Return the posterior on a grid of weights: shares [G], mean and covariance."""
    loss = GraphLoss(
        Likelihood(), graph_layout(batch, FeatureSelection("all")), batch, Elimination(), threads=1
    )
    scratch = np.empty(2)
    log = np.array([-loss.value_and_grad(w, scratch) for w in GRID]) - 0.5 * (GRID**2).sum(axis=1) / variance
    p = np.exp(log - log.max())
    p /= p.sum()
    mean = p @ GRID
    return p, mean, (p[:, None] * (GRID - mean)).T @ (GRID - mean)


@pytest.fixture(scope="module")
def few() -> tuple[GraphBatch, Floats, Floats, Floats]:
    batch = chains(3, 1)
    return batch, *integrated(batch, 4.0)


def test_the_posterior_is_near_the_integral(few: tuple[GraphBatch, Floats, Floats, Floats]) -> None:
    batch, _, mean, covariance = few
    crf = BayesianCRF(batch.graph, variance=4.0, tolerance=1e-8, n_jobs=1).fit(batch)
    assert crf.posterior_.converged
    sd = np.sqrt(np.diagonal(covariance))
    assert (np.abs(crf.posterior_.mean - mean) / sd).max() < 0.02
    assert np.abs(crf.posterior_.covariance - covariance).max() < 0.05
    assert (np.abs(crf.map_.w - mean) / sd).min() > 0.1  # the best weights are elsewhere


def test_draws_and_diagonals_stay_near(few: tuple[GraphBatch, Floats, Floats, Floats]) -> None:
    batch, _, mean, covariance = few
    sd = np.sqrt(np.diagonal(covariance))
    drawn = BayesianCRF(batch.graph, variance=4.0, max_labelings=1, draws=3000, n_jobs=1).fit(batch)
    assert (np.abs(drawn.posterior_.mean - mean) / sd).max() < 0.1
    assert np.abs(drawn.posterior_.covariance - covariance).max() < 0.1
    diagonal = BayesianCRF(batch.graph, variance=4.0, covariance="diagonal", n_jobs=1).fit(batch)
    assert diagonal.posterior_.covariance.shape == (2,)
    assert (np.abs(diagonal.posterior_.mean - mean) / sd).max() < 0.03
    assert np.abs(diagonal.posterior_.covariance / sd**2 - 1.0).max() < 0.1


def test_predictions_average_over_the_posterior(few: tuple[GraphBatch, Floats, Floats, Floats]) -> None:
    batch, p, *_ = few
    new = chains(5, 9)
    crf = BayesianCRF(batch.graph, variance=4.0, samples=400, n_jobs=1).fit(batch)
    scores = GraphScores(crf.map_.layout, new)
    wanted = np.zeros((20, 2))
    for g in np.flatnonzero(p > 1e-6):
        wanted += p[g] * Elimination().marginals(scores.potentials(GRID[g]), False, 1).node.reshape(-1, 2)
    found = crf.predict_proba(new)["a"]
    assert np.abs(found - wanted).max() < 0.03
    best = crf.map_.predict_proba(new)["a"]
    assert np.abs(best - wanted).max() > 0.04  # which the best weights miss
    assert (crf.predict(new)["a"] == found.argmax(axis=1)).all()


def test_without_pairs_of_neighbors_nothing_is_correlated() -> None:
    graph = Graph({"a": 2, "b": 2}, one=["a"], other=["b"])
    batch = graph.batch(labels={"a": [0, 1, 1], "b": [1, 1, 0]})
    q = BayesianCRF(graph, selection="all", n_jobs=1).fit(batch).posterior_
    assert np.abs(q.covariance[:2, 2:]).max() < 1e-15
    assert q.mean == pytest.approx([-q.mean[1], q.mean[1], q.mean[2], -q.mean[2]])


def test_seeds_and_threads_keep_the_bits() -> None:
    batch = chains(3, 1)
    made = [
        BayesianCRF(batch.graph, max_labelings=1, samples=6, random_state=seed, n_jobs=threads).fit(batch)
        for seed, threads in ((0, 1), (0, 2), (1, 1))
    ]
    first, same, other = (crf.predict_proba(batch)["a"] for crf in made)
    assert (first == same).all()
    assert (first != other).any()


def test_what_does_not_converge_is_said() -> None:
    batch = chains(3, 1)
    with pytest.warns(RuntimeWarning, match="did not converge in 1 sweeps"):
        crf = BayesianCRF(batch.graph, max_sweeps=1, tolerance=1e-12).fit(batch)
    assert not crf.posterior_.converged


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"variance": 0.0}, "variance is 0.0, expected a number above 0"),
        ({"covariance": "none"}, "covariance is 'none', expected one of auto, full, diagonal"),
        ({"draws": 0}, "draws is 0, expected 1 or more"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], why: str) -> None:
    batch = chains(2, 1)
    with pytest.raises(ValueError, match=why):
        BayesianCRF(batch.graph, **options).fit(batch)


def test_hidden_labels_are_refused() -> None:
    graph = Graph({"a": 2}, one=["a"])
    with pytest.raises(ValueError, match="1 variables of 2 have no label"):
        BayesianCRF(graph).fit(graph.batch(labels={"a": [0, -1]}))
