"""Pseudo-likelihood: each label given its gold neighbours.

    loss(w) = - sum_n weight_n * sum_t log p(y_t | all other labels of the gold, x_n)
    d loss / d scores = distributions of one label, at the gold values of the others - gold

Besag (1977), one of the objectives that Sutton & McCallum (2006) section 1.4.5 names. A label's
distribution is a softmax over the sum of the factors that it lies in, so nothing is swept: a step costs L,
not L^2. (With few labels the native sweep of the likelihood is faster all the same: a third of the time
with 22.) It is convex. Gupta (2005) section 2.3 gives the same name to the sum of log p(y_t | x), which is
another loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.objectives.penalised import Penalised
from crfkit.objectives.pieces import pieces, softmax_loss, why_no_limits
from crfkit.structures.gold import Gold, Path
from crfkit.structures.structure import Trainable

__all__ = ["PseudoLikelihood"]


@dataclass(frozen=True)
class PseudoLikelihood(Penalised):
    """The likelihood of each label given all others, for chains of any order.

    Parameters
    ----------
    l1, l2, transition_l1, transition_l2, label_weights
        As in `crfkit.objectives.penalised.Penalised`.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[], label=[0, 1])
    >>> problem = PseudoLikelihood().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> w = np.array([0.0, 1.0, 0.0, 0.0])  # of steps: from 0 to 1
    >>> round(problem.value_and_grad(w, np.empty(4)), 4)  # 2 log(1 + 1/e)
    0.6265
    """

    name: ClassVar[str] = "pseudo-likelihood"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains whose rules look at neighbours only."""
        return why_no_limits(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the sum of the labels' losses, and each label's distribution minus the gold."""
        assert isinstance(gold, Path)
        by_score = potentials.zeros()
        every = list(pieces(potentials, gold, by_score))
        scores = np.zeros_like(potentials.node)  # [P, L]
        for piece in every:
            scores[piece.position] += piece.rows()
        value, share = softmax_loss(scores, gold.label, np.repeat(weight, np.diff(gold.seq_ptr)))
        for piece in every:
            piece.add(share[piece.position])
        return value, by_score
