"""The recursions behind `crfkit.inference.reference.textbook`: for chains, for segments, and for trees.

- Chain: Sutton & McCallum (2006) eq. 1.29 (alpha), 1.32 (beta), 1.34 (pairs), 1.35 (max). A chain of
  order k is a chain over explicit tuples of k labels, Sha & Pereira (2003) section 3; limits on the
  length of segments add the length so far to the tuple.
- Semi-Markov: Sarawagi & Cohen (2004) eq. 3, with sums for maxima, and its mirror image.
- Tree: upward and downward messages, Sutton & McCallum (2006) section 1.4.4.

`total` works for any semiring; `log_parts` returns logarithms of the probabilities of all parts.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats
from crfkit.inference.reference.enumeration import Outcome, labeling_score
from crfkit.inference.reference.formulas import edge_tables
from crfkit.inference.reference.semirings import SUM, Semiring, log_sum
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials


class ChainRecursion:
    """States are tuples of the last labels; psi[t][i, j] holds node, edge and start scores."""

    def __init__(self, p: ChainPotentials) -> None:
        self.p = p
        self.T, self.L = p.node.shape
        self.tables, self.by_position = edge_tables(p)
        resolved = p.structure.resolved
        self.limits = resolved if resolved is not None and resolved.expansion is not None else None
        self.states: list[NDArray[np.int64]] = []  # [S, labels of the tuple]
        self.lengths: list[NDArray[np.int64]] = []  # [S] of the segment so far, where it counts
        self.psi: list[Floats] = []  # [S before, S]; [S] for t = 0
        for t in range(self.T):
            tuples = list(product(range(self.L), repeat=min(t + 1, len(self.tables))))
            known = range(1, t + 2) if self.limits else [1]
            self.states.append(np.repeat(np.array(tuples), len(known), axis=0))
            self.lengths.append(np.tile(known, len(tuples)))
            self.psi.append(self._step(t) + p.node[t, self.states[t][:, -1]])
        self.end = np.zeros(1)  # [S of the last position]
        if self.T:
            stop = np.zeros(self.L) if p.stop is None else p.stop
            self.end = np.where(self._ended(-1), stop[self.states[-1][:, -1]], -np.inf)

    def _step(self, t: int) -> Floats:
        """Score the steps from the states of t - 1 to those of t."""
        states, length = self.states[t], self.lengths[t]
        if t == 0:
            start = np.zeros(self.L) if self.p.start is None else self.p.start
            return np.where(length == 1, start[states[:, -1]], -np.inf)
        before = self.states[t - 1][:, None]  # [S before, 1, labels]
        overlap = before.shape[2] - (states.shape[1] - 1)
        fits = np.all(before[..., overlap:] == states[:, :-1], axis=2)  # [S before, S]
        if self.limits:
            grows = self.limits.continues[before[..., -1], states[:, -1]]
            longer = self.lengths[t - 1][:, None] + 1 == length
            fits &= np.where(grows, longer, self._ended(t - 1)[:, None] & (length == 1))
        score = np.zeros(fits.shape)
        for h, table in enumerate(self.tables[:t], start=1):
            score = score + (table[t] if self.by_position else table)[self._run(t, h)]
        return np.where(fits, score, -np.inf)

    def _run(self, t: int, h: int) -> tuple[Any, ...]:
        """Return the last h + 1 labels of every step to t, as an index of a table."""
        before = self.states[t - 1][:, None]
        return (*(before[..., -back] for back in range(h, 0, -1)), self.states[t][:, -1])

    def _ended(self, t: int) -> Bools:
        """Return whether the segment of each state may end at t."""
        if not self.limits:
            return np.ones(len(self.states[t]), dtype=np.bool_)
        label, length = self.states[t][:, -1], self.lengths[t]
        longest = self.limits.max_length[label]
        fits = (longest == 0) | (length <= longest)
        return np.asarray((length >= self.limits.min_length[label]) & fits)

    def forward(self, ring: Semiring) -> list[NDArray[Any]]:
        """Return alpha of every position."""
        alphas: list[NDArray[Any]] = []
        for t, psi in enumerate(self.psi):
            values = ring.lift(psi)
            alphas.append(ring.total(ring.times(alphas[-1][:, None], values)) if t else values)
        return alphas

    def total(self, ring: Semiring) -> Any:
        """Sum over all labelings."""
        last = self.forward(ring)[-1] if self.T else ring.lift(np.zeros(1))
        return ring.total(ring.times(last, ring.lift(self.end)))

    def log_parts(self, log_z: float) -> dict[str, Any]:
        """Return the logarithm of the probability of every part."""
        norm = log_z if log_z > -np.inf else 0.0
        alphas, betas = self.forward(SUM), [self.end]
        for psi in self.psi[:0:-1]:
            betas.insert(0, log_sum(psi + betas[0], axis=1))
        node = np.full((self.T, self.L), -np.inf)  # [T, L]
        runs = [np.full((self.T, *(self.L,) * (h + 2)), -np.inf) for h in range(len(self.tables))]
        for t, states in enumerate(self.states):
            np.logaddexp.at(node[t], states[:, -1], alphas[t] + betas[t] - norm)
            for h in range(1, min(len(runs), t) + 1):
                pair = alphas[t - 1][:, None] + self.psi[t] + betas[t] - norm  # eq. 1.34
                np.logaddexp.at(runs[h - 1][t], self._run(t, h), pair)
        ends = node[[0, -1]] if self.T else np.full((2, self.L), -np.inf)
        return {"node": node, "runs": runs, "start": ends[0], "stop": ends[1]}

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labeling."""
        labels: list[int] = []
        alphas, after = self.forward(SUM), self.end
        for t in range(self.T - 1, -1, -1):
            state = _draw(rng, alphas[t] + after)
            labels.insert(0, int(self.states[t][state, -1]))
            after = self.psi[t][..., state]
        return Outcome(tuple(labels), labeling_score(self.p, labels))


