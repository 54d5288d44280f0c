"""The perceptron and its kin on any structure: sequence by sequence, through scores and the best labelling.

The native loop (cpp/kernels/learn/perceptron.hpp) knows chains of order 1; this one asks the structure, and
learns by the same rules: `crfkit.optimise.sequential.perceptron`. Only the weights that a wrong labelling
shows are touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Pointers
from crfkit.linear.differences import SparseFeatures
from crfkit.linear.score import with_bases
from crfkit.optimise.sequential.rules import BOUNDED, CONFIDENCE, ONE, PERCEPTRON, ROOT, Rule, hildreth
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["DecodedSequences"]

_SATISFIED = 1e-9  # a margin that is missed by less, by position, is kept


class DecodedSequences:
    """Labelled sequences of a perceptron loss whose structure has no native loop.

    Parameters
    ----------
    loss : LinearLoss
        Of paths, without real-valued columns.
    """

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss
        self.seq_ptr = loss.batch.seq_ptr
        self.filled: Pointers = np.flatnonzero(np.diff(loss.batch.seq_ptr)).astype(np.int64)

    def order(self, seed: int, number: int) -> Pointers:
        """Return the order of a pass, counted from 1: (seed, number) is all that it depends on."""
        drawn: Pointers = np.random.default_rng([seed, number]).permutation(self.filled)
        return drawn

    def trainer(self, rule: Rule) -> DecodedTrainer:
        """Return what makes passes by a rule, as `_native.MistakeTrainer` does."""
        return DecodedTrainer(self.loss, rule)


class DecodedTrainer:
    """Passes over sequences: decode, and change the weights of what differs; see `_native.MistakeTrainer`."""

    def __init__(self, loss: LinearLoss, rule: Rule) -> None:
        self.loss, self.rule = loss, rule
        self.w = np.zeros(loss.size)  # [F]
        self.memory = np.zeros(loss.size)  # [F]
        self._parts: dict[int, LinearLoss] = {}
        self._sparse = SparseFeatures(loss.layout)

    def read(self, out: Floats) -> None:
        """Write the weights [F] to an array."""
        out[:] = self.w

    def write(self, weights: Floats) -> None:
        """Take weights [F]."""
        self.w[:] = weights

    def read_memory(self, out: Floats) -> None:
        """Write what goes with the weights [F], sums or variances, to an array."""
        out[:] = self.memory

    def write_memory(self, memory: Floats) -> None:
        """Take what goes with the weights [F]."""
        self.memory[:] = memory

    def run(self, kernels: Any, order: Pointers, seen: int, spent: Floats, right: Floats) -> float:
        """Visit sequences in this order; return the sum of their losses, or the first that is not finite."""
        total = 0.0
        for n in order.tolist():
            part = self._part(n)
            potentials = part.potentials(self.w)
            if self.rule.kbest > 1:
                total += self._separate(part, potentials, seen)
                seen += 1
                continue
            value, by_score = part.objective.loss(potentials, part.gold, part.weight, threads=1)
            if not np.isfinite(value):
                return value
            wrong = _wrong(by_score)
            if wrong and self.rule.remedy == BOUNDED:
                total += self._spend(*self._difference(part, by_score), wrong, n, spent)
            elif wrong:
                T = part.batch.positions
                total += self._learn(*self._difference(part, by_score), wrong, T, seen)
            if self.rule.remedy == BOUNDED:
                right[n] = 0.0 if wrong else right[n] + 1.0
            seen += 1
        return total

    def _separate(self, part: LinearLoss, potentials: Any, seen: int) -> float:
        """Learn from the k best labellings of a sequence; return the largest cost of one."""
        found, wrong = list[tuple[Pointers, Floats]](), list[float]()
        for labelling in inference.kbest(potentials, self.rule.kbest, threads=1)[0]:
            by_score = potentials.zeros()
            path = Path(potentials.seq_ptr, labelling.labels, labelling.begin)
            part.structure.add_counts(path, part.weight, by_score)
            part.structure.add_counts(part.gold, -part.weight, by_score)
            if _wrong(by_score):
                found.append(self._difference(part, by_score))
                wrong.append(_wrong(by_score))
        if not found:  # there is no other labelling
            return 0.0
        at, where = np.unique(np.concatenate([places for places, _ in found]), return_inverse=True)
        d = np.zeros((len(found), len(at)))  # [k, places]
        rows = np.repeat(np.arange(len(found)), [len(places) for places, _ in found])
        d[rows, where] = np.concatenate([amount for _, amount in found])
        cost = np.array(wrong) - d @ self.w[at]
        if not cost.max() > _SATISFIED * part.batch.positions:
            return 0.0
        self._move(at, hildreth(d @ d.T, cost, self.rule.most) @ d, seen)
        return float(cost.max())

    def _part(self, n: int) -> LinearLoss:
        if n not in self._parts:
            self._parts[n] = self.loss.part(slice(n, n + 1))
        return self._parts[n]

    def _difference(self, part: LinearLoss, by_score: Any) -> tuple[Pointers, Floats]:
        """Return the weights of the features of the gold minus those of the best labelling, and amounts."""
        by_score = with_bases(part.layout, part.batch, by_score)
        change = {slot: -array for slot, array in by_score.items()}
        shared = {slot: array[None] for slot, array in change.items() if array.ndim == 1}
        _, place, amount = self._sparse(part.batch, change, shared)
        return place, amount

    def _learn(self, at: Pointers, amount: Floats, errors: float, positions: int, seen: int) -> float:
        """Change the weights at some places by the rule; return the loss."""
        rule = self.rule
        if rule.remedy == PERCEPTRON:
            self._move(at, amount, seen)
            return errors / positions
        margin = -float(amount @ self.w[at])
        if rule.remedy == CONFIDENCE:
            variance = self.memory[at]
            cost = margin + errors
            self.w[at] += cost / (rule.gamma + float(variance @ amount**2)) * variance * amount
            self.memory[at] = 1.0 / (1.0 / variance + amount**2 / rule.gamma)
            return cost
        due = 1.0 if rule.margin == ONE else np.sqrt(errors) if rule.margin == ROOT else errors
        cost, square = margin + due, float(amount @ amount) + rule.slack
        if square > 0.0:
            self._move(at, min(cost / square, rule.most) * amount, seen)
        return float(cost)

    def _spend(self, at: Pointers, amount: Floats, errors: float, n: int, spent: Floats) -> float:
        """Make a step by the rule of CRF++; return the cost while the sequence has steps left."""
        cost, square = errors + float(amount @ self.w[at]), float(amount @ amount)
        if not (cost > 0.0 and square > 0.0):
            return 0.0
        left, step = self.rule.most - spent[n], cost / square
        self._move(at, min(step, left) * amount, 0)
        spent[n] = self.rule.most if step > left else spent[n] + step
        return 0.0 if step > left else cost

    def _move(self, at: Pointers, change: Floats, seen: int) -> None:
        self.w[at] += change
        if self.rule.averaged:
            self.memory[at] += seen * change


def _wrong(by_score: Any) -> float:
    """Return the number of positions at which two labellings differ, by the difference of their scores."""
    wrong = np.count_nonzero(by_score["node"], axis=1) > 0  # [T]
    if "begin" in by_score:
        wrong |= np.count_nonzero(by_score["begin"], axis=1) > 0
    return float(wrong.sum())
