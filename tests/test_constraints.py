"""Constraints against acceptors that know nothing of transition tables.

A scheme is checked by writing down segments and spelling them, a limit on lengths by measuring the
segments, `Forbid` and `Require` by looking at neighbours one by one.
"""

import copy
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.structures.constraints import (
    START,
    STOP,
    Constraint,
    Forbid,
    Require,
    Resolved,
    Scheme,
    SegmentLength,
    resolve,
)
from crfkit.structures.expansion import Expansion

Segments = list[tuple[str | None, int]]  # type (None: outside) and length, in order
PARTS = {
    "BIO": "BI",
    "IOB2": "BI",
    "IOB1": "BI",
    "BIOES": "BIES",
    "IOBES": "BIES",
    "BILOU": "BILU",
    "BMES": "BMES",
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


def sequences(labels: Sequence[str], longest: int) -> Iterator[tuple[str, ...]]:
    for T in range(1, longest + 1):
        yield from product(labels, repeat=T)


def by_tables(found: Resolved, ids: Sequence[int]) -> bool:
    steps = all(found.transition[a, b] for a, b in pairwise(ids))
    return bool(found.start[ids[0]] and found.stop[ids[-1]] and steps)


def count_paths(automaton: Expansion, ids: Sequence[int]) -> int:
    step = automaton.transition.astype(np.int64)  # [S, S]
    paths = automaton.start * (automaton.state_label == ids[0])  # [S]
    for label in ids[1:]:
        paths = (paths @ step) * (automaton.state_label == label)
    return int(paths @ automaton.stop)


def check_expansion(
    found: Resolved,
    labels: Sequence[str],
    expected: Callable[[tuple[str, ...]], bool],
    longest: int,
) -> None:
    automaton = found.expansion
    assert automaton is not None
    assert automaton.transition.shape == (len(automaton.state_label),) * 2
    totals = np.zeros(longest + 1, dtype=np.int64)  # [longest + 1] accepted sequences by length
    for sequence in sequences(labels, longest):
        ids = [labels.index(label) for label in sequence]
        wanted = expected(sequence)
        assert count_paths(automaton, ids) == wanted, sequence
        assert found.accepts(ids) == wanted, sequence
        totals[len(ids)] += wanted
    paths = automaton.start.astype(np.int64)  # [S]
    for total in totals[1:]:
        assert paths @ automaton.stop == total
        paths = paths @ automaton.transition.astype(np.int64)


SCHEMES = [
    *((name, types, True) for name in PARTS for types in (["X"], ["X", "Y"], [""])),
    ("BMES", ["X", "Y"], False),
    ("BMES", [""], False),
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
    (
        [SegmentLength("X", 2, 2), SegmentLength(None, maximum=3)],
        {"X": (2, 2), "Y": (1, 3), "O": (1, 3)},
    ),
    ([SegmentLength("X")], {}),
]


def fit(segments: Iterable[tuple[str | None, int]], limits: dict[str, tuple[int, int]]) -> bool:
    ranges = [(length, *limits.get(kind or "O", (1, 99))) for kind, length in segments]
    return all(low <= length <= high for length, low, high in ranges)


@pytest.mark.parametrize(("constraints", "limits"), LIMITS)
@pytest.mark.parametrize("name", ["BIO", "IOB1", "BIOES", "BILOU", "BMES"])
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


def matched(matcher: object, item: object) -> bool:
    if isinstance(matcher, re.Pattern):
        return isinstance(item, str) and matcher.fullmatch(item) is not None
    return matcher == item


def obeys(constraint: Forbid | Require, sequence: Sequence[str]) -> bool:
    for before, after in pairwise([START, *sequence, STOP]):
        if isinstance(constraint, Require):
            if matched(constraint.before, before) and not matched(constraint.after, after):
                return False
        elif constraint.pair is not None:
            inner = isinstance(before, str) and isinstance(after, str)
            if inner and constraint.pair.fullmatch(f"{before},{after}"):
                return False
        elif matched(constraint.before, before) and matched(constraint.after, after):
            return False
    return True


NAMES = ["a", "ab", ".", "("]
MATCHERS = st.sampled_from([*NAMES, *map(re.compile, ["a", ".", "a.*", r"\(|\."])])
ENDS = st.one_of(
    st.tuples(MATCHERS, MATCHERS),
    st.tuples(st.just(START), MATCHERS),
    st.tuples(MATCHERS, st.just(STOP)),
)
PAIRS = st.sampled_from([r"(.*),\1", "a,ab", "a.*,.", r"[^,],\("]).map(re.compile)
RULES = st.one_of(
    ENDS.map(lambda ends: Forbid(*ends)),
    ENDS.map(lambda ends: Require(*ends)),
    PAIRS.map(lambda pair: Forbid(pair=pair)),
)


@settings(deadline=None, max_examples=300)
@given(rules=st.lists(RULES, max_size=5))
def test_forbid_and_require_mean_what_they_say(rules: list[Forbid | Require]) -> None:
    def expected(sequence: Sequence[str]) -> bool:
        return all(obeys(rule, sequence) for rule in rules)

    try:
        found = resolve(rules, NAMES)
    except ValueError:
        assert not any(map(expected, sequences(NAMES, 4)))
        return
    for sequence in sequences(NAMES, 4):
        ids = [NAMES.index(label) for label in sequence]
        assert found.accepts(ids) == by_tables(found, ids) == expected(sequence), sequence


def test_a_string_is_a_name_and_a_pattern_matches_the_whole_label() -> None:
    exact = resolve([Forbid(".", STOP)], [".", "a"])
    assert exact.stop.tolist() == [False, True]
    pattern = resolve([Forbid(re.compile("N"), STOP)], ["N", "NN"])
    assert pattern.stop.tolist() == [False, True]


def test_the_example_of_the_interface() -> None:
    labels = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
    rules: list[Constraint] = [
        Scheme("bio"),
        Forbid(re.compile("I-.*"), STOP),
        Require("B-PER", "I-PER"),
        Forbid(pair=re.compile(r"(B-.*),\1")),
        SegmentLength("PER", maximum=3),
    ]
    found = resolve(rules, labels)
    assert found.accepts([1, 2, 2, 0])
    assert found.accepts([])
    assert not found.accepts([1, 2, 2, 2, 0])
    assert not found.accepts([1, 0])
    assert not found.accepts([0, 1, 2])
    assert not found.accepts([3, 3])


def test_nothing_is_forbidden_without_constraints() -> None:
    found = resolve([], ["a", "b"])
    assert found.transition.all()
    assert found.start.all()
    assert found.stop.all()
    assert found.expansion is None
    assert found.min_length.tolist() == [1, 1]
    assert found.max_length.tolist() == [0, 0]


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
    rules: list[Constraint] = [
        SegmentLength("a", 2, 3),
        Forbid("a", "a"),
        Forbid("b", re.compile(".*")),
    ]
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


def test_constraints_are_values() -> None:
    rules = [Forbid(START, re.compile("a")), Require("a", STOP), Scheme("BIO"), SegmentLength(None)]
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert copy.deepcopy(rules) == rules
    assert len(set(rules)) == len(rules)
    assert repr(Require(START, "a")) == "Require(before=START, after='a')"


LABELS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            [Forbid("B-PRE", "O")],
            r"Forbid\(before='B-PRE'.*'B-PRE' matches no label; close.*'B-PER'",
        ),
        ([Forbid("O", "B-PRE")], r"'B-PRE' matches no label; close ones: \['B-PER'"),
        ([Require(START, "I-OGR")], r"'I-OGR' matches no label; close ones: \['I-ORG'"),
        ([Forbid("I-.*", STOP)], r"write re.compile"),
        ([Forbid(re.compile("B"), STOP)], r"re.compile\('B'\) matches no label"),
        ([Forbid("zzz", STOP)], r"'zzz' matches no label; there are 5: \['O', 'B-PER'"),
        ([Forbid(pair=re.compile("B-PER"))], r"re.compile\('B-PER'\) matches no pair"),
        ([SegmentLength("PRE")], r"'PRE' matches no segment type; close ones: \['I-PER'"),
        ([SegmentLength("B-PER"), Scheme("BIO")], r"no segment type; close ones: \['PER'\]"),
        ([SegmentLength("O"), Scheme("BIO")], "'O' matches no segment type"),
        ([Scheme("BIO"), Scheme("IOB1")], r"has the schemes \[Scheme\(name='BIO'.*keep one"),
        ([Scheme("BMES")], "label 'I-PER' is neither 'O' nor of the form B-TYPE, M-TYPE, E-TYPE"),
        ([Scheme("BIO", outside="X")], "label 'O' is neither 'X' nor of the form B-TYPE, I-TYPE"),
        ([Scheme("BIO", separator="/")], "label 'B-PER' is neither .* B/TYPE.* B, I alone"),
        ([SegmentLength("O", 3), SegmentLength(None, 1, 2)], "'O' for at least 3 and at most 2"),
        (
            [Forbid(START, re.compile(".*"))],
            r"constraints \[Forbid.* every sequence: no label may be",
        ),
        ([Forbid(re.compile(".*"), STOP)], "no first label leads to a last one"),
        ([Require(START, "O"), Require("O", "O")], r"\[Require\(before=START.* no first label"),
        ([SegmentLength(None, 2), Forbid(pair=re.compile(r"(.*),\1"))], "exclude every sequence"),
    ],
)
def test_resolve_says_what_is_wrong(rules: list[Constraint], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve(rules, LABELS)


def test_resolve_checks_its_arguments() -> None:
    with pytest.raises(ValueError, match="labels is empty"):
        resolve([], [])
    with pytest.raises(ValueError, match=r"labels has \['a'\] more than once"):
        resolve([], ["a", "b", "a"])
    with pytest.raises(TypeError, match=r"constraints\[1\] is 'BIO', not a Scheme, Forbid"):
        resolve([Forbid("a", "b"), "BIO"], ["a", "b"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="whole segments take none"):
        resolve([Scheme("BIO")], LABELS, segments=True)
    with pytest.raises(ValueError, match=r"label '' is neither"):
        resolve([Scheme("BIO")], [""])
    with pytest.raises(ValueError, match=r"labels\[1\] is -1: no id below 5"):
        resolve([], LABELS).accepts([0, -1])
    with pytest.raises(ValueError, match=r"labels\[0\] is 5"):
        resolve([], LABELS).accepts([5])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Scheme("BOI"), ValueError, "name must be one of BIO, IOB2, IOB1"),
        (
            lambda: Forbid(),
            TypeError,
            "before must be a label, a compiled pattern or START, not None",
        ),
        (
            lambda: Forbid("a"),
            TypeError,
            "after must be a label, a compiled pattern or STOP, not None",
        ),
        (lambda: Forbid("a", ["b"]), TypeError, r"after must be .*, not \['b'\]"),  # type: ignore[arg-type]
        (lambda: Forbid("a", "b", re.compile("a,b")), ValueError, "or pair, not both"),
        (lambda: Forbid(pair="a,b"), TypeError, r"pair must be a compiled pattern \(re.compile\)"),  # type: ignore[arg-type]
        (lambda: Forbid(STOP, "a"), ValueError, "before must be .* or START, not STOP"),
        (lambda: Require("a", START), ValueError, "after must be .* or STOP, not START"),
        (lambda: Require(START, STOP), ValueError, "the empty sequence is always allowed"),
        (lambda: SegmentLength(START), TypeError, "label_type must be a type.* not START"),  # type: ignore[arg-type]
        (lambda: SegmentLength("a", 0), ValueError, "minimum must be 1 or more"),
        (lambda: SegmentLength("a", 3, 2), ValueError, "maximum must be None or at least minimum"),
        (lambda: SegmentLength("a", 1.5), TypeError, "integer"),  # type: ignore[arg-type]
    ],
)
def test_constraints_check_their_arguments(
    build: Callable[[], Constraint], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()
