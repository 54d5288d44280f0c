"""Random problems for every structure: makers of potentials, and Hypothesis strategies of them.

A builder takes a generator and returns the potentials of a batch. Those of ENUMERABLE are small
enough to list every labeling of each sequence; those of SWEPT have more labels and positions and
are compared with `crfkit.inference.reference.textbook`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

from crfkit import Chain, SemiMarkov
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.structures import LocalChain, Tree
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.constraints import Constraint
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials

Potentials: TypeAlias = ChainPotentials | SemiMarkovPotentials | TreePotentials
NEVER = float("-inf")
#: Around the widths of vectors (2, 4, 8 doubles) and of register tiles.
WIDTHS = (1, 2, 3, 7, 8, 9, 16, 17, 33)


@dataclass(frozen=True)
class Case:
    """A named problem; `structure` is the class in `crfkit.structures` that it belongs to."""

    structure: str
    name: str
    build: Callable[[Generator], Potentials]

    def make(self, seed: int = 0) -> Potentials:
        return self.build(np.random.default_rng([seed, len(self.name), *self.name.encode()]))


def scores(rng: Generator, shape: tuple[int, ...], *, scale: float = 1.0, holes: float = 0.0) -> Floats:
    """Normal scores, a share of them -inf."""
    drawn = rng.normal(scale=scale, size=shape)
    drawn[rng.random(shape) < holes] = NEVER
    return drawn


def pointers(lengths: Iterable[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.cumsum([0, *lengths])


def chain(
    rng: Generator,
    L: int,
    lengths: Sequence[int],
    *,
    order: int = 1,
    per_position: bool = False,
    ends: bool = True,
    holes: float = 0.0,
    scale: float = 1.0,
    constraints: Sequence[Constraint] = (),
    labels: Sequence[str] | None = None,
) -> ChainPotentials:
    P = sum(lengths)
    edge: Any = None
    if order == 1:
        shape = (P, L, L) if per_position else (L, L)
        edge = scores(rng, shape, scale=scale, holes=holes)
    elif order > 1:
        edge = [scores(rng, (L,) * (h + 1), scale=scale, holes=holes) for h in range(1, order + 1)]
    return Chain(labels or L, order=order, constraints=constraints).potentials(
        scores(rng, (P, L), scale=scale, holes=holes),
        edge,
        start=scores(rng, (L,), scale=scale, holes=holes) if ends else None,
        stop=scores(rng, (L,), scale=scale, holes=holes) if ends else None,
        seq_ptr=pointers(lengths),
    )


def local(rng: Generator, L: int, lengths: Sequence[int], *, per_position: bool = False) -> ChainPotentials:
    """Build a chain whose steps are normalized each by itself."""
    seq_ptr = pointers(lengths)
    P = int(seq_ptr[-1])
    given = {"node": scores(rng, (P, L)), "start": scores(rng, (L,))}
    given |= {"edge": scores(rng, (P, L * L))} if per_position else {"transition": scores(rng, (L * L,))}
    batch = Batch(seq_ptr=seq_ptr, attr_ptr=np.zeros(P + 1, np.int64), attr=np.zeros(0, np.int32))
    return LocalChain(L).potentials_of(given, batch)


def segments(
    rng: Generator,
    L: int,
    lengths: Sequence[int],
    *,
    longest: int | Sequence[int] = 3,
    shortest: int | Sequence[int] = 1,
    per_position: bool = False,
    ends: bool = True,
    with_nodes: bool = False,
    holes: float = 0.0,
    scale: float = 1.0,
    constraints: Sequence[Constraint] = (),
) -> SemiMarkovPotentials:
    P, D = sum(lengths), int(np.max(longest))
    shape = (P, L, L) if per_position else (L, L)
    return SemiMarkov(L, longest, shortest, constraints=constraints).potentials(
        scores(rng, (P, D, L), scale=scale, holes=holes),
        scores(rng, shape, scale=scale, holes=holes),
        node=scores(rng, (P, L), scale=scale, holes=holes) if with_nodes else None,
        start=scores(rng, (L,), scale=scale, holes=holes) if ends else None,
        stop=scores(rng, (L,), scale=scale, holes=holes) if ends else None,
        seq_ptr=pointers(lengths),
    )


def tree(
    rng: Generator,
    shapes: Sequence[Sequence[int]],
    *,
    widths: Sequence[int] | Callable[[], int] = (2, 3),
    holes: float = 0.0,
    scale: float = 1.0,
    edges: bool = True,
) -> TreePotentials:
    """Build one tree for each list of parents."""
    parent = [up for shape in shapes for up in shape]
    width = [widths() for _ in parent] if callable(widths) else [int(rng.choice(widths)) for _ in parent]
    edge: list[Any] = []
    first = 0
    for shape in shapes:
        for v, up in enumerate(shape):
            size = (width[first + v], width[first + up])
            edge.append(scores(rng, size, scale=scale, holes=holes) if up >= 0 else None)
        first += len(shape)
    node = [scores(rng, (n,), scale=scale, holes=holes) for n in width]
    structure = Tree(parent, width, pointers(len(shape) for shape in shapes))
    return structure.potentials(node, edge if edges else None)


def path(T: int) -> list[int]:
    return list(range(-1, T - 1))


def reversed_path(T: int) -> list[int]:
    return [*range(1, T), -1] if T else []


def star(leaves: int, *, center: int = 0) -> list[int]:
    """Build a star whose center is variable number `center`."""
    return [-1 if v == center else center for v in range(leaves + 1)]


def random_tree(rng: Generator, size: int, *, roots: int = 1) -> list[int]:
    """Build a tree or forest with its variables in random order."""
    parent = [-1 if v < roots else int(rng.integers(v)) for v in range(size)]
    place = rng.permutation(size)
    shuffled = [-1] * size
    for v, up in enumerate(parent):
        shuffled[place[v]] = -1 if up < 0 else int(place[up])
    return shuffled


def possible(potentials: Potentials, rng: Generator) -> Potentials:
    """Lift the ban from one random labeling of every sequence, so that a labeling exists."""

    def allow(array: Any, index: Any) -> None:
        if array is not None and array[index] == NEVER:
            array[index] = rng.normal()

    ptr = potentials.seq_ptr.tolist()
    for first, end in pairwise(ptr):
        T = end - first
        if isinstance(potentials, TreePotentials):
            y = [int(rng.integers(n)) for n in potentials.structure.width[first:end]]
            for v in range(T):
                allow(potentials.node[first + v], y[v])
                up = int(potentials.structure.parent[first + v])
                if up >= 0:
                    allow(potentials.edge[first + v], (y[v], y[up]))
            continue
        L = len(potentials.structure.labels)
        y = rng.integers(L, size=T).tolist()
        tables: Any = potentials.edge
        if isinstance(potentials, ChainPotentials):
            for t in range(T):
                allow(potentials.node, (first + t, y[t]))
                for h, table in enumerate(tables, start=1):
                    if t >= h:
                        at = (first + t,) if len(tables) == 1 and table.ndim == 3 else ()
                        allow(table, (*at, *y[t - h : t + 1]))
        else:
            for t in range(T):
                allow(potentials.segment, (first + t, 0, y[t]))
                if t > 0:
                    at = (first + t,) if tables.ndim == 3 else ()
                    allow(tables, (*at, y[t - 1], y[t]))
        if T:
            allow(potentials.start, y[0])
            allow(potentials.stop, y[-1])
    return potentials


# ---- Hypothesis ----------------------------------------------------------------------------------

SCALES = (1e-3, 1.0, 50.0, 150.0, 1e3, 1e4)  # 150: about where sums move to logarithms


@st.composite
def problems(draw: st.DrawFn) -> Potentials:
    """Draw a small batch of any structure, with scores of any scale, some of them -inf."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from(SCALES))
    holes = draw(st.sampled_from((0.0, 0.1, 0.4)))
    kind = draw(st.sampled_from(("chain", "segments", "tree")))
    if kind == "tree":
        sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
        shapes = [random_tree(rng, n, roots=min(n, draw(st.integers(1, 3)))) for n in sizes]
        width = draw(st.sampled_from(((2,), (1, 2, 3))))
        made: Potentials = tree(rng, shapes, widths=width, holes=holes, scale=scale)
    else:
        L = draw(st.integers(1, 4))
        lengths = draw(st.lists(st.integers(0, 5 if L < 4 else 4), min_size=1, max_size=3))
        common: dict[str, Any] = {
            "ends": draw(st.booleans()),
            "holes": holes,
            "scale": scale,
            "per_position": draw(st.booleans()),
        }
        if kind == "chain":
            order = 1 if common["per_position"] else draw(st.integers(0, 3))
            made = chain(rng, L, lengths, order=order, **common)
        else:
            L = min(L, 3)
            longest = draw(st.integers(1, 4))
            made = segments(rng, L, lengths, longest=longest, **common)
    return possible(made, rng)
