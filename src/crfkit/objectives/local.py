"""The local model: one softmax per position, given the label before it. A start for the chain.

    loss(w) = - sum_t log softmax(node[t] + edge[y_{t-1}])[y_t]

with the gold label before; the same weights as the chain's. Lafferty, McCallum & Pereira (2001), section 5.3,
start the training of a CRF at the parameters of such a maximum-entropy Markov model. Stop weights have no
place in it and stay at 0.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Bools, Floats, Ids
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import scatter, scatter_edges, score, score_edges, transpose
from crfkit.structures import Chain

__all__ = ["LocalProblem"]

#: Doubles of edge scores by position at a time: 64 MB.
_CELLS = 1 << 23


class LocalProblem:
    """The loss of the local model on one batch, whose labels must all be known."""

    def __init__(self, layout: Layout, chain: Chain, batch: Batch, threads: int | None = None) -> None:
        if batch.label is None or batch.soft is not None or (batch.label < 0).any():
            raise ValueError('init="memm" needs a gold label at every position; use another start')
        if layout.order != 1:
            raise ValueError(f'init="memm" needs a chain of order 1, not {layout.order}; use another start')
        self.layout, self.batch, self.threads = layout, batch, threads
        self._index = transpose(layout, batch)
        first = np.zeros(batch.positions, dtype=np.bool_)
        first[batch.seq_ptr[:-1][batch.seq_ptr[1:] > batch.seq_ptr[:-1]]] = True
        self._first: Bools = first  # [P]
        self._label: Ids = batch.label  # [P]
        self._inner = np.flatnonzero(~first)  # positions that follow another
        self._before = batch.label[self._inner - 1]  # their gold labels before
        rules = chain.resolved
        self._mask: Bools | None = None  # [P, L]
        if rules is not None:
            mask = np.ones((batch.positions, layout.labels), dtype=np.bool_)
            mask[first] = rules.start
            mask[self._inner] = rules.transition[self._before]
            self._mask = mask

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F]; its gradient goes to `gradient` [F]."""
        scores = score(self.layout, w, self.batch, threads=self.threads)
        node, P = scores.node, self.batch.positions
        if scores.start is not None:
            node[self._first] += scores.start
        if scores.per_position:
            for a, b in self._ranges():
                here = slice(*np.searchsorted(self._inner, [a, b]))
                rows, before = self._inner[here], self._before[here]
                edge = score_edges(self.layout, w, self.batch, a, b, threads=self.threads)
                node[rows] += edge[rows - a, before]
        elif isinstance(scores.edge, np.ndarray):
            node[self._inner] += scores.edge[self._before]
        if self._mask is not None:
            node[~self._mask] = -np.inf
        node -= node.max(axis=1, keepdims=True)
        credit = np.exp(node)  # [P, L]
        total = credit.sum(axis=1)
        gold = (np.arange(P), self._label)
        weight = (
            np.ones(P)
            if self.batch.weight is None
            else np.repeat(self.batch.weight, np.diff(self.batch.seq_ptr))
        )
        loss = float(weight @ (np.log(total) - node[gold]))
        credit /= total[:, None]
        credit[gold] -= 1.0
        credit *= weight[:, None]
        self._scatter(credit, gradient, by_position=scores.per_position)
        return loss

    def _scatter(self, credit: Floats, gradient: Floats, by_position: bool) -> None:
        L = self.layout.labels
        edge = None
        if not by_position:
            edge = np.zeros((L, L))
            np.add.at(edge, self._before, credit[self._inner])
        scatter(
            self.layout,
            self.batch,
            credit,
            edge,
            credit[self._first].sum(axis=0),
            index=self._index,
            threads=self.threads,
            out=gradient,
        )
        if by_position:
            for a, b in self._ranges():
                here = slice(*np.searchsorted(self._inner, [a, b]))
                rows, before = self._inner[here], self._before[here]
                part = np.zeros((b - a, L, L))
                part[rows - a, before] = credit[rows]
                scatter_edges(self.layout, self.batch, part, a, b, out=gradient, threads=self.threads)

    def _ranges(self) -> list[tuple[int, int]]:
        """Ranges of positions whose edge scores fit into memory."""
        size = max(_CELLS // self.layout.labels**2, 1)
        P = self.batch.positions
        return [(a, min(a + size, P)) for a in range(0, P, size)]
