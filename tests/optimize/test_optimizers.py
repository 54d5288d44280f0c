"""Batch optimizers: where they end, how they get there, and that they can be stopped and resumed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from crfkit.errors import NotCoveredError
from crfkit.linear.group_counts import GroupCounts
from crfkit.optimize import LBFGS, Optimizer, Penalty
from crfkit.optimize.classic import (
    ConjugateGradient,
    IterativeScaling,
    RProp,
    SteepestDescent,
    TruncatedNewton,
)
from tests.cases.losses import Bowl, Crf, Quadratic, crf, finish, least, minimum

METHODS: dict[str, Any] = {
    "lbfgs": LBFGS(),
    "lbfgs, one pair": LBFGS(memory=1),
    "cg": ConjugateGradient(),
    "cg, diagonal": ConjugateGradient(preconditioner="diagonal"),
    "cg, mixed": ConjugateGradient(preconditioner="mixed", preconditioned=7),
    "steepest": SteepestDescent(),
    "newton": TruncatedNewton(),
    "newton, central": TruncatedNewton(differences="central"),
    "rprop+": RProp(),
    "rprop-": RProp(variant="minus"),
}
SEARCHING = ("lbfgs", "lbfgs, one pair", "cg", "cg, diagonal", "cg, mixed", "steepest", "newton")


# What the contract asks for, for mypy to check.
OPTIMIZERS: tuple[Optimizer, ...] = (
    LBFGS(),
    ConjugateGradient(),
    SteepestDescent(),
    TruncatedNewton(),
    RProp(),
    IterativeScaling(),
)


def test_options_are_plain_values() -> None:
    for method in OPTIMIZERS:
        assert eval(repr(method)) == method
        assert hash(method) == hash(eval(repr(method)))


# ---- where they end


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("name", METHODS)
def test_l2_reaches_the_optimum(name: str, observed: bool) -> None:
    problem = crf(observed)
    calls = problem.calls
    run = METHODS[name].start(problem, problem.penalty, np.zeros(problem.size))
    step = finish(run)
    calls = problem.calls - calls
    assert step.stopped.startswith("converged: gradient norm")
    assert step.objective == pytest.approx(least(observed), rel=1e-9)
    gradient = np.empty(problem.size)
    there = problem.value_and_grad(run.w, gradient) + problem.penalty.add_smooth(run.w, gradient)
    assert step.objective == pytest.approx(there, rel=1e-13)
    assert step.gradient_norm == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-9)
    diagonals = math.ceil(run.iteration / 5) + 1 if "diagonal" in name or "mixed" in name else 0
    assert 0 <= step.evaluations - calls <= diagonals


@pytest.mark.parametrize(
    ("method", "l1", "l2"),
    [
        (LBFGS(), 1.0, 0.0),
        (LBFGS(memory=20), 0.2, 0.5),
        (RProp(), 1.0, 0.0),
        (RProp(variant="minus"), 0.2, 0.5),
    ],
)
def test_l1_reaches_the_optimum(method: Any, l1: float, l2: float) -> None:
    problem = Crf(False, l1=l1, l2=l2)
    run = method.start(problem, problem.penalty, np.zeros(problem.size))
    step = finish(run)
    assert step.objective == pytest.approx(minimum(problem, problem.penalty), rel=1e-7)
    gradient = np.empty(problem.size)
    value = problem.value_and_grad(run.w, gradient) + problem.penalty.add_smooth(run.w, gradient)
    assert step.objective == pytest.approx(value + l1 * float(abs(run.w).sum()), rel=1e-13)
    zero = run.w == 0.0
    assert 10 < zero.sum() < problem.size - 10
    assert np.all(abs(gradient[zero]) <= l1 + 1e-4)
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(run.w[~zero]), atol=2e-3)


def test_l1_for_some_weights_leaves_the_others_free() -> None:
    problem = Crf(False, l1=1.0, l2=0.1, transition_l1=0.0)
    run = LBFGS().start(problem, problem.penalty, np.zeros(problem.size))
    assert finish(run).objective == pytest.approx(minimum(problem, problem.penalty), rel=1e-8)
    assert np.all(run.w[problem.layout.parts["transition"]] != 0.0)
    assert np.any(run.w[problem.layout.parts["node"]] == 0.0)


@pytest.mark.parametrize("name", METHODS)
def test_quadratics_have_known_solutions(name: str) -> None:
    rng = np.random.default_rng(1)
    H, c = np.geomspace(0.1, 30.0, 40), rng.normal(size=40)
    l2 = rng.random(40)
    run = METHODS[name].start(Quadratic(H, c), Penalty(l2=l2), rng.normal(size=40))
    finish(run)
    np.testing.assert_allclose(run.w, H * c / (H + l2), atol=1e-3)


def test_newton_needs_one_step_for_a_quadratic() -> None:
    rng = np.random.default_rng(2)
    root = rng.normal(size=(12, 12))
    problem = Quadratic(root @ root.T + np.eye(12), rng.normal(size=12))
    for method in (TruncatedNewton(), LBFGS(memory=20)):
        run = method.start(problem, Penalty(), np.zeros(12))
        step = finish(run)
        np.testing.assert_allclose(run.w, problem.c, atol=1e-5)
        assert step.evaluations < 60


# ---- how they get there


@pytest.mark.parametrize("name", SEARCHING)
def test_every_step_meets_the_wolfe_conditions(name: str) -> None:
    problem, method = crf(True), METHODS[name]
    run = method.start(problem, problem.penalty, np.zeros(problem.size))
    stopped = ""
    for _ in range(25):
        w0, g0, g1 = run.w.copy(), np.empty(problem.size), np.empty(problem.size)
        f0 = problem.value_and_grad(w0, g0) + problem.penalty.add_smooth(w0, g0)
        if stopped:
            break
        step = run.step()
        stopped = step.stopped
        f1 = problem.value_and_grad(run.w, g1) + problem.penalty.add_smooth(run.w, g1)
        slope0, slope1 = g0 @ (run.w - w0), g1 @ (run.w - w0)  # times the length
        assert f1 <= f0 + method.c1 * slope0 + 1e-13 * f0
        assert abs(slope1) <= method.c2 * abs(slope0) * (1.0 + 1e-6)
    assert run.iteration >= 4


def test_the_objective_may_stall() -> None:
    problem = crf(True)
    run = LBFGS(period=3, delta=1e-2).start(problem, problem.penalty, np.zeros(problem.size))
    objectives: list[float] = []
    while not (step := run.step()).stopped:
        objectives.append(step.objective)
    assert step.stopped.startswith("converged: improved by")
    assert (objectives[-3] - step.objective) / step.objective < 1e-2
    assert (objectives[-4] - objectives[-1]) / objectives[-1] >= 1e-2


def test_iterations_are_limited_and_rounding_ends_the_search() -> None:
    problem = crf(True)
    for method in METHODS.values():
        short = type(method)(max_iterations=3)
        assert finish(short.start(problem, problem.penalty, np.zeros(problem.size))).stopped == (
            "reached 3 iterations"
        )
    step = finish(LBFGS(tolerance=0.0).start(problem, problem.penalty, np.zeros(problem.size)))
    assert step.stopped.startswith("no further progress: ")
    assert step.evaluations < 200
    assert step.gradient_norm < 1e-5


# ---- state


RESUMED: dict[str, tuple[Any, bool]] = {
    **{name: (method, False) for name, method in METHODS.items()},
    "owl-qn": (LBFGS(memory=3), True),
    "rprop, l1": (RProp(), True),
    **{f"scaling, {v}": (IterativeScaling(variant=v), False) for v in ("gis", "iis-s", "iis-t")},
}


@pytest.mark.parametrize("at", [0, 1, 6])
@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_run_gives_the_same_bits(name: str, at: int) -> None:
    method, sparse = RESUMED[name]
    problem: Any = crf(True)
    penalty = Penalty(l1=0.5, l2=0.1) if sparse else problem.penalty
    if "scaling" in name:
        problem = GroupCounts(problem.inner)
    whole = method.start(problem, penalty, np.zeros(problem.size))
    for _ in range(at):
        whole.step()
    state = whole.state()
    for key, value in state.items():
        assert isinstance(value, int | float | np.ndarray), f"{key} is a {type(value)}"
    first = [whole.step() for _ in range(4)]
    part = method.start(problem, penalty, np.ones(problem.size), state=state)
    again = [part.step() for _ in range(4)]
    if np.isfinite(again[0].length):  # otherwise the run had ended before
        assert again == first
    assert again[-1].stopped == first[-1].stopped
    np.testing.assert_array_equal(part.w, whole.w)
    assert part.state().keys() == whole.state().keys()


def test_a_run_does_not_touch_the_weights_it_was_given() -> None:
    w = np.zeros(crf(True).size)
    finish(LBFGS(max_iterations=5).start(crf(True), crf(True).penalty, w))
    assert not w.any()


# ---- what is not finite


class Cliff(Bowl):
    """Not a number beyond a radius, or from some evaluation on."""

    def __init__(self, radius: float = math.inf, calls: float = math.inf) -> None:
        super().__init__(np.array([1.0, 5.0]), np.array([3.0, 0.5]))
        self.radius, self.calls = radius, calls

    def value_and_grad(self, w: Any, gradient: Any) -> float:
        self.calls -= 1
        value = super().value_and_grad(w, gradient)
        if self.calls < 0 or float(np.linalg.norm(w)) > self.radius:
            gradient[0] = np.nan
            return math.nan
        return value


@pytest.mark.parametrize("name", METHODS)
def test_a_loss_that_is_not_finite_stops_the_run(name: str) -> None:
    for calls in range(6):
        problem = Cliff(calls=calls)
        run = METHODS[name].start(problem, Penalty(l2=0.1), np.full(2, 0.25))
        best, kept = math.inf, run.w.copy()
        while not (step := run.step()).stopped:
            best, kept = step.objective, run.w.copy()
        if step.stopped.startswith("converged"):
            continue
        assert step.stopped.startswith("diverged: "), step
        np.testing.assert_array_equal(run.w, kept)
        assert calls == 0 or not step.objective > best


def test_a_search_goes_round_what_is_not_finite() -> None:
    run = LBFGS().start(Cliff(radius=3.2), Penalty(), np.zeros(2))
    assert finish(run).stopped.startswith("converged")
    np.testing.assert_allclose(run.w, [3.0, 0.5], atol=1e-4)


class Bare:
    """A loss that knows nothing but its gradient."""

    size = 1

    def value_and_grad(self, w: Any, gradient: Any) -> float:
        gradient[:] = w
        return 0.5 * float(w @ w)


def test_wrong_arguments_are_named() -> None:
    problem = crf(True)
    with pytest.raises(ValueError, match=r"w has shape \(3,\)"):
        LBFGS().start(problem, problem.penalty, np.zeros(3))
    with pytest.raises(ValueError, match=r"w\[1\] is nan"):
        LBFGS().start(Quadratic(np.ones(2), np.ones(2)), Penalty(), np.array([0.0, np.nan]))
    for method in (ConjugateGradient(), SteepestDescent(), TruncatedNewton(), IterativeScaling()):
        with pytest.raises(ValueError, match="cannot do L1"):
            method.start(problem, Penalty(l1=1.0), np.zeros(problem.size))
    with pytest.raises(NotCoveredError, match=r"ConjugateGradient needs Curvature, which Bare does not give"):
        ConjugateGradient(preconditioner="mixed").start(Bare(), Penalty(), np.zeros(1))
    with pytest.raises(
        NotCoveredError, match=r"the preconditioner needs Curvature, which Bare does not give"
    ):
        LBFGS(preconditioner="diagonal").start(Bare(), Penalty(), np.zeros(1))
    with pytest.raises(NotCoveredError, match=r"IterativeScaling needs Counted, which .* does not give"):
        IterativeScaling().start(Bare(), Penalty(), np.zeros(1))
    for wrong in (
        lambda: LBFGS(memory=0),
        lambda: LBFGS(c1=0.5, c2=0.1),
        lambda: LBFGS(max_iterations=0),
        lambda: LBFGS(tolerance=-1.0),
        lambda: LBFGS(period=0),
        lambda: ConjugateGradient(preconditioner="cholesky"),  # type: ignore[arg-type]
        lambda: RProp(stpmin=1.0, stpmax=0.5),
        lambda: RProp(stpinc=0.9),
        lambda: TruncatedNewton(max_inner=0),
        lambda: IterativeScaling(variant="iis"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="expected"):
            wrong()
