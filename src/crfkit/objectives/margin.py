"""Max-margin: the gold labels must beat all others by their number of wrong labels.

    loss(w) = sum_n weight_n * [max over y of (score(x_n, y) + Hamming(y, gold)) - score of the gold of x_n]
    a subgradient by scores: the labels of that maximum - the gold ones

Taskar, Guestrin & Koller (2003); Tsochantaridis et al. (2005), margin rescaling. The loss bounds the number
of wrong labels from above. It is convex with kinks: `crfkit.optimize.BCFW` and `OneSlack` find its optimum
and know how far it is; L-BFGS usually gets close and then finds no better point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from crfkit import inference
from crfkit.arrays import Floats, dot
from crfkit.linear.objective import Asks, Family
from crfkit.objectives.penalized import Penalized


def best_above_gold(
    potentials: Any, costly: Any, gold: Any, weight: Floats, threads: int | None
) -> tuple[float, dict[str, Floats]]:
    """Return weight * (the best score - the gold's), summed, and its subgradient by scores.

    The best labels are those of `costly`: the potentials themselves, or with a cost for wrong labels.
    """
    best, path = inference.best(costly, threads=threads)
    value = dot(weight, best) - potentials.gold_score(gold, weight)
    by_score = potentials.zeros()
    potentials.add_counts(path, weight, by_score)
    potentials.add_counts(gold, -weight, by_score)
    return value, by_score


@dataclass(frozen=True)
class MaxMargin(Penalized):
    """The Hamming-augmented hinge loss of structured support vector machines, whose C is 1 / l2.

    Parameters
    ----------
    cost : "hamming"
        What wrong labels cost: 1 each, or what ``Graph.batch(cost=...)`` says of variables.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=MaxMargin(l2=0.5))
    """

    name: ClassVar[str] = "max-margin"
    family: ClassVar[Family] = Family.MARGIN
    asks: ClassVar[Asks] = "best"
    smooth: ClassVar[bool] = False

    cost: Literal["hamming"] = "hamming"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost != "hamming":
            raise ValueError(
                f"cost is {self.cost!r}, expected 'hamming'; costs of variables are part of the data"
            )

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return how far the most violating labels are above the gold ones, and those minus the gold."""
        return best_above_gold(potentials, potentials.with_cost(gold), gold, weight, threads)
