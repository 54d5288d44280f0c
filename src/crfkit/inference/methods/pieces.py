"""Answers put together: components of graphs that different methods answered become answers of whole graphs.

Components are independent, so that log Z, scores and bounds add up, and draws and labels lie side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.arrays import Floats, pointers, ranges
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Expected, Labeled, Summed
from crfkit.structures.graphs.parts import Components, Part
from crfkit.structures.graphs.potentials import GraphPotentials


def summed_together(
    whole: GraphPotentials, split: Components, pieces: Sequence[tuple[Part, Summed]]
) -> Summed:
    """Return the sums of whole graphs, given those of all components, each in one piece."""
    batch = whole.batch
    value, node = np.zeros(split.batch.graphs), np.zeros(int(batch.label_ptr[-1]))
    clique = {
        name: np.zeros((len(batch.scopes[name]), *table.scores.shape[1:]))
        for name, table in whole.tables.items()
        if any(name in summed.clique for _, summed in pieces)
    }
    for part, summed in pieces:
        value[part.graphs] = summed.value
        node[ranges(batch.label_ptr[part.variables], part.batch.width.astype(np.int64))] = summed.node
        for name, out in clique.items():
            if len(part.factors[name]):
                out[part.factors[name]] = summed.clique[name]
    how = _how(whole, split, [(part, summed.info.settled(summed.value)) for part, summed in pieces])
    return Summed(split.values(value, whole), node, clique, how)


def counted_together(
    whole: GraphPotentials, split: Components, pieces: Sequence[tuple[Part, Expected]]
) -> Expected:
    """Return the expected counts of whole graphs, given those of all components, each in one piece."""
    value = np.zeros(split.batch.graphs)
    by_score = {name: np.zeros(table.scores.shape) for name, table in whole.tables.items()}
    for part, found in pieces:
        value[part.graphs] = found.value
        for name, table in whole.tables.items():
            own = table.which is None and len(table.scores) > 1  # a table for each factor
            by_score[name][part.factors[name] if own else ...] += found.by_score[name]
    how = _how(whole, split, [(part, found.info.settled(found.value)) for part, found in pieces])
    return Expected(split.values(value, whole), by_score, how)


def labeled_together(
    whole: GraphPotentials, split: Components, pieces: Sequence[tuple[Part, Labeled]]
) -> Labeled:
    """Return labelings of whole graphs: number i is that of the labelings number i of all components."""
    k = len(pieces[0][1].label)
    label = np.full((k, whole.batch.variables), -1, dtype=np.int32)
    score = np.full((k, split.batch.graphs), -np.inf)
    for part, found in pieces:
        label[:, part.variables] = found.label
        score[:, part.graphs] = found.score
    total = split.values(score, whole)
    label[np.isneginf(total)[:, whole.batch.graph_of]] = -1
    hows = [(part, found.info.settled(found.score[0])) for part, found in pieces]
    return Labeled(label, total, _how(whole, split, hows))


def _how(whole: GraphPotentials, split: Components, pieces: Sequence[tuple[Part, How]]) -> How:
    C, N = split.batch.graphs, whole.batch.graphs
    every = How.of("", C, exact=True)
    for part, how in pieces:
        for name in ("method", "exact", "converged", "sweeps", "lower", "upper", "cells"):
            getattr(every, name)[part.graphs] = getattr(how, name)
    sweeps = np.zeros(N, dtype=np.int64)
    np.maximum.at(sweeps, split.graph, every.sweeps)
    cells = np.full(N, np.nan)  # of the largest component
    np.fmax.at(cells, split.graph, every.cells)
    order = np.argsort(split.graph, kind="stable")
    ends = pointers(np.bincount(split.graph, minlength=N))
    names = np.empty(N, dtype=object)
    for n in range(N):
        used = {str(name): None for name in every.method[order[ends[n] : ends[n + 1]]]}
        names[n] = " + ".join(used) or "elimination"
    return How(
        names,
        np.bincount(split.graph, ~every.exact, minlength=N) == 0,
        np.bincount(split.graph, ~every.converged, minlength=N) == 0,
        sweeps,
        split.values(every.lower, whole),
        _upper(split, every.upper, whole),
        cells,
        tuple(dict.fromkeys(note for _, how in pieces for note in how.notes)),
    )


def _upper(split: Components, upper: Floats, whole: GraphPotentials) -> Floats:
    """Add up bounds; a component without a labeling leaves none, whatever the others may have."""
    with np.errstate(invalid="ignore"):  # inf - inf
        total = split.values(upper, whole)
    return np.where(np.isnan(total), -np.inf, total)
