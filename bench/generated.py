"""Sequences of `bench.corpora` that do not come from text: letters as pixels, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.corpus_features import Items, Rows

Made = Iterator[tuple[Items, list[str]]]


def letters(path: Path) -> Made:
    """Yield handwritten words: set pixels as features of value 1, ink and center as real values."""
    with np.load(path, allow_pickle=False) as file:
        pixels, labels, offsets = file["pixels"], file["labels"], file["word_offsets"]
    ink = pixels.sum(axis=1)  # [P] of 128 pixels
    rows, columns = np.divmod(np.arange(pixels.shape[1]), 8)
    down, across = (pixels @ at / np.maximum(ink, 1) for at in (rows, columns))  # [P] the center of the ink
    names = [f"p{i}" for i in range(pixels.shape[1])]
    for begin, end in pairwise(offsets):
        items: Items = []
        for t in range(begin, end):
            item = {names[i]: 1.0 for i in np.flatnonzero(pixels[t])}
            real = {"ink": float(ink[t]), "down": float(down[t]), "across": float(across[t]), "bias": 1.0}
            items.append({**item, **real})
        yield items, [chr(97 + label) for label in labels[begin:end]]


def random60(sequences: int = 300) -> Made:
    """Yield sequences of 60 positions without any regularity: 9 features of 200 values each, 4 labels."""
    rng = np.random.default_rng(60)
    for _ in range(sequences):
        values, labels = rng.integers(0, 200, (60, 9)), rng.integers(0, 4, 60)
        yield [[f"f{k}={v}" for k, v in enumerate(row)] for row in values], [f"y{y}" for y in labels]


def scales(sequences: int = 300) -> Made:
    """Yield sequences with real values of very different scales, on which the labels depend a little."""
    rng = np.random.default_rng(61)
    share = rng.dirichlet(np.full(50, 0.3), size=4)  # [L, V] of the words by label
    for _ in range(sequences):
        start = int(rng.integers(0, 1000))
        label, items, labels = int(rng.integers(0, 4)), Items(), []
        for t in range(20):
            label = label if rng.random() < 0.6 else int(rng.integers(0, 4))
            word = int(rng.choice(50, p=share[label]))
            items.append(
                {
                    "word": f"w{word}",
                    "position": float(start + t),  # up to 1019
                    "frequency": float(1e-3 * rng.random() * (1 + label)),
                    "size": float(rng.normal(label, 2.0)),
                    "bias": 1.0,
                }
            )
            labels.append(f"y{label}")
        yield items, labels


def chunks(sequences: int = 4000) -> Iterator[Rows]:
    """Yield sentences with a word, a tag and a chunk label for each token: a text for want of a corpus."""
    rng = np.random.default_rng(62)
    kinds = [f"{mark}-{kind}" for kind in ("NP", "VP", "PP", "ADJP") for mark in "BI"] + ["O"]
    L, tags, words = len(kinds), 20, 8000
    follows = rng.dirichlet(np.full(L, 0.5), size=L)  # [L, L]
    tagged = rng.dirichlet(np.full(tags, 0.1), size=L)  # [L, tags]
    for _ in range(sequences):
        label, rows = L - 1, Rows()
        for _ in range(int(rng.integers(5, 40))):
            label = int(rng.choice(L, p=follows[label]))
            tag = int(rng.choice(tags, p=tagged[label]))
            rank = int(words ** rng.random())  # as often as words of a language: about one by the rank
            rows.append([f"w{tag}.{rank}" if rng.random() < 0.9 else f"w{rank}", f"T{tag}", kinds[label]])
        yield rows
