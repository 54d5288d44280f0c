"""Pseudo-likelihood: each label given its gold neighbors.

    loss(w) = - sum_n weight_n * sum_t log p(y_t | all other labels of the gold, x_n)
    d loss / d scores = distributions of one label, at the gold values of the others - gold

Besag (1977), one of the objectives that Sutton & McCallum (2006) section 1.4.5 names. A label's distribution
is a softmax over the sum of the factors that it lies in, so nothing is swept: a factor of k labels costs
k L, not L^k. It is convex, on graphs too, whatever their cycles. Gupta (2005) section 2.3 gives the same name
to the sum of log p(y_t | x), which is another loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from crfkit.objectives.pieces import SumOfPieces, why_no_limits
from crfkit.structures.pieces import Terms
from crfkit.structures.structure import Trainable


@dataclass(frozen=True)
class PseudoLikelihood(SumOfPieces):
    """The likelihood of each label given all others, for chains of any order and for graphs.

    Hidden labels of graphs are left out: they have no term, and neither do the factors that they are in.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=PseudoLikelihood(l2=0.5))
    """

    name: ClassVar[str] = "pseudo-likelihood"
    terms: ClassVar[Terms] = "labels"
    separate: ClassVar[bool] = True

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: rules of chains may look at neighbors only."""
        against = why_no_limits(self.name, structure) if structure.is_chain else ""
        return against or super().covers(structure, kinds)
