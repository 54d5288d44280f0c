"""Piecewise training: every factor is normalized on its own, over all of its labels or one after the other.

    piecewise                    loss(w) = - sum_n weight_n * sum_a log p_a(y_a)
    piecewise pseudo-likelihood  loss(w) = - sum_n weight_n * sum_a sum_t log p_a(y_t | other labels of y_a)

a goes through the factors (of a chain: nodes, n-grams of each order, the first and the last label); t through
the positions of a factor's labels y_a in the gold; p_a is the softmax of its scores alone. The sum of the
factors' log Z is at least log Z of all, so that the first loss is at least that of the likelihood (Sutton &
McCallum 2005). The second one costs L for a factor of k + 1 labels, and not L^(k + 1) (Sutton & McCallum
2007). Both are convex, and nothing is swept.

A table of transitions that all steps share learns only how often steps are, whatever stands at them, and says
again what nodes say: piecewise training is for factors with attributes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit.objectives.pieces import SumOfPieces
from crfkit.structures.pieces import Terms


@dataclass(frozen=True)
class Piecewise(SumOfPieces):
    """The sum of the likelihoods of all factors, each by itself, for chains and graphs.

    Factors of graphs that have a hidden label are left out.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=Piecewise(l2=0.5))
    """

    name: ClassVar[str] = "piecewise"
    terms: ClassVar[Terms] = "factors"


@dataclass(frozen=True)
class PiecewisePseudoLikelihood(SumOfPieces):
    """The likelihood of each label of every factor given the factor's other ones, for chains and graphs.

    Factors of graphs that have a hidden label are left out.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(objective=PiecewisePseudoLikelihood(l2=0.5))
    """

    name: ClassVar[str] = "piecewise-pseudo-likelihood"
    terms: ClassVar[Terms] = "each"
    separate: ClassVar[bool] = True
