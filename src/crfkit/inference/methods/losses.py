"""What labels and cells lose against the best of their variable or factor, after TRW-S.

TRW-S moves scores between factors and variables until the sum of their maxima, a bound on every labeling, is
low. A labeling then scores the bound minus what its labels and cells lose, and no loss is below 0. So a
labeling that loses at most `reach` uses only labels and cells that lose at most `reach`: most cells of large
models can be left out of a program that looks for the best labeling (reduced-cost fixing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats, Ids, Pointers, pointers
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers

_CHUNK = 1 << 20  # cells of factors that are looked at together


@dataclass(frozen=True, eq=False)
class Cells:
    """Some cells of the factors of one clique."""

    factor: Pointers  #: [C]
    label: Pointers  #: [C, arity] flat labels
    loss: Floats  #: [C]

    def __getitem__(self, chosen: Any) -> Cells:
        """Return some of them."""
        return Cells(self.factor[chosen], self.label[chosen], self.loss[chosen])


@dataclass(frozen=True, eq=False)
class Kept:
    """Labels and cells that a labeling with a small loss can have; those of other variables are absent."""

    label: Bools  #: [label_ptr[V]]
    cells: dict[str, Cells]
    count: Pointers  #: [V] labels that are left


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of labels and cells, and the score of a labeling that loses nothing."""

    potentials: GraphPotentials
    node: Floats  #: [label_ptr[V]] at least 0; inf where a label is impossible
    given: Mapping[str, Floats]  #: clique -> [M, sum of labels] what variables have given to factors
    top: Mapping[str, Floats]  #: clique -> [M] the best cell
    bound: Floats  #: [N]

    def cells(self, name: str, factors: Pointers) -> Floats:
        """Return the losses of all cells of some factors, [m, L1, ..., La]."""
        scores = _scores(self.potentials, name, self.given[name], factors)
        top = self.top[name][factors].reshape(-1, *[1] * (scores.ndim - 1))
        with np.errstate(invalid="ignore"):
            loss = np.maximum(top - scores, 0.0)
        loss[~(scores > -np.inf)] = np.inf
        return loss

    def of(self, name: str, label: Ids) -> Floats:
        """Return what the factors of a clique lose with a labeling [V], [M]."""
        scope = self.potentials.batch.scopes[name]
        loss = np.empty(len(scope))
        for factors in _chunks(self.potentials, name, np.arange(len(scope))):
            labels = label[scope[factors]]
            loss[factors] = self.cells(name, factors)[(np.arange(len(factors)), *labels.T)]
        return loss

    def kept(self, inside: Bools, reach: float) -> Kept:
        """Return what a labeling of the variables inside, [V], can use if it loses at most `reach`.

        A label stays only if every factor has a cell left for it, a cell only if all its labels are left.
        Factors that are not wholly inside are left out.
        """
        batch = self.potentials.batch
        label = np.repeat(inside, batch.width) & (self.node <= reach) & (self.node < np.inf)
        cells: dict[str, Cells] = {}
        for name in self.given:
            scope = batch.scopes[name]
            some = np.flatnonzero(inside[scope].all(axis=1))
            parts = []
            for factors in _chunks(self.potentials, name, some):
                loss = self.cells(name, factors)
                at = np.nonzero((loss <= reach) & (loss < np.inf))
                number = factors[at[0]]
                flat = batch.label_ptr[scope[number]] + np.column_stack(at[1:])
                part = Cells(number, flat, loss[at])
                parts.append(part[label[flat].all(axis=1)])
            if parts:
                cells[name] = Cells(
                    np.concatenate([part.factor for part in parts]),
                    np.concatenate([part.label for part in parts]),
                    np.concatenate([part.loss for part in parts]),
                )
        while self._supported(label, cells, inside):
            cells = {name: part[label[part.label].all(axis=1)] for name, part in cells.items()}
        ends = np.concatenate([[0], np.cumsum(label)])[batch.label_ptr]
        return Kept(label, cells, np.diff(ends))

    def _supported(self, label: Bools, cells: Mapping[str, Cells], inside: Bools) -> bool:
        """Drop labels that some factor has no cell for; return whether there were any."""
        batch, before = self.potentials.batch, int(label.sum())
        for name, part in cells.items():
            scope = batch.scopes[name]
            some = np.flatnonzero(inside[scope].all(axis=1))
            shape = self.potentials.tables[name].scores.shape[1:]
            row = np.zeros(len(scope), dtype=np.int64)
            row[some] = np.arange(len(some))
            for axis, width in enumerate(shape):
                first = batch.label_ptr[scope[some, axis]]  # [m]
                has = np.zeros((len(some), width), dtype=np.bool_)
                at = row[part.factor]
                has[at, part.label[:, axis] - first[at]] = True
                without = np.nonzero(~has)
                label[first[without[0]] + without[1]] = False
        return int(label.sum()) < before


def losses_of(visits: _native.Visits, potentials: GraphPotentials) -> Losses:
    """Return the losses that visits, made with ``both=True``, have come to."""
    batch = potentials.batch
    node = visits.left()
    top = np.maximum.reduceat(node, batch.label_ptr[:-1]) if batch.variables else np.zeros(0)
    bound: Floats = np.zeros(batch.graphs) if potentials.constant is None else potentials.constant.copy()
    bound += np.bincount(batch.graph_of, top, minlength=batch.graphs)
    given, best = {}, {}
    for number, (name, table) in enumerate(potentials.tables.items()):
        scope = batch.scopes[name]
        if scope.shape[1] == 1 or not len(scope):
            continue
        given[name] = visits.given(number).reshape(len(scope), sum(table.scores.shape[1:]))
        best[name] = np.empty(len(scope))
        for factors in _chunks(potentials, name, np.arange(len(scope))):
            scores = _scores(potentials, name, given[name], factors)
            best[name][factors] = scores.reshape(len(factors), -1).max(axis=1)
        bound += np.bincount(batch.graph_of[scope[:, 0]], best[name], minlength=batch.graphs)
    top = np.repeat(top, batch.width)
    with np.errstate(invalid="ignore"):
        node = np.where(node > -np.inf, np.maximum(top - node, 0.0), np.inf)
    return Losses(potentials, node, given, best, bound)


def _scores(potentials: GraphPotentials, name: str, given: Floats, factors: Pointers) -> Floats:
    """Return the scores of some factors after visits, [m, L1, ..., La]."""
    table = potentials.tables[name]
    scores = table.scores[table_numbers(table, len(given))[factors]]
    if table.scale is not None:
        scores = scores * table.scale[factors].reshape(-1, *[1] * (scores.ndim - 1))
    shape = scores.shape[1:]
    ends = pointers(list(shape))
    for axis, width in enumerate(shape):
        wide = [1] * len(shape)
        wide[axis] = width
        scores = scores + given[factors, ends[axis] : ends[axis + 1]].reshape(-1, *wide)
    return np.asarray(scores)


def _chunks(potentials: GraphPotentials, name: str, factors: Pointers) -> list[Pointers]:
    """Return factors of a clique in pieces of a bounded number of cells."""
    cells = int(np.prod(potentials.tables[name].scores.shape[1:]))
    step = max(1, _CHUNK // cells)
    return [factors[i : i + step] for i in range(0, len(factors), step)]
