"""Max-margin, perceptrons and attractive cliques on graphs: against enumeration, each other, and chains."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection, Graph, GraphCRF, Likelihood, Stop
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import ICM, TRWS, Auto, Elimination, Enumeration, MinCut
from crfkit.linear.graphs.differences import GraphDifferences
from crfkit.linear.graphs.layout import attractive_weights, graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.margins import GraphMargins
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Objective
from crfkit.objectives import MaxMargin, Perceptron
from crfkit.optimize import AROW, BCFW, LBFGS, MIRA, SGD, AveragedPerceptron, OneSlack, PassiveAggressive
from crfkit.optimize.classic import NSlack, Subgradient
from crfkit.optimize.problem import Penalty
from crfkit.structures.graphs.batch import GraphBatch


def loops(seed: int, *, attractive: bool = False, cost: bool = False, N: int = 8, L: int = 2) -> GraphBatch:
    """Return rings of three to five variables whose neighbors rather differ, with noisy features."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(3, 6, N))])
    V = int(ptr[-1])
    after = np.where(
        np.isin(np.arange(1, V + 1), ptr), np.repeat(ptr[:-1], np.diff(ptr)), np.arange(1, V + 1)
    )
    graph = Graph({"a": L}, look=["a"], near=Clique("a", "a", cells="same", attractive=attractive))
    label = rng.integers(0, L, V)
    return graph.batch(
        graph_ptr=ptr,
        labels={"a": label},
        scopes={"near": np.stack([np.arange(V), after], axis=1)},
        features={
            "look": np.eye(L)[label] + rng.normal(size=(V, L)),
            "near": np.column_stack([np.ones(V), rng.uniform(size=V)]),
        },
        cost={"a": rng.uniform(0.5, 2.0, V)} if cost else None,
    )


def loss_of(
    batch: GraphBatch, objective: Objective | None = None, method: Any = None, weight: Floats | None = None
) -> GraphLoss:
    layout = graph_layout(batch, FeatureSelection("all"))
    return GraphLoss(objective or MaxMargin(), layout, batch, method or Enumeration(), weight=weight)


def solved(optimizer: Any, loss: GraphLoss, penalty: Penalty) -> Any:
    run = optimizer.start(loss, penalty, np.zeros(loss.size))
    while not (step := run.step()).stopped:
        pass
    return run.w, step


def test_differences_are_those_of_scores() -> None:
    batch, rng = loops(0, L=3), np.random.default_rng(1)
    loss = loss_of(batch)
    w, other = rng.normal(size=loss.size), rng.integers(0, 3, batch.variables, np.int32)
    weight = rng.uniform(size=batch.graphs)
    ptr, place, amount = GraphDifferences(loss.layout)(batch, loss.gold.label, other, weight)
    scores = loss.scores.potentials(w)
    apart = weight * (scores.labeling_score(loss.gold.label) - scores.labeling_score(other))
    found = [float(amount[a:b] @ w[place[a:b]]) for a, b in pairwise(ptr)]
    np.testing.assert_allclose(found, apart, atol=1e-12)


@pytest.mark.parametrize("cost", [False, True])
def test_violations_are_the_highest_losses(cost: bool) -> None:
    batch, rng = loops(2, cost=cost, L=3), np.random.default_rng(3)
    weight = rng.uniform(size=batch.graphs)
    loss = loss_of(batch, weight=weight, method=Auto())
    view, w = GraphMargins(loss), rng.normal(size=loss.size)
    each = [loss_of(batch).part(np.array([n])) for n in range(batch.graphs)]
    expected = [weight[n] * part.value_and_grad(w, np.empty_like(w)) for n, part in enumerate(each)]
    every = view.violations(w, view.filled)
    np.testing.assert_allclose(every.losses(w), expected, atol=1e-10)
    for some in ([7, 2], [7, 2, 5, 7, 0]):  # one by one, and together
        found = view.violations(w, np.array(some))
        np.testing.assert_allclose(found.losses(w), np.array(expected)[some], atol=1e-10)
    assert not len(view.violations(w, np.zeros(0, np.int64)).cost)


