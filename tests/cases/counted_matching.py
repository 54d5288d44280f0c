"""A matcher that goes back and tries again as `re` does, and counts what it tries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crfkit._safe.expressions.parser import parsed


class _Matcher:
    def __init__(self, text: str) -> None:
        self.text, self.steps = text, 0

    def sequence(self, items: list[Any], at: int, after: int = 0) -> Iterator[int]:
        """Yield where the items from `after` on end, once for each way, in the order of `re`."""
        if after == len(items):
            yield at
            return
        for end in self.item(items[after], at):
            yield from self.sequence(items, end, after + 1)

    def item(self, item: tuple[Any, Any], at: int) -> Iterator[int]:
        name, value = item[0].name, item[1]
        self.steps += 1
        if name == "SUBPATTERN":
            yield from self.sequence(value[-1].data, at)
        elif name == "BRANCH":
            for part in value[1]:
                yield from self.sequence(part.data, at)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            yield from self.rounds(int(value[0]), int(value[1]), value[2].data, at, name == "MIN_REPEAT")
        elif name == "AT":
            if value.name == ("AT_BEGINNING" if at == 0 else "") or (
                value.name == "AT_END" and at == len(self.text)
            ):
                yield at
        elif at < len(self.text) and self.takes(name, value, ord(self.text[at])):
            yield at + 1

    def rounds(
        self, low: int, high: int, body: list[Any], at: int, lazy: bool, moved: bool = True
    ) -> Iterator[int]:
        """Yield where so many rounds end; one that matched nothing is the last."""
        if low == 0 and lazy:
            yield at
        if high > 0 and (low > 0 or moved):
            for end in self.sequence(body, at):
                yield from self.rounds(max(low - 1, 0), high - 1, body, end, lazy, end > at)
        if low == 0 and not lazy:
            yield at

    def takes(self, name: str, value: Any, code: int) -> bool:
        if name == "ANY":
            return code != 10
        if name == "LITERAL":
            return bool(code == value)
        if name == "NOT_LITERAL":
            return bool(code != value)
        negated = value[0][0].name == "NEGATE"
        found = any(
            code == what if op.name == "LITERAL" else what[0] <= code <= what[1]
            for op, what in value[negated:]
        )
        return bool(found != negated)


def steps_of_all_ways(expression: str, text: str) -> int:
    """Return how many things are tried where all ways to match from the beginning are wanted."""
    matcher = _Matcher(text)
    for _ in matcher.sequence(parsed(expression).data, 0):
        matcher.steps += 1
    return matcher.steps


def steps_of_search(expression: str, text: str) -> tuple[int, str | None]:
    """Return how many things a search tries, and what it finds."""
    matcher, tree = _Matcher(text), parsed(re.compile(expression))
    for start in range(len(text) + 1):
        matcher.steps += 1
        for end in matcher.sequence(tree.data, start):
            return matcher.steps, text[start:end]
    return matcher.steps, None
