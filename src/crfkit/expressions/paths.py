"""How many steps `re` takes at most on a short text, by counting the ways that lead to each place.

Each part of an expression turns the number of ways that arrive at each place of a text, whatever its
characters are, into the number of ways that leave it there; every arrival is a step.
"""

from __future__ import annotations

from crfkit.expressions.parser import Item, Tree

__all__ = ["SHORT", "short_steps"]

SHORT = 24  #: characters of a short text
_MOST_PARTS = 2_000  # that are visited, repeats written out

Ways = list[float]  # by place, [SHORT + 1]


class _ManyError(Exception):
    """There are too many parts."""


def short_steps(tree: Tree) -> list[float]:
    """Return the most steps from one start on texts of 0, 1, ... characters; few where parts are many.

    Examples
    --------
    >>> import re
    >>> from crfkit.expressions.parser import parsed
    >>> [round(steps) for steps in short_steps(parsed(re.compile("ab")))[:4]]
    [1, 2, 3, 3]
    """
    counting = _Counting()
    try:
        out = counting.sequence(tree, [1.0, *[0.0] * SHORT])
    except _ManyError:
        return []
    total, made = 0.0, []
    for work, ways in zip(counting.work, out, strict=True):
        total += work + ways
        made.append(total)
    return made


class _Counting:
    def __init__(self) -> None:
        self.work = [0.0] * (SHORT + 1)  # steps by place
        self.visited = 0

    def arrive(self, ways: Ways, steps: float = 1.0) -> None:
        self.visited += 1
        if self.visited > _MOST_PARTS:
            raise _ManyError
        self.work = [work + steps * one for work, one in zip(self.work, ways, strict=True)]

    def sequence(self, tree: Tree, ways: Ways) -> Ways:
        for i in range(len(tree)):
            ways = self.item(tree[i], ways, tree)
        return ways

    def item(self, item: Item, ways: Ways, tree: Tree) -> Ways:
        name, value = item[0].name, item[1]
        if name == "SUBPATTERN":
            return self.sequence(value[-1], ways)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self.repeat(value, ways)
        self.arrive(ways, 1 + (len(value) if name == "IN" else 0))
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return [0.0, *ways[:-1]]
        if name == "BRANCH":
            return _sum([self.sequence(part, ways) for part in value[1]])
        if name == "GROUPREF_EXISTS":
            return _sum([ways, *(self.sequence(part, ways) for part in value[1:] if part is not None)])
        if name in ("ASSERT", "ASSERT_NOT"):
            self.sequence(value[1], ways)
            return ways
        if name == "ATOMIC_GROUP":
            return self.sequence(value, ways)
        if name == "GROUPREF":
            widest = min(SHORT, tree.state.groupwidths[value][1])
            self.arrive(ways, widest)
            return [sum(ways[max(0, end - widest) : end + 1]) for end in range(SHORT + 1)]
        return ways

    def repeat(self, value: tuple[int, int, Tree], ways: Ways) -> Ways:
        low, high, body = int(value[0]), int(value[1]), value[2]
        out = [0.0] * (SHORT + 1)
        for rounds in range(min(high, low + SHORT + 1) + 1):
            self.arrive(ways)
            if rounds >= low:
                out = _sum([out, ways])
            if rounds < high:
                ways = self.sequence(body, ways)
            if not any(ways):
                break
        return out


def _sum(many: list[Ways]) -> Ways:
    return [sum(column) for column in zip(*many, strict=True)]