@pytest.mark.parametrize("attractive", [False, True])
@pytest.mark.parametrize(
    "optimizer",
    [
        BCFW(gap=1e-3),
        BCFW(gap=0.02, step="mixture", sampling="uniform"),
        NSlack(gap=1e-6),
        Subgradient(gap=0.03),
    ],
    ids=["bcfw", "mixture", "n-slack", "subgradient"],
)
def test_margin_methods_agree(optimizer: Any, attractive: bool) -> None:
    batch = loops(4, attractive=attractive)
    loss = loss_of(batch, MaxMargin(l2=0.5), MinCut() if attractive else Auto())
    penalty = Penalty(l2=0.5, nonnegative=attractive_weights(batch.graph, loss.layout))
    best, exact = solved(OneSlack(gap=1e-6), loss, penalty)
    w, step = solved(optimizer, loss, penalty)
    assert step.end is not None
    assert step.end.value == exact.end.value == "converged"
    assert step.objective == pytest.approx(exact.objective, rel=1.1 * optimizer.gap)
    value = loss.value_and_grad(w, np.empty_like(w)) + penalty.value(w)
    assert value == pytest.approx(step.objective, rel=1e-9)
    near = loss.layout.parts["near"]
    if attractive:
        assert (w[near] >= 0.0).all()
        assert (best[near] >= 0.0).all()
        free, _ = solved(OneSlack(gap=1e-6), loss_of(batch, MaxMargin(l2=0.5)), Penalty(l2=0.5))
        assert free[near].min() < -0.1  # the bounds matter


def test_margin_runs_go_on_from_their_states() -> None:
    batch = loops(5, attractive=True)
    loss = loss_of(batch, method=MinCut())
    penalty = Penalty(l2=0.5, nonnegative=attractive_weights(batch.graph, loss.layout))
    for optimizer in (BCFW(gap=1e-9), NSlack(gap=1e-9), OneSlack(gap=1e-9), Subgradient(gap=1e-9)):
        whole = optimizer.start(loss, penalty, np.zeros(loss.size))
        for _ in range(3):
            whole.step()
        other = optimizer.start(loss, penalty, np.zeros(loss.size), state=whole.state())
        for _ in range(2):
            assert whole.step().objective == other.step().objective
        np.testing.assert_array_equal(whole.w, other.w)


def test_likelihood_with_bounds_is_stationary() -> None:
    from scipy.optimize import minimize

    batch = loops(6, attractive=True, N=4, L=3)
    loss = loss_of(batch, Likelihood(l2=0.3), Elimination())
    held = attractive_weights(batch.graph, loss.layout)
    assert held is not None
    penalty = Penalty(l2=0.3, nonnegative=held)
    w, step = solved(LBFGS(tolerance=1e-8), loss, penalty)
    gradient = np.empty_like(w)
    loss.value_and_grad(w, gradient)
    penalty.add_smooth(w, gradient)
    at = held & (w == 0.0)
    assert at.any()
    assert (w[held] >= 0.0).all()
    assert (gradient[at] >= 0.0).all()
    assert np.abs(gradient[~at]).max() < 1e-5

    def value(w: Floats) -> tuple[float, Floats]:
        gradient = np.empty_like(w)
        found = loss.value_and_grad(w, gradient)
        return found + penalty.add_smooth(w, gradient), gradient

    bounds = [(0.0 if h else None, None) for h in held]
    peer = minimize(value, np.zeros_like(w), jac=True, method="L-BFGS-B", bounds=bounds)
    assert step.objective == pytest.approx(peer.fun, rel=1e-6)


def test_attractive_graphs_stay_submodular() -> None:
    batch = loops(7, attractive=True)
    given: dict[str, Any] = {"objective": MaxMargin(l2=0.1), "method": MinCut(), "n_jobs": 1}
    crf = GraphCRF(batch.graph, **given).fit(batch)
    training = crf.model_.training
    assert training is not None
    assert training.converged
    assert "Within" in training.certificate
    assert crf.predict(batch, method=MinCut()).info.exact.all()
    other = GraphCRF(batch.graph, **{**given, "n_jobs": 2}).fit(batch)
    np.testing.assert_array_equal(crf.model_.w, other.model_.w)


