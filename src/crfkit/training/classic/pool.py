"""Logarithmic opinion pools: Gupta (2005) section 2.6; Smith, Cohn & Osborne (2005).

    p(y | x) = prod_k p_k(y | x)^a_k / Z(x)                                     Gupta (2005) eq. 54

Experts are chains, so log p_k is a sum of scores of the same cells minus log Z_k, which does not depend on y:
the pool is the chain with the weights sum_k a_k w_k, on the layout that has the weights of all experts. The
weights of the pool are learned by its conditional likelihood, which is concave in them: with the gradient g
by the weights of that chain (expected minus observed features), the one by a_k is <w_k, g>, the expected
minus the observed score of expert k.

Where they must be positive or sum to 1, they are exp(t) or softmax(t) of free numbers t, as in Smith et al.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.move import moved, united
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood
from crfkit.optimize import LBFGS
from crfkit.optimize.problem import End, Penalty
from crfkit.training.runs.loop import follow
from crfkit.training.stop import RunRecord, Stop

Kind = Literal["sum-to-one", "positive", "free", "equal"]
KINDS: tuple[str, ...] = get_args(Kind)


def common(experts: Sequence[SequenceModel]) -> tuple[Layout, Floats]:
    """Return the layout with the weights of all experts, and those of each in its places, [K, F].

    Examples
    --------
    >>> from crfkit import FeatureSelection, train
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
    >>> experts = [train(data, selection=FeatureSelection(transitions=which)) for which in ("none", "all")]
    >>> layout, w = common(experts)
    >>> layout.weights, w.shape, bool((pooled(experts, [0.5, 0.5]).w == w.mean(axis=0)).all())
    (6, (2, 6), True)
    """
    layout = reduce(united, (one.layout for one in experts))
    same = np.arange(layout.labels, dtype=np.int32)
    return layout, np.stack([moved(one.layout, one.w, layout, same, {}) for one in experts])


def pooled(experts: Sequence[SequenceModel], weights: Any) -> SequenceModel:
    """Return the pool of experts over the same names as one model: sum_k a_k w_k."""
    layout, each = common(experts)
    first = experts[0]
    return SequenceModel(
        first.structure, layout, first.names, _mixed(np.asarray(weights), each), first.extractor
    )


def _mixed(weights: Floats, each: Floats) -> Floats:
    """Return sum_k a_k w_k, added in order."""
    total = np.zeros(each.shape[1])
    for a, w in zip(weights.tolist(), each, strict=True):
        total += a * w
    return total


class PoolLoss:
    """Minus the log-likelihood of a pool, as a function of free numbers [K] that give its weights.

    Parameters
    ----------
    loss
        Minus the log-likelihood as a function of the weights of a chain [F].
    each : array [K, F]
        The weights of each expert.
    kind : {"sum-to-one", "positive", "free"}
    """

    minimizes = True

    def __init__(self, loss: Any, each: Floats, kind: str) -> None:
        self.loss, self.each, self.kind = loss, each, kind
        self.size, self.convex = len(each), kind == "free"
        self._gradient = np.zeros(each.shape[1])

    def start(self) -> Floats:
        """Return the numbers that give equal weights of sum 1, [K]."""
        start = {"sum-to-one": 0.0, "positive": -np.log(self.size), "free": 1.0 / self.size}
        return np.full(self.size, start[self.kind])

    def weights(self, t: Floats) -> Floats:
        """Return the weights that numbers stand for, [K]."""
        if self.kind == "free":
            return t
        made = np.exp(t - t.max()) if self.kind == "sum-to-one" else np.exp(t)
        found: Floats = made / made.sum() if self.kind == "sum-to-one" else made
        return found

    def value_and_grad(self, t: Floats, gradient: Floats) -> float:
        """Return the loss at t [K], and write its gradient to `gradient` [K]."""
        a = self.weights(t)
        value = float(self.loss.value_and_grad(_mixed(a, self.each), self._gradient))
        by_weight = np.array([np.sum(w * self._gradient) for w in self.each])  # [K]
        if self.kind == "sum-to-one":
            by_weight = a * (by_weight - a @ by_weight)
        elif self.kind == "positive":
            by_weight = a * by_weight
        gradient[:] = by_weight
        return value


class Weighed(NamedTuple):
    """The weights of a pool, and how they were found."""

    weights: Floats  #: [K]
    loss: float  #: minus the log-likelihood of the pool
    end: End
    reason: str


def learn_weights(
    experts: Sequence[SequenceModel], batch: Batch, kind: Kind = "sum-to-one", *, threads: int | None = None
) -> Weighed:
    """Learn the weights of a pool from labeled sequences with the ids of the experts.

    Parameters
    ----------
    experts : sequence of Model
        Chains over the same names.
    batch : Batch
    kind : {"sum-to-one", "positive", "free", "equal"}
        What weights may be; "equal": all 1 / K, which is not learned.
    threads : int, optional
        Default: all cores. Results do not depend on it.
    """
    layout, each = common(experts)
    bound = Likelihood(l2=0.0).bind(layout, experts[0].structure, batch, threads=threads)
    if kind == "equal":
        a = np.full(len(experts), 1.0 / len(experts))
        value = float(bound.value_and_grad(_mixed(a, each), np.zeros(layout.weights)))
        return Weighed(a, value, End.PLANNED, "equal weights were asked for")
    loss = PoolLoss(bound, each, kind)
    run = LBFGS(tolerance=1e-7, delta=0.0, max_iterations=500).start(loss, Penalty(), loss.start())
    outcome = follow(run, RunRecord(), Stop())
    value = loss.value_and_grad(outcome.w, np.zeros(loss.size))
    return Weighed(loss.weights(outcome.w), value, outcome.end, outcome.reason)
