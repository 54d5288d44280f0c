"""Finders of scopes: which variables a clique scores together, as arrays [M, arity]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Ids

__all__ = ["chain"]


def chain(ptr: ArrayLike) -> Ids:
    """Return the pairs of neighbours of sequences, [M, 2].

    Examples
    --------
    >>> chain([0, 3, 5]).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    begin = np.asarray(ptr)
    left = np.setdiff1d(np.arange(begin[-1]), begin[1:] - 1, assume_unique=True)
    return np.column_stack([left, left + 1]).astype(np.int32)
