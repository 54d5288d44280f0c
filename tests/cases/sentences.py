"""Sentences from a hidden walk through the labels, as data in memory and in blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.training import BlockedData

WORDS = 60


def sentences(n: int, seed: int, labels: str = "ABC") -> tuple[list[Any], list[list[str]]]:
    """A hidden walk through the labels, each with words of its own, with noise."""
    rng = np.random.default_rng(seed)
    X, y, L = [], [], len(labels)
    for _ in range(n):
        z, items, tags = 0, [], []
        for _ in range(rng.integers(1, 9)):
            z = (z + int(rng.integers(0, 2))) % L
            word = (
                rng.integers(0, WORDS // L) + WORDS // L * z if rng.random() < 0.8 else rng.integers(0, WORDS)
            )
            items.append([f"w{word}", "bias"])
            tags.append(labels[z])
        X.append(items)
        y.append(tags)
    return X, y


def dataset(n: int = 60, seed: int = 1, labels: str = "ABC") -> Dataset:
    return ItemExtractor()(*sentences(n, seed, labels))


def full(n: int = 40) -> Dataset:
    """Every kind of array that a batch with plain labels can have."""
    plain = dataset(n)
    rng = np.random.default_rng(2)
    P = plain.batch.positions
    counts = rng.integers(0, 3, P)
    batch = replace(
        plain.batch,
        value=rng.uniform(-1.0, 3.0, len(plain.batch.attr)),
        edge_ptr=np.cumsum([0, *counts]),
        edge_attr=rng.integers(0, 4, counts.sum()),
        edge_value=rng.uniform(0.5, 2.0, counts.sum()),
        dense=rng.normal(size=(P, 2)),
        weight=rng.uniform(0.5, 2.0, n),
    )
    names = ItemExtractor()([[["a", "b", "c", "d"]]]).attributes
    return replace(plain, batch=batch, edge_attributes=names)


def segments() -> Dataset:
    """Sentences cut into segments."""
    from crfkit.models.tags import segmented

    X, y = sentences(60, 5)
    tags = [[f"B-{name}" if name != "C" else "O" for name in one] for one in y]
    return segmented(ItemExtractor()(X), tags)


def blocks(data: Dataset, folder: Path, size: int = 7) -> BlockedData:
    cuts = range(0, data.batch.sequences, size)
    return BlockedData.write(folder, (data[i : i + size] for i in cuts))
