"""SMO and exponentiated gradient in the dual of max-margin: enumeration, optimum, state, refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood, MaxMargin
from crfkit.optimize import Penalty
from crfkit.optimize.classic import SMO, ExponentiatedMargin
from crfkit.optimize.problem import End
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import Forbid
from tests.cases.batches import random_batch

METHODS: dict[str, Any] = {
    "smo": SMO(),
    "online": ExponentiatedMargin(),
    "batch": ExponentiatedMargin(online=False, max_passes=20_000),
}


def tiny(seed: int = 0, L: int = 2, **options: Any) -> Batch:
    rng = np.random.default_rng(seed)
    return random_batch(rng, [3, 1, 0, 2, 3], 3, L, least=1, **options)


def loss_of(batch: Batch, structure: Any, l2: float = 0.5, **options: Any) -> tuple[LinearLoss, Penalty]:
    options = {"start": True, "stop": True, **options}
    layout, objective = (
        Layout.all_pairs(batch, structure, **options),
        MaxMargin(l2=l2, transition_l2=2.0 * l2),
    )
    return objective.bind(layout, structure, batch, threads=1), objective.penalty(layout)


def barred(batch: Batch) -> Batch:
    """Labels without 0 after 0."""
    assert batch.label is not None
    label = batch.label.copy()
    for p in range(1, len(label)):
        label[p] = 1 if label[p] == 0 == label[p - 1] else label[p]
    return replace(batch, label=label)


CASES: dict[str, Any] = {
    "plain": (tiny(), Chain(2)),
    "values and weights": (tiny(1, values=True, weights=True), Chain(2)),
    "edge attributes": (tiny(2, edges=True, values=True), Chain(2)),
    "real-valued columns": (tiny(3, dense=2), Chain(2)),
    "three labels, constraints": (barred(tiny(4, L=3)), Chain(3, constraints=[Forbid("0", "0")])),
}


def labelings(loss: LinearLoss, n: int) -> tuple[list[tuple[int, ...]], Floats, Floats]:
    """All labelings of a sequence, their features minus the gold's [Y, F], and their costs [Y]."""
    part = loss.part(slice(n, n + 1))
    gold = tuple(part.batch.label.tolist())  # type: ignore[union-attr]
    every = list(product(range(loss.layout.labels), repeat=len(gold)))
    table = np.array(
        [
            [part.potentials(unit).path_score(np.array(y, np.int32))[0] for unit in np.eye(loss.size)]
            for y in every
        ]
    )
    allowed = np.isfinite(table).all(axis=1)
    every = [y for y, keep in zip(every, allowed, strict=True) if keep]
    cost = np.array([sum(a != b for a, b in zip(y, gold, strict=True)) for y in every], dtype=float)
    return every, table[allowed] - table[allowed][every.index(gold)], cost


def optimum(loss: LinearLoss, penalty: Penalty) -> float:
    """Gupta (2005) eq. 42 with a constraint for every labeling, by a general solver."""
    F, N, rows, costs = loss.size, loss.batch.sequences, [], []
    for n in range(N):
        _, features, cost = labelings(loss, n)
        rows += [np.concatenate([-f, np.eye(N)[n]]) for f in features]
        costs += cost.tolist()
    found = minimize(
        lambda x: penalty.value(x[:F]) + float(loss.weight @ x[F:]),
        np.concatenate([np.zeros(F), np.full(N, 9.0)]),
        jac=lambda x: np.concatenate([penalty.l2 * x[:F], loss.weight]),
        constraints=LinearConstraint(np.array(rows), np.array(costs), np.inf),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-9},
    )
    assert found.success
    return float(found.fun)


def explicit(run: Any, loss: LinearLoss) -> list[Floats]:
    """The alphas that a run stands for, one for each labeling."""
    made = []
    for n in range(loss.batch.sequences):
        every, features, cost = labelings(loss, n)
        if hasattr(run, "flow"):
            flow = run.flow[loss.batch.seq_ptr[n] : loss.batch.seq_ptr[n + 1]]  # [T, L, L]
            alpha = np.array([most_entropy(flow, y) for y in every])
        elif hasattr(run, "theta"):
            part = loss.part(slice(n, n + 1))
            if not every[0]:
                alpha = np.ones(1)
            else:
                scores = loss.structure.potentials_of(run.theta[n], part.batch)
                alpha = np.exp([scores.path_score(np.array(y, np.int32))[0] for y in every])
        else:
            alpha = np.exp(features @ run.sum + run.cost * cost)
        made.append(alpha if hasattr(run, "flow") else alpha / alpha.sum())
    return made


def most_entropy(flow: Floats, y: tuple[int, ...]) -> float:
    """The product of the steps' marginals by those of the labels between them."""
    share, before = 1.0, 0
    for t, now in enumerate(y):
        into = flow[t, before, now]
        share *= into if t == 0 else (into / flow[t - 1, :, before].sum() if into > 1e-14 else 0.0)
        before = now
    return share


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_the_optimum_is_that_of_all_constraints(method: str, case: str) -> None:
    loss, penalty = loss_of(*CASES[case])
    run, duals = METHODS[method].start(loss, penalty, np.zeros(loss.size)), [-np.inf]
    while not (step := run.step()).stopped:
        assert run.dual >= duals[-1] - 1e-10, "the dual never falls"
        duals.append(run.dual)
    least = optimum(loss, penalty)
    assert step.end is End.CONVERGED
    assert step.gap <= 1e-3 * step.objective
    assert step.objective - step.gap <= least + 1e-5 <= step.objective + 2e-5
    value = loss.value_and_grad(run.w, np.empty(loss.size)) + penalty.value(run.w)
    assert value == pytest.approx(step.objective, rel=1e-12)
    assert run.step() == step, "a run that has ended stays where it is"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_the_dual_is_that_of_explicit_alphas(method: str, case: str) -> None:
    loss, penalty = loss_of(*CASES[case])
    run = METHODS[method].start(loss, penalty, np.zeros(loss.size))
    for _ in range(4):
        run.step()
    wrong, v = 0.0, np.zeros(loss.size)
    for n, alpha in enumerate(explicit(run, loss)):
        _, features, cost = labelings(loss, n)
        assert alpha.sum() == pytest.approx(1.0, abs=1e-12)
        wrong += loss.weight[n] * float(alpha @ cost)
        v -= loss.weight[n] * (alpha @ features)
    np.testing.assert_allclose(run.now[:-1], v / penalty.l2, atol=1e-11)
    assert run.dual == pytest.approx(wrong - 0.5 * float(np.sum(v * v / penalty.l2)), abs=1e-11)


