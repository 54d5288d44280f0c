"""Sequences whose labels depend on hidden phases."""

from __future__ import annotations

import numpy as np

Items = list[list[list[str]]]


def turning(N: int, seed: int = 0) -> tuple[Items, list[list[str]]]:
    """Symbols go round a, b, c under the label A and round a, c, b under B: one alone says nothing of it."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(N):
        label, phase = int(random.integers(2)), 0
        x, labels = [], []
        for _ in range(int(random.integers(8, 15))):
            if random.random() < 0.15:
                label = 1 - label
            phase = (phase + 1 + label) % 3
            shown = int(random.integers(3)) if random.random() < 0.1 else phase
            x.append(["abc"[shown]])
            labels.append("AB"[label])
        X.append(x)
        y.append(labels)
    return X, y


def ordered(N: int, seed: int = 0) -> tuple[Items, list[str]]:
    """Sequences "up" have an a, and later a b; "down" have b before a: counts of symbols say nothing."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(N):
        x = [["c"] for _ in range(int(random.integers(4, 9)))]
        first, last = np.sort(random.choice(len(x), 2, replace=False)).tolist()
        up = bool(random.integers(2))
        x[first], x[last] = (["a"], ["b"]) if up else (["b"], ["a"])
        X.append(x)
        y.append("up" if up else "down")
    return X, y
