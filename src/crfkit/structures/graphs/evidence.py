"""Evidence: observed variables are cut out of a graph, and their labels come back in the answers.

A table is sliced at the observed labels, so that what is given makes inference cheaper, never dearer. Factors
that share a table and see the same labels share the slice as well. What is cut and what is left depend on
scopes and given labels, not on scores: the batch keeps them, and training with hidden labels asks again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, Table, table_numbers

#: Patterns of given labels whose cuts a batch keeps.
_KEPT = 4


@dataclass(frozen=True, eq=False)
class Cut:
    """Factors of one clique in which the same places are observed."""

    clique: str
    name: str  #: of what is left of them
    factors: Pointers  #: [m]
    seen: Bools  #: [arity]
    at: tuple[Any, ...]  #: the slices of the tables, or the cells where everything is observed
    which: Ids  #: [m] the slice of each factor; its graph where everything is observed


@dataclass(frozen=True, eq=False)
class Cuts:
    """How observed variables are cut out of a batch, whatever its scores."""

    rest: GraphBatch
    cuts: tuple[Cut, ...]


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
        """Return labelings [k, V] with the observed labels; -1 stays where there is no labeling."""
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

    def counts(self, counts: Mapping[str, Floats], weight: Floats) -> dict[str, Floats]:
        """Return counts by table, [K, L1, ..., La]: those of what is left, and of observed labels.

        Parameters
        ----------
        counts : mapping
            Counts of what is left, by its tables.
        weight : array [N]
            Weight of each graph.
        """
        if self._observed is None:
            return dict(counts)
        made = {name: np.zeros(table.scores.shape) for name, table in self.whole.tables.items()}
        for cut in self.cuts:
            table, out = self.whole.tables[cut.clique], made[cut.clique]
            if not cut.seen.any():
                out += counts[cut.name]
            elif not cut.seen.all():
                out[cut.at] += counts[cut.name]  # no slice is there twice
            else:
                each = (
                    weight[cut.which] if table.scale is None else weight[cut.which] * table.scale[cut.factors]
                )
                cell = np.ravel_multi_index(cut.at, out.shape)
                out += np.bincount(cell, each, minlength=out.size).reshape(out.shape)
        return made


def without_observed(potentials: GraphPotentials) -> Reduced:
    """Return the potentials of the variables that are not observed."""
    observed, batch = potentials.observed, potentials.batch
    if observed is None or not (observed >= 0).any():
        return Reduced(potentials, potentials)
    plan = _kept_cuts(potentials, observed)
    constant = np.zeros(batch.graphs) if potentials.constant is None else potentials.constant.copy()
    tables = {}
    for cut in plan.cuts:
        table = potentials.tables[cut.clique]
        scale = None if table.scale is None else table.scale[cut.factors]
        if cut.seen.all():
            terms = table.scores[cut.at]
            terms = terms if scale is None else terms * scale
            constant += np.bincount(cut.which, terms, minlength=batch.graphs)
        else:
            sliced = np.ascontiguousarray(table.scores[cut.at]) if cut.seen.any() else table.scores
            tables[cut.name] = Table(sliced, cut.which, scale)
    return Reduced(potentials, GraphPotentials(plan.rest, tables, constant), plan.cuts)


def _kept_cuts(potentials: GraphPotentials, observed: Ids) -> Cuts:
    """Return the cuts that given labels [V] make, made once for a pattern of labels and shared tables."""
    mark = hashlib.blake2b(observed.tobytes(), digest_size=16)
    for name, table in potentials.tables.items():
        mark.update(f"{name} {table.scores.shape} {table.which is None};".encode())
        mark.update(b"" if table.which is None else table.which.tobytes())
    kept: dict[bytes, Cuts] = potentials.batch.prepared("observed", dict)
    found = kept.get(mark.digest())
    if found is None:
        if len(kept) >= _KEPT:
            kept.clear()
        found = kept[mark.digest()] = _cuts(potentials, observed)
    return found


def _cuts(potentials: GraphPotentials, observed: Ids) -> Cuts:
    batch, free = potentials.batch, observed < 0
    number = np.cumsum(free, dtype=np.int32) - np.int32(1)  # [V] flat variable -> what it becomes
    cuts, scopes, arity = [], {}, {}
    for name, table in potentials.tables.items():
        scope = batch.scopes[name]
        which = table_numbers(table, len(scope))
        seen = ~free[scope]  # [M, arity]
        pattern = seen @ (1 << np.arange(scope.shape[1]))  # [M]
        for code in np.unique(pattern).tolist():
            factors = np.flatnonzero(pattern == code)
            mask = seen[factors[0]]
            left = name if not mask.any() else f"{name} given {code}"
            labels = observed[scope[factors]]
            if mask.all():
                at = (which[factors], *labels.T)
                cuts.append(Cut(name, left, factors, mask, at, batch.graph_of[scope[factors, 0]]))
                continue
            scopes[left] = np.ascontiguousarray(number[scope[factors][:, ~mask]])
            arity[left] = int((~mask).sum())
            if not mask.any():
                cuts.append(Cut(name, left, factors, mask, (), which[factors]))
                continue
            sizes = (n for n, one in zip(table.scores.shape[1:], mask, strict=True) if one)
            shape = (len(table.scores), *sizes)
            keys = np.ravel_multi_index((which[factors], *labels[:, mask].T), shape)
            found, row = np.unique(keys, return_inverse=True)
            first, *seen_labels = np.unravel_index(found, shape)
            every = np.zeros((len(found), len(mask)), dtype=np.int64)
            every[:, mask] = np.column_stack(seen_labels)
            slices = _at(first, every, mask)
            cuts.append(Cut(name, left, factors, mask, slices, row.reshape(-1).astype(np.int32)))
    width = batch.width[free]
    graph = Graph({"variable": width}, **{name: Clique(*["variable"] * n) for name, n in arity.items()})
    rest = GraphBatch(
        graph, {"variable": (0, len(width))}, width, batch.graph_of[free], batch.graphs, batch.single, scopes
    )
    return Cuts(rest, tuple(cuts))


def _at(first: Pointers, labels: Ids | Pointers, seen: Bools) -> tuple[Any, ...]:
    """Return the index of slices: rows `first`, the observed labels, and all labels of free variables."""
    return (first, *(labels[:, i] if seen[i] else slice(None) for i in range(len(seen))))
