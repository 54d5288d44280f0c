"""The weights near a run with the smallest gradient, and the diagonal on which the run goes on."""

from __future__ import annotations

import numpy as np
import pytest

from crfkit.arrays import Floats
from crfkit.optimize import LBFGS, Dual
from crfkit.optimize.batch.vectors import Vectors
from crfkit.optimize.dual.nearby import Nearby
from crfkit.optimize.dual.trainer import DualRun
from crfkit.optimize.problem import End, Penalty
from tests.cases.dual import problem_of
from tests.cases.optima import optimum, run_to_end

CASES = ("observed", "values", "start and stop, two strengths", "weights", "constraints")


@pytest.mark.parametrize("F", [40, 70_000])  # kept as doubles, and in 16 bits
def test_what_is_foreseen_is_the_gradient_there(F: int) -> None:
    rng = np.random.default_rng(0)
    curve = np.exp(rng.uniform(0.0, 8.0, F))  # of a quadratic whose optimum is 0
    near, w = Nearby(Vectors(F), 1.0), rng.normal(size=F)
    for step in range(20):
        near.add(w, curve * w)
        found = curve * near.weights()
        assert near.foreseen[-1] <= 0.5 * np.sum((curve * w) ** 2) * (1 + 1e-9)
        np.testing.assert_allclose(near.foreseen[-1], 0.5 * found @ found, rtol=0.05 if F > 40 else 1e-3)
        w = w * (1.0 - 1.9 * curve / curve.max()) if step % 3 else w + 1e-3 * rng.normal(size=F)


@pytest.mark.parametrize("name", CASES)
def test_bound_lies_below_the_optimum(name: str) -> None:
    problem, penalty = problem_of(name)
    best = optimum(problem, penalty)
    run = LBFGS().begin(problem, penalty, np.zeros(problem.size))
    near = Nearby(Vectors(problem.size), float(np.min(penalty.l2)))
    for _ in range(12):
        step = run.step()
        near.add(run.w, run.uphill)
        w, objective, bound = near.evaluate(problem, penalty)
        assert bound <= best * (1 + 1e-8)
        assert best <= objective * (1 + 1e-8)
        assert w.shape == run.w.shape
        assert np.isfinite(step.objective)


def test_trial_that_disappoints_is_not_repeated_at_once() -> None:
    near = Nearby(Vectors(1), 1.0)
    near.add(np.array([1.0]), np.array([1.0]))
    assert near.promises(1.0)
    near.tried = 0.5  # the gradient there was no smaller than here
    assert not near.promises(1.0)


def test_nothing_to_see_before_the_first_move() -> None:
    near = Nearby(Vectors(2), 2.0)
    assert near.state() == {}
    assert near.left(1.0) == np.inf
    near.add(np.ones(2), np.ones(2))
    assert near.foreseen == [0.5]
    assert near.weights().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", CASES)
def test_certified_without_passes_of_the_dual(name: str) -> None:
    problem, penalty = problem_of(name)
    run = Dual(gap=1e-6).start(problem, penalty, np.zeros(problem.size))
    step = run_to_end(run)
    assert step.end is End.CONVERGED
    assert "gradient" in step.stopped
    assert run.phase == "finish"
    best = optimum(problem, penalty)
    assert best * (1 - 1e-8) <= step.objective <= best * (1 + 1e-6)
    assert step.objective - step.gap <= best * (1 + 1e-8)


def test_threads_do_not_change_a_bit() -> None:
    problem, penalty = problem_of("values")
    found = []
    for threads in (1, 2, 3):
        run = Dual(gap=1e-6, threads=threads).start(problem, penalty, np.zeros(problem.size))
        found.append((run_to_end(run).objective, run.w.tobytes()))
    assert found[0] == found[1] == found[2]


def test_certain_steps_do_not_curve() -> None:
    problem, _ = problem_of("all pairs")
    run = Dual(finish=None, gap=1e-9).start(problem, Penalty(l2=1e-3), np.zeros(problem.size))
    for _ in range(30):
        run.step()
    steps = problem.layout.parts["transition"]
    made, exact = _diagonal(run)[steps], problem.diagonal(run.w)[steps]
    batch = problem.batch
    assert made.max() < 0.5 * (batch.positions - batch.sequences)
    assert made.sum() < 4.0 * exact.sum()
    assert exact.sum() < 4.0 * made.sum()


def test_unsure_steps_curve_as_much_as_their_count() -> None:
    problem, penalty = problem_of("all pairs")
    run = Dual().start(problem, penalty, np.full(problem.size, 1e-12))  # begins at the answers of about 0
    steps = problem.layout.parts["transition"]
    np.testing.assert_allclose(_diagonal(run)[steps], problem.diagonal(run.w)[steps], rtol=1e-4)


def _diagonal(run: DualRun) -> Floats:
    assert run.sequences is not None
    return run.sequences.diagonal(len(run.w))
