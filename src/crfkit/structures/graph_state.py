"""Graphs with data that come back from pickles and copies: made anew from their parts, which checks these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crfkit.restored import NOTHING, Kinds, restoring, taken
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import GraphBatch, make_batch

__all__ = ["batch_of_state"]

_KINDS: Kinds = {
    "graph": Graph,
    "kind_ptr": dict,
    "width": np.ndarray,
    "graph_of": np.ndarray,
    "graphs": int,
    "single": bool,
    "scopes": dict,
    "label": (np.ndarray, NOTHING),
    "features": Mapping,
    "cost": (np.ndarray, NOTHING),
}
_NEEDED = ("graph", "kind_ptr", "width", "graph_of", "graphs", "single", "scopes")


def batch_of_state(state: object) -> GraphBatch:
    """Return the batch that `GraphBatch.__getstate__` made a state of.

    Examples
    --------
    >>> batch = Graph({"token": 2}, word=["token"]).batch(sizes={"token": 3})
    >>> batch_of_state(batch.__getstate__()).variables
    3
    """
    with restoring("GraphBatch"):
        given = taken(state, _NEEDED, _KINDS)
        graph, ends, of = given["graph"], given["kind_ptr"], given["graph_of"]
        numbers = np.arange(given["graphs"] + 1)
        ptr = {kind: np.searchsorted(of[a:b], numbers) for kind, (a, b) in ends.items()}
        first = {name: [ends[kind][0] for kind in c.kinds] for name, c in graph.cliques.items()}
        flat = {"labels": given.get("label"), "cost": given.get("cost")}
        by_kind = {
            what: {} if array is None else {kind: array[a:b] for kind, (a, b) in ends.items()}
            for what, array in flat.items()
        }
        return make_batch(
            graph,
            None if given["single"] else ptr,
            {kind: b - a for kind, (a, b) in ends.items()},
            by_kind["labels"],
            {name: scope - np.array(first[name]) for name, scope in given["scopes"].items()},
            given.get("features", {}),
            by_kind["cost"],
        )
