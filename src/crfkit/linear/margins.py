"""A margin loss sequence by sequence: the labelings that violate it most, for `crfkit.optimize.margin`.

    loss_n(w) = max over y of [cost(y) - (features of the gold - features of y).w], each times weight_n

on any structure, through scores and the best labeling; many sequences go into one query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Pointers
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.differences import SparseFeatures
from crfkit.linear.objective import Family
from crfkit.linear.score import cells_by_position
from crfkit.optimize.margin.view import Violations
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss


def margin_lack(loss: LinearLoss) -> str:
    """Return why the margin methods cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.MARGIN:
        return f"the objective {loss.objective.name}, only max-margin"
    return "negative weights of sequences" if (loss.weight < 0.0).any() else ""


class MarginLoss:
    """The sequences of a max-margin loss; see `crfkit.optimize.margin.view.MarginSequences`.

    Parameters
    ----------
    loss : LinearLoss
    """

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss
        self.filled: Pointers = np.flatnonzero((np.diff(loss.batch.seq_ptr) > 0) & (loss.weight > 0.0))
        self._sparse = SparseFeatures(loss.layout)
        self._shared = [block.slot for block in loss.layout.blocks if block.by is None and len(block.cell)]

    def violations(self, w: Floats, sequences: Pointers) -> Violations:
        """Return the labeling of each of these sequences that has the highest loss at w [F]."""
        ends = np.cumsum(np.diff(self.loss.batch.seq_ptr)[sequences])
        cuts = np.flatnonzero(np.diff(ends // self._most)) + 1
        parts = np.split(sequences, cuts) if len(sequences) else []
        return Violations.joined([self._part(w, chosen) for chosen in parts])

    @once
    def _most(self) -> int:
        """How many positions are taken together."""
        loss = self.loss
        cells = max(cells_by_position(loss.layout, loss.batch), loss.structure.cells())
        return max(BLOCK_BYTES // (8 * cells), 1)

    def _part(self, w: Floats, sequences: Pointers) -> Violations:
        part = self.loss.part(sequences)
        structure, gold = part.structure, part.gold
        assert isinstance(gold, Path)
        potentials = part.potentials(w)
        _, path = inference.best(potentials.with_cost(gold), threads=part.threads)
        counts = {slot: array for slot, array in potentials.zeros().items() if array.ndim == 2}
        structure.add_counts(gold, part.weight, counts)
        structure.add_counts(path, -part.weight, counts)
        wrong = _by_sequence(gold, gold.label != path.label)
        shared = {slot: np.zeros((len(sequences), part.layout.slots[slot].cells)) for slot in self._shared}
        for n in np.flatnonzero(_differ(gold, path)).tolist():
            row = {slot: array[n] for slot, array in shared.items()}
            for labels, sign in ((gold, 1.0), (path, -1.0)):
                structure.add_counts(_one(labels, n), sign * part.weight[n : n + 1], row)
        return Violations(*self._sparse(part.batch, counts, shared), wrong * part.weight)


def _differ(gold: Path, path: Path) -> Floats:
    """Return in how many positions two labelings of each sequence differ, [N]."""
    differs = gold.label != path.label
    if gold.begin is not None and path.begin is not None:
        differs = differs | (gold.begin != path.begin)
    return _by_sequence(gold, differs)


def _by_sequence(gold: Path, where: Bools) -> Floats:
    """Return how many positions of each sequence are marked, [N]."""
    N = len(gold.seq_ptr) - 1
    return np.bincount(np.repeat(np.arange(N), np.diff(gold.seq_ptr)), where, minlength=N).astype(np.float64)


def _one(path: Path, n: int) -> Path:
    """Return the labeling of one sequence."""
    first, last = path.seq_ptr[n], path.seq_ptr[n + 1]
    begin = None if path.begin is None else path.begin[first:last]
    return Path(np.array([0, last - first]), path.label[first:last], begin)
