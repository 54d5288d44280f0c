"""The loss of the perceptron: how far the best labels are above the gold ones.

    loss(w) = sum_n weight_n * [max over y of score(x_n, y) - score of the gold of x_n]
    a subgradient by scores: the best labels - the gold ones                        Collins (2002)

It is 0 where no label is wrong, and at w = 0 as well: minimizing it over all data does not train a model.
The perceptron learns from its steps, one wrong labeling after the other:
`crfkit.optimize.sequential.perceptron`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crfkit.arrays import Floats
from crfkit.linear.objective import Asks, Family, Objective
from crfkit.objectives.margin import best_above_gold


@dataclass(frozen=True)
class Perceptron(Objective):
    """The perceptron loss, for optimizers that learn from wrong predictions.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=Perceptron(), optimizer="perceptron")
    """

    name: ClassVar[str] = "perceptron"
    family: ClassVar[Family] = Family.MISTAKES
    asks: ClassVar[Asks] = "best"
    smooth: ClassVar[bool] = False
    minimizes: ClassVar[bool] = False

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return how far the best labels are above the gold ones, and the best minus the gold."""
        return best_above_gold(potentials, potentials, gold, weight, threads)
