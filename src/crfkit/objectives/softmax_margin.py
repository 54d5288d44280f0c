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


@dataclass(frozen=True)
class SoftmaxMargin(Penalized):
    """The likelihood with a margin: label sequences score more by their number of wrong labels.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=SoftmaxMargin(l2=0.5))
    """

    name: ClassVar[str] = "softmax-margin"

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return log Z with the cost minus the score of the gold, and marginals minus gold."""
        total, by_score = inference.expected(potentials.with_cost(gold), weight, threads=threads)
        potentials.add_counts(gold, -weight, by_score)
        return dot(weight, total) - potentials.gold_score(gold, weight), by_score
