"""Semirings of the textbook recursions: sum, max, count and the k best. Zero is -inf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats


@dataclass(frozen=True)
class Semiring:
    """How scores become values, and how values are multiplied and summed over the first axis."""

    lift: Callable[[Floats], NDArray[Any]]
    times: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    total: Callable[[NDArray[Any]], Any]


def log_sum(values: NDArray[Any], axis: int = 0) -> Any:
    """Return the logarithm of the sum of exp(values) over an axis; of nothing but -inf it is -inf."""
    top = np.max(values, axis=axis, keepdims=True)
    anchor = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        sums = np.log(np.sum(np.exp(values - anchor), axis=axis, keepdims=True)) + anchor
    return np.squeeze(sums, axis=axis)


def k_best(k: int) -> Semiring:
    """Values are the k best scores, best first, in a last axis."""

    def best(scores: NDArray[Any]) -> NDArray[Any]:
        return -np.sort(-scores, axis=-1)[..., :k]

    def lift(scores: Floats) -> NDArray[Any]:
        return np.concatenate([scores[..., None], np.full((*scores.shape, k - 1), -np.inf)], axis=-1)

    def times(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        pairs = a[..., :, None] + b[..., None, :]
        return best(pairs.reshape(*pairs.shape[:-2], k * k))

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return best(np.moveaxis(values, 0, -2).reshape(*values.shape[1:-1], -1))

    return Semiring(lift, times, total)


SUM = Semiring(lambda scores: scores, np.add, log_sum)
MAX = Semiring(lambda scores: scores, np.add, lambda values: np.max(values, axis=0))
COUNT = Semiring(
    lambda scores: (scores > -np.inf).astype(object) * 1,  # exact Python integers
    np.multiply,
    lambda values: np.sum(values, axis=0),
)
