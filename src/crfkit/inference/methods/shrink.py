"""Variables that are cheap to maximize out go before anything is relaxed.

The factors of a variable are added up into one table, and its best label is kept for each cell of the others:
exact, as in elimination. While the tables stay small, what is left is a smaller problem with fewer cells, and
a tighter one: its linear program has a lower bound, as factors that were one by one are now together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers

Scope = tuple[int, ...]
Factor = tuple[Scope, Floats]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """One graph with fewer variables, and the way back."""

    potentials: GraphPotentials
    variables: Pointers  #: [v] numbers of what is left
    count: int  #: variables that there were
    steps: Sequence[tuple[int, Scope, NDArray[np.int64]]]  #: variable, others, its best label for each cell

    def label(self, label: Ids) -> Ids:
        """Return labels of all variables, given those of what is left."""
        whole = np.zeros(self.count, dtype=np.int32)
        whole[self.variables] = label
        for variable, others, best in reversed(self.steps):
            whole[variable] = best[tuple(whole[list(others)])]
        return whole


def shrunk(potentials: GraphPotentials, most: int) -> Shrunk:
    """Return one graph without the variables whose factors have at most `most` cells together."""
    width = potentials.batch.width.tolist()
    pool = _Pool(width, most)
    for factor in _factors(potentials):
        pool.add(*factor)
    constant = 0.0 if potentials.constant is None else float(potentials.constant[0])
    left = np.ones(len(width), dtype=np.bool_)
    steps = []
    queue = [(pool.cells(v), v) for v in range(len(width))]
    heapify(queue)
    while queue:
        cells, v = heappop(queue)
        if not left[v] or cells > most:
            continue
        now = pool.cells(v)
        if now != cells:  # it has other factors since
            heappush(queue, (now, v))
            continue
        scope, table = pool.together(v)
        axis = scope.index(v)
        others = (*scope[:axis], *scope[axis + 1 :])
        steps.append((v, others, np.asarray(table.argmax(axis=axis))))
        left[v] = False
        if others:
            pool.add(others, table.max(axis=axis))
            for u in others:
                heappush(queue, (pool.cells(u), u))
        else:
            constant += float(table.max())
    variables = np.flatnonzero(left)
    number = np.cumsum(left) - 1
    factors = [([int(number[v]) for v in scope], table) for scope, table in pool.merged()]
    rest = Graph.from_factors(potentials.batch.width[left], [*factors, ([], np.float64(constant))])
    return Shrunk(rest, variables, len(width), steps)


@dataclass
class _Pool:
    """Factors, and which ones a variable is in."""

    width: list[int]
    most: int
    factor: dict[int, Factor] = field(default_factory=dict)
    of: dict[int, set[int]] = field(default_factory=dict)
    made: int = 0

    def add(self, scope: Scope, table: Floats) -> None:
        """Add a factor."""
        self.factor[self.made] = (scope, table)
        for v in scope:
            self.of.setdefault(v, set()).add(self.made)
        self.made += 1

    def take(self, number: int) -> Factor:
        """Remove a factor."""
        scope, table = self.factor.pop(number)
        for v in scope:
            self.of[v].remove(number)
        return scope, table

    def cells(self, v: int) -> int:
        """Return the size of the table of all factors of a variable; it is counted to `most` and beyond."""
        seen, total = {v}, self.width[v]
        for number in self.of.get(v, ()):
            for u in self.factor[number][0]:
                if u not in seen:
                    seen.add(u)
                    total *= self.width[u]
            if total > self.most:
                break
        return total

    def together(self, v: int) -> Factor:
        """Remove all factors of a variable, and return their sum."""
        factors = [self.take(number) for number in sorted(self.of.get(v, ()))]
        scope = tuple(sorted({v}.union(*(each for each, _ in factors))))
        total: Floats = np.zeros([self.width[u] for u in scope])
        for factor in factors:
            total += _spread(factor, scope)
        return scope, total

    def merged(self) -> list[Factor]:
        """Return the factors; those whose variables are all in another one are added to it."""
        for number in sorted(self.factor, key=lambda n: len(self.factor[n][0])):
            scope, _ = self.factor[number]
            if len(scope) < 2:
                continue  # scores of one variable cost nothing
            wider = set.intersection(*(self.of[v] for v in scope)) - {number}
            if wider:
                into = min(wider)
                small, (whole, table) = self.take(number), self.factor[into]
                self.factor[into] = (whole, table + _spread(small, whole))
        return list(self.factor.values())


def _spread(factor: Factor, scope: Scope) -> Floats:
    """Return the table of a factor with an axis for each variable of a larger scope."""
    own, table = factor
    order = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
    shape = [table.shape[own.index(v)] if v in own else 1 for v in scope]
    return table.transpose(order).reshape(shape)


def _factors(potentials: GraphPotentials) -> list[Factor]:
    made = []
    for name, table in potentials.tables.items():
        scope = potentials.batch.scopes[name]
        which = table_numbers(table, len(scope))
        for m, row in enumerate(scope.tolist()):
            scores = table.scores[which[m]]
            made.append((tuple(row), scores if table.scale is None else scores * table.scale[m]))
    return made
