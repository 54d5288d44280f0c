"""Small data of every kind, for tests of the public face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crfkit import Graph
from crfkit.graphs import scopes

WORDS = [["the", "old", "dog", "in", "New", "York"], ["a", "dog"], ["York", "is", "old"], ["the", "York"]]
TAGS = [["O", "O", "O", "O", "B-LOC", "I-LOC"], ["O", "O"], ["B-LOC", "O", "O"], ["O", "B-LOC"]]
ITEMS = [[{"w": word, "upper": word[0].isupper()} for word in sentence] for sentence in WORDS]


def columns_file(folder: Path) -> Path:
    lines = [
        "\n".join(f"{w} {t}" for w, t in zip(*pair, strict=True)) for pair in zip(WORDS, TAGS, strict=True)
    ]
    path = folder / "train.txt"
    path.write_text("\n\n".join(lines) + "\n")
    return path


def saved(crf: Any, folder: Path) -> Path:
    crf.save(folder / "m.crf")
    return folder / "m.crf"


PTR = [0, 3, 5]
GRAPH = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])


def graphs() -> Any:
    return GRAPH.batch(
        graph_ptr=PTR,
        labels={"token": ["D", "N", "N", "D", "N"]},
        features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
        scopes={"step": scopes.chain(PTR)},
    )


def images() -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(0)
    X = [random.normal(size=(4, 5, 2)) for _ in range(6)]
    return X, [(image[:, :, 0] > 0).astype(int) for image in X]
