"""Why a variable of a graph has its label: the difference of two scores, split into what each weight adds.

The best labeling y is compared with y', the best one that has the runner-up at the variable. Both scores are
sums over factors and their attributes, and so is their difference:

    score(y) - score(y') = sum over factors m, attributes i of m: value_i (w_i[y_m] - w_i[y'_m]) + fixed

Only factors whose labels differ have a part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Ids
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.models.explain import entry
from crfkit.models.graph_model import Given, GraphModel
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique

if TYPE_CHECKING:
    from crfkit.structures.graphs.potentials import GraphPotentials

__all__ = ["FactorVariable", "GraphContribution", "GraphDecision", "explain_variable"]

_ROWS = 20  #: contributions that are printed


@dataclass(frozen=True)
class FactorVariable:
    """A variable of a factor, with its label in the best labeling and in the other one."""

    kind: str
    number: int  #: within its kind and graph
    label: str
    alternative: str

    def __str__(self) -> str:
        """Return the variable and its labels."""
        changed = "" if self.label == self.alternative else f", not {self.alternative}"
        return f"{self.kind} {self.number} {self.label}{changed}"


@dataclass(frozen=True)
class GraphContribution:
    """What one weight of one factor adds to the difference; above 0 it speaks for the label that won."""

    clique: str
    name: str  #: the attribute; "weight" where factors have none, "fixed" for scores that are not learned
    variables: tuple[FactorVariable, ...]
    amount: float


@dataclass(frozen=True)
class GraphDecision:
    """One variable: what won, against what, and by which weights of which factors."""

    kind: str
    number: int  #: within its kind and graph
    label: str
    probability: float  #: marginal
    runner_up: str | None  #: the most probable other label; None where no other is possible
    runner_up_probability: float
    contributions: tuple[GraphContribution, ...]  #: those that are not 0, the largest first
    how: How  #: of the best labeling

    @property
    def difference(self) -> float:
        """How much higher the best labeling scores than the alternative: the sum of the contributions."""
        return math.fsum(one.amount for one in self.contributions)

    def __str__(self) -> str:
        """Return a table."""
        head = f"{self.kind} {self.number} is {self.label} (p = {self.probability:.3f})"
        if self.runner_up is None:
            return f"{head}; no other label is possible"
        head += f", not {self.runner_up} (p = {self.runner_up_probability:.3f}): {self.difference:+.3f}"
        rows = [
            (f"{one.amount:+.3f}", one.clique, one.name, "; ".join(map(str, one.variables)))
            for one in self.contributions[:_ROWS]
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)] if rows else []
        lines = [
            f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}" for row in rows
        ]
        left = len(self.contributions) - len(rows)
        return "\n".join([head, *lines, *([f"  and {left} smaller ones"] if left else [])])


def explain_variable(
    model: GraphModel,
    batch: GraphBatch,
    variable: tuple[str, int],
    *,
    graph: int = 0,
    given: Given = None,
    method: Method | str | None = None,
    threads: int | None = None,
) -> GraphDecision:
    """Explain why a variable, (kind, number in its graph), has its label; see `GraphCRF.explain`.

    Examples
    --------
    >>> from crfkit import Graph, GraphCRF
    >>> from crfkit.graphs import scopes
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> model = GraphCRF(graph).fit(data).model_
    >>> print(explain_variable(model, data, ("token", 2), given={"token": ["D", "N", None]}))
    token 2 is N (p = 0.660), not D (p = 0.340): +0.664
      +0.664  step  weight  token 1 N; token 2 N, not D
    """
    batch = model.fitted(batch)
    if not isinstance(given, str) and given is not None:  # by kind, for all graphs
        batch = replace(batch, label=model.given(batch, given, threads=threads).observed)
        given = "labels"
    flat, one = _find(batch, variable, graph)
    scores = model.given(one, given, threads=threads)
    best = inference.decode(scores, method=method, threads=threads)
    label = np.concatenate([best[kind] for kind in one.kind_ptr])
    kind, number = variable
    y, p, r = int(label[flat]), *_runner_up(scores, one, flat, int(label[flat]), method, threads)
    names = _Names(one)
    won = names.label(kind, y)
    if r is None:
        return GraphDecision(kind, number, won, float(p[y]), None, 0.0, (), best.how)
    observed = np.full(one.variables, -1, dtype=np.int32) if scores.observed is None else scores.observed
    observed = observed.copy()
    observed[flat] = r
    other = inference.decode(replace(scores, observed=observed), method=method, threads=threads)
    against = np.concatenate([other[kind] for kind in one.kind_ptr])
    found = [c for c in _differences(model, one, names, label, against) if c.amount != 0.0]
    found.sort(key=lambda c: -abs(c.amount))
    return GraphDecision(
        kind, number, won, float(p[y]), names.label(kind, r), float(p[r]), tuple(found), best.how
    )


def _find(batch: GraphBatch, variable: tuple[str, int], graph: int) -> tuple[int, GraphBatch]:
    """Return the flat number of a variable in its graph alone, and that graph; checked."""
    if not 0 <= graph < batch.graphs:
        raise ValueError(f"graph is {graph}, expected 0 to {batch.graphs - 1}")
    given: Any = variable
    if np.shape(given) != (2,) or not isinstance(given[1], int | np.integer):
        raise TypeError(f"variable is {variable!r}, expected its kind and its number, as in ('token', 0)")
    kind, number = variable
    if kind not in batch.kind_ptr:
        raise ValueError(f"{kind!r} is not a kind of the graph: {', '.join(map(repr, batch.kind_ptr))}")
    one = batch.select([graph])
    first, last = one.kind_ptr[kind]
    if not 0 <= number < last - first:
        raise ValueError(
            f"graph {graph} has {last - first} variables of kind {kind!r}; {number} is not one of them"
        )
    return first + number, one


def _runner_up(
    scores: GraphPotentials, one: GraphBatch, flat: int, y: int, method: Method | str | None, threads: Any
) -> tuple[Any, int | None]:
    """Return the marginal of a variable [L], and its most probable label but y; None where there is none."""
    asked = None if method in ("posterior", "viterbi") else method
    p = inference.marginals(scores, cliques=False, method=asked, threads=threads).node
    kind, first = next((k, a) for k, (a, b) in one.kind_ptr.items() if a <= flat < b)
    here = np.array(p[kind][flat - first])
    rest = here.copy()
    rest[y] = 0.0
    return here, int(rest.argmax()) if rest.max() > 0.0 else None


class _Names:
    """Labels and variables of one graph as people call them."""

    def __init__(self, one: GraphBatch) -> None:
        self.one = one

    def label(self, kind: str, y: int) -> str:
        labels = self.one.graph.kinds[kind]
        return labels[y] if isinstance(labels, tuple) else str(y)

    def variable(self, flat: int, y: int, z: int) -> FactorVariable:
        kind, first = next((k, a) for k, (a, b) in self.one.kind_ptr.items() if a <= flat < b)
        return FactorVariable(kind, flat - first, self.label(kind, y), self.label(kind, z))


def _differences(
    model: GraphModel, one: GraphBatch, names: _Names, best: Ids, other: Ids
) -> Iterator[GraphContribution]:
    """Yield what every weight of every factor adds to score(best) - score(other)."""
    for clique, scope in one.scopes.items():
        made, shape = one.graph.cliques[clique], one.graph.shape(clique)
        fixed = made.fixed
        block, w = model.layout.block[clique], model.w[model.layout.parts[clique]]
        for m in np.flatnonzero((best[scope] != other[scope]).any(axis=1)).tolist():
            taken, instead = tuple(best[scope[m]].tolist()), tuple(other[scope[m]].tolist())
            counts = _counts(made, shape, taken, instead)
            variables = tuple(
                names.variable(v, y, z) for v, y, z in zip(scope[m].tolist(), taken, instead, strict=True)
            )
            if fixed is not None:
                yield GraphContribution(clique, "fixed", variables, float(fixed[taken] - fixed[instead]))
            for name, row, value in _attributes(model, one, clique, m):
                amount = sum(n * entry(block.ptr, block.cell, w, row, c) for c, n in counts)
                yield GraphContribution(clique, name, variables, value * amount)


def _counts(
    clique: Clique, shape: tuple[int, ...], taken: tuple[int, ...], instead: tuple[int, ...]
) -> list[tuple[int, float]]:
    """Return the weights by column that two cells differ in, and how much more they count in the first."""
    if clique.counts is None:
        numbers = clique.numbers(shape)
        pairs = [(int(numbers[taken]), 1.0), (int(numbers[instead]), -1.0)]
        return [pair for pair in pairs if pair[0] >= 0]
    more = clique.counts[taken] - clique.counts[instead]  # [weights]
    return [(int(c), float(more[c])) for c in np.flatnonzero(more)]


def _attributes(model: GraphModel, one: GraphBatch, clique: str, m: int) -> Iterator[tuple[str, int, float]]:
    """Yield the name, the row of weights and the value of each attribute of a factor."""
    given = one.features.get(clique)
    if given is None:
        yield "weight", 0, 1.0
    elif given.dense is not None:
        for k, value in enumerate(given.dense[m].tolist()):
            yield f"column {k}", k, value
    else:
        assert given.rows is not None
        known = model.attributes.get(clique)
        for i in range(int(given.rows.ptr[m]), int(given.rows.ptr[m + 1])):
            a = int(given.rows.id[i])
            value = 1.0 if given.rows.value is None else float(given.rows.value[i])
            yield (f"attribute {a}" if known is None else known[a]), a, value
