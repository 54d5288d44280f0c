"""The loss of the perceptron: how far the best labels are above the gold ones.

    loss(w) = sum_n weight_n * [max over y of score(x_n, y) - score of the gold of x_n]
    a subgradient: features of the best labels - features of the gold ones          Collins (2002)

It is 0 where nothing is wrong, and at w = 0 as well: minimising it over all data teaches nothing. What learns
is the way there, one mistake after the other: `crfkit.optimise.sequential.mistakes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.fast.sequences import online_arrays
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.objectives.gold import check_gold_of_batch, kind_of_gold
from crfkit.objectives.likelihood import LikelihoodProblem
from crfkit.optimise.problem import Penalty
from crfkit.optimise.sequential.online import OnlineArrays
from crfkit.structures import Chain

__all__ = ["Perceptron", "PerceptronProblem"]


@dataclass(frozen=True)
class Perceptron:
    """Learning from mistakes; what is made of them is an option of the optimiser.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> problem = Perceptron().bind(Layout.all_pairs(batch, 2, transitions="none"), Chain(2), batch)
    >>> gradient = np.empty(4)
    >>> problem.value_and_grad(np.array([0.0, 3.0, 0.0, 1.0]), gradient), gradient.tolist()
    (3.0, [-1.0, 1.0, 0.0, 0.0])
    """

    def penalty(self, layout: Layout) -> Penalty:
        """Return no penalty: the optimisers have none."""
        return Penalty()

    def bind(
        self, layout: Layout, chain: Chain, batch: Batch, *, threads: int | None = None
    ) -> PerceptronProblem:
        """Return the loss of this batch as a function of the weights."""
        return PerceptronProblem(layout, chain, batch, threads)


class PerceptronProblem:
    """The loss of one batch as a function of the weights."""

    def __init__(self, layout: Layout, chain: Chain, batch: Batch, threads: int | None) -> None:
        if kind_of_gold(batch) != "path":
            raise ValueError(
                "the perceptron needs one gold label of each position, and some are partial or soft; use the "
                "objective Likelihood()"
            )
        check_gold_of_batch(batch, chain)
        self.layout, self.chain, self.batch, self.threads = layout, chain, batch, threads
        self._gold = LikelihoodProblem(layout, chain, batch, batch.weight, threads)

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    def mistakes(self) -> OnlineArrays:
        """Return the flat arrays that are learned from; a ValueError names what is not covered."""
        weight = self._gold.weight
        if (weight != 1.0).any():
            raise ValueError("weights of sequences other than 1")
        return online_arrays(self.layout, self.chain, self.batch, weight, "path")

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F]; a subgradient goes to `gradient` [F]."""
        found = inference.decode(self._gold.potentials(w), threads=self.threads)
        label = np.concatenate([np.zeros(0, np.int32), *(labelling.labels for labelling in found)])
        best, gold = replace(self.batch, label=label), self._gold
        counts = feature_counts(self.layout, best, gold.weight, index=gold.index, threads=self.threads)
        np.subtract(counts, gold.observed, out=gradient)
        return float(gradient @ w)
