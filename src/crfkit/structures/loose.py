"""Loose factors, as files have them: those of one shape become one clique of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids, as_finite_scores
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import make_batch
from crfkit.structures.graph_potentials import GraphPotentials, Table

__all__ = ["potentials_of_factors"]


def potentials_of_factors(
    width: ArrayLike, factors: Iterable[tuple[Sequence[int], ArrayLike]]
) -> GraphPotentials:
    """Return one graph of loose factors; see `Graph.from_factors`."""
    widths = np.asarray(width)
    if widths.ndim != 1 or (widths.size and widths.dtype.kind not in "iu"):
        raise ValueError("width must be the number of labels of each variable, one integer each")
    if widths.size and int(widths.min()) < 1:
        v = int(np.argmin(widths))
        raise ValueError(f"width[{v}] is {widths[v]}, expected 1 or more")
    groups: dict[tuple[int, ...], tuple[list[Sequence[int]], list[Floats]]] = {}
    constant = 0.0
    for m, (scope, scores) in enumerate(factors):
        table = as_finite_scores(scores, f"the table of factor {m}")
        variables = [int(v) for v in scope]
        for v in variables:
            if not 0 <= v < len(widths):
                raise ValueError(f"factor {m} has variable {v}, expected 0 to {len(widths) - 1}")
        if len(set(variables)) < len(variables):
            raise ValueError(f"factor {m} has a variable twice: {variables}")
        shape = tuple(int(widths[v]) for v in variables)
        if table.shape != shape:
            raise ValueError(f"the table of factor {m} has shape {table.shape}, expected {shape}")
        if not shape:
            constant += float(table)
            continue
        scopes, tables = groups.setdefault(shape, ([], []))
        scopes.append(variables)
        tables.append(table)
    named = {"x".join(map(str, shape)): group for shape, group in groups.items()}
    graph = Graph(
        {"variable": widths.astype(np.int32)},
        **{name: ["variable"] * len(scopes[0]) for name, (scopes, _) in named.items()},
    )
    batch = make_batch(graph, None, {}, {}, {name: _scopes(group[0]) for name, group in named.items()}, {})
    stacked = {name: Table(np.stack(group[1])) for name, group in named.items()}
    return GraphPotentials(batch, stacked, np.array([constant]))


def _scopes(rows: list[Sequence[int]]) -> Ids:
    return np.array(rows, dtype=np.int32)
