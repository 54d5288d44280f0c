"""What methods that visit variables in turn have in common: blocks, labelings to start from, cliques."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.structures.graphs.potentials import GraphPotentials

FOUND, NONE = 0, 1  # how a search ended; 2: given up


def blocks_of(potentials: GraphPotentials, trees: bool) -> _native.Blocks:
    """Return blocks of variables that are visited together: trees, or single variables."""
    if trees:  # which follow the strongest factors
        return _native.Blocks(potentials.problem, True)
    key = ("blocks", tuple(potentials.tables))
    return potentials.batch.prepared(key, lambda: _native.Blocks(potentials.problem, False))


def first_labelings(
    potentials: GraphPotentials, count: int, seed: int, budget: int
) -> tuple[Ids, NDArray[np.uint8]]:
    """Return labelings to start from, [count, V], and how the searches ended for each graph, [N].

    The first has the best local labels, the others have random ones. Labels are -1 where none was found.
    """
    graph_of = potentials.batch.graph_of
    label = np.empty((count, potentials.batch.variables), dtype=np.int32)
    ends = np.empty((count, potentials.batch.graphs), dtype=np.uint8)
    for i in range(count):
        label[i], ends[i] = _native.first_labeling(potentials.problem, i > 0, seed + i & 2**64 - 1, budget)
    # A search that gave up starts from what another one has found.
    found = ends.argmin(axis=0)  # [N]
    other = np.take_along_axis(label, found[graph_of][None], axis=0)
    return np.where(ends[:, graph_of] == FOUND, label, other), ends.min(axis=0, initial=2)


def notes_of(end: NDArray[np.uint8]) -> tuple[str, ...]:
    """Return what users must know about searches for a first labeling."""
    lost = np.flatnonzero(end > NONE)
    if not lost.size:
        return ()
    return (f"no allowed labeling of graph {lost[0]} was found; method=Elimination() looks at all",)


def by_clique(potentials: GraphPotentials, flat: Floats) -> dict[str, Floats]:
    """Return marginals of factors, clique -> [M, L1, ..., La], that lie one after the other."""
    made: dict[str, Any] = {}
    first = 0
    for name, table in potentials.tables.items():
        shape = (len(potentials.batch.scopes[name]), *table.scores.shape[1:])
        last = first + int(np.prod(shape))
        made[name] = flat[first:last].reshape(shape)
        first = last
    return made
