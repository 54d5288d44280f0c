"""Every scheme and every operation on its tags, against segments spelled by the definitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import tags
from crfkit.constraints import Scheme
from crfkit.structures.constraints import resolve
from crfkit.tags.schemes import ALIASES, TABLE, canonical
from crfkit.tags.segments import Segments, parts

# First, inner, last and only position of a segment; of IOB1 and IOE1 where segments of one type touch.
LETTERS = {
    "BIO": "BIIB", "IOB2": "BIIB", "IOB1": "BIIB", "IOE1": "IIEE", "IOE2": "IIEE", "BIOES": "BIES",
    "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES", "BCEU": "BCEU", "IO": "IIII",
}  # fmt: skip


def segmentations(T: int, at: int = 0) -> Iterator[Segments]:
    """Yield all segments of types X and Y over T positions, from a position on."""
    if at == T:
        yield []
        return
    yield from segmentations(T, at + 1)
    for end, kind in product(range(at + 1, T + 1), "XY"):
        yield from ([(at, end, kind), *rest] for rest in segmentations(T, end))


def spelled(segments: Segments, T: int, scheme: str) -> list[str]:
    """Spell segments one by one, after the definitions."""
    made, first = ["O"] * T, {(start, kind) for start, _, kind in segments}
    ends = {(end, kind) for _, end, kind in segments}
    for start, end, kind in segments:
        begin, inner, last, only = [*LETTERS[scheme]]
        letters = [only] if end == start + 1 else [begin, *[inner] * (end - start - 2), last]
        if scheme == "IOB1" and (start, kind) not in ends:
            letters[0] = "I"
        if scheme == "IOE1" and (end, kind) not in first:
            letters[-1] = "I"
        made[start:end] = [f"{letter}-{kind}" for letter in letters]
    return made


def joined(segments: Segments) -> Segments:
    """Return segments as IO tells them: those of one type that touch are one."""
    made: Segments = []
    for start, end, kind in segments:
        if made and made[-1][1:] == (start, kind):
            start = made.pop()[0]
        made.append((start, end, kind))
    return made


def test_all_schemes_are_tested() -> None:
    assert {*tags.SCHEMES} == {*LETTERS}
    assert {*ALIASES.values()} <= {*TABLE}


@pytest.mark.parametrize("scheme", tags.SCHEMES)
def test_segments_become_tags_and_segments_again(scheme: str) -> None:
    for T in range(5):
        for segments in segmentations(T):
            made = tags.to_tags(segments, T, scheme.lower())
            assert made == spelled(segments, T, scheme)
            told = joined(segments) if scheme == "IO" else segments
            named = [tag or "?" for tag in made]
            assert tags.spans(named, scheme) == tags.spans(named) == told
            assert tags.spans(named, Scheme(scheme)) == told


@pytest.mark.parametrize("scheme", tags.SCHEMES)
def test_a_scheme_allows_what_segments_can_spell_and_nothing_else(scheme: str) -> None:
    names = ["O", *(f"{letter}-{kind}" for letter in dict.fromkeys(LETTERS[scheme]) for kind in "XY")]
    rules = resolve([Scheme(scheme)], names)
    for T in range(1, 4):
        right = {tuple(spelled(segments, T, scheme)) for segments in segmentations(T)}
        for ids in product(range(len(names)), repeat=T):
            assert rules.accepts(ids) == (tuple(names[i] for i in ids) in right)


@pytest.mark.parametrize("scheme", tags.SCHEMES)
def test_labels_that_go_on_are_those_of_one_segment(scheme: str) -> None:
    names = ["O", *(f"{letter}-{kind}" for letter in dict.fromkeys(LETTERS[scheme]) for kind in "XY")]
    rules = resolve([Scheme(scheme)], names)
    for segments in segmentations(4):
        made = [names.index(tag) for tag in spelled(segments, 4, scheme)]
        told = joined(segments) if scheme == "IO" else segments
        inside = {place for start, end, _ in told for place in range(start + 1, end)}
        assert {t for t in range(1, 4) if rules.continues[made[t - 1], made[t]]} == inside


@pytest.mark.parametrize(("scheme", "other"), [*product(tags.SCHEMES, repeat=2)])
def test_tags_of_each_scheme_become_those_of_each_other(scheme: str, other: str) -> None:
    for segments in segmentations(4):
        told = joined(segments) if scheme == "IO" else segments
        assert tags.convert(spelled(segments, 4, scheme), other) == spelled(told, 4, other)


@pytest.mark.parametrize("scheme", tags.SCHEMES)
def test_the_letters_of_arrays_are_those_of_lists(scheme: str) -> None:
    name = canonical(scheme)
    for segments in segmentations(4):
        label, begin = np.zeros(4, np.int32), np.ones(4, np.bool_)
        for start, end, kind in segments:
            label[start:end] = "?XY".index(kind)
            begin[start + 1 : end] = False
        twice = np.tile(label, 2), np.tile(begin, 2), np.array([0, 4, 4, 8])
        found = parts(*twice, name)
        made = [
            "O" if y == 0 else f"{TABLE[name].letters[part]}-{'?XY'[y]}"
            for y, part in zip(twice[0].tolist(), found.tolist(), strict=True)
        ]
        assert made == spelled(segments, 4, scheme) * 2


@pytest.mark.parametrize("scheme", [name for name in TABLE if name != "IO"])
def test_a_scheme_is_told_from_its_tags(scheme: str) -> None:
    assert tags.detect([spelled(segments, 4, scheme) for segments in segmentations(4)]) == scheme


def test_what_spells_no_segments_has_no_scheme() -> None:
    assert tags.detect([["NN", "VB"], []]) is None
    assert tags.detect([]) is None
    assert tags.detect([["O"]]) is None
    with pytest.raises(TypeError, match=r"y\[0\] is 'B-X', not a list of tags"):
        tags.detect(["B-X"])


def test_bare_letters_have_the_empty_type() -> None:
    assert tags.spans(["B", "I", "O", "I"]) == [(0, 2, ""), (3, 4, "")]
    assert tags.convert(["B", "I", "B", "O"], "IOB1") == ["I", "I", "B", "O"]


def test_unknown_positions_stay_unknown() -> None:
    assert tags.to_tags([(0, 1, "X"), (1, 3, None), (3, 4, "X")], 5, "IOE1") == [
        "I-X",
        None,
        None,
        "I-X",
        "O",
    ]


wrong: Any = ["B-X", 3]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tags.to_tags([], 2, "BOI"), ValueError, "scheme 'BOI' is not known, expected one of BIO"),
        (lambda: tags.convert(["O"], "bioe"), ValueError, "did you mean 'BIOES'"),
        (lambda: tags.to_tags([(0, 3, "X")], 2), ValueError, "does not lie within the 2 positions"),
        (lambda: tags.to_tags([(0, 1, "X"), (0, 2, "Y")], 2), ValueError, "begins before position 1"),
        (lambda: tags.spans(wrong), TypeError, "has the label 3, of type int"),
        (lambda: tags.spans(["S-X"], "BIO"), ValueError, "label 'S-X' is neither 'O' nor of the form B-TYPE"),
    ],
)
def test_mistakes_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
