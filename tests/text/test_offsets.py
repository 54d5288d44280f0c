"""Offsets in code points, UTF-16 units and bytes: against what Python's codecs say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.text.offsets import UNITS, Unit, code_points, from_unit, places, to_unit

HARD = "a\u00e9\u0301\u20ac\U0001f469\u200d\U0001f680 \u05e9\u05dc\u05d5\u05dd\r\n\x85\ud83d!"
TEXTS = st.text(st.characters(), max_size=30) | st.just(HARD)  # halves of surrogate pairs too


def width(text: str, unit: Unit) -> int:
    if unit == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass")) if unit == "byte" else len(text)


@given(TEXTS)
def test_code_points_are_those_of_ord(text: str) -> None:
    assert code_points(text).tolist() == [ord(letter) for letter in text]


@given(TEXTS, st.sampled_from(UNITS))
def test_places_are_what_the_codecs_say(text: str, unit: Unit) -> None:
    assert places(text, unit).tolist() == [
        sum(width(letter, unit) for letter in text[:i]) for i in range(len(text) + 1)
    ]


@given(TEXTS, st.sampled_from(UNITS), st.lists(st.integers(-3, 40)))
def test_there_and_back(text: str, unit: Unit, offsets: list[int]) -> None:
    assert from_unit(text, to_unit(text, offsets, unit), unit).tolist() == offsets


def test_offsets_beyond_an_end_stay_beyond_it() -> None:
    assert to_unit("\U0001f680", [-2, 3], "utf16").tolist() == [-2, 4]
    assert from_unit("\U0001f680", [-2, 4], "utf16").tolist() == [-2, 3]


def test_an_offset_within_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match=r"offset 2 lies within 'é', character 1 of the text: .* bytes of"):
        from_unit("aé", [2], "byte")
    with pytest.raises(ValueError, match="unit is 'utf8', expected"):
        to_unit("a", [1], "utf8")  # type: ignore[arg-type]
