"""Weights to tables of scores, and gradients by these to gradients by weights: each the other's transpose.

    scores_m[y] = fixed[y] + sum over attributes i of factor m: value_i * w[clique, attr_i, column(y)]

Factors with the same features share a table, and where a clique has one dense column of no negative number,
all factors share one table, which that number scales: no copies of tables are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import LARGEST_SCORE, Floats, Ids, Pointers, Ragged, checked_later
from crfkit.checks import NotFiniteError
from crfkit.linear.layout import Layout
from crfkit.linear.score import explain
from crfkit.native import kernels, threads_or_all
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import CliqueFeatures
from crfkit.structures.graphs.potentials import GraphPotentials, Table
from crfkit.structures.structure import Scores


@dataclass(frozen=True, eq=False)
class CliqueScores:
    """How the weights of one clique become the tables of its factors."""

    layout: Layout
    name: str
    shape: tuple[int, ...]  #: L1, ..., La
    spread: Any  #: sparse [cells, columns], how often a column counts; None: a column is a cell
    fixed: Floats | None  #: [L1, ..., La]
    features: CliqueFeatures | None  #: of each of the K tables; None: one table for all factors
    which: Ids | None  #: [M] the table of each factor
    scale: Floats | None  #: [M]

    @classmethod
    def of(cls, layout: Layout, batch: GraphBatch, name: str) -> CliqueScores:
        """Return the way from weights to tables for the factors of a batch."""
        clique, shape, given = batch.graph.cliques[name], batch.graph.shape(name), batch.features.get(name)
        fixed, which, scale = clique.fixed, None, None
        free = clique.counts is None and isinstance(clique.cells, str) and clique.cells == "free"
        if given is not None and not layout.slots[name].cells:  # no weights: features say nothing
            given = CliqueFeatures(0, dense=np.zeros((1, 0)))
        elif given is not None and given.dense is not None and given.columns == 1 and fixed is None:
            column = given.dense[:, 0]
            if len(shape) > 1 and (column >= 0.0).all():
                given, scale = CliqueFeatures(1, dense=np.ones((1, 1))), np.ascontiguousarray(column)
        elif given is not None and len(shape) > 1:
            given, which = _distinct(given)
        return cls(layout, name, shape, None if free else clique.spread(shape), fixed, given, which, scale)

    @property
    def _columns(self) -> int:
        return self.layout.slots[self.name].cells

    @once
    def _index(self) -> _native.Transpose:
        assert self.features is not None
        assert self.features.rows is not None
        rows = self.features.rows
        return _native.Transpose.of(
            rows.ptr, rows.id, rows.value, self.layout.rows_of(self.name), self._columns
        )

    def table(self, w: Floats, threads: int) -> Table:
        """Return the tables at the weights w [F]."""
        part = self.layout.parts[self.name]
        if self.features is None:
            columns = self.layout.shared(self.name, w)[None, :]  # [1, columns]
        elif self.features.dense is not None:
            with checked_later():
                columns = self.features.dense @ w[part].reshape(self.features.columns, self._columns)
        else:
            assert self.features.rows is not None
            rows, items = self.layout.rows(self.name), self.features.rows
            ready = _native.ReadyRows.of(kernels, rows, w, part.start, threads)
            columns = np.empty((len(self.features), self._columns))
            _native.score(
                kernels, ready, items.ptr, items.id, items.value, None, 0, len(columns), columns, threads
            )
        if not (np.abs(columns) <= LARGEST_SCORE).all():
            explain(self.layout, w)
            raise NotFiniteError(f"the scores of clique {self.name!r} overflow; scale its features")
        if self.spread is not None:
            columns = np.ascontiguousarray(columns @ self.spread.T)
        scores = columns.reshape(len(columns), *self.shape)
        return Table(scores if self.fixed is None else scores + self.fixed, self.which, self.scale)

    def outline(self, batch: GraphBatch) -> Table:
        """Return a table of zeros, with scales where factors do not share one as it is."""
        shared = self.scale is None and (self.features is None or len(self.features) == 1)
        scores = np.zeros((1, *batch.graph.shape(self.name)))
        return Table(scores, None, None if shared else np.ones(len(batch.scopes[self.name])))

    def scatter(self, by_score: Floats, gradient: Floats, threads: int) -> None:
        """Write the gradient by the weights of the clique to its part of `gradient` [F]."""
        flat = by_score.reshape(len(by_score), prod(self.shape))
        if self.spread is not None:
            flat = flat @ self.spread
        part = self.layout.parts[self.name]
        if self.features is None:
            gradient[part] = flat[0][self.layout.block[self.name].cell]
        elif self.features.dense is not None:
            gradient[part] = (self.features.dense.T @ flat).ravel()
        else:
            rows = self.layout.rows(self.name)
            credit = np.ascontiguousarray(flat)
            _native.scatter(kernels, rows, self._index, credit, gradient, part.start, False, threads)


@dataclass(frozen=True, eq=False)
class GraphScores:
    """Potentials of a batch as a function of the weights."""

    layout: Layout
    batch: GraphBatch

    @once
    def cliques(self) -> tuple[CliqueScores, ...]:
        """The cliques of the graph, in its order."""
        return tuple(CliqueScores.of(self.layout, self.batch, name) for name in self.batch.graph.cliques)

    def potentials(self, w: Floats, *, threads: int | None = None) -> GraphPotentials:
        """Return the scores at the weights w [F]."""
        use = threads_or_all(threads)
        return GraphPotentials(self.batch, {each.name: each.table(w, use) for each in self.cliques})

    def outline(self) -> GraphPotentials:
        """Return potentials without scores: only which factors share a table is as in the true ones."""
        return GraphPotentials(self.batch, {each.name: each.outline(self.batch) for each in self.cliques})

    def scatter(self, by_score: Scores, out: Floats, *, threads: int | None = None) -> Floats:
        """Turn a gradient by the scores of tables into the one by weights [F], written to `out`."""
        use = threads_or_all(threads)
        for each in self.cliques:
            each.scatter(by_score[each.name], out, use)
        return out


def _distinct(given: CliqueFeatures) -> tuple[CliqueFeatures, Ids | None]:
    """Return the different rows of features, and which of them each factor has; itself where all differ."""
    if given.dense is not None:
        found, row = np.unique(given.dense, axis=0, return_inverse=True)
        made = CliqueFeatures(given.columns, dense=np.ascontiguousarray(found))
        return (given, None) if len(found) == len(given) else (made, row.reshape(-1).astype(np.int32))
    assert given.rows is not None
    first, which = _distinct_rows(given.rows)
    return (given, None) if len(first) == len(given) else (given.take(first), which)


def _distinct_rows(rows: Ragged) -> tuple[Pointers, Ids]:
    """Return a factor for each different row, and the number of the row of each factor."""
    length, which, first = np.diff(rows.ptr), np.zeros(len(rows.ptr) - 1, dtype=np.int32), []
    count = 0
    for n in np.unique(length).tolist():
        factors = np.flatnonzero(length == n)
        at = rows.ptr[factors][:, None] + np.arange(n)
        parts = [rows.id[at].astype(np.float64)]
        if rows.value is not None:
            parts.append(rows.value[at])
        _, one, row = np.unique(np.hstack(parts), axis=0, return_index=True, return_inverse=True)
        which[factors] = count + row.reshape(-1)
        first.append(factors[one])
        count += len(one)
    return np.concatenate(first) if first else np.zeros(0, dtype=np.int64), which
