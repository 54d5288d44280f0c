"""Finders of scopes: which variables a clique scores together, as integer arrays [M, arity].

All are array operations, without a Python object for a factor. What they return goes into
`Graph.batch(scopes=...)`; several arrays of one clique are put together by `numpy.concatenate`.
"""

from crfkit.graphs.scopes.aggregates import aggregate
from crfkit.graphs.scopes.neighbors import chain, grid, pairs
from crfkit.graphs.scopes.queries import select
from crfkit.graphs.scopes.relations import join, same, simple
from crfkit.graphs.scopes.trees import chow_liu

__all__ = ["aggregate", "chain", "chow_liu", "grid", "join", "pairs", "same", "select", "simple"]
