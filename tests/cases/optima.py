"""Optima by SciPy, and runs of optimizers to their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from crfkit.linear.loss import LinearLoss
from crfkit.optimize.problem import Penalty, Step


def optimum(problem: LinearLoss, penalty: Penalty) -> float:
    """Minimum by SciPy; L1 by splitting w into its positive and negative part."""
    F = problem.size
    gradient = np.empty(F)

    def split(u: Any) -> tuple[float, Any]:
        w = u[:F] - u[F:]
        value = problem.value_and_grad(w, gradient) + penalty.add_smooth(w, gradient)
        return value + float(np.sum(penalty.l1 * u[:F] + penalty.l1 * u[F:])), np.concatenate(
            [gradient + penalty.l1, -gradient + penalty.l1]
        )

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(
        split, np.zeros(2 * F), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * F), options=options
    )
    return float(found.fun)


def run_to_end(run: Any) -> Step:
    for _ in range(2000):
        step: Step = run.step()
        if step.stopped:
            return step
    raise AssertionError("the run does not end")
