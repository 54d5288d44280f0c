"""Which labels the name or the pattern of a constraint means, at a bounded cost."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from crfkit._safe.expressions import expression_of
from crfkit.structures.chains.expansion import Mask


class Boundary(Enum):
    """The two ends of a sequence: what comes before its first label and after its last."""

    START = "START"
    STOP = "STOP"

    def __repr__(self) -> str:
        return self.name


START: Final = Boundary.START
STOP: Final = Boundary.STOP
Matcher: TypeAlias = str | re.Pattern[str]


def fitting(matcher: Matcher, names: Sequence[str]) -> list[bool]:
    """Return which names a label is, or a pattern matches as a whole; its cost is bounded.

    Examples
    --------
    >>> fitting("a", ["a", "ab"]), fitting(re.compile("a+"), ["a", "ab", "aa"])
    ([True, False], [True, False, True])
    """
    if isinstance(matcher, str):
        return [name == matcher for name in names]
    return expression_of(matcher).fullmatches(names)


def fitting_pairs(pattern: re.Pattern[str], names: Sequence[str]) -> Mask:
    """Return which pairs ``before,after`` a pattern matches, [L, L].

    Examples
    --------
    >>> fitting_pairs(re.compile("a,.*"), ["a", "b"]).tolist()
    [[True, True], [False, False]]
    """
    rows = [fitting(pattern, [f"{before},{after}" for after in names]) for before in names]
    return np.array(rows, dtype=np.bool_)


def matching(item: object, matcher: Matcher | Boundary | None, names: Sequence[str], noun: str) -> Mask:
    """Mark the matched names (None: all) and, in a last place, START or STOP: [len(names) + 1].

    Parameters
    ----------
    item
        The constraint, for errors.
    matcher
        What it names: a label, a pattern, an end of sequences, or None.
    names
        Labels, or types of segments.
    noun
        What the names are, for errors.

    Examples
    --------
    >>> matching("no rule", "a", ["a", "b"], "label").tolist(), matching("", STOP, ["a"], "label").tolist()
    ([True, False, False], [False, True])
    """
    if matcher is None or isinstance(matcher, Boundary):
        return np.array([matcher is None] * len(names) + [matcher is not None])
    text = matcher if isinstance(matcher, str) else matcher.pattern
    matched = fitting(matcher, names)
    if any(matched):
        return np.array([*matched, False])
    close = difflib.get_close_matches(text, names, n=5, cutoff=0.4)
    shown = f"close ones: {close}" if close else f"there are {len(names)}: {list(names[:8])}"
    hint = "; a string is an exact name, for a pattern write re.compile(...)"
    looks_like_pattern = isinstance(matcher, str) and not set("*+?[|\\").isdisjoint(text)
    raise ValueError(f"{item!r}: {matcher!r} matches no {noun}; {shown}{hint if looks_like_pattern else ''}")
