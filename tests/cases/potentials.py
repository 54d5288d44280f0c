"""Random problems for every structure: seeded ones for the matrix, Hypothesis strategies for the rest.

A builder takes a generator and returns the potentials of a batch. Those of ENUMERABLE are small
enough to list every labeling of each sequence; those of SWEPT have more labels and positions and
are compared with `crfkit.inference.reference.textbook`.
"""

from __future__ import annotations

import re
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
from crfkit.structures.constraints import (
    START,
    Constraint,
    Forbid,
    Require,
    Scheme,
    SegmentLength,
)
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


LOCAL = [
    Case("LocalChain", "local", lambda rng: local(rng, 3, [4, 1, 0, 3])),
    Case("LocalChain", "local by position", lambda rng: local(rng, 2, [5, 2], per_position=True)),
]
LOCAL_SWEPT = [Case("LocalChain", "local, longer", lambda rng: local(rng, 9, [30, 1, 17]))]


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


# ---- the registry --------------------------------------------------------------------------------

SOME = (3, 0, 1, 4, 2)  # lengths of a batch, small enough to enumerate
BIO = ("O", "B-x", "I-x")


def _chains() -> list[Case]:
    def case(name: str, L: int, lengths: Sequence[int], **options: Any) -> Case:
        def build(rng: Generator) -> Potentials:
            made = chain(rng, L, lengths, **options)
            return possible(made, rng) if options.get("holes") else made

        return Case("Chain", name, build)

    found = [
        case("order 0", 3, SOME, order=0),
        case("order 1", 3, SOME),
        case("order 1 without ends", 3, SOME, ends=False),
        case("order 1 per position", 3, SOME, per_position=True),
        case("order 1 forbidden", 3, SOME, holes=0.3),
        case("order 1 per position forbidden", 3, SOME, per_position=True, holes=0.3),
        case("order 1 large scores", 3, SOME, scale=300.0),
        case("order 2", 3, SOME, order=2),
        case("order 2 without ends", 2, (5, 0, 3), order=2, ends=False),
        case("order 2 forbidden", 3, SOME, order=2, holes=0.2),
        case("order 2 one label", 1, SOME, order=2),
        case("order 3", 2, (6, 1, 0, 3, 2), order=3),
        case("order 3 forbidden", 2, (6, 1, 0, 3, 2), order=3, holes=0.1),
        case("order 3 large scores", 2, (5, 2), order=3, scale=300.0),
        case("order 4", 2, (6, 3), order=4),
        case("many sequences", 2, [i % 7 for i in range(50)]),
        case("all empty", 3, (0, 0, 0)),
    ]
    found += [
        case(f"{L} labels, holes {holes}", L, (2, 1, 0, 2)[: 4 if L < 33 else 3], holes=holes)
        for L in WIDTHS
        for holes in (0.0, 0.4)
    ]
    found += [
        case("BIO scheme", 3, SOME, labels=BIO, constraints=[Scheme("BIO")]),
        case("BIO scheme order 2", 3, SOME, labels=BIO, order=2, constraints=[Scheme("BIO")]),
        case(
            "BIO scheme per position", 3, SOME, labels=BIO, per_position=True,
            constraints=[Scheme("BIO")],
        ),
        case("forbid", 3, SOME, constraints=[Forbid("0", "0"), Forbid(START, "2")]),
        case(
            "forbid pattern", 3, SOME,
            constraints=[Forbid(pair=re.compile(r"(.),\1")), Require("2", "1")], ends=False,
        ),
        case(
            "segment length", 3, (6, 0, 1, 3), labels=BIO,
            constraints=[Scheme("BIO"), SegmentLength("x", maximum=2)],
        ),
        case(
            "segment length runs", 3, (5, 0, 3, 4),
            constraints=[SegmentLength("0", minimum=2, maximum=3), SegmentLength("1", maximum=1)],
        ),
        case(
            "segment length per position", 2, (6, 0, 3, 4), per_position=True,
            constraints=[SegmentLength("0", minimum=2)], ends=False,
        ),
    ]  # fmt: skip
    return found


