"""Learning by sampling on graphs: contrastive divergence and the stochastic optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import GraphCRF, Likelihood, Stop
from crfkit.arrays import Floats
from crfkit.errors import NotCoveredError
from crfkit.inference.methods import Elimination
from crfkit.objectives import ContrastiveDivergence, Perceptron, SampleRank
from crfkit.optimize import LBFGS, Optimizer, Penalty
from crfkit.optimize.problem import Run, evaluate
from crfkit.optimize.sequential.minibatch import MiniBatch
from tests.cases.cycles import cycles, loss_of

L2 = 0.5


def optimum(hidden: bool = False) -> tuple[float, Floats]:
    """Return the penalized likelihood at its optimum, and the weights there."""
    loss = loss_of(Likelihood(l2=L2), cycles(0, 60, hidden=hidden), Elimination())
    run = LBFGS(tolerance=1e-10).start(loss, Penalty(l2=L2), np.zeros(loss.size))
    while not run.step().stopped:
        pass
    return evaluate(loss, Penalty(l2=L2), run.w)[0], run.w


def passes(run: Run, count: int) -> Run:
    for _ in range(count):
        assert not run.step().stopped
    return run


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("block", [False, True])
def test_many_sweeps_draw_the_gradient_of_the_likelihood(hidden: bool, block: bool) -> None:
    batch = cycles(0, 60, hidden=hidden)
    exact = loss_of(Likelihood(), batch, Elimination())
    w = np.random.default_rng(1).normal(size=exact.size) * 0.5
    wanted, found = np.empty_like(w), np.empty_like(w)
    exact.value_and_grad(w, wanted)
    far = loss_of(ContrastiveDivergence(k=20, chains=300, block=block), batch, Elimination())
    far.value_and_grad(w, found)
    assert np.abs(found - wanted).max() < 1.0  # counts of 60 graphs; standard deviations are about 0.2
    near = loss_of(ContrastiveDivergence(k=1, chains=300, block=block), batch, Elimination())
    near.value_and_grad(w, found)
    if not block:  # from the gold one sweep is not enough
        assert np.abs(found - wanted).max() > 2.0


@pytest.mark.parametrize("hidden", [False, True])
def test_persistent_chains_reach_the_optimum_of_the_likelihood(hidden: bool) -> None:
    best, w = optimum(hidden)
    batch = cycles(0, 60, hidden=hidden)
    objective = ContrastiveDivergence(l2=L2, k=2, persistent=True, chains=10)
    method = MiniBatch(max_passes=150, size=20, eta=0.3)
    crf = GraphCRF(batch.graph, objective=objective, optimizer=method, selection="all", n_jobs=1).fit(batch)
    loss = loss_of(Likelihood(l2=L2), batch, Elimination())
    reached, _ = evaluate(loss, Penalty(l2=L2), crf.model_.w)
    at_zero, _ = evaluate(loss, Penalty(l2=L2), np.zeros_like(w))
    assert reached - best < 0.01 * (at_zero - best)
    assert crf.model_.training is not None
    assert crf.model_.training.end == "planned"


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "adam"])
@pytest.mark.parametrize("size", [15, 60])
def test_mini_batches_reach_the_optimum_of_the_likelihood(rule: Any, size: int) -> None:
    best, w = optimum()
    loss = loss_of(Likelihood(l2=L2), cycles(0, 60), Elimination())
    eta = {"sgd": 2.0, "adagrad": 0.3, "adam": 0.1}[rule]
    run = MiniBatch(rule=rule, size=size, eta=eta, period=1000).start(loss, Penalty(l2=L2), np.zeros_like(w))
    passes(run, 100)
    reached, _ = evaluate(loss, Penalty(l2=L2), run.w)
    at_zero, _ = evaluate(loss, Penalty(l2=L2), np.zeros_like(w))
    assert reached - best < 0.01 * (at_zero - best)


def test_l1_makes_weights_zero_and_its_optimum_is_reached() -> None:
    batch, penalty = cycles(0, 60), Penalty(l1=5.0)
    loss = loss_of(Likelihood(l1=5.0, l2=0.0), batch, Elimination())
    exact = LBFGS(max_iterations=500).start(loss, penalty, np.zeros(loss.size))
    while not exact.step().stopped:
        pass
    method = MiniBatch(size=60, eta=0.5, averaging=False, period=1000)
    run = passes(method.start(loss, penalty, np.zeros(loss.size)), 150)
    assert ((run.w == 0.0) == (exact.w == 0.0)).all()
    assert 0 < np.count_nonzero(run.w) < loss.size
    assert np.abs(run.w - exact.w).max() < 5e-3


OBJECTIVES = [
    Likelihood(),
    SampleRank(),
    ContrastiveDivergence(),
    ContrastiveDivergence(persistent=True, chains=2, k=2),
]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_threads_and_resumed_runs_keep_the_bits(objective: Any, hidden: bool) -> None:
    ends = []
    for threads in (1, 2):
        loss = loss_of(objective, cycles(0, 12, hidden=hidden), Elimination(), threads=threads)
        run = passes(MiniBatch(size=5).start(loss, Penalty(l2=L2), np.zeros(loss.size)), 3)
        state = run.state()
        ends.append(passes(run, 3).w.copy())
    again = MiniBatch(size=5).start(loss, Penalty(l2=L2), np.zeros(loss.size), state=state)
    ends.append(passes(again, 3).w.copy())
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()
    other = MiniBatch(size=5, seed=1).start(loss, Penalty(l2=L2), np.zeros(loss.size))
    assert (passes(other, 6).w != ends[0]).any()


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam"])
def test_names_work_on_graphs(name: str) -> None:
    batch = cycles(0, 12)
    crf = GraphCRF(batch.graph, optimizer=name, stop=Stop(max_iterations=2))
    with pytest.warns(UserWarning, match="before it converged"):
        crf.fit(batch)
    assert crf.model_.training is not None
    assert crf.model_.training.optimizer == f"MiniBatch ({name})"
    drawn = GraphCRF(
        batch.graph, objective="contrastive-divergence", optimizer=name, stop=Stop(max_iterations=2)
    ).fit(batch)
    assert drawn.model_.w.any()


def test_a_mini_batch_run_settles() -> None:
    batch = cycles(0, 12)
    crf = GraphCRF(
        batch.graph, objective=Likelihood(l2=5.0), optimizer=MiniBatch(size=12, delta=1e-3, eta=0.5)
    ).fit(batch)
    assert crf.model_.training is not None
    assert crf.model_.training.converged


@pytest.mark.parametrize(
    ("objective", "optimizer", "why"),
    [
        (ContrastiveDivergence(), LBFGS(), "only draws its gradient; use adagrad"),
        (ContrastiveDivergence(), "rprop", "only draws its gradient; use adagrad"),
        (Perceptron(), "adagrad", "least where all weights are 0"),
    ],
)
def test_what_does_not_fit_is_refused(objective: Any, optimizer: Optimizer | str, why: str) -> None:
    batch = cycles(0, 3)
    with pytest.raises(NotCoveredError, match=why):
        GraphCRF(batch.graph, objective=objective, optimizer=optimizer).fit(batch)


def test_wrong_options_are_refused() -> None:
    wrong: dict[str, Any] = {"rule": "newton", "size": 0, "eta": -1.0, "decay": -0.1, "max_passes": 0}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            MiniBatch(**{name: value})
    with pytest.raises(ValueError, match="k is 0"):
        ContrastiveDivergence(k=0)


def test_chains_are_told_that_it_is_for_graphs() -> None:
    from crfkit import ChainCRF

    with pytest.raises(ValueError, match="contrastive-divergence is for graphs"):
        ChainCRF(objective="contrastive-divergence").fit([[["a"], ["b"]]], [["x", "y"]])


def test_pairs_of_sample_rank_differ_in_one_label() -> None:
    batch = cycles(0, 6, hidden=True)
    loss = loss_of(SampleRank(margin=0.5), batch, Elimination())
    w = np.random.default_rng(1).normal(size=loss.size)
    gradient, scratch = np.empty_like(w), np.empty_like(w)
    value = loss.value_and_grad(w, gradient)
    # The chain moves by the model: where that does not change, the loss is linear between kinks.
    potentials, gold = loss.potentials(w), loss.gold
    objective = loss.objective
    drawn, _, labels = objective.draw(potentials, gold, np.ones(6), None, (0,), threads=1)
    assert drawn == value
    assert labels.shape == (1, 24)
    for i in range(len(w)):
        step = np.zeros_like(w)
        step[i] = 1e-7
        slope = (loss.value_and_grad(w + step, scratch) - loss.value_and_grad(w - step, scratch)) / 2e-7
        assert slope == pytest.approx(gradient[i], abs=1e-6)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_sample_rank_separates_what_can_be_separated(margin: float) -> None:
    rng = np.random.default_rng(3)
    seen = rng.integers(0, 3, 80)
    labels = np.column_stack([seen, (seen + 1) % 3]).ravel()  # the second of each pair follows the first
    features = np.zeros((160, 3))
    features[np.arange(0, 160, 2), seen] = 1.0  # only the first has features
    source = cycles(3, 40)
    batch = source.graph.batch(
        graph_ptr=np.arange(41) * 4,
        labels={"a": labels},
        scopes={"near": np.arange(160).reshape(-1, 2)},
        features={"look": features},
    )
    method = MiniBatch(size=10, max_passes=150, eta=0.3)
    crf = GraphCRF(
        batch.graph, objective=SampleRank(l2=0.0, margin=margin, proposals=2), optimizer=method, n_jobs=1
    ).fit(batch)
    right = crf.predict(batch, method=Elimination())["a"] == labels
    assert right.all()


def test_forbidden_labels_make_no_pairs() -> None:
    from crfkit import Graph
    from crfkit.graphs import Clique

    never = np.where(np.eye(2) > 0, 0.0, -np.inf)
    graph = Graph({"a": 2}, own=["a"], same=Clique("a", "a", fixed=never))
    batch = graph.batch(labels={"a": [0, 0]}, scopes={"same": [[0, 1]]})
    crf = GraphCRF(graph, objective=SampleRank(), stop=Stop(max_iterations=3)).fit(batch)
    assert np.abs(crf.model_.w).max() < 1e-6
