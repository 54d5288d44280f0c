"""The trellis of one sequence: every labeling is a path of arcs, each arc a step with a score.

Nodes are what the scores of later steps depend on: the label of a position (order k: the last k labels; with
limits on lengths: the state of their automaton), of segments the label and the end of a segment. Node 0 is
the beginning. Arcs are sorted by the position where they end, so that one pass in order knows the best path
to every node, and one backwards the best path from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.cached import once
from crfkit.arrays import Floats
from crfkit.inference.constrained.rules import Steps
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.gold import Path
from crfkit.structures.segments.potentials import SemiMarkovPotentials

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trellis:
    """Arcs of one sequence of T positions, sorted by where they end."""

    T: int
    tail: Counts  # [A] node
    head: Counts  # [A] node
    score: Floats  # [A]
    before: Counts  # [A] label before; L where there is none
    label: Counts  # [A]
    place: Counts  # [A] position at which the step begins
    end: Counts  # [A] one past its last position
    nodes: int

    @once
    def after(self) -> Floats:
        """The score of the best path from each node to the end, [nodes]; -inf where there is none."""
        best = np.full(self.nodes, -np.inf)
        best[self.head[self.end == self.T]] = 0.0
        return self._swept(best, self.tail, self.head, reversed(self._layers()))

    @once
    def through(self) -> Floats:
        """The score of the best path through each arc, [A]."""
        best = np.full(self.nodes, -np.inf)
        best[0] = 0.0
        self._swept(best, self.head, self.tail, self._layers())
        return np.asarray(best[self.tail] + self.score + self.after[self.head])

    def _layers(self) -> list[slice]:
        ptr = np.searchsorted(self.end, np.arange(1, self.T + 2)).tolist()
        return [slice(a, b) for a, b in pairwise(ptr)]

    def _swept(self, best: Floats, onto: Counts, of: Counts, layers: Iterable[slice]) -> Floats:
        for layer in layers:
            np.maximum.at(best, onto[layer], best[of[layer]] + self.score[layer])
        return best

    def kept(self, chosen: NDArray[Any]) -> Trellis:
        """Return the trellis of some arcs: a mask, or their places."""
        arcs = ("tail", "head", "score", "before", "label", "place", "end")
        return Trellis(T=self.T, nodes=self.nodes, **{name: getattr(self, name)[chosen] for name in arcs})

    @property
    def steps(self) -> Steps:
        """The arcs as steps of one sequence."""
        sequence = np.zeros(len(self.label), np.int64)
        return Steps(self.before, self.label, self.place, sequence, np.array([0, self.T]))

    def path(self, chosen: NDArray[np.bool_], segments: bool) -> Path:
        """Return the labeling of arcs that lie on one path."""
        at = np.flatnonzero(chosen)
        at = at[np.argsort(self.place[at])]
        length = self.end[at] - self.place[at]
        begin = np.zeros(self.T, np.bool_)
        begin[self.place[at]] = True
        label = np.repeat(self.label[at], length).astype(np.int32)
        return Path(np.array([0, self.T]), label, begin if segments else None)


def trellis_of(potentials: ChainPotentials | SemiMarkovPotentials) -> Trellis:
    """Return the trellis of one sequence, without arcs of -inf.

    Examples
    --------
    >>> from crfkit import Chain
    >>> found = trellis_of(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]))
    >>> found.nodes, len(found.score), float(found.after[0])
    (5, 6, 1.5)
    """
    made = _of_segments(potentials) if isinstance(potentials, SemiMarkovPotentials) else _of_chain(potentials)
    order = np.argsort(made.end, kind="stable")
    return made.kept(order[made.score[order] > -np.inf])


def _of_chain(potentials: ChainPotentials) -> Trellis:
    L, T = len(potentials.structure.labels), int(potentials.seq_ptr[-1])
    of, node, tables, start, stop = potentials.states
    S, order = len(of), max(potentials.structure.order, 1)
    parts: list[list[Counts | Floats]] = []
    first, before = 0, 1  # nodes of the position before: the first one, and how many
    for t in range(T):
        if t == 0:
            score = (node[0] if start is None else node[0] + start)[None]  # [1, S]
        else:
            table = tables[min(t, order) - 1]
            table = table[t] if table.ndim == 3 and order == 1 else table
            score = table.reshape(before, S) + node[t]
        if t == T - 1 and stop is not None:
            score = score + stop
        tail = np.repeat(np.arange(before), S)  # by the last labels, as tables are
        y = np.tile(np.arange(S), before)
        count = before * S if t < order else before
        head = (tail * S + y) % count
        last = np.full(len(tail), L) if t == 0 else of[tail % S]
        at = np.full(len(tail), t)
        parts.append([first + tail, first + before + head, score.ravel(), last, of[y], at])
        first, before = first + before, count
    tail, head, score, last, label, place = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Trellis(T, tail, head, score, last, label, place, place + 1, first + before)


def _of_segments(potentials: SemiMarkovPotentials) -> Trellis:
    T, D, L = potentials.segment.shape
    start = np.zeros(L) if potentials.start is None else potentials.start
    stop = np.zeros(L) if potentials.stop is None else potentials.stop
    # Node 1 + (end - 1) * L + label; [T, D, L before, L] of segments, and [D, L] of first ones.
    place, length = np.nonzero(np.arange(T)[:, None] + np.arange(D) < T)  # [B] each, lengths from 0
    end = place + length + 1
    own = potentials.segment[place, length] + np.where((end == T)[:, None], stop, 0.0)  # [B, L]
    inner = np.flatnonzero(place > 0)
    edge = potentials.edge[place[inner]] if potentials.edge.ndim == 3 else potentials.edge[None]
    score = own[inner][:, None, :] + edge  # [I, L, L]
    i, a, y = (array.ravel() for array in np.indices(score.shape))
    at, to = place[inner][i], end[inner][i]
    outer = np.flatnonzero(place == 0)
    j, z = (array.ravel() for array in np.indices((len(outer), L)))
    return Trellis(
        T,
        np.concatenate([1 + (at - 1) * L + a, np.zeros(len(j), np.int64)]),
        np.concatenate([1 + (to - 1) * L + y, 1 + (end[outer][j] - 1) * L + z]),
        np.concatenate([score.ravel(), (own[outer] + start).ravel()]),
        np.concatenate([a, np.full(len(j), L)]),
        np.concatenate([y, z]),
        np.concatenate([at, np.zeros(len(j), np.int64)]),
        np.concatenate([to, end[outer][j]]),
        1 + T * L,
    )
