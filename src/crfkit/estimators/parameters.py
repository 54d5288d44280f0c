"""Parameters that several estimators have: each is declared here once, with its default.

What they mean: `crfkit.ChainCRF`. An estimator has those of its bases, and declares its own. What it
inherits and cannot use is `crfkit.estimators.base.fixed`.
"""

from __future__ import annotations

from crfkit.estimators.base import Estimator
from crfkit.linear.features import FeatureSelection
from crfkit.linear.objective import Objective
from crfkit.optimize.problem import Optimizer
from crfkit.training.stop import Stop


class Trained(Estimator):
    """An estimator that minimizes an objective over weights: what `crfkit.train` is given."""

    objective: Objective | str | None = None
    optimizer: Optimizer | str = "auto"
    selection: FeatureSelection | str | None = None
    stop: Stop | None = None
    l1: float | None = None
    l2: float | None = None
    min_count: int | None = None
    max_iterations: int | None = None
