"""Expressions, recipes and constraints that somebody wrote to take long, at random."""

from __future__ import annotations

import random
import sys

__all__ = ["random_expression"]

_ATOMS = (
    *("a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\W", r"\b", r"\B", "^", "$"),
    *(r"\A", r"\Z", "", "é", "ß", "A", r"\d", r"\s", "[a-cÉ]"),
)
_NEW = sys.version_info >= (3, 11)  # possessive repeats and atomic groups
_TIMES = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,3}?", "{0}", "{,2}"]
if _NEW:
    _TIMES += ["*+", "++", "?+", "{1,2}+", "{2}+"]
_BEHIND = ("a", "[ab]b", "^a", r"\b", "(?=b)", "a(?!b)")


def random_expression(rng: random.Random, depth: int = 4) -> str:
    """Return an expression, right or wrong, without back-references."""
    return rng.choice(("", "", "", "(?i)", "(?s)", "(?m)", "(?x)", "(?a)")) + _expression(rng, depth)


def _expression(rng: random.Random, depth: int) -> str:
    def inner() -> str:
        return _expression(rng, depth - 1)

    kind = rng.random()
    if depth <= 0 or kind < 0.35:
        return rng.choice(_ATOMS)
    if kind < 0.55:
        return inner() + inner()
    if kind < 0.65:
        return f"(?:{inner()}|{inner()})"
    if kind < 0.7:
        return f"({inner()}|{inner()}|)"
    if kind < 0.9:
        return f"(?:{inner()}){rng.choice(_TIMES)}"
    if kind < 0.95:
        return f"{rng.choice(('(?=', '(?!'))}{inner()})"
    if kind < 0.97:
        return f"{rng.choice(('(?<=', '(?<!'))}{rng.choice(_BEHIND)})"
    if kind < 0.985:
        return f"{rng.choice(('(?i:', '(?s:', '(?m:', '(?-i:'))}{inner()})"
    return f"{'(?>' if _NEW else '(?:'}{inner()})"
