"""Marginal likelihood: each label on its own, summed over all others.

    loss(w) = - sum_n weight_n * sum_t log p(y_t | x_n)                                  Gupta (2005) eq. 34
    d loss / d scores = sum_t [E(parts) - E(parts | y_t)]                                               eq. 36

Kakade et al. (2002). It counts wrong labels rather than wrong labelings, and is not convex.

The expectations given y_t are not taken one t after the other (Gupta's gamma, eq. 37 and 38, costs O(T^2)):
a second sweep sums over labelings with one *marked* position t, whose label is the gold one and whose
score is higher by -log p(y_t | x). All T marks then weigh the same, and the marginals of that sum are the
mean over t of the expectations. `crfkit.objectives.marked` makes that sum; it costs 3^(k + 1) times the first
one for chains of order k, at any length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.objectives.marked import marked, merged
from crfkit.objectives.penalized import Penalized
from crfkit.objectives.pieces import why_no_limits
from crfkit.structures.gold import Gold, Path
from crfkit.structures.potentials import weighted_sum
from crfkit.structures.structure import Trainable


@dataclass(frozen=True)
class MarginalLikelihood(Penalized):
    """The likelihood of each label on its own, for chains of any order.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=MarginalLikelihood(l2=0.5))
    """

    name: ClassVar[str] = "marginal-likelihood"
    convex: ClassVar[bool] = False
    copies: ClassVar[int] = 9

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains whose rules look at neighbors only."""
        return why_no_limits(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the sum of the labels' losses, and marginals minus those given each label."""
        assert isinstance(gold, Path)
        T = np.diff(gold.seq_ptr)  # [N]
        _, by_score = inference.expected(potentials, weight * T, threads=threads)
        scale = np.repeat(weight * T, T)  # [P]
        own = by_score["node"][np.arange(len(scale)), gold.label]  # [P]
        p = np.divide(own, scale, out=np.ones_like(own), where=scale > 0.0)
        log_p = np.log(np.maximum(p, np.finfo(np.float64).tiny))  # less cannot be told from 0
        bonus = np.full_like(potentials.node, -np.inf)
        bonus[np.arange(len(scale)), gold.label] = -log_p
        sums = marked(potentials, bonus)
        _, given = inference.expected(sums, weight * T, threads=threads)
        for slot, array in by_score.items():
            array -= merged(given[slot], sums.structure.slots()[slot].tables, array)
        return -weighted_sum(np.repeat(weight, T), log_p), by_score
