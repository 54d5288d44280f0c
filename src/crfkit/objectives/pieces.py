"""The factors of a chain with all labels but one at their gold values, for sums over one label.

A *piece* is one label of one kind of factor: nodes, the first and the last label, and each label of the
n-grams of each order. It knows the scores of its factors for every value of that label, and adds what a loss
says about them to the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.chain import is_chain
from crfkit.structures.gold import Path
from crfkit.structures.structure import Trainable

__all__ = ["Piece", "pieces", "softmax_loss", "tables_of", "why_no_chain", "why_no_limits"]


class Piece(NamedTuple):
    """M factors in which one label is free."""

    scores: Floats  #: of the factors of its kind: [..., L], the free label last
    gradient: Floats  #: by these scores: a view of the gradient of all
    position: Pointers  #: [M] of the free label, each at most once
    where: tuple[Pointers, ...]  #: [M] each: which scores [..., L] a factor takes
    shared: bool  #: whether factors take the same scores

    def rows(self) -> Floats:
        """Return the scores of the free label's values, [M, L]."""
        made: Floats = self.scores[self.where]
        return made

    def add(self, share: Floats) -> None:
        """Add a gradient by `rows` [M, L]."""
        if not self.shared:
            self.gradient[self.where] += share
            return
        from scipy.sparse import csr_array

        M, shape = len(share), self.gradient.shape
        key = np.ravel_multi_index(self.where, shape[:-1])
        one_hot = csr_array((np.ones(M), key, np.arange(M + 1)), shape=(M, prod(shape[:-1])))
        self.gradient[...] += (one_hot.T @ share).reshape(shape)


def pieces(potentials: Any, gold: Path, by_score: dict[str, Floats]) -> Iterator[Piece]:
    """Yield all pieces of a chain; `by_score` is the gradient that they add to.

    Examples
    --------
    >>> from crfkit import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [2.0, 3.0]], edge=[[4.0, 5.0], [6.0, 7.0]])
    >>> gold = Path(np.array([0, 2]), np.array([1, 0], dtype=np.int32))
    >>> for piece in pieces(scores, gold, scores.zeros()):
    ...     print(piece.position.tolist(), piece.rows().tolist())
    [0, 1] [[0.0, 1.0], [2.0, 3.0]]
    [0] [[4.0, 6.0]]
    [1] [[6.0, 7.0]]
    """
    every, filled = np.arange(len(potentials.node)), np.diff(gold.seq_ptr) > 0
    yield Piece(potentials.node, by_score["node"], every, (every,), shared=False)
    for name, at in (("start", gold.seq_ptr[:-1][filled]), ("stop", gold.seq_ptr[1:][filled] - 1)):
        if name in by_score:
            scores: Floats = getattr(potentials, name)
            yield Piece(scores[None, :], by_score[name][None, :], at, (np.zeros_like(at),), shared=True)
    label = gold.label.astype(np.int64)
    for h, (table, gradient, at) in enumerate(tables_of(potentials, gold, by_score), start=1):
        by_position = (at,) if table.ndim > h + 1 else ()
        for free in range(h + 1):
            others = tuple(label[at - h + k] for k in range(h + 1) if k != free)
            axis = len(by_position) + free
            yield Piece(
                np.moveaxis(table, axis, -1),
                np.moveaxis(gradient.reshape(table.shape), axis, -1),
                at - h + free,
                by_position + others,
                shared=not by_position,
            )


def tables_of(
    potentials: Any, gold: Path, by_score: dict[str, Floats]
) -> Iterator[tuple[Floats, Floats, Pointers]]:
    """Yield the table of each order, its gradient, and the positions [M] at which its n-grams end.

    Tables are [L, ..., L], or [P, L, L] by position.
    """
    if potentials.structure.order == 0:
        return
    within = np.arange(len(gold.label)) - np.repeat(gold.seq_ptr[:-1], np.diff(gold.seq_ptr))  # [P]
    if "edge" in by_score:
        gradients: tuple[Floats, ...] = (by_score["edge"],)
    else:
        gradients = potentials.structure.slots()["transition"].split(by_score["transition"])
    for h, (table, gradient) in enumerate(zip(potentials.edge, gradients, strict=True), start=1):
        yield table, gradient, np.flatnonzero(within >= h)


def softmax_loss(rows: Floats, label: Ids, weight: Floats) -> tuple[float, Floats]:
    """Return the loss of a softmax over each row [M, L], times its weight [M], and its gradient.

    The rows are written over.

    Examples
    --------
    >>> value, share = softmax_loss(np.zeros((1, 4)), np.array([2]), np.array([2.0]))
    >>> round(value, 4), share.tolist()  # 2 log 4
    (2.7726, [[0.5, 0.5, -1.5, 0.5]])
    """
    rows -= rows.max(axis=1, keepdims=True)
    share = np.exp(rows)
    total = share.sum(axis=1)
    at = (np.arange(len(rows)), label)
    value = float(weight @ (np.log(total) - rows[at]))
    share /= total[:, None]
    share[at] -= 1.0
    share *= weight[:, None]
    return value, share


def why_no_chain(name: str, structure: Trainable) -> str:
    """Return why an objective that is only for chains cannot take a structure; empty where it can."""
    return (
        "" if is_chain(structure) else f"the objective {name} is for chains, not for {structure.describe()}"
    )


def why_no_limits(name: str, structure: Trainable) -> str:
    """Return the same for one that does not take limits on segment lengths either.

    Examples
    --------
    >>> from crfkit.structures import Chain
    >>> from crfkit.structures.constraints import Scheme, SegmentLength
    >>> rules = [Scheme("BIO"), SegmentLength("x", 1, 2)]
    >>> why_no_limits("pseudo-likelihood", Chain(["O", "B-x", "I-x"], constraints=rules))
    'the objective pseudo-likelihood does not take limits on the lengths of segments'
    """
    if is_chain(structure) and structure.resolved is not None and structure.resolved.expansion is not None:
        return f"the objective {name} does not take limits on the lengths of segments"
    return why_no_chain(name, structure)