def test_marginals_of_smo_are_a_flow() -> None:
    loss, penalty = loss_of(*CASES["three labels, constraints"])
    run = SMO().start(loss, penalty, np.zeros(loss.size))
    for _ in range(6):
        run.step()
    flow, ptr = run.flow, loss.batch.seq_ptr
    assert (flow >= 0.0).all()
    assert (flow > 0.0).sum() > loss.batch.positions, "mass has moved"
    assert flow[:, 0, 0][np.setdiff1d(np.arange(ptr[-1]), ptr)].max() == 0.0, "0 after 0 is forbidden"
    for p in range(loss.batch.positions):
        into = flow[p].sum(axis=0)
        assert into.sum() == pytest.approx(1.0, abs=1e-12)
        if p + 1 not in ptr:
            np.testing.assert_allclose(flow[p + 1].sum(axis=1), into, atol=1e-12)


@pytest.mark.parametrize("structure", [Chain(2, order=2), SemiMarkov(2, max_length=2)])
@pytest.mark.parametrize("method", ["online", "batch"])
def test_exponentiated_gradient_takes_every_structure(method: str, structure: Any) -> None:
    batch = tiny(5)
    if isinstance(structure, SemiMarkov):
        batch = replace(batch, begin=np.ones(batch.positions, np.bool_))
    loss, penalty = loss_of(batch, structure)
    run = METHODS[method].start(loss, penalty, np.zeros(loss.size))
    while not (step := run.step()).stopped:
        pass
    assert step.end is End.CONVERGED
    assert step.gap <= 1e-3 * step.objective


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_matter(method: str) -> None:
    batch, structure = CASES["values and weights"]
    layout, objective = Layout.observed(batch, structure), MaxMargin(l2=0.5)
    found = []
    for threads in (1, 3):
        loss = objective.bind(layout, structure, batch, threads=threads)
        run = METHODS[method].start(loss, objective.penalty(layout), np.zeros(loss.size))
        for _ in range(3):
            run.step()
        found.append(run.w.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("penalty", "why"),
    [
        (Penalty(l2=0.0), "needs an L2 penalty above 0 on every weight: set l2"),
        (Penalty(l1=1.0, l2=1.0), "is for an L2 penalty alone"),
    ],
)
def test_penalties_that_are_refused(method: str, penalty: Penalty, why: str) -> None:
    loss, _ = loss_of(*CASES["plain"])
    with pytest.raises(ValueError, match=why):
        METHODS[method].start(loss, penalty, np.zeros(loss.size))


@pytest.mark.parametrize("method", METHODS)
def test_given_weights_are_refused(method: str) -> None:
    loss, penalty = loss_of(*CASES["plain"])
    with pytest.raises(ValueError, match="cannot start at given weights; leave them out, or use Subgradient"):
        METHODS[method].start(loss, penalty, np.ones(loss.size))


def test_losses_that_are_refused() -> None:
    batch = tiny()
    likelihood = Likelihood().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    for method in METHODS.values():
        with pytest.raises(NotCoveredError, match="does not take the objective likelihood, only max-margin"):
            method.start(likelihood, Penalty(l2=1.0), np.zeros(likelihood.size))
    second, penalty = loss_of(batch, Chain(2, order=2))
    with pytest.raises(
        NotCoveredError, match="a chain of order 2, only chains of order 1; use ExponentiatedMargin"
    ):
        SMO().start(second, penalty, np.zeros(second.size))
    segments, penalty = loss_of(replace(batch, begin=np.ones(9, np.bool_)), SemiMarkov(2, max_length=2))
    with pytest.raises(NotCoveredError, match=r"SMO does not take .*, only chains of order 1"):
        SMO().start(segments, penalty, np.zeros(segments.size))
    partial = replace(batch, label=None, allowed=np.ones((9, 2), np.bool_))
    with pytest.raises(NotCoveredError, match="takes one gold label at each position"):
        loss_of(partial, Chain(2))
    negative = replace(batch, weight=np.array([1.0, -1.0, 1.0, 1.0, 1.0]))
    loss, penalty = loss_of(negative, Chain(2))
    with pytest.raises(NotCoveredError, match="negative weights of sequences"):
        SMO().start(loss, penalty, np.zeros(loss.size))


def test_many_labels_are_refused_by_their_memory() -> None:
    loss, _ = loss_of(tiny(), Chain(2))
    loss.batch = Batch.unchecked(seq_ptr=np.array([0, 1 << 27]))
    with pytest.raises(NotCoveredError, match=r"134,217,728 positions with 2 x 2 steps each.* take 4.0 GiB"):
        loss.view(SMO().needs[0])


@pytest.mark.parametrize("options", [{"gap": 0.0}, {"max_passes": 0}])
def test_options_out_of_range(options: dict[str, Any]) -> None:
    for method in (SMO, ExponentiatedMargin):
        with pytest.raises(ValueError, match="expected"):
            method(**options)
