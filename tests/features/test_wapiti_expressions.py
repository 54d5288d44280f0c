"""Wapiti's regular expressions: the answers of a small reference, and no expression that takes long."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from crfkit import _native
from crfkit.data.alphabet import Alphabet
from crfkit.features.dialects import parse_recipe
from crfkit.features.limits import LONGEST_WAPITI
from tests.cases.growth import check_growth, peak_of

CLASSES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "d": str.isdigit,
    "l": str.islower,
    "u": str.isupper,
    "w": str.isalnum,
    "s": str.isspace,
    "p": lambda c: not c.isalnum() and not c.isspace(),
}
ATOMS = ["a", "b", "A", "1", ".", r"\a", r"\d", r"\l", r"\u", r"\w", r"\p", r"\A", r"\D", r"\.", r"\s"]


def matched(expression: str, tokens: list[str]) -> list[str]:
    """Return what the expression matches in each token; nothing and the empty string are the same."""
    parts = [("<", 0, 0, "token"), (">", -1, 0, "")]
    features = _native.Features([(0, "match", expression, False)], [("node", parts)], "wapiti")
    known = Alphabet(tokens)
    assert isinstance(known._native, _native.Alphabet)
    features.update(0, known._native)
    ids = np.arange(len(known), dtype=np.int32)
    _, attributes = features.expand([ids], np.array([0, len(known)]), 1)[0]
    names = Alphabet.of_native(features.node_names).strings()
    return [names[i][1:-1] for i in attributes]


def parsed(expression: str) -> tuple[list[tuple[str, str]], bool, bool]:
    """Return items with their quantifiers, and whether the expression is bound to begin and end."""
    begin, items = expression.startswith("^"), list[tuple[str, str]]()
    rest = expression[begin:]
    while rest and rest != "$":
        size = 2 if rest[0] == "\\" and len(rest) > 1 else 1
        atom, rest = rest[:size], rest[size:]
        times = rest[:1] if rest[:1] in ("*", "?") else ""
        items.append((atom, times))
        rest = rest[len(times) :]
    return items, begin, rest == "$"


def accepts(atom: str, character: str) -> bool:
    if len(atom) == 1:
        return atom in (".", character)
    kind = CLASSES.get(atom[1].lower())
    if kind is None:
        return character == atom[1]
    return kind(character) == atom[1].islower()


def reference(expression: str, token: str) -> str:
    """Return the leftmost match: a star takes as little as it can, a question mark what it can."""
    items, begin, end = parsed(expression)

    def ends(i: int, at: int) -> int | None:
        if i == len(items):
            return None if end and at < len(token) else at
        atom, times = items[i]
        fits = at < len(token) and accepts(atom, token[at])
        ways = [(i if times == "*" else i + 1, at + 1)] if fits else []
        if times:
            ways.insert(0 if times == "*" else len(ways), (i + 1, at))
        return next((found for way in ways if (found := ends(*way)) is not None), None)

    for start in range(1 if begin else len(token) + 1):
        if (found := ends(0, start)) is not None:
            return token[start:found]
    return ""


def test_answers_are_those_of_the_reference() -> None:
    rng = random.Random(1)
    for _ in range(600):
        items = [rng.choice(ATOMS) + rng.choice(["", "", "*", "?"]) for _ in range(rng.randrange(6))]
        expression = rng.choice(["", "", "^"]) + "".join(items) + rng.choice(["", "", "$"])
        tokens = [*{"".join(rng.choices("aabAB1.- ", k=rng.randrange(9))) for _ in range(8)}]
        assert matched(expression, tokens) == [reference(expression, token) for token in tokens], expression


def test_long_tokens_answer_as_short_ones_do() -> None:
    """Backtracking gives up on them, and the sweep takes over."""
    token = "ab" * 40 + "1"
    for expression in ("a*b*1", r"\a*\d$", ".*.*1$", "b?a?1", "^.?.?.?.?.?.?.?.?.?1"):
        assert matched(expression, [token]) == [reference(expression, token)]


@pytest.mark.parametrize("expression", [".*" * 99 + "x", "a*a*x", "a*x", ".?" * 99 + "$", "^a*a*a*a*a*a*x"])
def test_cost_grows_with_the_token(expression: str) -> None:
    check_growth(lambda n: ["a" * n], lambda tokens: matched(expression, tokens), 20_000)


def test_cost_grows_with_the_expression() -> None:
    check_growth(lambda n: "a?" * n + "$", lambda expression: matched(expression, ["a" * 40_000]), 200)


def test_memory_does_not_depend_on_items_times_length() -> None:
    """It was one byte for each item and letter of the token: 480 MB."""
    assert peak_of(lambda: matched(".?" * 480 + "x", ["a" * 1_000_000])) < 100e6


def test_a_pattern_of_many_quantifiers_is_refused_by_its_line() -> None:
    """It overflowed the stack."""
    with pytest.raises(ValueError, match=r"p, line 2: the regular expression 'a.*has 60,000 bytes, more"):
        parse_recipe("u:%x[0,0]\n" + f'u:%m[0,0,"{"a*" * 30_000}"]', "wapiti", source="p")
    with pytest.raises(ValueError, match="has 30000 items, more than 1000"):
        matched("a*" * 30_000, ["a"])


def test_the_longest_pattern_is_matched() -> None:
    assert parse_recipe(f'u:%m[0,0,"{"a" * LONGEST_WAPITI}"]', "wapiti").templates
    assert matched("a" * LONGEST_WAPITI, ["a" * 2000]) == ["a" * LONGEST_WAPITI]
