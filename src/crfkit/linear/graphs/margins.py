"""A margin loss graph by graph: the labelings that violate it most, for `crfkit.optimize.margin`.

    loss_n(w) = max over y of [cost(y) - (features of the gold - features of y).w], each times weight_n

Many graphs go into one query; the parts of the batch that are asked for again keep their plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Pointers
from crfkit.linear.graphs.differences import GraphDifferences
from crfkit.linear.objective import Family
from crfkit.optimize.margin.view import Violations

if TYPE_CHECKING:
    from crfkit.linear.graphs.loss import GraphLoss

_LARGE = 64  # variables of a graph from which it is asked for alone: its plan costs more than a query
_FEW = 4  # graphs that are asked for one by one, so that their plans are kept


def graph_margin_lacks(loss: GraphLoss) -> str:
    """Return why the margin methods cannot take a loss of graphs; empty where they can."""
    if loss.objective.family is not Family.MARGIN:
        return f"the objective {loss.objective.name}, only max-margin"
    return "negative weights of graphs" if (loss.weight < 0.0).any() else ""


class GraphMargins:
    """The graphs of a max-margin loss; see `crfkit.optimize.margin.view.MarginSequences`.

    Parameters
    ----------
    loss : GraphLoss
    """

    def __init__(self, loss: GraphLoss) -> None:
        self.loss = loss
        self.filled: Pointers = np.intersect1d(loss.batch.graph_of, np.flatnonzero(loss.weight > 0.0)).astype(
            np.int64
        )
        self._differences = GraphDifferences(loss.layout)
        self._alone = loss.batch.variables >= _LARGE * loss.batch.graphs

    def violations(self, w: Floats, graphs: Pointers) -> Violations:
        """Return the labeling of each of these graphs that has the highest loss at w [F]."""
        if np.array_equal(graphs, np.arange(self.loss.batch.graphs)):
            parts = self.loss.blocks
        elif self._alone or len(graphs) <= _FEW:
            parts = [self.loss.alone(n) for n in graphs.tolist()]
        else:
            different, back = np.unique(graphs, return_inverse=True)
            return self._part(self.loss.part(different), w).take(back.reshape(-1))
        return Violations.joined([self._part(part, w) for part in parts])

    def _part(self, part: GraphLoss, w: Floats) -> Violations:
        batch, gold = part.batch, part.gold
        costly = part.potentials(w).with_cost(gold)
        _, found = inference.best(costly, threads=part.threads)
        wrong = np.where(gold.label != found.label, batch.costs, 0.0)  # [V]
        cost = np.bincount(batch.graph_of, wrong, minlength=batch.graphs)
        differ = self._differences(batch, gold.label, found.label, part.weight)
        return Violations(*differ, cost * part.weight)
