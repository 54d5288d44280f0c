"""Batches with attributes of beginnings, ends and segments, and segments as gold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.data.batch import Batch
from crfkit.structures import SemiMarkov
from tests.cases.likelihood import batch

ATTRIBUTES = 30  # of beginnings, ends and segments; a few occurrences have higher ids


def lengths(L: int, D: int, seed: int = 0) -> list[int]:
    """The longest segment of each label: D for some, less for others."""
    longest = np.random.default_rng(seed).integers(1, D + 1, L)
    longest[0] = D
    return [int(d) for d in longest]


def with_segments(
    batch: Batch, structure: SemiMarkov, seed: int = 0, *, values: bool = False, share: float = 0.5
) -> Batch:
    """Gold segments that the structure allows, and attributes of some of the segments that fit."""
    rng = np.random.default_rng(seed)
    D, P = max(structure.max_length), batch.positions
    label, begin = np.zeros(P, dtype=np.int32), np.zeros(P, dtype=np.bool_)
    left = np.zeros(P, dtype=np.int64)  # positions from here to the end of the sequence
    for n in range(batch.sequences):
        at, end = int(batch.seq_ptr[n]), int(batch.seq_ptr[n + 1])
        left[at:end] = np.arange(end - at, 0, -1)
        while at < end:
            y = int(rng.integers(len(structure.labels)))
            d = min(int(rng.integers(1, structure.max_length[y] + 1)), end - at)
            begin[at], label[at : at + d] = True, y
            at += d
    parts: dict[str, Any] = {"label": label, "begin": begin}
    fits = (np.arange(D) < left[:, None]).ravel()
    for kind, where in (("begin", np.ones(P)), ("end", np.ones(P)), ("segment", fits)):
        count = np.where(rng.random(len(where)) < share, rng.integers(1, 4, len(where)), 0) * (where > 0)
        attr = np.minimum(rng.zipf(1.3, int(count.sum())) - 1, ATTRIBUTES + 3)
        parts[f"{kind}_ptr"], parts[f"{kind}_attr"] = np.cumsum([0, *count]), attr
        if values:
            parts[f"{kind}_value"] = rng.normal(size=len(attr))
    return replace(batch, **parts)


def data_of(structure: SemiMarkov, *, values: bool = False, sequences: int = 60, share: float = 0.5) -> Batch:
    """Tokens as in `batch`, with segments of the structure."""
    tokens = batch(len(structure.labels), sequences=sequences, values=values)
    return with_segments(tokens, structure, values=values, share=share)
