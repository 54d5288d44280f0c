"""Every query by enumeration of all labellings: slow, obvious, and independent of the kernels.

The scores of a labelling are added up by loops straight from the formulas

- chain: ``start[y_1] + sum_t node[t, y_t] + sum_t sum_h edge_h[y_{t-h}, ..., y_t] + stop[y_T]``,
  Sutton & McCallum (2006) eq. 1.16;
- semi-Markov: ``start[y_1] + sum_j segment[s_j, d_j - 1, y_j] + sum_{j>1} edge[y_{j-1}, y_j] +
  stop[y_J]``, Sarawagi & Cohen (2004) eq. 1-3;
- tree: ``sum_v node_v[y_v] + sum_v edge_v[y_v, y_parent(v)]``,

and a query is its definition: log Z is the log of a sum over a list, a marginal the sum of the
probabilities of the labellings that have a part. For problems of a few thousand labellings; beyond
that see `crfkit.inference.reference.textbook`. Only the arrays of the potentials are read, and for a chain
with constraints what `Resolved.accepts` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from crfkit.arrays import Floats
from crfkit.structures import ChainPotentials, SemiMarkovPotentials, TreePotentials

__all__ = ["Enumeration", "Outcome", "Parts", "enumerate_labellings", "labelling_score"]

Potentials: TypeAlias = ChainPotentials | SemiMarkovPotentials | TreePotentials


@dataclass(frozen=True)
class Outcome:
    """One labelling and its score, -inf where it is forbidden."""

    labels: tuple[int, ...]
    score: float
    begin: tuple[bool, ...] | None = None  #: where segments begin; semi-Markov only


@dataclass(frozen=True, eq=False)
class Parts:
    """One number for every part, in the shapes of `crfkit.inference.Marginals`."""

    log_partition: float
    node: Any
    edge: Any
    start: Any = None
    stop: Any = None
    segment: Any = None


def enumerate_labellings(potentials: Potentials) -> Iterator[Outcome]:
    """Yield every labelling of one sequence with its score, forbidden ones with -inf.

    Examples
    --------
    >>> from crfkit import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]])
    >>> [(y.labels, y.score) for y in enumerate_labellings(scores)]
    [((0, 0), 0.5), ((0, 1), 0.0), ((1, 0), 1.5), ((1, 1), 1.0)]
    """
    _demand_single(potentials)
    if isinstance(potentials, TreePotentials):
        widths: list[int] = potentials.structure.width.tolist()
        for labels in product(*map(range, widths)):
            yield Outcome(labels, labelling_score(potentials, labels))
    elif isinstance(potentials, ChainPotentials):
        T, L = potentials.node.shape
        for labels in product(range(L), repeat=T):
            yield Outcome(labels, labelling_score(potentials, labels))
    else:
        T, D, L = potentials.segment.shape
        for lengths in _compositions(T, D):
            begin = tuple(d == 0 for length in lengths for d in range(length))
            for chosen in product(range(L), repeat=len(lengths)):
                labels = tuple(y for y, d in zip(chosen, lengths, strict=True) for _ in range(d))
                yield Outcome(labels, labelling_score(potentials, labels, begin), begin)


def labelling_score(
    potentials: Potentials, labels: Sequence[int], begin: Sequence[bool] | None = None
) -> float:
    """Return the score of one labelling of one sequence, by the formulas at the top.

    Parameters
    ----------
    potentials
        Scores of one sequence.
    labels
        One label id for each position (tree: variable).
    begin
        Semi-Markov: where segments begin; without it at every change of the label.

    Examples
    --------
    >>> from crfkit import Chain
    >>> labelling_score(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]), [1, 0])
    1.5
    """
    _demand_single(potentials)
    terms: list[float] = []
    if isinstance(potentials, TreePotentials):
        for v, up in enumerate(potentials.structure.parent.tolist()):
            terms.append(float(potentials.node[v][labels[v]]))
            if up >= 0:
                terms.append(float(potentials.edge[v][labels[v], labels[up]]))
        return _add(terms)
    segments = _segments(potentials, labels, begin)
    tables, by_position = edge_tables(potentials)
    for j, (first, end, label) in enumerate(segments):
        if isinstance(potentials, ChainPotentials):
            terms.append(float(potentials.node[first, label]))
        elif end - first > potentials.segment.shape[1]:
            terms.append(-math.inf)
        else:
            terms.append(float(potentials.segment[first, end - first - 1, label]))
        for h, table in enumerate(tables, start=1):
            if j >= h:
                run = tuple(segment[2] for segment in segments[j - h : j + 1])
                terms.append(float(table[first][run] if by_position else table[run]))
    if segments and potentials.start is not None:
        terms.append(float(potentials.start[segments[0][2]]))
    if segments and potentials.stop is not None:
        terms.append(float(potentials.stop[segments[-1][2]]))
    if isinstance(potentials, ChainPotentials):
        resolved = potentials.structure.resolved
        if resolved is not None and not resolved.accepts(labels):
            return -math.inf
    return _add(terms)


class Enumeration:
    """All allowed labellings of one sequence, and every query as a sum or a search over them.

    Examples
    --------
    >>> from crfkit import Chain
    >>> every = Enumeration(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]))
    >>> every.count, [y.labels for y in every.kbest(2)]
    (4, [(1, 0), (1, 1)])
    """

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        self.outcomes = [y for y in enumerate_labellings(potentials) if y.score > -math.inf]

    @property
    def count(self) -> int:
        """How many labellings are allowed."""
        return len(self.outcomes)

    @cached_property
    def log_partition(self) -> float:
        """Log of the sum of exp(score)."""
        if not self.outcomes:
            return -math.inf
        top = max(y.score for y in self.outcomes)
        return top + math.log(math.fsum(math.exp(y.score - top) for y in self.outcomes))

    @cached_property
    def probabilities(self) -> list[float]:
        """Probability of each of `outcomes`."""
        return [math.exp(y.score - self.log_partition) for y in self.outcomes]

    @cached_property
    def entropy(self) -> float:
        """Minus the sum of p log p."""
        return math.fsum(
            p * (self.log_partition - y.score) for p, y in zip(self.probabilities, self.outcomes, strict=True)
        )

    def kbest(self, k: int) -> list[Outcome]:
        """Return the k best labellings, best first."""
        return sorted(self.outcomes, key=lambda y: -y.score)[:k]

    def decode(self, *, tolerance: float = 1e-12) -> list[Outcome]:
        """Return every labelling of the highest score, up to a relative tolerance."""
        top = max(y.score for y in self.outcomes)
        margin = tolerance * max(1.0, abs(top))
        return [y for y in self.outcomes if y.score >= top - margin]

    def posterior(self, *, tolerance: float = 1e-9) -> list[set[int]]:
        """Return, for each position, the labels of the highest marginal."""
        rows = [np.asarray(row) for row in self.marginals().node]
        return [set(np.flatnonzero(row >= row.max() - tolerance).tolist()) for row in rows]

    def log_prob(self, labels: Sequence[int], begin: Sequence[bool] | None = None) -> float:
        """Return log p(y | x) of one labelling."""
        return labelling_score(self.potentials, labels, begin) - self.log_partition

    def span_probability(self, start: int, end: int, labels: Sequence[int]) -> float:
        """Return the probability that positions start to end - 1 have these labels."""
        return math.fsum(
            p
            for p, y in zip(self.probabilities, self.outcomes, strict=True)
            if y.labels[start:end] == tuple(labels)
        )

    def marginals(self, *, edges_by_position: bool = False) -> Parts:
        """Return the probability of every part (of shared edges: the expected number)."""
        return self._collect(edges_by_position, math.fsum)

    def reachable(self, *, edges_by_position: bool = False) -> Parts:
        """Return which parts some allowed labelling has."""
        return self._collect(edges_by_position, lambda ps: len(ps) > 0)

    def _collect(self, by_position: bool, total: Callable[[list[float]], Any]) -> Parts:
        """Fill each part with a total of the probabilities of the labellings that have it."""
        shares: dict[tuple[Any, ...], list[float]] = {}
        for y, p in zip(self.outcomes, self.probabilities, strict=True):
            for part in self._parts(y, by_position):
                shares.setdefault(part, []).append(p)

        def fill(shape: tuple[int, ...], *name: Any) -> Any:
            array = np.zeros(shape, dtype=type(total([])))
            for index in np.ndindex(shape):
                if (*name, *index) in shares:
                    array[index] = total(shares[(*name, *index)])
            return array

        potentials = self.potentials
        if isinstance(potentials, TreePotentials):
            return Parts(
                self.log_partition,
                [fill(node.shape, "node", v) for v, node in enumerate(potentials.node)],
                [fill(edge.shape, "edge", v) for v, edge in enumerate(potentials.edge)],
            )
        T, L = int(potentials.seq_ptr[-1]), len(potentials.structure.labels)
        start = None if potentials.start is None else fill((L,), "start")
        stop = None if potentials.stop is None else fill((L,), "stop")
        tables, _ = edge_tables(potentials)
        shapes = [(T, L, L)] if by_position else [table.shape for table in tables]
        edges = [fill(shape, "edge", h) for h, shape in enumerate(shapes, start=1)]
        edge = edges[0] if len(edges) == 1 else tuple(edges)
        segment = None
        if isinstance(potentials, SemiMarkovPotentials):
            segment = fill(potentials.segment.shape, "segment")
        return Parts(self.log_partition, fill((T, L), "node"), edge, start, stop, segment)

    def _parts(self, y: Outcome, by_position: bool) -> Iterator[tuple[Any, ...]]:
        """Yield the place of every part of one labelling."""
        potentials = self.potentials
        for t, label in enumerate(y.labels):
            yield ("node", t, label)
        if isinstance(potentials, TreePotentials):
            for v, up in enumerate(potentials.structure.parent.tolist()):
                if up >= 0:
                    yield ("edge", v, y.labels[v], y.labels[up])
            return
        segments = _segments(potentials, y.labels, y.begin)
        tables, always = edge_tables(potentials)
        for j, (first, end, label) in enumerate(segments):
            if isinstance(potentials, SemiMarkovPotentials):
                yield ("segment", first, end - first - 1, label)
            for h in range(1, min(j, len(tables)) + 1):
                where = (first,) if by_position or always else ()
                yield ("edge", h, *where, *(segment[2] for segment in segments[j - h : j + 1]))
        if segments:
            yield ("start", segments[0][2])
            yield ("stop", segments[-1][2])


def _demand_single(potentials: Potentials) -> None:
    if not potentials.single:
        raise ValueError("potentials is a batch; give one sequence: potentials.sequence(n)")


def edge_tables(potentials: ChainPotentials | SemiMarkovPotentials) -> tuple[tuple[Floats, ...], bool]:
    """Return the edge tables of order 1, 2, ..., and whether the only one is per position."""
    edge = potentials.edge
    tables = edge if isinstance(edge, tuple) else (edge,)
    return tables, len(tables) == 1 and tables[0].ndim == 3


def _segments(
    potentials: Potentials, labels: Sequence[int], begin: Sequence[bool] | None
) -> list[tuple[int, int, int]]:
    """Return (first, end, label) of each segment; in a chain every position is one."""
    T = len(labels)
    if isinstance(potentials, ChainPotentials):
        begin = [True] * T
    elif begin is None:
        begin = [t == 0 or labels[t] != labels[t - 1] for t in range(T)]
    firsts = [t for t in range(T) if begin[t]]
    ends = [*firsts[1:], T]
    return [(a, b, int(labels[a])) for a, b in zip(firsts, ends[: len(firsts)], strict=True)]


def _compositions(total: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to cut `total` positions into pieces of at most `longest`."""
    if total == 0:
        yield ()
    for first in range(1, min(total, longest) + 1):
        for rest in _compositions(total - first, longest):
            yield (first, *rest)


def _add(terms: list[float]) -> float:
    return -math.inf if -math.inf in terms else math.fsum(terms)
