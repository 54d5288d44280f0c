"""Graphs with labels and features, to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit import Graph
from crfkit.graphs import Clique, scopes
from crfkit.structures.graphs.batch import GraphBatch

PTR = np.array([0, 4, 7, 8])


def graphs(seed: int, hidden: bool = False) -> GraphBatch:
    """Return three graphs with two kinds, skips, sparse and dense features, shared and scaled tables."""
    rng = np.random.default_rng(seed)
    graph = Graph(
        {"a": 3, "b": 2},
        word=["a"],
        step=["a", "a"],
        rung=["a", "b"],
        own=["b"],
        same=Clique("a", "a", cells="potts"),
    )
    labels = {"a": rng.integers(0, 3, 8), "b": rng.integers(0, 2, 8)}
    if hidden:
        labels["a"][::3] = -1
    sparse = (np.arange(9) * 2, rng.integers(0, 5, 16), rng.normal(size=16))
    return graph.batch(
        graph_ptr=PTR,
        labels=labels,
        scopes={"step": scopes.chain(PTR), "same": [[0, 2], [4, 6]]},
        features={
            "word": sparse,
            "own": rng.normal(size=(8, 2)),
            "step": rng.integers(0, 2, (5, 2)).astype(float),
            "same": np.array([[0.5], [2.0]]),
        },
    )


def grid(seed: int, side: int = 4, graphs: int = 2) -> GraphBatch:
    """Return a small image and others of two pixels, with gray values and contrasts."""
    rng = np.random.default_rng(seed)
    shapes = [(side, side), *[(1, 2)] * (graphs - 1)]
    near = np.concatenate(scopes.grid(shapes))
    ptr = np.cumsum([0, *(height * width for height, width in shapes)])
    y = rng.integers(0, 2, int(ptr[-1]))
    gray = y + rng.normal(size=len(y))
    graph = Graph(
        {"pixel": ["ground", "figure"]}, look=["pixel"], near=Clique("pixel", "pixel", cells="same")
    )
    contrast = np.exp(-np.square(gray[near[:, 0]] - gray[near[:, 1]]))[:, None]
    return graph.batch(
        graph_ptr=ptr,
        labels={"pixel": y},
        scopes={"near": near},
        features={"look": np.column_stack([np.ones(len(y)), gray]), "near": contrast},
    )


def latent_chains(seed: int) -> GraphBatch:
    """Return chains with two hidden states for each of two labels, tied to them by fixed scores."""
    rng = np.random.default_rng(seed)
    ptr = np.cumsum([0, *rng.integers(2, 7, 8)])
    P, L, S = int(ptr[-1]), 2, 2
    own = np.where(np.arange(S * L)[:, None] // S == np.arange(L), 0.0, -np.inf)
    graph = Graph(
        {"state": S * L, "label": L},
        look=["state"],
        step=["state", "state"],
        own=Clique("state", "label", fixed=own),
    )
    word = rng.integers(0, 5, 2 * P)
    word[:5] = np.arange(5)
    label = (word[::2] + rng.integers(0, 2, P)) % 2
    label[0] = 0
    return graph.batch(
        graph_ptr=ptr,
        labels={"label": label},
        scopes={"step": scopes.chain(ptr)},
        features={"look": (np.arange(P + 1) * 2, word, None)},
    )


def any_graphs(seed: int) -> GraphBatch:
    """Return small graphs of any shape: empty, with doubles, cliques without factors or weights."""
    rng = np.random.default_rng(seed)
    width = {f"k{i}": int(rng.integers(1, 4)) for i in range(rng.integers(1, 3))}
    N = int(rng.integers(1, 4))
    ptr = {k: np.cumsum([0, *rng.integers(0, 5 - len(width), N)]) for k in width}
    ptr["k0"][-1] += 1
    cliques, scope, features = {}, {}, {}
    for name in [f"c{i}" for i in range(rng.integers(1, 5))]:
        kinds = [str(k) for k in rng.choice([*width], rng.choice([1, 2, 2, 3]))]
        shape = tuple(width[k] for k in kinds)
        form: list[dict[str, Any]] = [
            {},
            {"cells": rng.integers(-1, 3, shape)},
            {"counts": rng.integers(0, 3, (*shape, 2))},
            {"fixed": rng.normal(size=shape)},
            {"fixed": rng.normal(size=shape), "cells": "free"},
            {"cells": "symmetric" if len({*kinds}) == 1 else "free"},
        ]
        cliques[name] = Clique(*kinds, **form[rng.integers(len(form))])
        graph = rng.integers(0, N, rng.integers(0, 9))
        ends = [(ptr[k][graph], ptr[k][graph + 1]) for k in kinds]
        rows = np.column_stack(
            [a + (b > a) * (rng.integers(0, 9, len(graph)) % np.maximum(b - a, 1)) for a, b in ends]
        )
        flat = rows + 100 * np.array([[*width].index(k) for k in kinds])
        differ = np.array([len({*row}) == len(row) for row in flat.tolist()], dtype=bool)
        kept = np.all([a < b for a, b in ends], axis=0) & differ
        scope[name] = rows[kept]
        M = int(kept.sum())
        many = np.cumsum([0, *rng.integers(0, 4, M)])
        known: list[Any] = [
            np.abs(rng.normal(size=(M, 1))),
            rng.integers(-1, 2, (M, 2)).astype(float),
            (many, rng.integers(0, 3, many[-1]), None),
            (many, rng.integers(0, 3, many[-1]), rng.integers(-1, 3, many[-1]).astype(float)),
        ]
        if rng.random() < 0.7:
            features[name] = known[rng.integers(len(known))]
    least = int(rng.choice([0, 0, -1]))
    return Graph(width, **cliques).batch(
        graph_ptr=ptr,
        labels={k: rng.integers(least, L, ptr[k][-1]) for k, L in width.items()},
        scopes=scope,
        features=features,
        cost={k: rng.random(p[-1]) for k, p in ptr.items()},
    )
