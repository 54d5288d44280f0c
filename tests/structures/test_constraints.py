"""`Forbid` and `Require` against a look at neighbors one by one; constraints as values; what is refused."""

import copy
import pickle
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.structures.constraints import (
    START,
    STOP,
    Constraint,
    Forbid,
    Require,
    Scheme,
    SegmentLength,
    resolve,
)
from tests.cases.constraints import by_tables, sequences


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
    st.tuples(MATCHERS, MATCHERS), st.tuples(st.just(START), MATCHERS), st.tuples(MATCHERS, st.just(STOP))
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
        ([Forbid("B-PRE", "O")], r"Forbid\(before='B-PRE'.*'B-PRE' matches no label; close.*'B-PER'"),
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
        ([Scheme("BIO", separator="/")], "label 'B-PER' is neither .* B/TYPE.* nor one of B, I"),
        ([SegmentLength("O", 3), SegmentLength(None, 1, 2)], "'O' for at least 3 and at most 2"),
        ([Forbid(START, re.compile(".*"))], r"constraints \[Forbid.* every sequence: no label may be"),
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
    with pytest.raises(ValueError, match=r"labels\[1\] is -1, expected 0 to 4"):
        resolve([], LABELS).accepts([0, -1])
    with pytest.raises(ValueError, match=r"labels\[0\] is 5"):
        resolve([], LABELS).accepts([5])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Scheme("BOI"), ValueError, "'BOI' is not known, expected one of BIO, IOB1, IOE2"),
        (lambda: Forbid(), TypeError, "before must be a label, a compiled pattern or START, not None"),
        (lambda: Forbid("a"), TypeError, "after must be a label, a compiled pattern or STOP, not None"),
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
