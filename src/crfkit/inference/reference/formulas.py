"""The score of each structure as its formula says: which labelings there are, and the parts of each.

- chain: ``start[y_1] + sum_t node[t, y_t] + sum_t sum_h edge_h[y_{t-h}, ..., y_t] + stop[y_T]``,
  Sutton & McCallum (2006) eq. 1.16;
- semi-Markov: ``start[y_1] + sum_j segment[s_j, d_j - 1, y_j] + sum_{j>1} edge[y_{j-1}, y_j] +
  stop[y_J]``, Sarawagi & Cohen (2004) eq. 1-3;
- tree: ``sum_v node_v[y_v] + sum_v edge_v[y_v, y_parent(v)]``.

Only the arrays of the potentials are read, and for a chain with constraints what `Resolved.accepts` says. A
new structure gets a class here and a line in `FORMULAS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Protocol, TypeAlias

from crfkit.arrays import Floats
from crfkit.structures import Potentials
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials

__all__ = ["FORMULAS", "Formula", "edge_tables"]

#: The name of an array of `Marginals` (and which of a list), then an index of it; its score.
Part: TypeAlias = tuple[tuple[Any, ...], float]
#: Makes an array of a shape from what was found at the places that begin with a name.
Fill: TypeAlias = Callable[..., Any]
Begin: TypeAlias = Sequence[bool] | None


class Formula(Protocol):
    """The score of one sequence."""

    def labelings(self) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...] | None]]:
        """Yield labels and, of segments, begins of every labeling, allowed or not."""

    def accepts(self, labels: Sequence[int]) -> bool:
        """Return whether the constraints allow a labeling."""

    def parts(self, labels: Sequence[int], begin: Begin, by_position: bool = False) -> Iterator[Part]:
        """Yield the place and the score of every part of one labeling."""

    def filled(self, fill: Fill, by_position: bool) -> dict[str, Any]:
        """Return the arrays of `Marginals`, each made by `fill`."""


class _Linear:
    """What chains and segments share: pieces with labels, one after the other, and both ends."""

    def __init__(self, p: ChainPotentials | SemiMarkovPotentials) -> None:
        self.ends = {"start": p.start, "stop": p.stop}
        self.tables, self.always = edge_tables(p)
        self.T, self.L = int(p.seq_ptr[-1]), len(p.structure.labels)

    def steps(self, pieces: Sequence[tuple[int, int]], by_position: bool) -> Iterator[Part]:
        """Yield the label n-grams and the two ends of (first position, label) pieces."""
        for j, (first, _) in enumerate(pieces):
            for h in range(1, min(j, len(self.tables)) + 1):
                run = tuple(label for _, label in pieces[j - h : j + 1])
                table = self.tables[h - 1]
                where = (first,) if by_position or self.always else ()
                yield ("edge", h, *where, *run), float(table[first][run] if self.always else table[run])
        for name, at in (("start", 0), ("stop", -1)) if pieces else ():
            scores = self.ends[name]
            yield (name, pieces[at][1]), 0.0 if scores is None else float(scores[pieces[at][1]])

    def filled(self, fill: Fill, by_position: bool) -> dict[str, Any]:
        shapes = [(self.T, self.L, self.L)] if by_position else [table.shape for table in self.tables]
        edges = tuple(fill(shape, "edge", h) for h, shape in enumerate(shapes, start=1))
        ends = {name: None if array is None else fill((self.L,), name) for name, array in self.ends.items()}
        return {"node": fill((self.T, self.L), "node"), "edge": edges if len(edges) > 1 else edges[0], **ends}


class ChainFormula(_Linear):
    """One label of each position, scores of label n-grams."""

    def __init__(self, p: ChainPotentials) -> None:
        super().__init__(p)
        self.node, self.resolved = p.node, p.structure.resolved

    def labelings(self) -> Iterator[tuple[tuple[int, ...], None]]:
        for labels in product(range(self.L), repeat=self.T):
            yield labels, None

    def accepts(self, labels: Sequence[int]) -> bool:
        return self.resolved is None or self.resolved.accepts(labels)

    def parts(self, labels: Sequence[int], begin: Begin, by_position: bool = False) -> Iterator[Part]:
        for t, label in enumerate(labels):
            yield ("node", t, label), float(self.node[t, label])
        yield from self.steps(list(enumerate(labels)), by_position)


class SegmentFormula(_Linear):
    """Segments of at most D positions; a position has no score of its own."""

    def __init__(self, p: SemiMarkovPotentials) -> None:
        super().__init__(p)
        self.segment = p.segment

    def labelings(self) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
        for lengths in _compositions(self.T, self.segment.shape[1]):
            begin = tuple(d == 0 for length in lengths for d in range(length))
            for chosen in product(range(self.L), repeat=len(lengths)):
                yield tuple(y for y, d in zip(chosen, lengths, strict=True) for _ in range(d)), begin

    def accepts(self, labels: Sequence[int]) -> bool:
        return True  # constraints are scores of -inf

    def parts(self, labels: Sequence[int], begin: Begin, by_position: bool = False) -> Iterator[Part]:
        T = len(labels)
        if begin is None:
            begin = [t == 0 or labels[t] != labels[t - 1] for t in range(T)]
        firsts = [t for t in range(T) if begin[t]]
        for t, label in enumerate(labels):
            yield ("node", t, label), 0.0
        for first, end in zip(firsts, [*firsts[1:], T][: len(firsts)], strict=True):
            d, label = end - first - 1, labels[first]
            fits = d < self.segment.shape[1]
            yield ("segment", first, d, label), float(self.segment[first, d, label]) if fits else -math.inf
        yield from self.steps([(first, labels[first]) for first in firsts], by_position)

    def filled(self, fill: Fill, by_position: bool) -> dict[str, Any]:
        return {**super().filled(fill, by_position), "segment": fill(self.segment.shape, "segment")}


class TreeFormula:
    """Variables and their parents."""

    def __init__(self, p: TreePotentials) -> None:
        self.node, self.edge = p.node, p.edge
        self.parent: list[int] = p.structure.parent.tolist()

    def labelings(self) -> Iterator[tuple[tuple[int, ...], None]]:
        for labels in product(*(range(len(scores)) for scores in self.node)):
            yield labels, None

    def accepts(self, labels: Sequence[int]) -> bool:
        return True  # trees have no constraints

    def parts(self, labels: Sequence[int], begin: Begin, by_position: bool = False) -> Iterator[Part]:
        for v, up in enumerate(self.parent):
            yield ("node", v, labels[v]), float(self.node[v][labels[v]])
            if up >= 0:
                yield ("edge", v, labels[v], labels[up]), float(self.edge[v][labels[v], labels[up]])

    def filled(self, fill: Fill, by_position: bool) -> dict[str, Any]:
        both = {"node": self.node, "edge": self.edge}
        return {
            name: [fill(part.shape, name, v) for v, part in enumerate(parts)] for name, parts in both.items()
        }


#: The formula of each kind of potentials.
FORMULAS: dict[type[Potentials], Callable[[Any], Formula]] = {
    ChainPotentials: ChainFormula,
    SemiMarkovPotentials: SegmentFormula,
    TreePotentials: TreeFormula,
}


def edge_tables(potentials: ChainPotentials | SemiMarkovPotentials) -> tuple[tuple[Floats, ...], bool]:
    """Return the edge tables of order 1, 2, ..., and whether the only one is per position."""
    edge = potentials.edge
    tables = edge if isinstance(edge, tuple) else (edge,)
    return tables, len(tables) == 1 and tables[0].ndim == 3


def _compositions(total: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to cut `total` positions into pieces of at most `longest`."""
    if total == 0:
        yield ()
    for first in range(1, min(total, longest) + 1):
        for rest in _compositions(total - first, longest):
            yield (first, *rest)
