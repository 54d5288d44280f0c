"""The margin methods: their gaps close at the optimum that others find; they resume to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood, MaxMargin
from crfkit.objectives.classic import MarginalLikelihood
from crfkit.optimize import BCFW, End, OneSlack, Penalty
from crfkit.optimize.classic import NSlack, Subgradient
from crfkit.optimize.classic.simplex import maximum_on_simplex
from crfkit.optimize.margin.bcfw import NativeVisits, visits_of
from crfkit.optimize.margin.certified import ShareWeights
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.margin.visits import SparseVisits
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import Forbid
from crfkit.training.choose import check_suits
from tests.cases.batches import random_batch

METHODS: dict[str, Callable[..., Any]] = {
    "one-slack": OneSlack,
    "n-slack": NSlack,
    "bcfw": BCFW,
}


def segmented(batch: Batch) -> Batch:
    assert batch.label is not None
    begin = np.diff(batch.label, prepend=-1) != 0
    begin[batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]] = True
    runs = 0
    for p in range(batch.positions):
        runs = 1 if begin[p] else runs + 1
        if runs > 2:
            begin[p], runs = True, 1
    return replace(batch, begin=begin)


def made(kind: str, lengths: list[int], seed: int = 0) -> LinearLoss:
    rng, L = np.random.default_rng(seed), 3
    batch = random_batch(
        rng,
        lengths,
        12,
        L,
        least=1,
        telling=0.5,
        values=kind == "values",
        edges=kind == "edges",
        dense=2 if kind == "dense" else 0,
        weights=kind == "weights",
    )
    structure: Any = Chain(L, order=2) if kind == "order 2" else Chain(L)
    if kind == "segments":
        structure, batch = SemiMarkov(L, max_length=2), segmented(batch)
    if kind == "constraints":
        label = np.asarray(batch.label)
        label = np.where(np.arange(batch.positions) % 2, 1 + label % 2, label).astype(np.int32)
        structure, batch = Chain(L, constraints=[Forbid("0", "0")]), replace(batch, label=label)
    layout = Layout.all_pairs(batch, structure, start=True, stop=kind != "observed")
    if kind == "observed":
        layout = Layout.observed(batch, structure)
    objective = MaxMargin(label_weights={"0": 3.0} if kind == "label weights" else None)
    bound: LinearLoss = objective.bind(layout, structure, batch, threads=1)
    return bound


KINDS = (
    *("plain", "values", "weights", "label weights", "observed"),
    *("edges", "dense", "order 2", "segments", "constraints"),
)
LENGTHS = [3, 1, 0, 4, 2, 3, 5, 2]


def penalty_of(loss: LinearLoss, l2: float = 4.0) -> Penalty:
    return MaxMargin(l2=l2, transition_l2=2.0 * l2).penalty(loss.layout)


def objective(loss: LinearLoss, penalty: Penalty, w: Floats) -> float:
    return loss.value_and_grad(w, np.empty(loss.size)) + penalty.value(w)


def solved(method: Any, loss: LinearLoss, penalty: Penalty) -> tuple[Any, list[Any]]:
    run, steps = method.start(loss, penalty, np.zeros(loss.size)), list[Any]()
    while not steps or not steps[-1].stopped:
        steps.append(run.step())
    return run, steps


@cache
def by_subgradients(kind: str) -> float:
    loss = made(kind, LENGTHS)
    run, _ = solved(Subgradient(gap=1e-4, max_iterations=800), loss, penalty_of(loss))
    return objective(loss, penalty_of(loss), run.w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_the_gap_closes_at_the_optimum_that_subgradients_find(name: str, kind: str) -> None:
    loss = made(kind, LENGTHS)
    penalty = penalty_of(loss)
    run, steps = solved(METHODS[name](gap=1e-4), loss, penalty)
    last = steps[-1]
    assert last.end is End.CONVERGED
    assert "duality gap" in last.stopped
    assert last.objective == pytest.approx(objective(loss, penalty, run.w), rel=1e-12)
    assert 0.0 <= last.gap <= 1e-4 * last.objective
    bound = last.objective
    if kind in ("plain", "order 2", "segments"):
        bound = by_subgradients(kind)
        assert bound == pytest.approx(last.objective, rel=1e-3)
    for before, after in pairwise(steps):  # weak duality, and neither side ever gets worse
        assert after.objective <= before.objective
        assert after.objective - after.gap >= before.objective - before.gap - 1e-9
        assert after.objective - after.gap <= bound + 1e-9


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weights", [False, True])
def test_the_optimum_is_that_of_a_program_with_all_labelings(name: str, weights: bool) -> None:
    """A quadratic program with a constraint for each labeling, by SciPy: no code of the linear layer."""
    loss = made("weights" if weights else "plain", [3, 2, 3], seed=3)
    penalty = penalty_of(loss)
    l2 = np.broadcast_to(np.asarray(penalty.l2), (loss.size,))
    rows, costs, of = [], [], []
    for n in range(loss.batch.sequences):
        a, b = loss.batch.seq_ptr[n], loss.batch.seq_ptr[n + 1]
        assert loss.batch.label is not None
        gold = tuple(loss.batch.label[a:b].tolist())
        for y in product(range(3), repeat=b - a):
            rows.append(features(loss, n, gold) - features(loss, n, y))
            costs.append(float(np.count_nonzero(np.array(gold) != np.array(y))))
            of.append(np.eye(loss.batch.sequences)[n])
    matrix = np.hstack([np.array(rows), np.array(of)])
    cost, F = np.array(costs), loss.size
    weight = loss.weight
    found = minimize(
        lambda x: 0.5 * float(l2 @ x[:F] ** 2) + float(weight @ x[F:]),
        np.concatenate([np.zeros(F), np.full(len(weight), 4.0)]),
        jac=lambda x: np.concatenate([l2 * x[:F], weight]),
        constraints=[{"type": "ineq", "fun": lambda x: matrix @ x - cost, "jac": lambda x: matrix}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    run, steps = solved(METHODS[name](gap=1e-6), loss, penalty)
    assert steps[-1].objective == pytest.approx(found.fun, rel=1e-5)
    np.testing.assert_allclose(run.w, found.x[:F], atol=5e-3)


def features(loss: LinearLoss, n: int, label: tuple[int, ...]) -> Floats:
    """Features of one labeling of a chain, counted one by one from the batch."""
    batch, layout = loss.batch, loss.layout
    index = {tuple(layout.describe(i)[:2]) + layout.describe(i).ngram: i for i in range(layout.weights)}
    out, first = np.zeros(layout.weights), int(batch.seq_ptr[n])
    for t, y in enumerate(label):
        for i in range(int(batch.attr_ptr[first + t]), int(batch.attr_ptr[first + t + 1])):
            out[index[("node", int(batch.attr[i]), y)]] += 1.0
    for step in pairwise(label):
        out[index[("transition", None, *step)]] += 1.0
    out[index[("start", None, label[0])]] += 1.0
    out[index[("stop", None, label[-1])]] += 1.0
    return out


@pytest.mark.parametrize("kind", ["plain", "values", "weights", "observed", "constraints"])
def test_native_visits_are_the_general_ones(kind: str) -> None:
    loss = made(kind, [*LENGTHS, 6, 4, 7])
    penalty = penalty_of(loss, 1.0)
    native, count = visits_of(loss, penalty, mixture=False)
    shared = ShareWeights(penalty, loss.size, "BCFW")
    general = SparseVisits(loss.view(MarginSequences), shared, mixture=False)
    assert isinstance(native, NativeVisits)
    found = []
    for visits in (native, general):
        for number in range(60):
            gaps = visits.run(np.random.default_rng(number).permutation(count), number * count + 1)
            if number % 15 == 0:  # the gaps add up to the duality gap, and what is visited is below
                w = visits.weights()
                apart = objective(loss, penalty, w) - (visits.cost() - penalty.value(w))
                assert float(visits.gaps().sum()) == pytest.approx(apart, rel=1e-9, abs=1e-9)
                assert gaps.min() >= -1e-9
        apart = float(visits.gaps().sum())
        assert apart <= 1e-2 * objective(loss, penalty, visits.weights())
        found.append((visits.weights(), np.sqrt(2.0 * apart)))  # so near is the optimum, where l2 is 1
    (one, near), (other, nearer) = found
    assert float(np.linalg.norm(one - other)) <= near + nearer
    assert int(np.max(native.state()["count"])) > 4, "no set has grown"


@pytest.mark.parametrize("name", METHODS)
def test_penalties_that_have_no_dual_are_refused(name: str) -> None:
    loss = made("plain", [2])
    for penalty, why in ((Penalty(l1=0.1, l2=1.0), "set l1 = 0, or use owlqn"), (Penalty(), "set l2")):
        with pytest.raises(ValueError, match=why):
            METHODS[name]().start(loss, penalty, np.zeros(loss.size))


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("sampling", ["gap", "uniform"])
def test_mixture_steps_get_near_the_optimum(sampling: str, averaged: bool) -> None:
    loss = made("plain", LENGTHS)
    method = BCFW(step="mixture", sampling=sampling, averaged=averaged, gap=0.02)
    _, steps = solved(method, loss, penalty_of(loss))
    assert steps[-1].end is End.CONVERGED
    assert steps[-1].objective == pytest.approx(by_subgradients("plain"), rel=0.02)


def test_weights_to_begin_at_are_kept_until_better_ones_are_found() -> None:
    loss = made("plain", LENGTHS)
    penalty = penalty_of(loss)
    best, _ = solved(BCFW(gap=1e-6), loss, penalty)
    for method in METHODS.values():
        run = method().start(loss, penalty, best.w)
        assert run.step().objective <= objective(loss, penalty, best.w) * (1.0 + 1e-12)


@pytest.mark.parametrize("method", [BCFW(), NSlack()])
def test_other_objectives_are_refused(method: Any) -> None:
    batch = random_batch(np.random.default_rng(0), [3, 2], 5, 3)
    loss = Likelihood().bind(Layout.all_pairs(batch, 3), Chain(3), batch)
    with pytest.raises(
        NotCoveredError, match=r"does not take the objective likelihood.*use the objective Max"
    ):
        check_suits(loss, method)
    negative = replace(batch, weight=np.array([1.0, -1.0]))
    loss = MaxMargin().bind(Layout.all_pairs(negative, 3), Chain(3), negative)
    for each in (method, OneSlack()):
        with pytest.raises(NotCoveredError, match="negative weights of sequences"):
            check_suits(loss, each)


def test_losses_that_are_not_convex_are_refused() -> None:
    batch = random_batch(np.random.default_rng(0), [3, 2], 5, 3)
    loss = MarginalLikelihood().bind(Layout.all_pairs(batch, 3), Chain(3), batch)
    with pytest.raises(NotCoveredError, match="OneSlack does not take a loss that is not convex"):
        check_suits(loss, OneSlack())


def test_tangents_serve_every_convex_loss() -> None:
    batch = random_batch(np.random.default_rng(0), [3, 2, 4], 5, 3)
    loss = Likelihood().bind(Layout.all_pairs(batch, 3), Chain(3), batch)
    run, steps = solved(OneSlack(gap=1e-6), loss, Penalty(l2=1.0))
    gradient = np.empty(loss.size)
    loss.value_and_grad(run.w, gradient)
    assert steps[-1].end is End.CONVERGED
    assert float(np.abs(gradient + run.w).max()) < 1e-2


@pytest.mark.parametrize("seed", range(20))
def test_programs_on_a_simplex_are_solved_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    factor = rng.normal(size=(m, int(rng.integers(1, 6))))
    factor[m // 2 :] = factor[: m - m // 2]  # repeated constraints
    gram, linear = factor @ factor.T, rng.normal(size=m)
    x = maximum_on_simplex(gram, linear, np.eye(m)[0])
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0, abs=1e-12)
    slope = linear - gram @ x
    assert float(slope.max() - x @ slope) <= 1e-8 * max(1.0, float(np.abs(gram).max()))


def test_options_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="reach is 2"):
        OneSlack(reach=2.0)
    with pytest.raises(ValueError, match="sampling is 'all'"):
        BCFW(sampling="all")
    with pytest.raises(ValueError, match="step is 'none'"):
        BCFW(step="none")
    with pytest.raises(ValueError, match="idle is 0"):
        NSlack(idle=0)
    with pytest.raises(ValueError, match="idle is 0"):
        OneSlack(idle=0)
