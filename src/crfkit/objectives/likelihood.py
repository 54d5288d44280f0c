"""Penalized conditional log-likelihood: the loss of a CRF, its gradient, and the options of both.

    loss(w) = sum_n weight_n * [log Z(x_n) - score of the gold of x_n]       Sutton & McCallum (2006) eq. 1.20
    d loss / d scores = marginals - gold                                     eq. 1.22

`crfkit.structures.gold` says what gold may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from crfkit import inference
from crfkit.arrays import Floats, dot
from crfkit.linear.objective import Family
from crfkit.objectives.penalized import Penalized
from crfkit.structures.gold import GoldKind


@dataclass(frozen=True)
class Likelihood(Penalized):
    """Penalized conditional log-likelihood.

    Examples
    --------
    >>> Likelihood(l2=0.5)
    Likelihood(l1=0.0, l2=0.5, transition_l1=None, transition_l2=None, label_weights=None)
    """

    name: ClassVar[str] = "likelihood"
    family: ClassVar[Family] = Family.LIKELIHOOD
    golds: ClassVar[frozenset[GoldKind]] = frozenset({"path", "set", "soft"})

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return log Z minus the score of the gold, and marginals minus gold."""
        total, by_score = inference.expected(potentials, weight, threads=threads)
        if gold.kind == "set":
            within, clamped = inference.expected(gold.clamped(potentials), -weight, threads=threads)
            for slot, array in by_score.items():
                array += clamped[slot]
            return dot(weight, total - within), by_score
        value = dot(weight, total) - potentials.gold_score(gold, weight)
        potentials.add_counts(gold, -weight, by_score)
        return value, by_score
