"""Why a variable of a graph has its label: the difference of two scores, split into what each weight adds.

The best labeling y is compared with y', the best one that has the runner-up at the variable. Both scores are
sums over factors and their attributes, and so is their difference:

    score(y) - score(y') = sum over factors m, attributes i of m: value_i (w_i[y_m] - w_i[y'_m]) + fixed

Only factors whose labels differ have a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Ids
from crfkit.inference.methods.method import Method
from crfkit.models.explain import entry
from crfkit.models.explanation import At, Contribution, Decision, Explanation, place_of
from crfkit.models.graph_model import Given, GraphModel
from crfkit.models.graph_queries import QueriedGraphs
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique


def explain_graph(
    model: GraphModel,
    asked: QueriedGraphs,
    at: Any = None,
    *,
    given: Given = None,
    method: Method | str | None = None,
    threads: int | None = None,
) -> Explanation:
    """Explain why the variables of one graph, or one of them, have their labels; see `GraphModel.explain`.

    Examples
    --------
    >>> from crfkit import Graph, GraphCRF
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> model = GraphCRF(graph).fit(data).model_
    >>> print(model.explain(data, ("token", 2), given={"token": ["D", "N", None]}))
    token 2 is N (p = 0.660), not D (p = 0.340): +0.664
      +0.664  step  weight  token 1 N; token 2 N, not D
    """
    one, names = asked.batch, _Names(asked)
    flat = None
    if at is not None:
        kind, number = asked.variable(at)
        flat = one.kind_ptr[kind][0] + number
    scores = model.given(one, given, threads=threads)
    best = inference.decode(scores, method=method, threads=threads)
    label = np.concatenate([best[kind] for kind in one.kind_ptr])
    summing = None if method in ("posterior", "viterbi") else method
    p = inference.marginals(scores, cliques=False, method=summing, threads=threads).node
    observed = np.full(one.variables, -1, dtype=np.int32) if scores.observed is None else scores.observed
    decisions = []
    for kind, (first, last) in one.kind_ptr.items():
        for v in range(first, last):
            if flat is not None and v != flat:
                continue
            y, here = int(label[v]), np.array(p[kind][v - first])  # [L]
            place, won = asked.place(kind, v - first), asked.label(kind, y)
            rest = here.copy()
            rest[y] = 0.0
            if not rest.max() > 0.0:
                decisions.append(Decision(place, won, float(here[y]), None, 0.0))
                continue
            r = int(rest.argmax())
            clamped = observed.copy()
            clamped[v] = r
            other = inference.decode(replace(scores, observed=clamped), method=method, threads=threads)
            against = np.concatenate([other[each] for each in one.kind_ptr])
            found = [c for c in _differences(model, one, names, label, against) if c.amount != 0.0]
            found.sort(key=lambda c: -abs(c.amount))
            second = (asked.label(kind, r), float(here[r]))
            decisions.append(Decision(place, won, float(here[y]), *second, tuple(found)))
    return Explanation(tuple(decisions), best.info)


class _Names:
    """Labels and variables of one graph as people call them."""

    def __init__(self, asked: QueriedGraphs) -> None:
        self.asked = asked

    def place(self, flat: int) -> At:
        return self.asked.place(*self._variable(flat))

    def variable(self, flat: int, y: int, z: int) -> str:
        kind, number = self._variable(flat)
        changed = "" if y == z else f", not {self.asked.label(kind, z)}"
        return f"{place_of(self.asked.place(kind, number))} {self.asked.label(kind, y)}{changed}"

    def _variable(self, flat: int) -> tuple[str, int]:
        sizes = self.asked.batch.kind_ptr.items()
        kind, first = next((k, a) for k, (a, b) in sizes if a <= flat < b)
        return kind, flat - first


def _differences(
    model: GraphModel, one: GraphBatch, names: _Names, best: Ids, other: Ids
) -> Iterator[Contribution]:
    """Yield what every weight of every factor adds to score(best) - score(other)."""
    for clique, scope in one.scopes.items():
        made, shape = one.graph.cliques[clique], one.graph.shape(clique)
        fixed = made.fixed
        block, w = model.layout.block[clique], model.w[model.layout.parts[clique]]
        for m in np.flatnonzero((best[scope] != other[scope]).any(axis=1)).tolist():
            taken, instead = tuple(best[scope[m]].tolist()), tuple(other[scope[m]].tolist())
            counts = _counts(made, shape, taken, instead)
            at = tuple(map(names.place, scope[m].tolist()))
            variables = tuple(
                names.variable(v, y, z) for v, y, z in zip(scope[m].tolist(), taken, instead, strict=True)
            )
            if fixed is not None:
                yield Contribution("fixed", clique, at, float(fixed[taken] - fixed[instead]), variables)
            for name, row, value in _attributes(model, one, clique, m):
                amount = sum(n * entry(block.ptr, block.cell, w, row, c) for c, n in counts)
                yield Contribution(name, clique, at, value * amount, variables)


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
