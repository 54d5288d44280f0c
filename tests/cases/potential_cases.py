"""The registry of random problems: named cases for every structure, small ones and longer ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from numpy.random import Generator

from crfkit.structures.constraints import START, Forbid, Require, Scheme, SegmentLength
from tests.cases.potentials import (
    WIDTHS,
    Case,
    Potentials,
    chain,
    local,
    path,
    possible,
    random_tree,
    reversed_path,
    segments,
    star,
    tree,
)

LOCAL = [
    Case("LocalChain", "local", lambda rng: local(rng, 3, [4, 1, 0, 3])),
    Case("LocalChain", "local by position", lambda rng: local(rng, 2, [5, 2], per_position=True)),
]
LOCAL_SWEPT = [Case("LocalChain", "local, longer", lambda rng: local(rng, 9, [30, 1, 17]))]


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
