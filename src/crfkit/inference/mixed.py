"""Marginal MAP: the best labels of some variables, summed over all others.

    max over x of log sum over h of exp(score(x, h))

Maxima and sums do not change places, so h is eliminated first, whatever order would be cheaper (Park &
Darwiche 2004). What is left is a graph over x, whose best labeling is `decode`'s. Where a table of the
elimination would be too large, its factors are split: one part is summed and the others maximized over the
variable, which is nowhere less (mini-buckets; Dechter & Rish 2003), so that the best value of the rest is an
upper bound. The value of the labeling that was found is its own sum, and a lower bound.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Bools, Floats
from crfkit.checks import check_number
from crfkit.inference import graphs as queries
from crfkit.inference.graph_results import GraphLabeling
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers


def marginal_map(
    potentials: GraphPotentials,
    summed: Iterable[str] | Mapping[str, ArrayLike],
    *,
    budget: int = 2**22,
    method: Method | str | None = None,
    threads: int | None = None,
) -> GraphLabeling:
    """Return the labels whose probability is highest when the other variables are summed out.

    Parameters
    ----------
    potentials : GraphPotentials
        Scores of one graph, or of a batch of graphs.
    summed : kinds, or mapping of masks
        Kinds that are summed out, or kind -> which of its variables are, [V]. Their labels are -1.
    budget : int
        Most cells of a table when they are summed out; beyond that the answer has bounds, and may not be the
        best one.
    method : a method of `crfkit.inference.methods`, or its name, optional
        What finds the best labels of the others. Default: `Auto`.
    threads : int, optional

    Returns
    -------
    GraphLabeling
        ``score`` is the log of the sum over the variables that were summed out.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> graph = Graph({"label": ["a", "b"], "state": 3}, own=["label", "state"])
    >>> scores = graph.batch(sizes={"label": 1, "state": 1}).potentials(own=[[2.0, -1, -1], [1.5, 1.5, 1.5]])
    >>> found = inference.marginal_map(scores, ["state"])
    >>> found.names("label").tolist(), round(found.score, 3)  # the best labeling has the label "a"
    (['b'], 2.599)
    """
    check_number("budget", budget, 1, whole=True)
    out = _mask(potentials, summed)
    reduced = without_observed(potentials)
    work = reduced.potentials
    gone = out if potentials.observed is None else out[potentials.observed < 0]
    elimination = _Elimination(work.batch.width.tolist(), budget)
    for scope, table in _factors(work):
        elimination.add(scope, table)
    elimination.run(np.flatnonzero(gone))
    kept = np.flatnonzero(~gone)
    label = np.full(len(gone), -1, dtype=np.int32)
    upper, proved = np.inf, True
    if len(kept):
        number = {int(v): i for i, v in enumerate(kept)}
        left = [([number[v] for v in scope], table) for scope, table in elimination.left()]
        rest = Graph.from_factors(work.batch.width[kept], left)
        best = queries.decode(rest, method, threads=threads)
        label[kept] = best["variable"]
        proved = bool(best.info.exact.all())
        if work.batch.graphs == 1:
            constant = 0.0 if work.constant is None else float(work.constant[0])
            upper = float(best.info.upper[0] if not proved else best.score) + constant
    given = reduced.label(label[None])[0]
    value = queries.log_partition(replace(potentials, observed=given), threads=threads)
    relaxed = np.zeros(work.batch.graphs, dtype=np.bool_)
    relaxed[work.batch.graph_of[np.flatnonzero(elimination.split)]] = True
    each: Floats = np.atleast_1d(np.asarray(value, dtype=np.float64))
    sure = value.info.exact
    exact = sure & ~relaxed & proved
    notes = (f"{elimination.splits} tables above {budget} cells were split: bounds, not proofs",)
    how = How.of(
        "marginal-map",
        work.batch.graphs,
        exact=exact,
        lower=np.where(sure, each, -np.inf),
        upper=np.where(exact, each, upper),
        notes=notes if elimination.splits else (),
    )
    given = np.where(out, -1, given)
    score = each[0].item() if potentials.single else each
    return GraphLabeling(potentials.batch.by_kind(given), score, how, potentials.structure.kinds)


def _mask(potentials: GraphPotentials, summed: Iterable[str] | Mapping[str, ArrayLike]) -> Bools:
    """Return which variables are summed out, [V]."""
    batch = potentials.batch
    given = (
        summed
        if isinstance(summed, Mapping)
        else dict.fromkeys([summed] if isinstance(summed, str) else summed)
    )
    out = np.zeros(batch.variables, dtype=np.bool_)
    for kind, which in given.items():
        if kind not in batch.kind_ptr:
            raise ValueError(f"{kind!r} is not a kind of the graph: {', '.join(map(repr, batch.kind_ptr))}")
        first, last = batch.kind_ptr[kind]
        mask = np.ones(last - first, dtype=np.bool_) if which is None else np.asarray(which)
        if mask.dtype != np.bool_ or mask.shape != (last - first,):
            raise ValueError(
                f"summed[{kind!r}] must be a mask of {last - first} variables, not {which!r:.60}"
            )
        out[first:last] = mask
    return out


def _factors(potentials: GraphPotentials) -> Iterator[tuple[list[int], Floats]]:
    """Yield scopes and tables of all factors."""
    for name, table in potentials.tables.items():
        scope = potentials.batch.scopes[name]
        which = table_numbers(table, len(scope))
        for m, variables in enumerate(scope.tolist()):
            scores = table.scores[which[m]]
            yield variables, scores if table.scale is None else scores * table.scale[m]


@dataclass
class _Elimination:
    """Factors, of which variables are summed out one after the other, the smallest tables first."""

    width: list[int]
    budget: int
    splits: int = 0
    split: Bools = field(init=False)  #: [V] at which variables tables were split

    def __post_init__(self) -> None:
        self.split = np.zeros(len(self.width), dtype=np.bool_)
        self._factors: dict[int, tuple[list[int], Floats]] = {}
        self._of: list[set[int]] = [set() for _ in self.width]
        self._next = 0

    def add(self, scope: list[int], table: Floats) -> None:
        """Take a factor."""
        self._factors[self._next] = (scope, table)
        for v in scope:
            self._of[v].add(self._next)
        self._next += 1

    def left(self) -> list[tuple[list[int], Floats]]:
        """Return the factors that are left."""
        return list(self._factors.values())

    def run(self, variables: NDArray[np.integer]) -> None:
        """Sum variables out."""
        waiting = {int(v) for v in variables}
        queue = [(self._cells(v), v) for v in waiting]
        heapq.heapify(queue)
        while queue:
            cells, v = heapq.heappop(queue)
            if v not in waiting:
                continue
            now = self._cells(v)
            if now != cells:
                heapq.heappush(queue, (now, v))
                continue
            waiting.discard(v)
            for u in self._sum_out(v) & waiting:
                heapq.heappush(queue, (self._cells(u), u))

    def _around(self, factors: Iterable[int]) -> list[int]:
        return sorted({u for f in factors for u in self._factors[f][0]})

    def _cells(self, v: int) -> int:
        return prod(self.width[u] for u in self._around(self._of[v])) if self._of[v] else self.width[v]

    def _sum_out(self, v: int) -> set[int]:
        """Sum a variable out; return its neighbors."""
        buckets: list[list[int]] = []
        for f in sorted(self._of[v], key=lambda f: (-self._factors[f][1].size, f)):
            fits = (b for b in buckets if prod(self.width[u] for u in self._around([*b, f])) <= self.budget)
            found = next(fits, None)
            if found is None:
                buckets.append([f])
            else:
                found.append(f)
        near = set(self._around(self._of[v])) - {v}
        if not buckets:
            self.add([], np.array(np.log(self.width[v])))
        for i, bucket in enumerate(buckets):
            scope = self._around(bucket)
            table = np.zeros([self.width[u] for u in scope])
            for f in bucket:
                own, scores = self._factors.pop(f)
                order = np.argsort(own)
                shape = [self.width[u] if u in own else 1 for u in scope]
                table = table + scores.transpose(order).reshape(shape)
                for u in own:
                    self._of[u].discard(f)
            axis = scope.index(v)
            self.add(scope[:axis] + scope[axis + 1 :], table.max(axis) if i else _log_sum(table, axis))
        if len(buckets) > 1:
            self.splits += 1
            self.split[v] = True
        return near


def _log_sum(table: Floats, axis: int) -> Floats:
    """Return the log of the sum of exponentials; -inf where all are impossible."""
    most = table.max(axis, keepdims=True)
    finite = np.where(np.isneginf(most), 0.0, most)
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(table - finite).sum(axis)) + finite.squeeze(axis)
    return total
