"""Sentences of a toy grammar, and estimators for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit import ChainCRF
from crfkit.optimize import LBFGS

WORDS = {"D": ["the", "a", "some"], "N": ["dog", "cat", "bird"], "V": ["sees", "eats", "likes"]}
NEAR = LBFGS(tolerance=1e-9, delta=0.0, max_iterations=2000)  # runs until the gradient is gone


def sentences(N: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(N):
        tag = ["D", "N", "V", "D", "N"][: random.integers(1, 6)]
        tags.append(tag)
        words.append([str(random.choice(WORDS[y])) for y in tag])
    return words, tags


def items(words: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[{"w": word, "end": word[-1], "long": float(len(word))} for word in s] for s in words]


W, Y = sentences(24)
X = items(W)
W_TEST, Y_TEST = sentences(8, seed=1)
X_TEST = items(W_TEST)
A_WORD = [[{"w": "the"}]]


def crf(**options: Any) -> ChainCRF:
    return ChainCRF(**{"n_jobs": 1, **options})


def fitted(**options: Any) -> ChainCRF:
    return crf(**options).fit(X, Y)
