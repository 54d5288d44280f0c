"""Snakes (Nowozin et al. 2011; PyStruct's example): accuracy and time by objective.

    python -m bench.snakes "likelihood after pseudo-likelihood" max-margin --seconds 15

Node features are the colors of the 3 x 3 neighborhood; edge features are those of both ends, by direction.
PyStruct documents 0.847 with directions alone and 0.999 with edge features, after 20 minutes on one core.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from crfkit import Graph, GraphCRF, Likelihood, Stop
from crfkit.inference.methods import TRWS, BeliefPropagation, CombiLP, Method
from crfkit.objectives import MaxMargin, Perceptron, PseudoLikelihood
from crfkit.structures.graphs.batch import GraphBatch

FOLDER = Path(os.environ.get("CRFKIT_DATA", "../shared/data"))
LABELS, COLORS = 11, 5


def snakes(part: str, *, edge_features: bool = True) -> GraphBatch:
    """Return the images of "train" or "test" as graphs."""
    with np.load(FOLDER / "snakes" / "snakes.npz") as data:
        arrays = {name.removeprefix(f"{part}_"): data[name] for name in data.files if name.startswith(part)}
    graph = Graph({"pixel": LABELS}, look=["pixel"], right=["pixel", "pixel"], down=["pixel", "pixel"])
    ptr = arrays["node_offsets"].astype(np.int64)
    look = np.concatenate(
        [
            neighborhood(arrays["color"][a:b].reshape(shape))
            for a, b, shape in zip(ptr[:-1], ptr[1:], arrays["shapes"].tolist(), strict=True)
        ]
    )  # [V, 9] ids of color and place, -1 beyond the border
    starts = np.repeat(ptr[:-1], np.diff(arrays["edge_offsets"]))
    edges = arrays["edges"].astype(np.int64) + starts[:, None]
    scopes = {name: edges[arrays["edge_direction"] == d] for d, name in enumerate(("right", "down"))}
    features: dict[str, Any] = {"look": rows(look)}
    if edge_features:
        for name, scope in scopes.items():
            other = look[scope[:, 1]]
            both = np.hstack([look[scope[:, 0]], np.where(other >= 0, other + 9 * COLORS, -1)])
            features[name] = rows(both)
    return graph.batch(
        graph_ptr=ptr, labels={"pixel": arrays["labels"].astype(np.int32)}, scopes=scopes, features=features
    )


def neighborhood(color: Any) -> Any:
    """Return the colors around each pixel of an image as ids of place and color, [pixels, 9]."""
    height, width = color.shape
    padded = np.full((height + 2, width + 2), -1, dtype=np.int64)
    padded[1:-1, 1:-1] = color
    shifted = [padded[r : r + height, c : c + width].ravel() for r in range(3) for c in range(3)]
    return np.stack([np.where(x >= 0, x + COLORS * i, -1) for i, x in enumerate(shifted)], axis=1)


def rows(ids: Any) -> Any:
    """Return rows of ids as the arrays of a sparse matrix of ones; -1 is left out."""
    known = ids >= 0
    return np.concatenate([[0], np.cumsum(known.sum(axis=1))]), ids[known].astype(np.int32), None


def accuracy(crf: GraphCRF, data: GraphBatch, method: Method) -> float:
    """Return the share of pixels with the right label."""
    return float((crf.predict(data, method=method).ids["pixel"] == data.label).mean())


def learners(l2: float) -> dict[str, list[tuple[Any, Method | None, int]]]:
    """Return objectives, methods and iterations by name: each begins where the one before it ended."""
    pseudo = (PseudoLikelihood(l2=l2), None, 30)
    bp = BeliefPropagation(tol=1e-3, sweeps=30)
    return {
        "pseudo-likelihood": [pseudo],
        "likelihood": [(Likelihood(l2=l2), bp, 1000)],
        "likelihood after pseudo-likelihood": [pseudo, (Likelihood(l2=l2), bp, 12)],
        "max-margin": [(MaxMargin(l2=10.0 * l2), TRWS(sweeps=15), 1000)],
        "perceptron": [(Perceptron(), TRWS(sweeps=20), 1000)],
    }


def main() -> None:
    """Train by each objective, and print what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("learners", nargs="*", default=["likelihood after pseudo-likelihood"])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--directions", action="store_true", help="without edge features")
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    train, test = (snakes(part, edge_features=not given.directions) for part in ("train", "test"))
    for name in given.learners:
        begun, model, parts = time.perf_counter(), None, []
        for objective, method, iterations in learners(given.l2)[name]:
            left = max(given.seconds - (time.perf_counter() - begun), 0.1)
            crf = GraphCRF(
                train.graph,
                objective=objective,
                method=method,
                selection="all",
                init="zero" if model is None else model,
                stop=Stop(max_seconds=left, max_iterations=iterations),
                n_jobs=given.threads,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it is stopped on purpose
                model = crf.fit(train).model_
            assert model.training is not None
            parts.append(f"{model.training.iterations} iterations, loss {model.training.loss:.4g}")
        seconds = time.perf_counter() - begun
        right = ", ".join(f"{accuracy(crf, test, m):.4f} by {m}" for m in (TRWS(sweeps=200), CombiLP()))
        print(f"{name}: test {right}; {seconds:.1f} s; {'; '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
