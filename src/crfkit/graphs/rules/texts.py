"""Rules as text: an optional name, an optional weight, a formula, and a full stop after a hard rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from crfkit.graphs.scopes.formulas import Node, parse

_NAME = re.compile(r"([^\W\d]\w*)\s*:")
_WEIGHT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s+(?=\S)")


@dataclass(frozen=True)
class Rule:
    """One rule."""

    name: str  #: the clique is called so
    text: str  #: as it was written
    formula: Node
    weight: float | None  #: None: learned
    hard: bool  #: whether labelings that break it are forbidden

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"rule {self.name!r} ({self.text})"


def read(texts: Iterable[str]) -> list[Rule]:
    """Return the rules of texts; a text has a rule on each line, ``//`` begins a comment.

    Examples
    --------
    >>> rule, other = read(["1.5 smokes(x) -> cancer(x)", "pair: !wed(x, x)."])
    >>> rule.name, rule.weight, other.name, other.hard
    ('rule1', 1.5, 'pair', True)
    """
    made: list[Rule] = []
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"a rule must be text, not {text!r}")
        for line in text.splitlines():
            bare = line.partition("//")[0].strip()
            if bare:
                made.append(_rule(bare, len(made) + 1))
    for name, times in Counter(rule.name for rule in made).items():
        if times > 1:
            raise ValueError(f"two rules are called {name!r}")
    return made


def _rule(text: str, number: int) -> Rule:
    name, rest = f"rule{number}", text
    if found := _NAME.match(rest):
        name, rest = found[1], rest[found.end() :].lstrip()
    weight = None
    if found := _WEIGHT.match(rest):
        weight, rest = float(found[1]), rest[found.end() :]
    hard = rest.endswith(".")
    rest = rest.removesuffix(".").rstrip()
    if hard and weight is not None:
        raise ValueError(f"rule {name!r} ({text}) has a weight and a full stop; a hard rule has no weight")
    return Rule(name, rest, parse(rest, f"rule {name!r} ({rest})"), weight, hard)
