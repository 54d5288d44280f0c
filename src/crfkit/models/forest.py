"""Regression trees as flat arrays: rows of numbers to leaves, without pickle and without scikit-learn.

A tree sends a row left where ``row[feature] <= threshold``, in float32 as scikit-learn does. Leaves of all
trees are numbered through, so that a leaf can be the attribute of a position: see
`crfkit.training.learners.boosting`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, Pointers

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees one after the other; the children of a node come after it.

    Examples
    --------
    >>> forest = Forest.of([{"feature": [0, -1, -1], "threshold": [0.5, 0, 0], "left": [1, 0, 0], \
"right": [2, 0, 0]}])
    >>> forest.leaves(np.array([[0.0], [1.0]], dtype=np.float32)).tolist(), forest.names(["x"])
    ([[0], [1]], ['0: x<=0.5', '0: x>0.5'])
    """

    ptr: Pointers  #: [trees + 1]: where the nodes of each tree begin
    feature: Ids  #: [M]: the column that is compared; -1: a leaf
    threshold: Floats  #: [M]
    left: Ids  #: [M]: among all nodes
    right: Ids  #: [M]

    def __post_init__(self) -> None:
        M = len(self.feature)
        inner = np.flatnonzero(self.feature >= 0)
        last = np.repeat(self.ptr[1:], np.diff(self.ptr)) if _rises(self.ptr, M) else None
        if last is None or not len(self.threshold) == len(self.left) == len(self.right) == M:
            raise ValueError("the arrays of the trees do not fit together")
        for child in (self.left, self.right):
            if ((child[inner] <= inner) | (child[inner] >= last[inner])).any():
                raise ValueError("a node of the trees has a child that does not come after it in its tree")
        parents = np.bincount(np.concatenate([self.left[inner], self.right[inner]]), minlength=M)
        if (parents != (np.bincount(self.ptr[:-1], minlength=M) == 0)).any():
            raise ValueError("a node of the trees has no parent, or several")
        if not np.isfinite(self.threshold[inner]).all():
            raise ValueError("a threshold of the trees is not finite")

    @classmethod
    def of(cls, trees: Sequence[Mapping[str, Any]]) -> Forest:
        """Return trees whose children are counted from their first node."""
        ptr = np.append(0, np.cumsum([len(tree["feature"]) for tree in trees])).astype(np.int64)

        def joined(name: str, dtype: Any, shifted: bool) -> NDArray[Any]:
            each = [
                np.asarray(t[name], dtype) + (a if shifted else 0) for t, a in zip(trees, ptr, strict=False)
            ]
            return np.concatenate([np.zeros(0, dtype), *each], dtype=dtype, casting="unsafe")

        return cls(
            ptr,
            joined("feature", np.int32, False),
            joined("threshold", np.float64, False),
            joined("left", np.int32, True),
            joined("right", np.int32, True),
        )

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.ptr) - 1

    def numbers(self) -> Ids:
        """Return the number of each node among all leaves, [M]; of other nodes it means nothing."""
        return (np.cumsum(self.feature < 0) - 1).astype(np.int32)

    def leaves(self, rows: Rows) -> Ids:
        """Return the leaf that each row [P, K] reaches in each tree, [P, trees]."""
        number, found = self.numbers(), np.empty((len(rows), self.trees), dtype=np.int32)
        for tree, root in enumerate(self.ptr[:-1].tolist()):
            at = np.full(len(rows), root, dtype=np.int32)
            moving = np.arange(len(rows)) if self.feature[root] >= 0 else np.zeros(0, np.int64)
            while moving.size:
                node = at[moving]
                below = rows[moving, self.feature[node]] <= self.threshold[node]
                at[moving] = np.where(below, self.left[node], self.right[node])
                moving = moving[self.feature[at[moving]] >= 0]
            found[:, tree] = number[at]
        return found

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return what each leaf tests, as ``3: x<=0.5 & y>1``, where 3 is the number of the tree."""
        found = []
        for tree, (a, b) in enumerate(zip(self.ptr[:-1].tolist(), self.ptr[1:].tolist(), strict=True)):
            path: dict[int, str] = {a: ""}
            for node in range(a, b):
                if self.feature[node] < 0:
                    found.append(f"{tree}: {path[node]}".rstrip())
                    continue
                before = path[node] + " & " if path[node] else ""
                name, bound = columns[self.feature[node]], f"{self.threshold[node]:.6g}"
                path[int(self.left[node])] = f"{before}{name}<={bound}"
                path[int(self.right[node])] = f"{before}{name}>{bound}"
        return found


def _rises(ptr: Pointers, M: int) -> bool:
    return bool(len(ptr) and ptr[0] == 0 and ptr[-1] == M and (np.diff(ptr) > 0).all())


def windowed(dense: Floats, seq_ptr: Pointers, window: int) -> Rows:
    """Return rows with those of the positions up to `window` before and after beside them; 0 beyond the ends.

    Examples
    --------
    >>> windowed(np.array([[1.0], [2.0], [3.0]]), np.array([0, 2, 3]), 1).tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.0, 3.0, 0.0]]
    """
    P, K = dense.shape
    rows = np.zeros((P, 2 * window + 1, K), dtype=np.float32)
    sequence = np.repeat(np.arange(len(seq_ptr) - 1), np.diff(seq_ptr))  # [P]
    for column, offset in enumerate(range(-window, window + 1)):
        at = np.arange(P) + offset
        there = (at >= 0) & (at < P)
        there[there] = sequence[at[there]] == sequence[there]
        rows[there, column] = dense[at[there]]
    return rows.reshape(P, -1)
