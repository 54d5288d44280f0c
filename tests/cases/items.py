"""What an extractor made of items, spelled out for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.features.items import ItemExtractor

Entries = list[tuple[str, float]]


def entries(dataset: Dataset) -> list[list[Entries]]:
    """Names and values of every position of every sequence, as lists."""
    b = dataset.batch
    names = dataset.attributes.strings()
    value = np.ones(len(b.attr)) if b.value is None else b.value
    rows = [
        [(names[a], v) for a, v in zip(b.attr[i:j].tolist(), value[i:j].tolist(), strict=True)]
        for i, j in zip(b.attr_ptr[:-1], b.attr_ptr[1:], strict=True)
    ]
    return [rows[i:j] for i, j in zip(b.seq_ptr[:-1], b.seq_ptr[1:], strict=True)]


def one(item: Any) -> Entries:
    """Entries of a single item."""
    return entries(ItemExtractor()([[item]]))[0][0]
