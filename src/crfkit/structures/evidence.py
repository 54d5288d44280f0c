"""Evidence: observed variables are cut out of a graph, and their labels come back in the answers.

A table is sliced at the observed labels, so that what is given makes inference cheaper, never dearer. Factors
that share a table and see the same labels share the slice as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.structures.cliques import Clique
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import GraphBatch
from crfkit.structures.graph_potentials import GraphPotentials, Table, table_numbers

__all__ = ["Reduced", "without_observed"]


@dataclass(frozen=True, eq=False)
class Cut:
    """Factors of one clique in which the same places are observed."""

    clique: str
    name: str  #: of what is left of them
    factors: Pointers  #: [m]
    seen: Bools  #: [arity]


@dataclass(frozen=True, eq=False)
class Reduced:
    """Potentials without the observed variables, and the way back."""

    whole: GraphPotentials
    potentials: GraphPotentials
    cuts: tuple[Cut, ...] = ()

    @property
    def _observed(self) -> Ids | None:
        return None if self.whole is self.potentials else self.whole.observed

    def label(self, label: Ids) -> Ids:
        """Return labellings [k, V] with the observed labels; -1 stays where there is no labelling."""
        observed = self._observed
        if observed is None:
            return label
        out = np.repeat(observed[None], len(label), axis=0)
        out[:, observed < 0] = label
        return out

    def node(self, flat: Floats) -> Floats:
        """Return flat marginals of all variables: 1 at the observed labels."""
        observed = self._observed
        if observed is None:
            return flat
        batch = self.whole.batch
        out = np.zeros(int(batch.label_ptr[-1]))
        out[np.repeat(observed < 0, batch.width)] = flat
        known = np.flatnonzero(observed >= 0)
        out[batch.label_ptr[known] + observed[known]] = 1.0
        return out

    def clique(self, marginals: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Return marginals of all factors: 0 for cells that contradict the observed labels."""
        observed = self._observed
        if observed is None:
            return marginals
        made = {}
        for name, table in self.whole.tables.items():
            made[name] = np.zeros((len(self.whole.batch.scopes[name]), *table.scores.shape[1:]))
        for cut in self.cuts:
            labels = observed[self.whole.batch.scopes[cut.clique][cut.factors]]  # [m, arity]
            at = _at(cut.factors, labels, cut.seen)
            made[cut.clique][at] = 1.0 if cut.seen.all() else marginals[cut.name]
        return made


def without_observed(potentials: GraphPotentials) -> Reduced:
    """Return the potentials of the variables that are not observed."""
    observed, batch = potentials.observed, potentials.batch
    if observed is None or not (observed >= 0).any():
        return Reduced(potentials, potentials)
    free = observed < 0
    number = np.cumsum(free, dtype=np.int32) - np.int32(1)  # [V] flat variable -> what it becomes
    constant = np.zeros(batch.graphs) if potentials.constant is None else potentials.constant.copy()
    cuts, scopes, tables, arity = [], {}, {}, {}
    for name, table in potentials.tables.items():
        scope = batch.scopes[name]
        which = table_numbers(table, len(scope))
        seen = ~free[scope]  # [M, arity]
        pattern = seen @ (1 << np.arange(scope.shape[1]))  # [M]
        for code in np.unique(pattern).tolist():
            factors = np.flatnonzero(pattern == code)
            mask = seen[factors[0]]
            left = name if not mask.any() else f"{name} given {code}"
            cuts.append(Cut(name, left, factors, mask))
            labels = observed[scope[factors]]
            scale = None if table.scale is None else table.scale[factors]
            if mask.all():
                terms = table.scores[(which[factors], *labels.T)]
                terms = terms if scale is None else terms * scale
                graph = batch.graph_of[scope[factors, 0]]
                np.add.at(constant, graph, terms)
                continue
            scopes[left] = np.ascontiguousarray(number[scope[factors][:, ~mask]])
            arity[left] = int((~mask).sum())
            if not mask.any():
                tables[left] = Table(table.scores, which[factors], scale)
                continue
            shape = (
                len(table.scores),
                *(n for n, one in zip(table.scores.shape[1:], mask, strict=True) if one),
            )
            keys = np.ravel_multi_index((which[factors], *labels[:, mask].T), shape)
            found, row = np.unique(keys, return_inverse=True)
            first, *seen_labels = np.unravel_index(found, shape)
            every = np.zeros((len(found), len(mask)), dtype=np.int64)
            every[:, mask] = np.column_stack(seen_labels)
            sliced = table.scores[_at(first, every, mask)]
            tables[left] = Table(np.ascontiguousarray(sliced), row.reshape(-1).astype(np.int32), scale)
    width = batch.width[free]
    graph = Graph({"variable": width}, **{name: Clique(*["variable"] * n) for name, n in arity.items()})
    rest = GraphBatch(
        graph, {"variable": (0, len(width))}, width, batch.graph_of[free], batch.graphs, batch.single, scopes
    )
    return Reduced(potentials, GraphPotentials(rest, tables, constant), tuple(cuts))


def _at(first: Pointers, labels: Ids | Pointers, seen: Bools) -> tuple[Any, ...]:
    """Return the index of slices: rows `first`, the observed labels, and all labels of free variables."""
    return (first, *(labels[:, i] if seen[i] else slice(None) for i in range(len(seen))))
