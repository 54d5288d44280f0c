"""Queries of `bench.compare`: chains and graphs of given scores, many small calls, and a text of CRFsuite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["query_calls"]

SMALL = 50  # calls on one short sequence


def query_calls(items: Path, text: Path) -> dict[str, Callable[[], object]]:
    """Return calls by name; `items` are lines of JSON with items and labels, `text` is written from them."""
    from crfkit import Chain, Graph, inference
    from crfkit.data.reading import read

    rng = np.random.default_rng(0)

    def chain(labels: int, positions: int = 4000) -> Any:
        steps = rng.normal(size=(labels, labels))
        ends = np.arange(0, positions + 1, 20)
        return Chain(labels).potentials(rng.normal(size=(positions, labels)), edge=steps, seq_ptr=ends)

    one, few, some, many = chain(9, 20), chain(9), chain(23), chain(45)
    side = 40
    at = np.arange(side * side).reshape(side, side)
    across, down = np.stack([at[:, 1:], at[:, :-1]], -1), np.stack([at[1:], at[:-1]], -1)
    pairs = np.concatenate([across.reshape(-1, 2), down.reshape(-1, 2)])
    graph = Graph({"pixel": 3}, unary=["pixel"], pair=["pixel", "pixel"])
    grid = graph.batch(sizes={"pixel": side * side}, scopes={"pair": pairs}).potentials(
        unary=rng.normal(size=(side * side, 3)), pair=rng.normal(size=(3, 3))
    )
    with items.open(encoding="utf-8") as lines, text.open("w", encoding="utf-8") as out:
        for line in lines:
            X, y = json.loads(line)
            for x, label in zip(X, y, strict=True):
                names = (name.replace("\\", "\\\\").replace(":", "\\:") for name in x)
                out.write("\t".join([label, *names]) + "\n")
            out.write("\n")
    return {
        f"decode, {SMALL} short sequences": lambda: [inference.decode(one, threads=1) for _ in range(SMALL)],
        f"marginals, {SMALL} short sequences": lambda: [
            inference.marginals(one, threads=1) for _ in range(SMALL)
        ],
        "decode, 45 labels": lambda: inference.decode(many, threads=1),
        "marginals with steps, 23 labels": lambda: inference.marginals(
            some, edges_by_position=True, threads=1
        ),
        "10 samples, 23 labels": lambda: inference.sample(some, 10, threads=1),
        "5 best, 9 labels": lambda: inference.kbest(few, 5, threads=1),
        "5 best, 23 labels": lambda: inference.kbest(some, 5, threads=1),
        "belief propagation on a grid": lambda: inference.marginals(
            grid, method="belief-propagation", threads=1
        ),
        "trws on a grid": lambda: inference.decode(grid, method="trws", threads=1),
        "reading CRFsuite's text": lambda: read(str(text), format="crfsuite"),
    }
