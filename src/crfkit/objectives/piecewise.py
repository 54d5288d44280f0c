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

__all__ = ["Piecewise", "PiecewisePseudoLikelihood"]


@dataclass(frozen=True)
class Piecewise(SumOfPieces):
    """Every factor's own likelihood, for chains of any order and for graphs.

    Factors of graphs that have a hidden label are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[], label=[0, 1])
    >>> problem = Piecewise().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> round(problem.value_and_grad(np.zeros(4), np.empty(4)), 4)  # two nodes and a step: 4 log 2
    2.7726
    """

    name: ClassVar[str] = "piecewise"
    terms: ClassVar[Terms] = "factors"


@dataclass(frozen=True)
class PiecewisePseudoLikelihood(SumOfPieces):
    """The likelihood of each label of every factor given the factor's other ones, for chains and graphs.

    Factors of graphs that have a hidden label are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[], label=[0, 1])
    >>> problem = PiecewisePseudoLikelihood().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> round(problem.value_and_grad(np.zeros(4), np.empty(4)), 4)  # two nodes, a step twice: 4 log 2
    2.7726
    """

    name: ClassVar[str] = "piecewise-pseudo-likelihood"
    terms: ClassVar[Terms] = "each"
    separate: ClassVar[bool] = True
