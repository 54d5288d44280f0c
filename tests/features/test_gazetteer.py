"""Phrases of a gazetteer are found at a cost that is bounded for each token."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from crfkit.features.gazetteer import Gazetteer
from tests.cases.growth import check_growth, seconds_of


def longest_matches(phrases: Sequence[Sequence[str]], tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return the entries from left to right, the longest at each place, by trying all phrases."""
    found, at = [], 0
    while at < len(tokens):
        fits = [len(p) for p in phrases if list(p) == list(tokens[at : at + len(p)])]
        if fits:
            found.append((at, at + max(fits)))
        at += max(fits, default=1)
    return found


@pytest.mark.parametrize("seed", range(200))
def test_matches_are_those_of_all_phrases_tried(seed: int) -> None:
    rng = random.Random(seed)

    def words(most: int) -> list[str]:
        return [rng.choice("abc") for _ in range(rng.randint(1, most))]

    phrases = [words(5) for _ in range(rng.randint(1, 8))]
    tokens = words(30)
    gazetteer = Gazetteer(phrases)
    assert list(gazetteer.matches(tokens)) == longest_matches(phrases, tokens)
    probe = words(5)
    assert (probe in gazetteer) == (probe in phrases)
    assert [] not in gazetteer


def test_phrases_with_one_beginning_cost_their_length_once() -> None:
    """All 128 lengths were compared at each token, each in full."""
    text = ["a"] * 4000

    def seconds(lengths: Sequence[int]) -> float:
        gazetteer = Gazetteer([["a"] * n + ["b"] for n in lengths])
        assert not list(gazetteer.matches(text))
        return seconds_of(lambda: list(gazetteer.matches(text)))

    assert seconds(range(1, 128)) < 2.5 * seconds([127])


def test_matches_cost_what_the_text_is() -> None:
    gazetteer = Gazetteer([["a"] * n + ["b"] for n in range(1, 128)])
    check_growth(lambda n: ["a"] * n, lambda text: list(gazetteer.matches(text)), 2000)


def test_long_phrases_are_refused() -> None:
    with pytest.raises(ValueError, match="has 129 tokens, expected 128 at most"):
        Gazetteer([["a"] * 129])