class SegmentRecursion:
    """Boundary t lies after t positions; alpha[t][y]: a segment of label y ends there."""

    def __init__(self, p: SemiMarkovPotentials) -> None:
        self.p = p
        self.T, self.D, self.L = p.segment.shape
        self.start = np.zeros(self.L) if p.start is None else p.start
        self.stop = np.zeros(self.L) if p.stop is None else p.stop
        self.edge = np.broadcast_to(p.edge, (self.T, self.L, self.L))  # [T, L, L]

    def forward(self, ring: Semiring) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        """Return what enters a segment that begins at boundary t, and alpha."""
        enter, alpha = [ring.lift(self.start)], [ring.lift(np.full(self.L, -np.inf))]
        for t in range(1, self.T + 1):
            ways = [
                ring.times(enter[t - d], ring.lift(self.p.segment[t - d, d - 1]))
                for d in range(1, min(self.D, t) + 1)
            ]
            alpha.append(ring.total(np.stack(ways)))
            if t < self.T:
                enter.append(ring.total(ring.times(alpha[t][:, None], ring.lift(self.edge[t]))))
        return enter, alpha

    def total(self, ring: Semiring) -> Any:
        """Sum over all labelings."""
        if self.T == 0:
            return ring.lift(np.zeros(1))[0]
        return ring.total(ring.times(self.forward(ring)[1][-1], ring.lift(self.stop)))

    def log_parts(self, log_z: float) -> dict[str, Any]:
        """Return the logarithm of the probability of every part."""
        T, D, L = self.T, self.D, self.L
        norm = log_z if log_z > -np.inf else 0.0
        enter, alpha = self.forward(SUM)
        leave, beta = np.full((2, T + 1, L), -np.inf)  # after a segment that begins or ends at t
        beta[T] = self.stop
        node, edge = np.full((T, L), -np.inf), np.full((T, L, L), -np.inf)
        segment = np.full((T, D, L), -np.inf)
        for t in range(T - 1, -1, -1):
            ways = [self.p.segment[t, d - 1] + beta[t + d] for d in range(1, min(D, T - t) + 1)]
            leave[t] = log_sum(np.stack(ways))
            for d, way in enumerate(ways):
                segment[t, d] = enter[t] + way - norm
                node[t : t + d + 1] = np.logaddexp(node[t : t + d + 1], segment[t, d])
            if t > 0:
                beta[t] = log_sum(self.edge[t] + leave[t], axis=1)
                edge[t] = alpha[t][:, None] + self.edge[t] + leave[t] - norm
        ends = [enter[0] + leave[0] - norm, alpha[T] + self.stop - norm]
        parts = {"node": node, "runs": [edge], "segment": segment}
        return {**parts, "start": ends[0], "stop": ends[1]}

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labeling."""
        enter, alpha = self.forward(SUM)
        labels, begin = [0] * self.T, [False] * self.T
        t, after = self.T, self.stop
        while t > 0:
            label = _draw(rng, alpha[t] + after)
            ways = [
                enter[t - d][label] + self.p.segment[t - d, d - 1, label]
                for d in range(1, min(self.D, t) + 1)
            ]
            d = _draw(rng, np.array(ways)) + 1
            t -= d
            labels[t : t + d], begin[t] = [label] * d, True
            after = self.edge[t][:, label]
        score = labeling_score(self.p, labels, begin)
        return Outcome(tuple(labels), score, tuple(begin))


class TreeRecursion:
    """up[v]: the subtree of v for each label of v; message[v]: for each label of its parent."""

    def __init__(self, p: TreePotentials) -> None:
        self.p = p
        self.parent: list[int] = p.structure.parent.tolist()
        self.children: list[list[int]] = [[] for _ in self.parent]
        for v, above in enumerate(self.parent):
            if above >= 0:
                self.children[above].append(v)
        self.order = [v for v, above in enumerate(self.parent) if above < 0]  # parents first
        for v in self.order:
            self.order.extend(self.children[v])

    def upward(self, ring: Semiring) -> tuple[dict[int, Any], dict[int, Any]]:
        """Return what each variable gathers below it, and what it sends to its parent."""
        up: dict[int, NDArray[Any]] = {}
        message: dict[int, NDArray[Any]] = {}
        for v in reversed(self.order):
            up[v] = ring.lift(self.p.node[v])
            for child in self.children[v]:
                up[v] = ring.times(up[v], message[child])
            if self.parent[v] >= 0:
                message[v] = ring.total(ring.times(up[v][:, None], ring.lift(self.p.edge[v])))
        return up, message

    def total(self, ring: Semiring) -> Any:
        """Sum over all labelings."""
        value, (up, _) = ring.lift(np.zeros(1)), self.upward(ring)
        for v, above in enumerate(self.parent):
            if above < 0:
                value = ring.times(value, ring.total(up[v][:, None]))
        return value[0]

    def log_parts(self, log_z: float) -> dict[str, Any]:
        """Return the logarithm of the probability of every part."""
        up, message = self.upward(SUM)
        node = [np.full(scores.shape, -np.inf) for scores in self.p.node]
        edge = [np.full(table.shape, -np.inf) for table in self.p.edge]
        outside: dict[int, Floats] = {}  # all but the subtree of v, for each label of v, over Z
        for v in self.order if log_z > -np.inf else []:
            above = self.parent[v]
            if above < 0:
                outside[v] = np.full(len(up[v]), -log_sum(up[v]))
            else:
                rest = outside[above] + self.p.node[above]
                for sibling in self.children[above]:
                    rest = rest + message[sibling] if sibling != v else rest
                joint = self.p.edge[v] + rest  # [labels of v, labels above]
                edge[v] = joint + up[v][:, None]
                outside[v] = log_sum(joint, axis=1)
            node[v] = up[v] + outside[v]
        return {"node": node, "edge": edge}

    def sample(self, rng: np.random.Generator) -> Outcome:
        """Draw one labeling."""
        up, _ = self.upward(SUM)
        labels = [0] * len(self.parent)
        for v in self.order:
            given = self.p.edge[v][:, labels[self.parent[v]]] if self.parent[v] >= 0 else 0.0
            labels[v] = _draw(rng, up[v] + given)
        return Outcome(tuple(labels), labeling_score(self.p, labels))


def _draw(rng: np.random.Generator, logs: Floats) -> int:
    weights = np.exp(logs - logs.max())
    return int(rng.choice(len(weights), p=weights / weights.sum()))
