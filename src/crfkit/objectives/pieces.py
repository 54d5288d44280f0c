"""The factors of a chain with all labels but one at their gold values, for sums over one label.

A *piece* is one label of one kind of factor: nodes, the first and the last label, and each label of the
n-grams of each order. It knows the scores of its factors for every value of that label, and adds what a loss
says about them to the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.structures.chain import is_chain
from crfkit.structures.gold import Path
from crfkit.structures.structure import Structure

__all__ = ["Piece", "pieces", "softmax_loss", "tables_of", "why_no_chain", "why_no_limits"]


class Piece(NamedTuple):
    """M factors in which one label is free."""

    scores: Floats  #: of the factors of its kind, flat
    gradient: Floats  #: by these scores, flat: shares memory with the gradient of all
    position: Pointers  #: [M] of the free label, each at most once
    cell: Pointers  #: [M, L] which scores the values of the free label take

    def rows(self) -> Floats:
        """Return the scores of the free label's values, [M, L]."""
        made: Floats = self.scores[self.cell]
        return made

    def add(self, share: Floats) -> None:
        """Add a gradient by `rows` [M, L]."""
        cells = len(self.gradient)
        if cells < self.cell.size:  # cells that factors share
            self.gradient[:] += np.bincount(self.cell.ravel(), share.ravel(), minlength=cells)
        else:
            np.add.at(self.gradient, self.cell.ravel(), share.ravel())


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
    P, L = potentials.node.shape
    label, every = gold.label.astype(np.int64), np.arange(L)
    filled = np.diff(gold.seq_ptr) > 0
    yield _piece(
        potentials.node, by_score["node"], np.arange(P), np.arange(P * L, dtype=np.int64).reshape(P, L)
    )
    for name, at in (("start", gold.seq_ptr[:-1][filled]), ("stop", gold.seq_ptr[1:][filled] - 1)):
        if name in by_score:
            cell = np.broadcast_to(every, (len(at), L))
            yield _piece(getattr(potentials, name), by_score[name], at, cell)
    for h, (table, gradient, at) in enumerate(tables_of(potentials, gold, by_score), start=1):
        shape = (L,) * (h + 1)
        base = at[:, None] * L**2 if table.ndim > len(shape) else 0  # [M, 1]: tables by position
        for free in range(h + 1):
            given = [label[at - h + k][:, None] if k != free else every[None, :] for k in range(h + 1)]
            cell = base + np.ravel_multi_index(np.broadcast_arrays(*given), shape)  # [M, L]
            yield _piece(table, gradient, at - h + free, cell)


def _piece(scores: Floats, gradient: Floats, position: Pointers, cell: Pointers) -> Piece:
    return Piece(scores.reshape(-1), gradient.reshape(-1), position, cell)


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


def why_no_chain(name: str, structure: Structure) -> str:
    """Return why an objective that is only for chains cannot take a structure; empty where it can."""
    return (
        "" if is_chain(structure) else f"the objective {name} is for chains, not for {structure.describe()}"
    )


def why_no_limits(name: str, structure: Structure) -> str:
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
