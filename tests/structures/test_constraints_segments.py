"""Schemes and limits on lengths against acceptors that know nothing of transition tables.

A scheme is checked by writing down segments and spelling them, a limit on lengths by measuring the
segments.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.structures.constraints import Constraint, Forbid, Scheme, SegmentLength, resolve
from tests.cases.constraints import by_tables, check_expansion, sequences

Segments = list[tuple[str | None, int]]  # type (None: outside) and length, in order
PARTS = {
    "BIO": "BI",
    "IOB2": "BI",
    "IOB1": "BI",
    "BIOES": "BIES",
    "IOBES": "BIES",
    "BILOU": "BILU",
    "BMES": "BMES",
    "BCEU": "BCEU",
}


def segmentations(T: int, types: Sequence[str], outside: bool) -> Iterator[Segments]:
    if T == 0:
        yield []
    for length in range(1, T + 1):
        kinds: list[str | None] = [*types, None] if outside and length == 1 else list(types)
        for kind, rest in product(kinds, segmentations(T - length, types, outside)):
            yield [(kind, length), *rest]


def spell(name: str, segments: Segments) -> list[tuple[str | None, str]]:
    """Type and letter of each position."""
    spelled: list[tuple[str | None, str]] = []
    previous: str | None = None
    for kind, length in segments:
        begin, inside, *ends = list(PARTS[name])
        if kind is None:
            letters = ["O"]
        elif name == "IOB1":
            letters = ["B" if kind == previous else "I"] + ["I"] * (length - 1)
        elif not ends:
            letters = [begin] + [inside] * (length - 1)
        elif length == 1:
            letters = [ends[1]]
        else:
            letters = [begin] + [inside] * (length - 2) + [ends[0]]
        spelled += [(kind, letter) for letter in letters]
        previous = kind
    return spelled


def tag(kind: str | None, letter: str) -> str:
    return letter if not kind else f"{letter}-{kind}"


def scheme_labels(name: str, types: Sequence[str], outside: bool) -> list[str]:
    return ["O"] * outside + [tag(kind, letter) for letter in PARTS[name] for kind in types]


SCHEMES = [
    *((name, types, True) for name in PARTS for types in (["X"], ["X", "Y"], [""])),
    ("BMES", ["X", "Y"], False),
    ("BMES", [""], False),
    ("BCEU", ["X", "Y"], False),
    ("BIO", ["X"], False),
    ("IOB1", ["X", "Y"], False),
]


@pytest.mark.parametrize(("name", "types", "outside"), SCHEMES)
def test_a_scheme_accepts_exactly_the_spelled_segments(name: str, types: list[str], outside: bool) -> None:
    labels = scheme_labels(name, types, outside)
    longest = 4 if len(labels) > 5 else 5
    valid = {
        tuple(tag(*position) for position in spell(name, segments))
        for T in range(1, longest + 1)
        for segments in segmentations(T, types, outside)
    }
    found = resolve([Scheme(name)], labels)
    assert found.expansion is None
    for sequence in sequences(labels, longest):
        ids = [labels.index(label) for label in sequence]
        assert by_tables(found, ids) == (sequence in valid), sequence
        assert found.accepts(ids) == (sequence in valid), sequence


LIMITS: list[tuple[list[SegmentLength], dict[str, tuple[int, int]]]] = [
    ([SegmentLength("X", maximum=1)], {"X": (1, 1)}),
    ([SegmentLength("X", maximum=2)], {"X": (1, 2)}),
    ([SegmentLength("Y", minimum=2)], {"Y": (2, 99)}),
    ([SegmentLength("X", 2, 3), SegmentLength("Y", minimum=3)], {"X": (2, 3), "Y": (3, 99)}),
    ([SegmentLength(None, maximum=2)], {"X": (1, 2), "Y": (1, 2), "O": (1, 2)}),
    ([SegmentLength(re.compile("X|Y"), minimum=2)], {"X": (2, 99), "Y": (2, 99)}),
    (
        [SegmentLength(None, maximum=3), SegmentLength("X", maximum=2), SegmentLength("X", 2)],
        {"X": (2, 2), "Y": (1, 3), "O": (1, 3)},
    ),
    ([SegmentLength("X", 2, 2), SegmentLength(None, maximum=3)], {"X": (2, 2), "Y": (1, 3), "O": (1, 3)}),
    ([SegmentLength("X")], {}),
]


def fit(segments: Iterable[tuple[str | None, int]], limits: dict[str, tuple[int, int]]) -> bool:
    ranges = [(length, *limits.get(kind or "O", (1, 99))) for kind, length in segments]
    return all(low <= length <= high for length, low, high in ranges)


@pytest.mark.parametrize(("constraints", "limits"), LIMITS)
@pytest.mark.parametrize("name", ["BIO", "IOB1", "BIOES", "BILOU", "BMES", "BCEU"])
def test_lengths_with_a_scheme(
    name: str, constraints: list[SegmentLength], limits: dict[str, tuple[int, int]]
) -> None:
    labels = scheme_labels(name, ["X", "Y"], True)
    longest = 4 if len(labels) > 5 else 5
    valid = {
        tuple(tag(*position) for position in spell(name, segments))
        for T in range(1, longest + 1)
        for segments in segmentations(T, ["X", "Y"], True)
        if fit(segments, limits)
    }
    found = resolve([*constraints, Scheme(name)], labels)
    check_expansion(found, labels, valid.__contains__, longest)


def runs(sequence: Iterable[str]) -> list[tuple[str, int]]:
    return [(label, len(list(run))) for label, run in groupby(sequence)]


@pytest.mark.parametrize(("constraints", "limits"), LIMITS)
def test_lengths_without_a_scheme_measure_runs_of_a_label(
    constraints: list[SegmentLength], limits: dict[str, tuple[int, int]]
) -> None:
    labels = ["X", "Y", "O"]
    found = resolve(constraints, labels)
    check_expansion(found, labels, lambda sequence: fit(runs(sequence), limits), 6)
    stated = [limits.get(label, (1, 0)) for label in labels]
    assert found.min_length.tolist() == [low for low, _ in stated]
    assert found.max_length.tolist() == [high % 99 for _, high in stated]


@settings(deadline=None)
@given(
    lows=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    room=st.lists(st.none() | st.integers(0, 2), min_size=3, max_size=3),
    pairs=st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=4),
)
def test_lengths_and_forbidden_pairs_together(
    lows: list[int], room: list[int | None], pairs: set[tuple[str, str]]
) -> None:
    labels = list("abc")
    limits = {
        label: (low, 99 if more is None else low + more)
        for label, low, more in zip(labels, lows, room, strict=True)
    }
    constraints: list[Constraint] = [
        SegmentLength(label, low, None if high == 99 else high) for label, (low, high) in limits.items()
    ]
    constraints += [Forbid(*pair) for pair in sorted(pairs)]

    def expected(sequence: tuple[str, ...]) -> bool:
        return fit(runs(sequence), limits) and not set(pairwise(sequence)) & pairs

    try:
        found = resolve(constraints, labels)
    except ValueError:
        assert not any(map(expected, sequences(labels, 5)))
    else:
        check_expansion(found, labels, expected, 5)


@pytest.mark.parametrize(
    ("constraints", "labels"),
    [
        ([Scheme("BIOES"), SegmentLength("X", maximum=3)], ["O", "B-X", "I-X", "E-X", "S-X"]),
        ([Scheme("BIO"), SegmentLength("X", 2, 3)], ["O", "B-X", "I-X"]),
        ([SegmentLength("a", minimum=3), SegmentLength("b", maximum=2)], ["a", "b"]),
        ([SegmentLength("a", maximum=9), Forbid("a", "a")], ["a", "b"]),
    ],
)
def test_the_expansion_has_no_state_to_spare(constraints: list[Constraint], labels: list[str]) -> None:
    found = resolve(constraints, labels)
    ids = range(len(labels))
    endings = [ending for T in range(4) for ending in product(ids, repeat=T)]
    futures = set()
    for T in range(1, 5):
        for beginning in product(ids, repeat=T):
            future = tuple(found.accepts(beginning + ending) for ending in endings)
            if any(future):
                futures.add((beginning[-1], future))
    assert found.expansion is not None
    assert len(found.expansion.state_label) == len(futures)
    assert np.all(np.diff(found.expansion.state_label) >= 0)


def test_long_segments_of_unlimited_types_share_a_state() -> None:
    found = resolve([SegmentLength("a", minimum=3), SegmentLength("b", maximum=50)], ["a", "b"])
    assert found.expansion is not None
    assert np.bincount(found.expansion.state_label).tolist() == [3, 50]
    assert found.accepts([0] * 1000 + [1] * 50)
    assert not found.accepts([0] * 1000 + [1] * 51)


def test_schemes_take_other_separators_and_outside_labels() -> None:
    found = resolve([Scheme("BIO", outside="_", separator="/")], ["_", "B/X", "I/X"])
    assert found.transition.tolist() == [[True, True, False], [True] * 3, [True] * 3]
    assert Scheme("BIO", separator="").parse("BX") == ("B", "X")
    assert Scheme("BMES").parse("M-a-b") == ("I", "a-b")
    assert Scheme("BIOES").parse("S") == ("S", "")
    assert Scheme("BIOES").parse("O") == ("O", None)


def test_a_type_that_a_scheme_leaves_empty_can_be_limited() -> None:
    found = resolve([Scheme("BIO"), SegmentLength("", maximum=2)], ["B", "I", "O"])
    assert found.accepts([0, 1, 0])
    assert not found.accepts([0, 1, 1])


def test_labels_of_whole_segments_have_limits_and_no_expansion() -> None:
    rules: list[Constraint] = [SegmentLength("a", 2, 3), Forbid("a", "a"), Forbid("b", re.compile(".*"))]
    found = resolve(rules, ["a", "b"], segments=True)
    assert found.expansion is None
    assert not found.continues.any()
    assert found.min_length.tolist() == [2, 1]
    assert found.max_length.tolist() == [3, 0]
    assert found.accepts([0, 1])
    assert not found.accepts([0, 0])
    only: list[Constraint] = [SegmentLength("a", minimum=2), Forbid("a", "a")]
    assert resolve(only, ["a"], segments=True).accepts([0])
    with pytest.raises(ValueError, match="exclude every sequence"):
        resolve(only, ["a"])
