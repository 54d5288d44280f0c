"""Scopes of places: neighbors in sequences and in images, and all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Ids, pointers, ranges
from crfkit.graphs.scopes.columns import as_pairs, as_ptr, check_many, numbered


def chain(ptr: ArrayLike) -> Ids:
    """Return the pairs of neighbors of sequences, [M, 2]; sequence n is ``ptr[n]`` to ``ptr[n + 1] - 1``.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> scopes.chain([0, 3, 5]).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    begin = as_ptr(ptr)
    follows = np.ones(int(begin[-1]) + 1, dtype=np.bool_)
    follows[begin] = False  # the first of a sequence, and the end of all
    return as_pairs(np.flatnonzero(follows) - 1, np.flatnonzero(follows))


def grid(shapes: ArrayLike, *, connect: int = 4) -> tuple[Ids, ...]:
    """Return the pairs of neighboring pixels of images, an array [M, 2] for each direction.

    Parameters
    ----------
    shapes : (rows, columns), or [images, 2]
        Pixels are numbered row by row, image after image.
    connect : {4, 8}
        4: right and down. 8: also down to the right and down to the left.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> right, down = scopes.grid((2, 3))
    >>> right.tolist(), down.tolist()
    ([[0, 1], [1, 2], [3, 4], [4, 5]], [[0, 3], [1, 4], [2, 5]])
    >>> [len(direction) for direction in scopes.grid([(2, 3), (4, 4)], connect=8)]
    [16, 15, 11, 11]
    """
    if connect not in (4, 8):
        raise ValueError(f"connect is {connect!r}, expected 4 or 8")
    size = np.asarray(shapes)
    size = size[None] if size.shape == (2,) else size
    if size.ndim != 2 or size.shape[1] != 2 or size.dtype.kind not in "iu" or (size < 0).any():
        raise ValueError(f"shapes must be (rows, columns), or one such pair an image, not {shapes!r}")
    height, width = size.astype(np.int64).T
    end = numbered(pointers(height * width))
    image = np.repeat(np.arange(len(size)), height * width)
    pixel = np.arange(end[-1])
    wide = width[image]
    column = (pixel - end[image]) % np.maximum(wide, 1)
    above = pixel + wide < end[1:][image]
    first, last = column == 0, column == wide - 1

    def to(kept: NDArray[np.bool_], step: Any) -> Ids:
        return as_pairs(pixel[kept], (pixel + step)[kept])

    straight = to(~last, 1), to(above, wide)
    if connect == 4:
        return straight
    return (*straight, to(above & ~last, wide + 1), to(above & ~first, wide - 1))


def pairs(k: int | ArrayLike) -> Ids:
    """Return all pairs i < j of k variables; or of the variables of each graph, given where graphs begin.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> scopes.pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    >>> scopes.pairs([0, 2, 5]).tolist()
    [[0, 1], [2, 3], [2, 4], [3, 4]]
    """
    begin = as_ptr(np.array([0, k]) if isinstance(k, int | np.integer) else k)
    many = np.diff(begin).astype(np.float64)
    check_many(float((many * (many - 1) / 2).sum()))
    first = np.arange(begin[-1])
    follow = np.repeat(begin[1:], np.diff(begin)) - first - 1
    return as_pairs(np.repeat(first, follow), ranges(first + 1, follow))
