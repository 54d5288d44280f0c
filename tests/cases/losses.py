"""Losses for the tests of optimizers: a small CRF, quadratics, and where their optima lie."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood
from crfkit.optimize import Penalty, Step
from crfkit.structures import Chain
from tests.cases.batches import random_batch

L, A = 4, 30


def noise(N: int = 40, T: int = 30, kinds: int = 5, values: int = 40, L: int = 4, seed: int = 0) -> Batch:
    """Sequences whose attributes say nothing about their labels: every weight is shared by many positions."""
    rng = np.random.default_rng(seed)
    P = N * T
    attr = rng.integers(0, values, (P, kinds)) + np.arange(kinds) * values
    return Batch(
        seq_ptr=np.arange(N + 1) * T,
        attr_ptr=np.arange(P + 1) * kinds,
        attr=attr.ravel().astype(np.int32),
        label=rng.integers(0, L, P).astype(np.int32),
    )


def problem_of(data: Batch, l2: float, L: int = 4) -> Any:
    layout = Layout.observed(data, L)
    objective = Likelihood(l2=l2)
    return objective.bind(layout, Chain(L), data), objective.penalty(layout)


def data() -> Batch:
    """Random sequences whose attributes tell something about the labels."""
    rng = np.random.default_rng(0)
    return random_batch(rng, rng.integers(1, 12, 60), A, L, least=1, telling=0.6)


class Crf:
    """A likelihood with a diagonal by differences, and a count of evaluations."""

    def __init__(self, observed: bool, **strengths: Any) -> None:
        batch = data()
        self.layout = (Layout.observed if observed else Layout.all_pairs)(batch, L)
        objective = Likelihood(**strengths)
        self.inner = objective.bind(self.layout, Chain(L), batch, threads=1)
        self.penalty, self.size, self.calls = objective.penalty(self.layout), self.inner.size, 0

    def value_and_grad(self, w: Any, gradient: Any) -> float:
        self.calls += 1
        return self.inner.value_and_grad(w, gradient)

    def diagonal(self, w: Any) -> Any:
        below, above, made = (np.empty(self.size) for _ in range(3))
        self.inner.value_and_grad(w, below)
        for i in range(self.size):
            moved = w.copy()
            moved[i] += 1e-5
            self.inner.value_and_grad(moved, above)
            made[i] = (above[i] - below[i]) / 1e-5
        return made


class Bowl:
    """1/2 (w - c).H (w - c) for a diagonal or full H; without products of H and vectors."""

    def __init__(self, H: Any, c: Any) -> None:
        self.H, self.c, self.size = np.asarray(H), np.asarray(c), len(c)

    def value_and_grad(self, w: Any, gradient: Any) -> float:
        r = w - self.c
        gradient[:] = self.H * r if self.H.ndim == 1 else self.H @ r
        return 0.5 * float(gradient @ r)

    def diagonal(self, w: Any) -> Any:
        return self.H if self.H.ndim == 1 else np.diag(self.H)


class Quadratic(Bowl):
    """The same, with these products."""

    def hessian_vector(self, w: Any, v: Any, out: Any) -> None:
        out[:] = self.H * v if self.H.ndim == 1 else self.H @ v


def finish(run: Any) -> Step:
    for _ in range(100_000):
        step: Step = run.step()
        if step.stopped:
            assert run.step() == step, "a run that has stopped stays where it is"
            return step
    raise AssertionError("the run does not end")


@cache
def crf(observed: bool) -> Crf:
    return Crf(observed, l2=1.0)


def minimum(problem: Any, penalty: Penalty) -> float:
    """The least objective: L-BFGS-B on w = u - v with u, v >= 0, which makes L1 smooth."""
    F = problem.size

    def both(x: Any) -> tuple[float, Any]:
        w, gradient = x[:F] - x[F:], np.empty(F)
        value = problem.value_and_grad(w, gradient) + penalty.add_smooth(w, gradient)
        return value + float(np.sum(penalty.l1 * (x[:F] + x[F:]))), np.concatenate(
            [gradient + penalty.l1, penalty.l1 - gradient]
        )

    def smooth(w: Any) -> tuple[float, Any]:
        gradient = np.empty(F)
        return problem.value_and_grad(w, gradient) + penalty.add_smooth(w, gradient), gradient

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    function, size = (both, 2 * F) if penalty.sparse else (smooth, F)
    bounds = [(0.0, None)] * size if penalty.sparse else None
    found = minimize(function, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


@cache
def least(observed: bool) -> float:
    problem = crf(observed)
    return minimum(problem, problem.penalty)