def _segments() -> list[Case]:
    def case(name: str, L: int, lengths: Sequence[int], **options: Any) -> Case:
        def build(rng: Generator) -> Potentials:
            made = segments(rng, L, lengths, **options)
            return possible(made, rng) if options.get("holes") else made

        return Case("SemiMarkov", name, build)

    found = [case(f"D = {D}", 2, (4, 0, 1, 3), longest=D) for D in (1, 2, 3, 4)]
    found += [
        case("D = 9 above T", 2, (4, 0, 1, 3), longest=9),
        case("without ends", 3, (3, 0, 2), longest=2, ends=False),
        case("per position", 2, (4, 0, 3, 1), per_position=True),
        case("with nodes", 2, (4, 0, 3, 1), with_nodes=True),
        case("lengths by label", 3, (4, 1, 0, 3), longest=(1, 3, 2)),
        case("shortest by label", 3, (4, 1, 0, 3), longest=(1, 3, 4), shortest=(1, 2, 3)),
        case("forbidden", 3, (4, 0, 1, 3), holes=0.3),
        case("per position forbidden", 2, (5, 0, 1, 3), holes=0.3, per_position=True),
        case("large scores", 2, (5, 0, 1, 3), scale=300.0),
        case("one label", 1, (7, 0, 1), longest=4),
        case("all empty", 2, (0, 0)),
        case("forbid", 2, (4, 0, 3), constraints=[Forbid("1", "1"), Forbid("0", "0")]),
        case("require", 3, (4, 2), constraints=[Require("1", "2")], ends=False),
        case("segment length", 2, (5, 2), longest=4, constraints=[SegmentLength("0", maximum=2)]),
    ]
    found += [case(f"{L} labels", L, (2, 1, 0), longest=2) for L in WIDTHS]
    return found


def _trees() -> list[Case]:
    def case(name: str, build: Callable[[Generator], Potentials]) -> Case:
        return Case("Tree", name, build)

    def wide(rng: Generator) -> Potentials:
        return tree(rng, [[-1, 0], [1, -1], [2, 2, -1], [-1]], widths=range(1, 13))

    return [
        case("path", lambda rng: tree(rng, [path(5), [], path(1)], widths=(2, 3))),
        case("reversed path", lambda rng: tree(rng, [reversed_path(5)], widths=(1, 2, 3))),
        case("star", lambda rng: tree(rng, [star(6)], widths=(2,))),
        case("star around the last", lambda rng: tree(rng, [star(4, center=4)], widths=(2, 3))),
        case("random", lambda rng: tree(rng, [random_tree(rng, n) for n in (6, 0, 5, 2)])),
        case("forest", lambda rng: tree(rng, [random_tree(rng, n, roots=3) for n in (6, 5)])),
        case("lonely roots", lambda rng: tree(rng, [[-1, -1, -1], [-1]])),
        case("wide rows", wide),
        case("without edges", lambda rng: tree(rng, [random_tree(rng, 5)], edges=False)),
        case("large scores", lambda rng: tree(rng, [random_tree(rng, 6)], scale=300.0)),
        case("empty", lambda rng: tree(rng, [[], []])),
        case(
            "forbidden",
            lambda rng: possible(tree(rng, [random_tree(rng, n) for n in (6, 5, 1)], holes=0.3), rng),
        ),
        case(
            "wide rows forbidden",
            lambda rng: possible(tree(rng, [[-1, 0, 0], [1, 2, -1]], widths=range(1, 13), holes=0.3), rng),
        ),
    ]


ENUMERABLE = [*_chains(), *LOCAL, *_segments(), *_trees()]


def _swept() -> list[Case]:
    lengths = (20, 0, 1, 7, 2)

    def chained(name: str, L: int, sizes: Sequence[int] = lengths, **options: Any) -> Case:
        def build(rng: Generator) -> Potentials:
            made = chain(rng, L, sizes, **options)
            return possible(made, rng) if options.get("holes") else made

        return Case("Chain", name, build)

    def cut(name: str, L: int, **options: Any) -> Case:
        def build(rng: Generator) -> Potentials:
            return possible(segments(rng, L, lengths, **options), rng)

        return Case("SemiMarkov", name, build)

    def grown(name: str, shape: Callable[[Generator], list[int]], **options: Any) -> Case:
        def build(rng: Generator) -> Potentials:
            given = {"widths": range(1, 13), **options}
            return possible(tree(rng, [shape(rng)], **given), rng)

        return Case("Tree", name, build)

    limits = [Scheme("BIO"), SegmentLength("x", minimum=2, maximum=4)]
    return [
        *(chained(f"swept {L} labels", L) for L in WIDTHS),
        *(chained(f"swept {L} labels forbidden", L, holes=0.5) for L in (9, 33)),
        chained("swept 65 labels", 65),
        chained("swept 9 labels per position", 9, per_position=True),
        chained("swept order 0", 9, order=0),
        chained("swept order 2", 7, (9, 0, 1, 2), order=2),
        chained("swept order 2 of 9 labels", 9, (6, 2), order=2),
        chained("swept order 3", 3, (9, 0, 1, 2, 3), order=3),
        chained("swept segment length", 3, (12, 0, 5), labels=BIO, constraints=limits),
        *(cut(f"swept {L} labels", L, longest=6) for L in WIDTHS),
        cut("swept 9 labels forbidden", 9, per_position=True, holes=0.5, longest=4),
        grown("swept path", lambda rng: path(30)),
        grown("swept star", lambda rng: star(30)),
        grown("swept wide", lambda rng: random_tree(rng, 20), widths=WIDTHS),
        grown("swept forest forbidden", lambda rng: random_tree(rng, 20, roots=3), holes=0.4),
    ]


SWEPT = [*_swept(), *LOCAL_SWEPT]


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
