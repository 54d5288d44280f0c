"""Loose factors, as files have them: those of one shape become one clique of a graph; and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids, as_finite_scores, pointers
from crfkit.data.graphs.factor_list import FactorList, wrong_scope
from crfkit.structures.graphs.batch import make_batch
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, Table, table_numbers


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
    if widths.size and int(widths.max()) >= 2**31:
        v = int(np.argmax(widths))
        raise ValueError(f"width[{v}] is {widths[v]}, expected less than 2**31")
    scopes: list[Sequence[int]] = []
    tables: list[Floats] = []
    for m, (scope, scores) in enumerate(factors):
        scopes.append([int(v) for v in scope])
        tables.append(as_finite_scores(scores, f"the table of factor {m}"))
    scope_ptr = pointers([len(scope) for scope in scopes])
    flat = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    if wrong := wrong_scope(len(widths), scope_ptr, flat):
        raise ValueError(f"factor {wrong[0]} {wrong[1]}")
    wide = widths[flat].tolist()
    ends = scope_ptr.tolist()
    for m, table in enumerate(tables):
        shape = tuple(wide[ends[m] : ends[m + 1]])
        if table.shape != shape:
            raise ValueError(f"the table of factor {m} has shape {table.shape}, expected {shape}")
    return potentials_of_list(
        FactorList(
            widths.astype(np.int32),
            scope_ptr,
            flat.astype(np.int32),
            pointers([table.size for table in tables]),
            np.concatenate([np.zeros(0), *(table.ravel() for table in tables)]),
        )
    )


def potentials_of_list(given: FactorList) -> GraphPotentials:
    """Return one graph of factors that are known to be right; those that share a table still share it."""
    constant = 0.0
    scopes: dict[str, Ids] = {}
    tables: dict[str, Table] = {}
    for shape, factors in given.by_shape():
        number = given.table_of(factors)
        if not shape:
            constant += float(given.score[given.table_ptr[number]].sum())
            continue
        name = "x".join(map(str, shape))
        scopes[name] = given.scopes(factors)
        which = None
        if given.which is not None:
            number, inverse = np.unique(number, return_inverse=True)
            which = inverse.astype(np.int32)
        tables[name] = Table(given.scores(number).reshape(-1, *shape), which)
    graph = Graph(
        {"variable": given.width}, **{name: ["variable"] * scope.shape[1] for name, scope in scopes.items()}
    )
    batch = make_batch(graph, None, {}, {}, scopes, {}, {})
    return GraphPotentials(batch, tables, np.array([constant]))


def factors_of_potentials(potentials: GraphPotentials) -> FactorList:
    """Return the factors of one graph, clique by clique; observed labels are not looked at.

    Scales are multiplied in, and the constant is added to the first factor.
    """
    batch = potentials.batch
    if batch.graphs != 1:
        raise ValueError(f"a file holds one graph, and there are {batch.graphs}; save them one by one")
    scopes: list[Ids] = []
    scores: list[Floats] = []  # [k, cells] of each clique
    which: list[Ids] = []
    tables = 0
    for name, table in potentials.tables.items():
        scope = batch.scopes[name]
        number = table_numbers(table, len(scope))
        cells = table.scores.reshape(-1, prod(table.scores.shape[1:]))
        if table.scale is not None:
            cells = cells[number] * table.scale[:, None]
            number = np.arange(len(scope), dtype=np.int32)
        scopes.append(scope)
        scores.append(cells)
        which.append(number + np.int32(tables))
        tables += len(cells)
    flat_scope = np.concatenate([np.zeros(0, dtype=np.int32), *(scope.ravel() for scope in scopes)])
    length = [np.full(len(scope), scope.shape[1]) for scope in scopes]
    scope_ptr = pointers(np.concatenate([np.zeros(0, dtype=np.int64), *length]))
    numbers = np.concatenate([np.zeros(0, dtype=np.int32), *which])
    table_ptr = pointers([each.shape[1] for each in scores for _ in range(len(each))])
    flat = np.concatenate([np.zeros(0), *(each.ravel() for each in scores)])
    constant = 0.0 if potentials.constant is None else float(potentials.constant[0])
    if constant != 0.0:
        if not len(numbers):  # a factor that the constant can be added to
            some = flat_scope if not batch.variables else np.zeros(1, dtype=np.int32)
            flat_scope, scope_ptr, numbers = some, pointers([len(some)]), np.zeros(1, dtype=np.int32)
            flat = np.zeros(int(np.prod(batch.width[some])))
            table_ptr = pointers([len(flat)])
        first = int(numbers[0])
        own = flat[table_ptr[first] : table_ptr[first + 1]] + constant
        numbers = numbers.copy()
        numbers[0] = len(table_ptr) - 1
        flat = np.concatenate([flat, own])
        table_ptr = np.append(table_ptr, len(flat))
    return FactorList(batch.width, scope_ptr, flat_scope, table_ptr, flat, numbers)
