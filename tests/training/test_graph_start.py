"""Where training on graphs starts, and what is refused before it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, GraphCRF, Likelihood, Stop
from crfkit.graphs import Clique
from crfkit.inference.methods import BeliefPropagation, MeanField
from crfkit.objectives import PseudoLikelihood
from tests.cases.graph_data import graphs, grid

ONE = Stop(max_iterations=1)
pytestmark = pytest.mark.filterwarnings("ignore:.*(max_iterations|converge)")


def notes(crf: GraphCRF) -> str:
    assert crf.model_.training is not None
    return "\n".join(crf.model_.training.notes)


@pytest.mark.parametrize(
    ("method", "objective", "piecewise"),
    [
        (None, Likelihood(), False),
        (BeliefPropagation(), Likelihood(), True),
        (MeanField(), Likelihood(), True),
        (MeanField(), PseudoLikelihood(), False),
    ],
)
def test_losses_that_are_not_convex_start_from_piecewise(
    method: Any, objective: Any, piecewise: bool
) -> None:
    data = grid(0, 3)
    crf = GraphCRF(data.graph, objective=objective, method=method, stop=ONE).fit(data)
    assert ("objective piecewise" in notes(crf)) == piecewise


def test_a_start_by_piecewise_is_nearer_than_zero() -> None:
    data = grid(0)
    first = {
        init: GraphCRF(data.graph, method=BeliefPropagation(), init=init, stop=ONE).fit(data)
        for init in ("piecewise", "zero", None)
    }
    loss = {init: crf.model_.training.loss for init, crf in first.items() if crf.model_.training}
    assert loss["piecewise"] < loss["zero"]
    assert loss["zero"] == loss[None]


def test_training_goes_on_from_a_model_and_from_weights() -> None:
    data = graphs(0)
    done = GraphCRF(data.graph, stop=Stop(tolerance=1e-8)).fit(data)
    for init in (done.model_, done.model_.w):
        again = GraphCRF(data.graph, init=init, stop=ONE).fit(data)
        assert again.model_.estimator is not None
        assert "init" in again.model_.estimator.left_out  # weights and models are no parameters for a file
        assert done.model_.training is not None
        assert again.model_.training is not None
        assert again.model_.training.loss == pytest.approx(done.model_.training.loss, rel=1e-6)


def test_weights_of_a_model_go_to_the_attributes_of_the_same_name() -> None:
    graph = Graph({"a": 2}, one=["a"], two=["a", "a"])
    pair = {"two": [[0, 1]]}

    def data(columns: Any) -> Any:
        return graph.batch(labels={"a": [0, 1]}, scopes=pair, features={"one": columns})

    first = GraphCRF(graph, selection="all").fit(data(np.eye(2)))
    more = GraphCRF(graph, selection="all", init=first.model_, stop=ONE)
    with pytest.raises(ValueError, match="clique 'two' has features in the data and none in the model"):
        more.fit(
            graph.batch(
                labels={"a": [0, 1]}, scopes=pair, features={"one": np.eye(2), "two": np.ones((1, 2))}
            )
        )
    other = Graph({"a": 2}, one=["a"])
    with pytest.raises(ValueError, match="a warm start needs the same graph"):
        GraphCRF(other, init=first.model_).fit(other.batch(labels={"a": [0, 1]}, features={"one": np.eye(2)}))


def test_wrong_starts_are_refused() -> None:
    data = grid(0, 3)
    with pytest.raises(ValueError, match="init"):
        GraphCRF(data.graph, init="middle").fit(data)
    with pytest.raises(ValueError, match="init gave weights of shape"):
        GraphCRF(data.graph, init=np.zeros(1)).fit(data)


def test_hidden_labels_are_left_out_of_pseudo_likelihood() -> None:
    data = graphs(0, hidden=True)
    crf = GraphCRF(data.graph, objective=PseudoLikelihood()).fit(data)
    assert crf.model_.training is not None
    assert crf.model_.training.converged


def test_labels_that_are_forbidden_are_named() -> None:
    fixed = np.array([[0.0, -np.inf], [0.0, 0.0]])
    graph = Graph({"a": 2}, one=["a"], pair=Clique("a", "a", fixed=fixed, cells="same"))
    data = graph.batch(labels={"a": [1, 0, 1]}, scopes={"pair": [[0, 1], [1, 2]]})
    with pytest.raises(ValueError, match=r"graph 0: factor 1 of clique 'pair' has the labels 0, 1"):
        GraphCRF(graph).fit(data)
