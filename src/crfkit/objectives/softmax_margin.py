"""Softmax-margin: the likelihood, in which every wrong label counts as if its score were higher by 1.

    loss(w) = sum_n weight_n * [log sum over y of exp(score(x_n, y) + Hamming(y, gold)) - score of the gold]
    d loss / d scores = marginals of the scores with the cost - gold

Gimpel & Smith (2010). It is convex and smooth, at least as large as the likelihood's loss and as the one
of max-margin, whose maximum the sum replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crfkit import inference
from crfkit.arrays import Floats, dot
from crfkit.objectives.penalized import Penalized

__all__ = ["SoftmaxMargin"]


@dataclass(frozen=True)
class SoftmaxMargin(Penalized):
    """The likelihood with a margin of the number of wrong labels.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> problem = SoftmaxMargin().bind(Layout.all_pairs(batch, 2, transitions="none"), Chain(2), batch)
    >>> round(problem.value_and_grad(np.zeros(4), np.empty(4)), 4)  # 2 log(1 + e)
    2.6265
    """

    name: ClassVar[str] = "softmax-margin"

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return log Z with the cost minus the score of the gold, and marginals minus gold."""
        total, by_score = inference.expected(potentials.with_cost(gold), weight, threads=threads)
        potentials.add_counts(gold, -weight, by_score)
        return dot(weight, total) - potentials.gold_score(gold, weight), by_score
