"""Calls of all parts that take some MB each: what is tried where memory is short."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from crfkit import Chain, Graph, Model, SemiMarkov, Stop, Tagger, inference, train
from crfkit.data import read
from crfkit.features import ItemExtractor

__all__ = ["make_calls"]

N, T, L, A = 150, 20, 8, 6000


def make_calls(folder: Path, threads: int | None = None) -> dict[str, Callable[[], Any]]:
    """Return calls that take some MB each, with all that they need made before.

    With threads, the C library may end the process: it takes memory for the variables of a thread when one
    of them is used first, and has no way to say that there is none.
    """
    rng = np.random.default_rng(0)
    X = [[[f"a{i}" for i in rng.integers(0, A, 6).tolist()] for _ in range(T)] for _ in range(N)]
    y = [[f"l{i}" for i in rng.integers(0, L, T).tolist()] for _ in X]
    tags = [["B-x" if t % 3 == 0 else "I-x" for t in range(T)] for _ in X]
    data, few = ItemExtractor()(X, y), ItemExtractor()(X[:40], y[:40])
    segments = ItemExtractor()(X[:40], tags[:40])
    stop = Stop(max_iterations=3)
    model = train(few, stop=stop)
    model.save(folder / "m.crf")
    words = rng.integers(0, 9000, 30000).tolist()
    (folder / "text").write_text("".join(f"w{i} p{i % 7} l{i % 5}\n" + "\n" * (i % 9 == 0) for i in words))
    P = 6000
    scores = Chain(30).potentials(
        rng.normal(size=(P, 30)), edge=rng.normal(size=(30, 30)), seq_ptr=np.arange(0, P + 1, 20)
    )
    _ = scores.problem
    side = 40
    graph = Graph({"pixel": 3}, unary=["pixel"], pair=["pixel", "pixel"])
    at = np.arange(side * side).reshape(side, side)
    across, down = np.stack([at[:, 1:], at[:, :-1]], -1), np.stack([at[1:], at[:-1]], -1)
    pairs = np.concatenate([across.reshape(-1, 2), down.reshape(-1, 2)])
    grid = graph.batch(sizes={"pixel": side * side}, scopes={"pair": pairs}).potentials(
        unary=rng.normal(size=(side * side, 3)), pair=rng.normal(size=(3, 3))
    )

    def learn(given: Any = data, **options: Any) -> Model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return train(given, stop=stop, threads=threads, **options)

    made: dict[str, Callable[[], Any]] = {
        "load": lambda: Model.load(folder / "m.crf").predict(X[:2]),
        "predict": lambda: model.predict(X, threads=threads),
        "marginals": lambda: model.marginals(data, threads=threads),
        "tag": lambda: [Tagger(model).tag(x) for x in X[:20]],
        "items": lambda: ItemExtractor()(X, y),
        "columns": lambda: read(folder / "text"),
        "edges": lambda: inference.marginals(scores, edges_by_position=True, threads=threads),
        "k best": lambda: inference.kbest(scores, 4, threads=threads),
        "sample": lambda: inference.sample(scores, 50, threads=threads),
        "order 2": lambda: learn(few, structure=Chain(order=2), optimiser="lbfgs"),
        "segments": lambda: learn(segments, structure=SemiMarkov(max_length=3)),
        "max-margin": lambda: learn(few, objective="max-margin", optimiser="bcfw"),
        "grid": lambda: inference.marginals(grid, method="belief-propagation", threads=threads),
        "best of a grid": lambda: inference.decode(grid, method="trws", threads=threads),
    }
    for optimiser in ("lbfgs", "owlqn", "sgd", "perceptron", "bcd"):
        made[f"train by {optimiser}"] = partial(learn, optimiser=optimiser)
    return made
