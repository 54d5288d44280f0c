"""Piecewise training: every factor is normalised on its own, over all of its labels or one after the other.

    piecewise                    loss(w) = - sum_n weight_n * sum_a log p_a(y_a)
    piecewise pseudo-likelihood  loss(w) = - sum_n weight_n * sum_a sum_t log p_a(y_t | other labels of y_a)

a goes through the factors: nodes, n-grams of each order, the first and the last label; t goes through the
positions of a factor's labels y_a in the gold; p_a is the softmax of its scores alone. The sum of the
factors' log Z is at least log Z of all, so that the first loss is at least that of the likelihood (Sutton &
McCallum 2005). The second one costs L for a factor of k + 1 labels, and not L^(k + 1) (Sutton & McCallum
2007). Both are convex, and nothing is swept.

A table of transitions that all steps share learns only how often steps are, whatever stands at them, and says
again what nodes say: piecewise training is for factors with attributes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.objectives.penalised import Penalised
from crfkit.objectives.pieces import pieces, softmax_loss, tables_of, why_no_chain
from crfkit.structures.gold import Gold, Path
from crfkit.structures.structure import Trainable

__all__ = ["Piecewise", "PiecewisePseudoLikelihood"]


@dataclass(frozen=True)
class Piecewise(Penalised):
    """Every factor's own likelihood, for chains of any order.

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
    >>> problem = Piecewise().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> round(problem.value_and_grad(np.zeros(4), np.empty(4)), 4)  # two nodes and a step: 4 log 2
    2.7726
    """

    name: ClassVar[str] = "piecewise"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains."""
        return why_no_chain(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the factors' log Z minus the score of the gold, and their marginals minus gold."""
        assert isinstance(gold, Path)
        each, by_score = np.repeat(weight, np.diff(gold.seq_ptr)), potentials.zeros()  # [P]
        total, by_score["node"] = _log_sums(potentials.node, each)
        filled = weight[np.diff(gold.seq_ptr) > 0].sum(keepdims=True)  # [1]
        for name in ("start", "stop"):
            if name in by_score:
                log_z, by_end = _log_sums(getattr(potentials, name)[None, :], filled)
                total += log_z
                by_score[name] += by_end[0]
        for table, gradient, at in tables_of(potentials, gold, by_score):
            if "edge" in by_score:  # tables by position
                log_z, by_table = _log_sums(table.reshape(len(table), gradient.shape[1])[at], each[at])
                gradient[at] += by_table
            else:
                log_z, by_table = _log_sums(table.reshape(1, -1), each[at].sum(keepdims=True))
                gradient += by_table.reshape(gradient.shape)
            total += log_z
        potentials.add_counts(gold, -weight, by_score)
        return total - potentials.gold_score(gold, weight), by_score


def _log_sums(rows: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return the log of the sum of exp over each row [M, K], times its weight [M], and its gradient."""
    top = rows.max(axis=1, keepdims=True)
    share = np.exp(rows - top)
    total = share.sum(axis=1, keepdims=True)
    share *= weight[:, None] / total
    return float(weight @ (np.log(total) + top)[:, 0]), share


@dataclass(frozen=True)
class PiecewisePseudoLikelihood(Penalised):
    """The likelihood of each label of every factor given the factor's other ones, for chains of any order.

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
    >>> problem = PiecewisePseudoLikelihood().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> round(problem.value_and_grad(np.zeros(4), np.empty(4)), 4)  # two nodes, a step twice: 4 log 2
    2.7726
    """

    name: ClassVar[str] = "piecewise-pseudo-likelihood"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains."""
        return why_no_chain(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the losses of all labels of all factors, and their distributions minus the gold."""
        assert isinstance(gold, Path)
        each, by_score, total = np.repeat(weight, np.diff(gold.seq_ptr)), potentials.zeros(), 0.0
        for piece in pieces(potentials, gold, by_score):
            value, share = softmax_loss(piece.rows(), gold.label[piece.position], each[piece.position])
            piece.add(share)
            total += value
        return total, by_score
