"""The perceptron and its kin on any structure: sequence by sequence, through scores and the best labelling.

The native loop (cpp/kernels/learn/perceptron.hpp) knows chains of order 1; this one asks the structure, and
learns by the same rules: `crfkit.optimise.sequential.perceptron`. Only the weights that a wrong labelling
shows are touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import Floats, Pointers

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["DecodedSequences"]

_PERCEPTRON, _PASSIVE, _CONFIDENCE = range(3)  # `Remedy` of cpp/shared/mistakes.hpp


class DecodedSequences:
    """Labelled sequences of a perceptron loss whose structure has no native loop.

    Parameters
    ----------
    loss : LinearLoss
        Of paths, without edge attributes and real-valued columns.
    """

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss
        self.filled: Pointers = np.flatnonzero(np.diff(loss.batch.seq_ptr)).astype(np.int64)

    def order(self, seed: int, number: int) -> Pointers:
        """Return the order of a pass, counted from 1: (seed, number) is all that it depends on."""
        drawn: Pointers = np.random.default_rng([seed, number]).permutation(self.filled)
        return drawn

    def trainer(self, *rule: Any) -> DecodedTrainer:
        """Return what makes passes, by a rule as `_native.MistakeTrainer` has it."""
        return DecodedTrainer(self.loss, *rule)


class DecodedTrainer:
    """Passes over sequences: decode, and change the weights of what differs; see `_native.MistakeTrainer`."""

    def __init__(
        self,
        loss: LinearLoss,
        remedy: int,
        averaged: bool,
        by_errors: bool,
        most: float,
        slack: float,
        gamma: float,
    ) -> None:
        self.loss, self.remedy, self.averaged, self.by_errors = loss, remedy, averaged, by_errors
        self.most, self.slack, self.gamma = most, slack, gamma
        self.w = np.zeros(loss.size)  # [F]
        self.memory = np.zeros(loss.size)  # [F]
        self._parts: dict[int, LinearLoss] = {}
        layout = loss.layout
        # Of each block the weights as rising keys: row * cells + cell.
        self._keys = {
            block.name: np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))
            * layout.slots[block.slot].cells
            + block.cell
            for block in layout.blocks
        }

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

    def run(self, kernels: Any, order: Pointers, seen: int) -> float:
        """Visit sequences in this order; return the sum of their losses, or the first that is not finite."""
        total = 0.0
        for n in order.tolist():
            part = self._part(n)
            value, by_score = part.objective.loss(part.potentials(self.w), part.gold, part.weight, threads=1)
            if not np.isfinite(value):
                return value
            wrong = np.count_nonzero(by_score["node"], axis=1) > 0  # [T]
            if "begin" in by_score:
                wrong |= np.count_nonzero(by_score["begin"], axis=1) > 0
            if wrong.any():
                total += self._learn(*self._difference(part, by_score), float(wrong.sum()), len(wrong), seen)
            seen += 1
        return total

    def _part(self, n: int) -> LinearLoss:
        if n not in self._parts:
            self._parts[n] = self.loss.part(slice(n, n + 1))
        return self._parts[n]

    def _difference(self, part: LinearLoss, by_score: Any) -> tuple[Pointers, Floats]:
        """Return the weights of the features of the gold minus those of the best labelling, and amounts."""
        layout = part.layout
        places, amounts = [np.zeros(0, np.int64)], [np.zeros(0)]
        for block in layout.blocks:
            if block.slot not in by_score or not len(block.cell):
                continue
            change, cells = -by_score[block.slot], layout.slots[block.slot].cells
            if block.by is None:
                cell = np.flatnonzero(change)
                wanted, amount = cell, change.reshape(-1)[cell]
            else:
                rows = part.batch.occurrences(block.by)
                if rows is None:
                    continue
                at, cell = np.nonzero(change)
                counts = rows.ptr[at + 1] - rows.ptr[at]
                first = np.repeat(rows.ptr[at] - np.append(0, np.cumsum(counts[:-1])), counts)
                which = first + np.arange(int(counts.sum()))
                wanted = rows.id[which].astype(np.int64) * cells + np.repeat(cell, counts)
                amount = np.repeat(change[at, cell], counts)
                amount = amount if rows.value is None else amount * rows.value[which]
            keys = self._keys[block.name]
            found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known = keys[found] == wanted
            places.append(found[known] + layout.parts[block.name].start)
            amounts.append(amount[known])
        place, where = np.unique(np.concatenate(places), return_inverse=True)
        amount = np.zeros(len(place))
        np.add.at(amount, where, np.concatenate(amounts))
        return place, amount

    def _learn(self, at: Pointers, amount: Floats, errors: float, positions: int, seen: int) -> float:
        """Change the weights at some places by the rule; return the loss."""
        if self.remedy == _PERCEPTRON:
            self._move(at, amount, seen)
            return errors / positions
        margin = -float(amount @ self.w[at])
        if self.remedy == _CONFIDENCE:
            variance = self.memory[at]
            cost = margin + errors
            self.w[at] += cost / (self.gamma + float(variance @ amount**2)) * variance * amount
            self.memory[at] = 1.0 / (1.0 / variance + amount**2 / self.gamma)
            return cost
        cost = margin + (np.sqrt(errors) if self.by_errors else 1.0)
        square = float(amount @ amount) + self.slack
        if square > 0.0:
            self._move(at, min(cost / square, self.most) * amount, seen)
        return float(cost)

    def _move(self, at: Pointers, change: Floats, seen: int) -> None:
        self.w[at] += change
        if self.averaged:
            self.memory[at] += seen * change
