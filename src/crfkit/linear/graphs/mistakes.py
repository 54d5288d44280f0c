"""Graphs for the perceptron and its variants: graph by graph, through scores and the best labeling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.graphs import kbest
from crfkit.linear.graphs.differences import GraphDifferences
from crfkit.linear.mistakes import DecodedTrainer, Mistake
from crfkit.linear.objective import Family
from crfkit.optimize.sequential.rules import Rule

if TYPE_CHECKING:
    from crfkit.linear.graphs.loss import GraphLoss


def graph_perceptron_lacks(loss: GraphLoss) -> str:
    """Return why perceptrons cannot take a loss of graphs; empty where they can."""
    if loss.objective.family is not Family.MISTAKES:
        return f"the objective {loss.objective.name}, only the perceptron"
    return "weights of graphs other than 1" if (loss.weight != 1.0).any() else ""


class DecodedGraphs:
    """The graphs of a perceptron loss; see `crfkit.linear.mistakes.DecodedSequences`.

    Parameters
    ----------
    loss : GraphLoss
    """

    def __init__(self, loss: GraphLoss) -> None:
        self.loss = loss
        self.filled: Pointers = np.unique(loss.batch.graph_of).astype(np.int64)

    def order(self, seed: int, number: int) -> Pointers:
        """Return the order of a pass, counted from 1: (seed, number) is all that it depends on."""
        drawn: Pointers = np.random.default_rng([seed, number]).permutation(self.filled)
        return drawn

    def trainer(self, rule: Rule) -> DecodedTrainer:
        """Return what makes passes by a rule."""
        differences = GraphDifferences(self.loss.layout)
        return DecodedTrainer(lambda n: _One(self.loss.alone(n), differences), self.loss.size, rule)


class _One:
    """One graph of a loss, with the plans of its queries."""

    def __init__(self, part: GraphLoss, differences: GraphDifferences) -> None:
        self.part, self.differences, self.positions = part, differences, part.batch.variables

    def best(self, w: Floats) -> Mistake:
        """Return its best labeling at w [F]."""
        potentials, gold = self.part.potentials(w), self.part.gold
        score, found = inference.best(potentials, threads=self.part.threads)
        value = float(score[0]) - potentials.gold_score(gold, self.part.weight)
        return self._mistake(value, found.label)

    def kbest(self, w: Floats, k: int) -> list[Mistake]:
        """Return those of its k best labelings that are wrong."""
        found = kbest(self.part.potentials(w), k, threads=self.part.threads)
        labels = np.concatenate([found[kind] for kind in self.part.batch.kind_ptr], axis=1)  # [k, V]
        listed = [self._mistake(float("nan"), label) for label in labels if (label >= 0).all()]
        return [each for each in listed if each.wrong]

    def _mistake(self, value: float, label: Ids) -> Mistake:
        gold = self.part.gold.label
        _, place, amount = self.differences(self.part.batch, gold, label, self.part.weight)
        return Mistake(value, float(np.count_nonzero(label != gold)), place, amount)
