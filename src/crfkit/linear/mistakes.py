"""The perceptron and its variants on any structure, sequence by sequence, through the best labeling.

The native loop (cpp/kernels/learn/perceptron.hpp) knows chains; this one asks the structure, and
learns by the same rules: `crfkit.optimize.sequential.perceptron`. Only the weights that a wrong labeling
shows are touched. Graphs are visited by the same loop: `crfkit.linear.graphs.mistakes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Pointers
from crfkit.linear.differences import SparseFeatures
from crfkit.linear.score import with_bases
from crfkit.optimize.sequential.rules import BOUNDED, CONFIDENCE, ONE, PERCEPTRON, ROOT, Rule, hildreth
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

_SATISFIED = 1e-9  # a margin that is missed by less, by position, is kept


class Mistake(NamedTuple):
    """A labeling that is not the gold one, or is it: then nothing differs."""

    loss: float  #: its score minus that of the gold
    wrong: float  #: how many labels are wrong
    place: Pointers  #: weights at which its features differ from those of the gold
    amount: Floats  #: the gold's minus its own


class Decodable(Protocol):
    """One sequence or graph that a perceptron visits."""

    @property
    def positions(self) -> int:
        """How many labels it has."""
        ...

    def best(self, w: Floats) -> Mistake:
        """Return its best labeling at w [F]."""
        ...

    def kbest(self, w: Floats, k: int) -> list[Mistake]:
        """Return those of its k best labelings that are wrong."""
        ...


class DecodedSequences:
    """Labeled sequences of a perceptron loss whose structure has no native loop.

    Parameters
    ----------
    loss : LinearLoss
        A loss on paths, without real-valued columns.
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
        sparse = SparseFeatures(self.loss.layout)
        return DecodedTrainer(lambda n: _One(self.loss.part(slice(n, n + 1)), sparse), self.loss.size, rule)


class _One:
    """One sequence of a loss."""

    def __init__(self, part: LinearLoss, sparse: SparseFeatures) -> None:
        self.part, self.sparse, self.positions = part, sparse, part.batch.positions

    def best(self, w: Floats) -> Mistake:
        """Return its best labeling at w [F]."""
        part = self.part
        value, by_score = part.objective.loss(part.potentials(w), part.gold, part.weight, threads=1)
        return self._mistake(value, by_score)

    def kbest(self, w: Floats, k: int) -> list[Mistake]:
        """Return those of its k best labelings that are wrong."""
        part, potentials, found = self.part, self.part.potentials(w), list[Mistake]()
        for labeling in inference.kbest(potentials, k, threads=1)[0]:
            by_score = potentials.zeros()
            path = Path(potentials.seq_ptr, labeling.labels, labeling.begin)
            part.structure.add_counts(path, part.weight, by_score)
            part.structure.add_counts(part.gold, -part.weight, by_score)
            if _wrong(by_score):
                found.append(self._mistake(float("nan"), by_score))
        return found

    def _mistake(self, value: float, by_score: Any) -> Mistake:
        wrong = _wrong(by_score)
        if not wrong:
            return Mistake(value, 0.0, np.zeros(0, np.int64), np.zeros(0))
        by_score = with_bases(self.part.layout, self.part.batch, by_score)
        change = {slot: -array for slot, array in by_score.items()}
        shared = {slot: array[None] for slot, array in change.items() if array.ndim == 1}
        _, place, amount = self.sparse(self.part.batch, change, shared)
        return Mistake(value, wrong, place, amount)


class DecodedTrainer:
    """Passes by a rule: decode, and change the weights of what differs; see `_native.MistakeTrainer`.

    Parameters
    ----------
    one : function
        Number -> the sequence or graph; what it returns is kept.
    size : int
        Number of weights, F.
    rule : Rule
    """

    def __init__(self, one: Callable[[int], Decodable], size: int, rule: Rule) -> None:
        self.rule = rule
        self.w = np.zeros(size)  # [F]
        self.memory = np.zeros(size)  # [F]
        self._make = one
        self._made: dict[int, Decodable] = {}

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
            if n not in self._made:
                self._made[n] = self._make(n)
            one = self._made[n]
            if self.rule.kbest > 1:
                total += self._separate(one.kbest(self.w, self.rule.kbest), one.positions, seen)
                seen += 1
                continue
            found = one.best(self.w)
            if not np.isfinite(found.loss):
                return found.loss
            if found.wrong and self.rule.remedy == BOUNDED:
                total += self._spend(found, n, spent)
            elif found.wrong:
                total += self._learn(found, one.positions, seen)
            if self.rule.remedy == BOUNDED:
                right[n] = 0.0 if found.wrong else right[n] + 1.0
            seen += 1
        return total

    def _separate(self, found: list[Mistake], positions: int, seen: int) -> float:
        """Learn from several labelings; return the largest cost of one."""
        if not found:  # there is no other labeling
            return 0.0
        at, where = np.unique(np.concatenate([each.place for each in found]), return_inverse=True)
        d = np.zeros((len(found), len(at)))  # [k, places]
        rows = np.repeat(np.arange(len(found)), [len(each.place) for each in found])
        d[rows, where] = np.concatenate([each.amount for each in found])
        cost = np.array([each.wrong for each in found]) - d @ self.w[at]
        if not cost.max() > _SATISFIED * positions:
            return 0.0
        self._move(at, hildreth(d @ d.T, cost, self.rule.most) @ d, seen)
        return float(cost.max())

    def _learn(self, found: Mistake, positions: int, seen: int) -> float:
        """Change the weights by the rule; return the loss."""
        rule, (_, errors, at, amount) = self.rule, found
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

    def _spend(self, found: Mistake, n: int, spent: Floats) -> float:
        """Make a step by the rule of CRF++; return the cost while the sequence has steps left."""
        _, errors, at, amount = found
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
    """Return the number of positions at which two labelings differ, by the difference of their scores."""
    wrong = np.count_nonzero(by_score["node"], axis=1) > 0  # [T]
    if "begin" in by_score:
        wrong |= np.count_nonzero(by_score["begin"], axis=1) > 0
    return float(wrong.sum())
