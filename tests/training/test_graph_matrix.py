"""The training matrix of graphs: objective x method x gold x optimizer, by differences; and chains as graphs.

A member of the registries (objectives, methods, optimizers) that is not entered here fails
`test_every_member_is_here`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, ChainCRF, FeatureSelection, Graph, GraphCRF
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import MethodError, NotCoveredError
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import BeliefPropagation, ExpectationPropagation, MeanField, TreeReweighted
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import METHODS, method_of
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.layout import Layout
from crfkit.objectives.registry import OBJECTIVES, ON_GRAPHS
from crfkit.optimize import LBFGS
from crfkit.optimize.problem import Penalty
from crfkit.optimize.sequential.minibatch import MiniBatches
from crfkit.optimize.sequential.sequences import PerceptronSequences
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.choose import NAMES, by_name, check_suits
from crfkit.training.choose import ON_GRAPHS as MORE_NAMES
from tests.cases.graph_data import graphs, grid

EVERY = {**OBJECTIVES, **ON_GRAPHS}
#: What objectives ask of a method. Those of chains alone are refused, whatever answers.
SUMS = ("likelihood", "softmax-margin", "exponential")
BEST = ("max-margin", "perceptron")
NOTHING = ("pseudo-likelihood", "piecewise", "piecewise-pseudo-likelihood")
DRAWN = ("contrastive-divergence", "sample-rank")
CHAINS = ("local", "marginal-likelihood", "entropy", "posterior")
HIDDEN = ("likelihood", *NOTHING, *DRAWN)  # take hidden labels
#: What methods answer.
BOTH = ("auto", "elimination", "belief-propagation", "enumeration")
SUMMING = ("tree-reweighted", "mean-field", "tree-ep")
CUTS = ("min-cut", "qpbo", "expansion", "swap", "ishikawa")
MAXIMIZING = ("trws", "dual", "icm", "lp", "ilp", "combilp", "annealing", *CUTS)
NEITHER = ("gibbs",)  # marginals without log Z
#: Methods that only take some graphs, and say so where they do not.
PICKY = (*CUTS, "tree-ep")
#: Methods at rest to the last digits, as differences need them.
AT_REST: dict[str, Method] = {
    "belief-propagation": BeliefPropagation(tol=1e-13, sweeps=5000),
    "tree-reweighted": TreeReweighted(tol=1e-13, sweeps=5000),
    "mean-field": MeanField(tol=1e-13, sweeps=5000),
    "tree-ep": ExpectationPropagation(tol=1e-13, sweeps=5000),
}


def triples(seed: int) -> GraphBatch:
    """Return factors of three variables on cycles, some of whose cells are forbidden, and one for each."""
    rng = np.random.default_rng(seed)
    fixed = np.zeros((2, 3, 2))
    fixed[1, 2, 1] = -np.inf
    graph = Graph({"a": 2, "b": 3}, one=["b"], three=Clique("a", "b", "a", fixed=fixed), pair=["a", "b"])
    return graph.batch(
        graph_ptr=[0, 3, 5],
        labels={"a": [0, 1, 0, 0, 1], "b": [2, 1, 0, 1, 2]},
        scopes={"three": [[0, 0, 1], [1, 1, 2], [3, 3, 4]], "pair": [[0, 1], [1, 2], [2, 0], [3, 4]]},
        features={"three": rng.normal(size=(3, 2)), "one": rng.normal(size=(5, 1))},
    )


BATCHES = {"kinds": graphs, "grid": lambda seed: grid(seed, 3), "triples": triples}


def labeled(name: str, hidden: bool) -> GraphBatch:
    """Return a batch, whose every third label is hidden where asked for."""
    batch = BATCHES[name](0)
    if not hidden or batch.label is None:
        return batch
    label = batch.label.copy()
    label[::3] = -1
    return replace(batch, label=label)


def refusal(objective: str, method: str, hidden: bool) -> str:
    """Return what a refusal says; empty where the combination trains."""
    if objective in CHAINS:
        return "is for chains"
    if hidden and objective not in HIDDEN:
        return "takes one gold label at each position"
    if objective in SUMS and method in MAXIMIZING:
        return f"{method_of(method).name} does not sum over labelings"
    if objective in SUMS and method in NEITHER:
        return "gives marginals without log Z"
    if objective in BEST and method in (*SUMMING, *NEITHER):
        return f"{method_of(method).name} does not look for the best labeling"
    return ""


def bound(objective: str, method: str, batch: GraphBatch, *, weights: bool = True) -> GraphLoss:
    answering = AT_REST.get(method, method_of(method))
    weight = np.linspace(0.5, 2.0, batch.graphs) if weights else None
    return GraphLoss(
        EVERY[objective](), graph_layout(batch, FeatureSelection("all")), batch, answering, weight=weight
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", [name for name in EVERY if name not in DRAWN])
def test_gradients_are_differences_or_refused(objective: str, method: str) -> None:
    if objective in NOTHING and method not in ("auto", "gibbs"):
        return  # nobody is asked
    served = 0
    for name, hidden in product(BATCHES, (False, True)):
        batch, why = labeled(name, hidden), refusal(objective, method, hidden)
        if why:
            with pytest.raises((NotCoveredError, MethodError), match=why) as found:
                bound(objective, method, batch)
            assert "\n" not in str(found.value)
            continue
        loss = bound(objective, method, batch)
        w = 0.5 * np.random.default_rng(1).normal(size=loss.size)
        w = np.abs(w) if name == "grid" else w  # equal labels attract each other, as cuts need it
        if method in PICKY and (against := why_not(loss, w)):
            assert "\n" not in against
            continue
        check_gradient(loss, w)
        served += 1
    assert served or refusal(objective, method, False)


def why_not(loss: GraphLoss, w: Floats) -> str:
    """Return why a method does not take these graphs; empty where it does."""
    try:
        loss.value_and_grad(w, np.empty(loss.size))
    except MethodError as error:
        return str(error)
    return ""


def check_gradient(loss: GraphLoss, w: Floats) -> None:
    rng = np.random.default_rng(2)
    gradient, scratch = np.empty_like(w), np.empty_like(w)
    value = loss.value_and_grad(w, gradient)
    assert np.isfinite(value)
    for _ in range(3):
        direction = rng.normal(size=len(w))
        up, down = (loss.value_and_grad(w + step * direction, scratch) for step in (1e-5, -1e-5))
        assert (up - down) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-6, abs=2e-6)


@pytest.mark.parametrize("objective", DRAWN)
def test_what_is_drawn_asks_nobody(objective: str) -> None:
    for method, hidden in product(METHODS, (False, True)):
        loss = bound(objective, method, labeled("kinds", hidden))
        gradient = np.empty(loss.size)
        assert np.isfinite(loss.value_and_grad(np.zeros(loss.size), gradient))


@pytest.mark.parametrize("name", sorted({*NAMES, *MORE_NAMES}))
@pytest.mark.parametrize(
    ("objective", "hidden"), [("likelihood", True), *((o, False) for o in EVERY if o not in CHAINS)]
)
def test_optimizers_go_down_or_are_refused(objective: str, hidden: bool, name: str) -> None:
    loss = bound(objective, "auto", labeled("kinds", hidden), weights=False)
    optimizer = by_name(name, graphs=True)
    against = any(loss.lacks(kind) for kind in optimizer.needs)
    if loss.drawn:
        against = against or MiniBatches not in optimizer.needs
    elif not loss.minimizes:
        against = against or PerceptronSequences not in optimizer.needs
    if against:
        assert (name, objective) not in MUST
        with pytest.raises(NotCoveredError, match=r"^[^\n]+$"):
            check_suits(loss, optimizer)
        return
    check_suits(loss, optimizer)
    penalty = Penalty(l2=0.0 if name == "sgd-l1" else 1.0, l1=0.1 if name in ("sgd-l1", "bcd") else 0.0)
    if not loss.minimizes and not loss.drawn:
        penalty = Penalty()
    scratch, zero = np.empty(loss.size), np.zeros(loss.size)
    begin = loss.value_and_grad(zero, scratch)
    run = optimizer.start(loss, penalty, zero)
    for _ in range(12):
        step = run.step()
        assert np.isfinite(step.objective)
        if step.stopped:
            break
    if loss.minimizes:
        assert loss.value_and_grad(run.w, scratch) + penalty.value(run.w) < begin


MUST = {
    *(
        (name, objective)
        for name in ("lbfgs", "owlqn", "cg", "steepest", "newton", "rprop", "rprop-minus")
        for objective in (*SUMS, *NOTHING)
    ),
    *((name, "max-margin") for name in ("subgradient", "one-slack", "bcfw", "n-slack")),
    *((name, "perceptron") for name in ("perceptron", "perceptron-plain", "pa", "arow", "mira")),
    *((name, objective) for name in ("sgd", "adagrad", "adam") for objective in ("likelihood", *DRAWN)),
}


def test_every_member_is_here() -> None:
    assert {*SUMS, *BEST, *NOTHING, *DRAWN, *CHAINS} == {*EVERY}, "an objective is missing"
    assert {*BOTH, *SUMMING, *MAXIMIZING, *NEITHER} == {*METHODS}, "a method is missing"
    for name, objective in EVERY.items():
        if name not in CHAINS:
            asks = {"sums": SUMS, "best": BEST, "nothing": (*NOTHING, *DRAWN)}[objective.asks]
            assert name in asks


# ---- chains trained as graphs

L, A = 3, 6


@cache
def sequences() -> Batch:
    rng = np.random.default_rng(2)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(1, 7, 12))])
    P = int(ptr[-1])
    return Batch(
        seq_ptr=ptr,
        attr_ptr=np.arange(P + 1) * 2,
        attr=np.concatenate([rng.integers(0, A, 2 * P - A), np.arange(A)]).astype(np.int32),
        label=np.concatenate([rng.integers(0, L, P - L), np.arange(L)]).astype(np.int32),
    )


def as_graph(order: int) -> tuple[Graph, GraphBatch]:
    """Return the sequences as graphs, with a clique for the label n-grams of each order."""
    batch = sequences()
    steps = {f"step{h}": ["token"] * (h + 1) for h in range(1, order + 1)}
    graph = Graph({"token": L}, word=["token"], **steps)
    within = np.arange(batch.positions) - np.repeat(batch.seq_ptr[:-1], np.diff(batch.seq_ptr))
    scope = {f"step{h}": np.flatnonzero(within >= h)[:, None] + np.arange(-h, 1) for h in range(1, order + 1)}
    assert (scope["step1"] == scopes.chain(batch.seq_ptr)).all()
    assert batch.label is not None
    return graph, graph.batch(
        graph_ptr=batch.seq_ptr,
        labels={"token": batch.label},
        scopes=scope,
        features={"word": (batch.attr_ptr, batch.attr, None)},
    )


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("objective", [*SUMS, *BEST, *NOTHING])
def test_chains_as_graphs_have_the_value_and_gradient_of_chains(objective: str, order: int) -> None:
    batch, chain = sequences(), Chain(L, order=order)
    own = OBJECTIVES[objective]().bind(Layout.all_pairs(batch, chain), chain, batch)
    graph = as_graph(order)[1]
    loss = GraphLoss(
        OBJECTIVES[objective](), graph_layout(graph, FeatureSelection("all")), graph, method_of("auto")
    )
    assert loss.size == own.size
    w = np.random.default_rng(3).normal(size=own.size)
    first, second = np.empty_like(w), np.empty_like(w)
    assert loss.value_and_grad(w, second) == pytest.approx(own.value_and_grad(w, first), rel=1e-10)
    np.testing.assert_allclose(second, first, atol=1e-10)


@pytest.mark.parametrize("objective", [*SUMS, *NOTHING])
def test_chains_trained_as_graphs_have_the_optimum_of_chains(objective: str) -> None:
    made: Any = OBJECTIVES[objective]
    options: dict[str, Any] = {
        "objective": made(l2=0.5),
        "optimizer": LBFGS(tolerance=1e-10),
        "selection": "all",
    }
    graph, data = as_graph(1)
    chain, crf = ChainCRF(**options).fit(sequences()), GraphCRF(graph, **options).fit(data)
    assert chain.model_.training is not None
    assert crf.model_.training is not None
    assert crf.model_.training.loss == pytest.approx(chain.model_.training.loss, rel=1e-8)
    step = crf.model_.tables()["step1"]
    assert np.abs(step - chain.model_.layout.transition_tables(chain.model_.w)[0]).max() < 1e-5
