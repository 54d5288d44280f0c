"""The best labeling of graphs that elimination cannot hold: what is known to work, tried in order.

Binary variables whose pairs do not contradict each other are cut, exactly. For the others TRW-S gives labels
and a bound; where tables are metric, expansion moves give further labels, and the better ones count (Szeliski
et al. 2008; Kappes et al. 2015). What is left open and small is proved by CombiLP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.errors import MethodError
from crfkit.inference.methods.combilp import CombiLP
from crfkit.inference.methods.cuts import MinCut
from crfkit.inference.methods.expansion import Expansion, is_metric
from crfkit.inference.methods.method import Labeled, Method
from crfkit.inference.methods.trws import TRWS
from crfkit.structures.graphs.parts import Part, part_of
from crfkit.structures.graphs.potentials import GraphPotentials

#: Graphs that are tried one by one, where all of them together are refused.
_SINGLY = 64
#: Scores that are looked at to find out whether tables are metric.
_COMPARED = 10**8
#: Columns of the linear program of a graph that CombiLP is asked to prove.
_COLUMNS = 2**20


def cut_graphs(potentials: GraphPotentials, threads: int) -> Iterator[tuple[Part, Labeled]]:
    """Yield the graphs that a minimum cut solves, with their best labelings."""
    batch = potentials.batch
    binary = np.ones(batch.graphs, dtype=np.bool_)
    binary[batch.graph_of[batch.width != 2]] = False
    for name in potentials.tables:
        if batch.scopes[name].shape[1] > 3:
            binary[batch.graph_of[batch.scopes[name][:, 0]]] = False
    yield from _answered(MinCut(), potentials, np.flatnonzero(binary), threads)


def search_labels(potentials: GraphPotentials, seconds: float, threads: int) -> Labeled:
    """Return the best labelings that were found, with bounds."""
    try:
        found = TRWS().best(potentials, threads)
    except MethodError:  # it came upon no allowed labeling of some graph
        return _program(potentials, seconds, threads)
    if _metric(potentials):
        for part, other in _answered(Expansion(), potentials, np.flatnonzero(~found.info.exact), threads):
            found = _improved(found, part, other)
    left = np.flatnonzero(~found.info.exact & (_columns(potentials) <= _COLUMNS))
    for part, other in _answered(CombiLP(seconds=seconds), potentials, left, threads):
        found = _improved(found, part, other)
    return found


def _program(potentials: GraphPotentials, seconds: float, threads: int) -> Labeled:
    """Return what CombiLP finds, which may be that there is no labeling."""
    try:
        return CombiLP(seconds=seconds).best(potentials, threads)
    except MethodError:
        raise MethodError(
            "auto found no allowed labeling of a component that is too wide to be eliminated, though there "
            "may be one; give Auto(budget=..., seconds=...) more"
        ) from None


def _answered(
    method: Method, potentials: GraphPotentials, graphs: ArrayLike, threads: int
) -> Iterator[tuple[Part, Labeled]]:
    """Yield some graphs with the answers of a method; without those that it refuses."""
    chosen = np.asarray(graphs)
    if not chosen.size:
        return
    part = part_of(potentials.batch, chosen)
    try:
        answer = method.best(part.potentials(potentials), threads)
    except MethodError:
        if 1 < chosen.size <= _SINGLY:
            for n in chosen:
                yield from _answered(method, potentials, [n], threads)
        return
    yield part, answer


def _metric(potentials: GraphPotentials) -> bool:
    """Return whether all factors are of one or two variables, and those of two metric."""
    pairs = []
    for table in potentials.tables.values():
        shape = table.scores.shape
        if len(shape) > 3 or (len(shape) == 3 and shape[1] != shape[2]):
            return False
        if len(shape) == 3:
            pairs.append(table.scores)
    compared = sum(scores.size * scores.shape[1] for scores in pairs)
    return 0 < compared <= _COMPARED and all(bool(is_metric(scores).all()) for scores in pairs)


def _columns(potentials: GraphPotentials) -> Floats:
    """Return the columns of the linear program of each graph, [N]."""
    batch = potentials.batch
    total: Floats = np.bincount(batch.graph_of, batch.width, minlength=batch.graphs).astype(np.float64)
    for name, table in potentials.tables.items():
        graph = batch.graph_of[batch.scopes[name][:, 0]]
        total += np.bincount(graph, minlength=batch.graphs) * float(np.prod(table.scores.shape[1:]))
    return total


def _improved(found: Labeled, part: Part, other: Labeled) -> Labeled:
    """Return the better labelings of each graph, and the tighter bounds of both answers."""
    at, label, score = part.graphs, found.label.copy(), found.score.copy()
    better = other.score[0] > score[0, at]
    moved = better[part.batch.graph_of]
    label[0, part.variables[moved]] = other.label[0, moved]
    score[0, at[better]] = other.score[0, better]
    how = replace(
        found.info,
        method=found.info.method.copy(),
        exact=found.info.exact.copy(),
        converged=found.info.converged.copy(),
        lower=np.maximum(found.info.lower, score[0]),
        upper=found.info.upper.copy(),
        notes=tuple(dict.fromkeys((*found.info.notes, *other.info.notes))),
    )
    how.upper[at] = np.minimum(how.upper[at], other.info.upper)
    how.method[at] = [f"{one} + {two}" for one, two in zip(how.method[at], other.info.method, strict=True)]
    near = how.upper[at] - score[0, at] <= 1e-9 * np.maximum(1.0, np.abs(score[0, at]))
    how.exact[at] |= other.info.exact | near
    how.converged[at] = np.where(better, other.info.converged, how.converged[at]) | how.exact[at]
    return Labeled(label, score, how)