@pytest.mark.parametrize("method", [TRWS(sweeps=1), ICM()])
def test_certificates_hold_where_labelings_are_not_the_best(method: Any) -> None:
    batch = loops(11, L=3)
    exact = (
        GraphCRF(batch.graph, objective=MaxMargin(l2=0.2), stop=Stop(tolerance=1e-4))
        .fit(batch)
        .model_.training
    )
    crf = GraphCRF(batch.graph, objective=MaxMargin(l2=0.2), method=method, stop=Stop(max_iterations=60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = crf.fit(batch).model_.training
    assert training is not None
    assert exact is not None
    assert any("of the answers about graphs were exact" in note for note in training.notes)
    if method.name == "icm":  # nothing bounds what it misses
        assert "were not all found" in training.certificate
        return
    loss = loss_of(batch, MaxMargin(l2=0.2))
    true = loss.value_and_grad(crf.model_.w, np.empty(loss.size)) + 0.1 * float(crf.model_.w @ crf.model_.w)
    assert true - training.gap <= exact.loss + 1e-6


METHODS: dict[str, Any] = {
    "perceptron": AveragedPerceptron(),
    "pa": PassiveAggressive(),
    "arow": AROW(),
    "mira": MIRA(k=3),
}


@pytest.mark.parametrize("name", METHODS)
def test_perceptrons_learn_on_graphs_what_they_learn_on_chains(name: str) -> None:
    rng = np.random.default_rng(8)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(2, 7, 10))])
    P = int(ptr[-1])
    attr_ptr, attr = np.arange(P + 1) * 2, rng.integers(0, 6, 2 * P, np.int32)
    label = rng.integers(0, 3, P, np.int32)
    chains = Batch(seq_ptr=ptr, attr_ptr=attr_ptr, attr=attr, label=label)
    graph = Graph({"token": 3}, word=["token"], step=["token", "token"])
    data = graph.batch(
        graph_ptr=ptr,
        labels={"token": label},
        scopes={"step": scopes.chain(ptr)},
        features={"word": (attr_ptr, attr, None)},
    )
    one = Perceptron().bind(Layout.all_pairs(chains, 3), Chain(3), chains)
    other = loss_of(data, Perceptron(), Auto())
    w = rng.normal(size=other.size)  # no ties
    runs = [METHODS[name].start(loss, Penalty(), w) for loss in (one, other)]
    for _ in range(3):
        first, second = (run.step() for run in runs)
        assert first.objective == pytest.approx(second.objective, rel=1e-9)
        np.testing.assert_allclose(runs[0].w, runs[1].w, rtol=1e-9, atol=1e-11)


def test_costs_of_variables_are_paid() -> None:
    graph = Graph({"a": 2}, look=["a"])
    batch = graph.batch(
        graph_ptr=[0, 2],
        labels={"a": [0, 1]},
        features={"look": np.ones((2, 1))},
        cost={"a": [5.0, 1.0]},
    )
    loss = loss_of(batch, MaxMargin())
    assert loss.value_and_grad(np.zeros(2), np.empty(2)) == 6.0
    assert loss.value_and_grad(np.array([4.0, 0.0]), np.empty(2)) == 6.0  # 1 too near, and 5 too far
    assert loss.value_and_grad(np.array([6.0, 0.0]), np.empty(2)) == 7.0
    assert loss.part(np.array([0])).batch.costs.tolist() == [5.0, 1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": {"a": [1.0]}}, r"cost\['a'\] has shape \(1,\); expected 2 numbers"),
        ({"cost": {"a": [1.0, -1.0]}}, r"cost\['a'\]\[1\] is -1.0, expected a finite number of 0 or more"),
        ({"cost": {"b": [1.0, 1.0]}}, "cost: 'b' is not a kind"),
        ({"features": {"near": [[-1.0]]}}, "features of clique 'near': factor 0 has a negative one"),
        ({"features": {"near": ([0, 1], [0], [-1.0])}}, "features of clique 'near': factor 0 has a negative"),
    ],
)
def test_bad_data_are_refused(change: dict[str, Any], message: str) -> None:
    graph = Graph({"a": 2}, near=Clique("a", "a", cells="potts", attractive=True))
    with pytest.raises(ValueError, match=message):
        graph.batch(labels={"a": [0, 1]}, scopes={"near": [[0, 1]]}, **change)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="cost is 'area', expected 'hamming'"):
        MaxMargin(cost="area")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='an attractive clique has cells="same" or cells="potts"'):
        Clique("a", "a", attractive=True)
    assert "attractive=True" in repr(Clique("a", "a", cells="same", attractive=True))
    batch = loops(9, attractive=True)
    with pytest.raises(ValueError, match="does not keep the weights of attractive cliques at 0 or more"):
        GraphCRF(batch.graph, objective=Perceptron()).fit(batch)
    with pytest.raises(ValueError, match="LBFGS with an L1 penalty does not keep weights at 0 or more"):
        GraphCRF(batch.graph, objective=Likelihood(l1=1.0)).fit(batch)
    with pytest.raises(ValueError, match="does not"):
        GraphCRF(batch.graph, objective=Likelihood(), optimizer=SGD()).fit(batch)
    hidden = loops(9).graph.batch(labels={"a": [0, -1]}, scopes={"near": [[0, 1]]})
    with pytest.raises(ValueError, match="needs all labels"):
        GraphCRF(hidden.graph, objective=MaxMargin()).fit(hidden)
    with pytest.raises(ValueError, match="only max-margin"):
        GraphCRF(loops(9).graph, objective=Likelihood(), optimizer="bcfw").fit(loops(9))
    with pytest.raises(ValueError, match="weights of graphs other than 1"):
        GraphCRF(loops(9).graph, objective=Perceptron()).fit(loops(9), sample_weight=np.full(8, 2.0))
