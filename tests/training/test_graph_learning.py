"""Learning on graphs: gradients against finite differences, and chains trained as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import ChainCRF, Features, Graph, GraphCRF, Likelihood, scopes
from crfkit.data.batch import Batch
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.objective import Objective
from crfkit.methods import BeliefPropagation, Elimination, Enumeration, TreeReweighted
from crfkit.objectives import MaxMargin, Perceptron, SoftmaxMargin
from crfkit.optimise import LBFGS
from tests.cases.graph_data import graphs


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    "method", [Elimination(), Enumeration(), BeliefPropagation(tol=1e-12, sweeps=2000), TreeReweighted()]
)
@pytest.mark.parametrize("objective", [Likelihood(), SoftmaxMargin(), MaxMargin(), Perceptron()])
def test_gradients_are_those_of_finite_differences(
    objective: Objective, method: Method, hidden: bool
) -> None:
    if hidden and objective.name != "likelihood":
        pytest.skip("hidden labels are for the likelihood")
    if method.name == "tree-reweighted" and not objective.smooth:
        pytest.skip("TRW sums")
    batch = graphs(0, hidden)
    layout = graph_layout(batch, Features("all"))
    loss = GraphLoss(objective, layout, batch, method, weight=np.array([1.0, 0.5, 2.0]))
    w = np.random.default_rng(1).normal(size=layout.weights)
    gradient, scratch = np.empty_like(w), np.empty_like(w)
    loss.value_and_grad(w, gradient)
    for i in range(len(w)):
        step = np.zeros_like(w)
        step[i] = 1e-6
        slope = (loss.value_and_grad(w + step, scratch) - loss.value_and_grad(w - step, scratch)) / 2e-6
        assert slope == pytest.approx(gradient[i], abs=2e-6)


def test_chains_trained_as_graphs_have_the_optimum_of_chains() -> None:
    rng = np.random.default_rng(2)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 30))])
    P = int(ptr[-1])
    attr_ptr = np.arange(P + 1) * 3
    attr, label = rng.integers(0, 12, 3 * P, np.int32), rng.integers(0, 4, P, np.int32)
    options: dict[str, Any] = {"objective": Likelihood(l2=0.5), "optimiser": LBFGS(tolerance=1e-9)}
    chain = ChainCRF(**options).fit(Batch(seq_ptr=ptr, attr_ptr=attr_ptr, attr=attr, label=label))
    graph = Graph({"token": 4}, word=["token"], step=["token", "token"])
    data = graph.batch(
        graph_ptr=ptr,
        labels={"token": label},
        scopes={"step": scopes.chain(ptr)},
        features={"word": (attr_ptr, attr, None)},
    )
    crf = GraphCRF(graph, **options).fit(data)
    assert chain.model_.training is not None
    assert crf.model_.training is not None
    assert crf.model_.training.loss == pytest.approx(chain.model_.training.loss, rel=1e-8)
    tables = crf.model_.tables()
    assert np.abs(tables["step"] - chain.model_.layout.transition_tables(chain.model_.w)[0]).max() < 1e-5
