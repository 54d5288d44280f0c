"""Random graphs: small ones that can be enumerated, and grids, chains, trees and cycles of any size.

Every maker takes a generator and returns potentials. Scores are normal with the standard deviation
`strength`; a cell of a table is -inf with the probability `forbidden`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from crfkit import Graph
from crfkit.arrays import Floats, Ids, pointers
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials


def random_graph(
    rng: Generator,
    *,
    variables: int = 6,
    arity: int = 3,
    labels: tuple[int, int] = (2, 5),
    graphs: int = 2,
    factors: int = 3,
    cliques: int = 4,
    forbidden: float = 0.1,
    strength: float = 1.0,
    scaled: bool = True,
    single: bool = False,
) -> GraphPotentials:
    """Return graphs with up to three kinds of variables and cliques of 1 to `arity` variables.

    A graph has 1 to `variables` variables, `cliques` kinds of cliques with at most `factors` factors each,
    drawn so that scopes repeat, some variables have no factor, and most graphs have several components.
    Tables are one for all factors, one for each, or several that factors share; some factors are scaled.
    """
    low, high = labels
    kinds = {name: int(rng.integers(low, high + 1)) for name in "abc"[: int(rng.integers(1, 4))]}
    names = list(kinds)
    graphs = 1 if single else graphs
    sizes = np.zeros((graphs, len(names)), dtype=np.int64)
    for row in sizes:
        for column in rng.integers(0, len(names), size=int(rng.integers(1, variables + 1))):
            row[column] += 1
    ptr = {name: pointers(sizes[:, i]) for i, name in enumerate(names)}
    members: dict[str, list[str]] = {}
    scopes: dict[str, Any] = {}
    for number in range(cliques):
        wanted = 1 if number == 0 else int(rng.integers(1, arity + 1))
        members[f"c{number}"] = [names[i] for i in rng.integers(0, len(names), size=wanted)]
        scopes[f"c{number}"] = _random_scope(rng, members[f"c{number}"], ptr, graphs, factors)
    graph = Graph(kinds, **members)
    batch = graph.batch(
        graph_ptr=None if single else ptr, sizes={name: int(p[-1]) for name, p in ptr.items()}, scopes=scopes
    )
    tables = {
        name: _random_table(rng, len(scope), graph.shape(name), forbidden, strength, scaled)
        for name, scope in batch.scopes.items()
        if len(scope)
    }
    return replace(batch.potentials(**tables), constant=rng.normal(size=graphs))


def _random_scope(rng: Generator, kinds: list[str], ptr: Any, graphs: int, factors: int) -> Ids:
    rows = []
    for n in range(graphs):
        for _ in range(int(rng.integers(0, factors + 1))):
            row: list[int] = []
            for i, kind in enumerate(kinds):
                taken = {row[j] for j in range(i) if kinds[j] == kind}
                free = [v for v in range(ptr[kind][n], ptr[kind][n + 1]) if v not in taken]
                if not free:
                    break
                row.append(int(rng.choice(free)))
            else:
                rows.append(row)
    return np.array(rows, dtype=np.int32).reshape(-1, len(kinds))


def _random_table(
    rng: Generator, factors: int, shape: tuple[int, ...], forbidden: float, strength: float, scaled: bool
) -> Table:
    form = int(rng.integers(0, 3))  # one for all, one for each, shared
    tables = (1, factors, int(rng.integers(1, 4)))[form]
    scale = rng.uniform(0.2, 2.0, size=factors) if scaled and rng.random() < 0.5 else None
    which = rng.integers(0, tables, size=factors) if form == 2 else None
    return Table(scores(rng, (tables, *shape), forbidden, strength), which, scale)


def scores(rng: Generator, shape: tuple[int, ...], forbidden: float = 0.0, strength: float = 1.0) -> Floats:
    """Return normal scores, some of them -inf."""
    made = rng.normal(scale=strength, size=shape)
    made[rng.random(shape) < forbidden] = -np.inf
    return made


def pairwise(
    rng: Generator,
    variables: int,
    edges: Any,
    labels: int,
    *,
    strength: float = 1.0,
    forbidden: float = 0.0,
    pair: Any = None,
) -> GraphPotentials:
    """Return one graph with scores of its own for every variable and edge, or `pair` for all edges."""
    graph = Graph({"node": labels}, look=["node"], edge=["node", "node"])
    scope = np.asarray(edges, dtype=np.int32).reshape(-1, 2)
    batch = graph.batch(sizes={"node": variables}, scopes={"edge": scope})
    between = scores(rng, (len(scope), labels, labels), forbidden, strength) if pair is None else pair
    return batch.potentials(look=scores(rng, (variables, labels), strength=strength), edge=between)


def grid(rng: Generator, rows: int, columns: int, labels: int, **options: Any) -> GraphPotentials:
    """Return a grid with 4 neighbors; variable ``r * columns + c`` lies at (r, c)."""
    number = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    right = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return pairwise(rng, rows * columns, np.concatenate([right, down]), labels, **options)


def chain_graph(rng: Generator, length: int, labels: int, **options: Any) -> GraphPotentials:
    """Return a chain."""
    first = np.arange(length - 1)
    return pairwise(rng, length, np.column_stack([first, first + 1]), labels, **options)


def tree_graph(rng: Generator, variables: int, labels: int, **options: Any) -> GraphPotentials:
    """Return a random tree; the edges are in random order and direction."""
    child = np.arange(1, variables)
    edges = np.column_stack([child, rng.integers(0, child)])
    flipped = rng.random(len(edges)) < 0.5
    edges[flipped] = edges[flipped, ::-1]
    return pairwise(rng, variables, rng.permutation(edges), labels, **options)


def cycle(rng: Generator, length: int, labels: int, **options: Any) -> GraphPotentials:
    """Return a cycle, of 3 variables or more."""
    first = np.arange(length)
    return pairwise(rng, length, np.column_stack([first, (first + 1) % length]), labels, **options)


def labeling(rng: Generator, potentials: GraphPotentials) -> dict[str, Ids]:
    """Return random labels of all variables, by kind, allowed or not."""
    flat = rng.integers(0, potentials.batch.width).astype(np.int32)
    return potentials.batch.by_kind(flat)
