"""Trees of variables that are found in data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import pointers
from crfkit.graphs.scopes.columns import as_rows


def chow_liu(Y: ArrayLike, names: Sequence[Any] | None = None) -> list[tuple[Any, Any]]:
    """Return the pairs of columns that the best tree joins: Chow & Liu (1968).

    The likeliest tree: the one whose edges have the largest mutual information in the data.

    Parameters
    ----------
    Y : integers [N, K]
        Labels from 0, a column for each variable.
    names : K names, optional
        Default: the numbers of the columns.

    Examples
    --------
    >>> from crfkit.graphs import scopes
    >>> Y = [[0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]]
    >>> scopes.chow_liu(Y, ["beach", "sea", "urban"])
    [('beach', 'sea'), ('beach', 'urban')]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    given = as_rows(Y, "Y")
    N, K = given.shape
    called = list(range(K)) if names is None else list(names)
    if len(called) != K:
        raise ValueError(f"{len(called)} names for {K} columns of Y")
    if not N or (given < 0).any():
        raise ValueError("Y must have rows, of labels from 0")
    if K < 2:
        return []
    width = given.max(axis=0).astype(np.int64) + 1
    at = pointers(width)
    one = csr_array(
        (np.ones(N * K), (given + at[:-1]).ravel(), np.arange(0, N * K + 1, K)), shape=(N, int(at[-1]))
    )
    joint = (one.T @ one).toarray() / N  # [labels, labels] of all columns
    alone = joint.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0.0, joint * np.log(joint / np.outer(alone, alone)), 0.0)
    shared = np.add.reduceat(np.add.reduceat(terms, at[:-1], axis=0), at[:-1], axis=1)  # [K, K]
    cost = np.triu(shared.max() + 1.0 - shared, 1)  # above 0: SciPy takes 0 for no edge
    tree = minimum_spanning_tree(cost).tocoo()
    return [(called[i], called[j]) for i, j in sorted(zip(tree.row.tolist(), tree.col.tolist(), strict=True))]
