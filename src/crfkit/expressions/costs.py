"""How many steps `re` takes at most on a text of n characters, foreseen from the expression alone.

A part of an expression is entered, works, and hands on to what follows it once for each way in which it can
match. For short texts the ways are counted by where they end (`crfkit.expressions.paths`), which is close;
for longer ones by this, where w are the ways and k is the work of the body of a repeat:

    sequence    ways = product of ways             work = k1 + w1 k2 + w1 w2 k3 + ...
    choice      ways = sum of ways                 work = 1 + sum of work
    repeat      ways = w^low + ... + w^rounds      work = (1 + w + ... + w^rounds) (k + 1)

where rounds is n by the fewest characters of the body. Look-around and atomic groups hand on once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from crfkit.expressions.parser import Item, Tree, is_tree
from crfkit.expressions.paths import short_steps

__all__ = ["most_steps", "range_width", "reach", "short_reach", "size_of"]

_ENDLESS = 1e200  # more than anything that is asked for, and its square is finite
_LONGEST = 1 << 24  # texts for which costs are foreseen one by one


class _Cost(NamedTuple):
    ways: float
    work: float


def most_steps(tree: Tree, length: int, *, whole: bool) -> float:
    """Return the most steps that `re` takes to match a whole text, or to search in it.

    Examples
    --------
    >>> import re
    >>> from crfkit.expressions.parser import is_tree, parsed
    >>> tree = parsed(re.compile("(a+)+$"))
    >>> most_steps(tree, 2, whole=True) < 100, most_steps(tree, 50, whole=True) > 1e12
    (True, True)
    """
    cost = _sequence(tree, length)
    once = cost.work + cost.ways
    starts = 1 if whole or _anchored(tree) else length + 1
    return once * starts + length


def reach(tree: Tree, constant: float, by_character: float, *, whole: bool) -> int:
    """Return the longest text that takes at most constant + by_character * length steps; -1: none does.

    Examples
    --------
    >>> import re
    >>> from crfkit.expressions.parser import parsed
    >>> reach(parsed(re.compile("(a+)+$")), 1000, 10, whole=True) < 10
    True
    """

    def fits(length: int) -> bool:
        return most_steps(tree, length, whole=whole) <= constant + by_character * length

    low, high = -1, 1
    while fits(high):
        low, high = high, 2 * high
        if high > _LONGEST:
            return 1 << 62  # it is linear
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def short_reach(tree: Tree, constant: float, by_character: float, *, whole: bool) -> int:
    """Return the same of short texts, whose steps are counted closely; -1 where that would take long."""
    alone = whole or _anchored(tree)
    counted = [steps * (1 if alone else n + 1) for n, steps in enumerate(short_steps(tree))]
    return max((n for n, steps in enumerate(counted) if steps <= constant + by_character * n), default=-1)


def range_width(tree: Tree) -> int:
    """Return how many characters the ranges of classes have, all together: `re` writes them out.

    Examples
    --------
    >>> from crfkit.expressions.parser import parsed
    >>> range_width(parsed("[a-z]+[0-9]"))
    36
    """
    return sum(
        min(last - first + 1, 1 << 16)
        for op, value in _items(tree)
        if op.name == "IN"
        for kind, ends in value
        if kind.name == "RANGE"
        for first, last in [ends]
    )


def size_of(tree: Tree) -> int:
    """Return how many parts an expression has, each written once.

    Examples
    --------
    >>> from crfkit.expressions.parser import parsed
    >>> size_of(parsed("ab+"))
    3
    """
    return sum(1 + (len(value) if op.name == "IN" else 0) for op, value in _items(tree))


def _items(tree: Tree) -> Iterator[Item]:
    """Yield all items, those within others too."""
    trees = [tree]
    while trees:
        part = trees.pop()
        for i in range(len(part)):
            yield part[i]
            trees += _parts(part[i][1])


def _parts(value: object) -> list[Tree]:
    """Return the trees within an item."""
    entries = value if isinstance(value, tuple) else (value,)
    lists = [entry if isinstance(entry, list) else [entry] for entry in entries]
    return [one for entry in lists for one in entry if is_tree(one)]


def _anchored(tree: Tree) -> bool:
    if not len(tree):
        return False
    op, value = tree[0]
    first = op.name == "AT" and value.name in ("AT_BEGINNING", "AT_BEGINNING_STRING")
    return first and not tree.state.flags & re.MULTILINE


def _sequence(tree: Tree, n: int) -> _Cost:
    ways, work = 1.0, 0.0
    for i in range(len(tree)):
        one = _item(tree[i], n, tree)
        work = min(work + ways * one.work, _ENDLESS)
        ways = min(ways * one.ways, _ENDLESS)
    return _Cost(ways, work)


def _item(item: Item, n: int, tree: Tree) -> _Cost:
    op, value = item
    name = op.name
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeat(value, n)
    if name == "SUBPATTERN":
        return _sequence(value[-1], n)
    if name == "BRANCH":
        return _choice([_sequence(part, n) for part in value[1]])
    if name == "GROUPREF_EXISTS":
        return _choice([_sequence(part, n) for part in value[1:] if part is not None] + [_Cost(1, 1)])
    if name in ("ASSERT", "ASSERT_NOT"):
        return _Cost(1, 1 + _sequence(value[1], n).work)
    if name == "ATOMIC_GROUP":
        return _Cost(1, 1 + _sequence(value, n).work)
    if name == "GROUPREF":
        return _Cost(1, 1 + min(n, tree.state.groupwidths[value][1]))
    return _Cost(1, 1 + (len(value) if name == "IN" else 0))


def _choice(costs: list[_Cost]) -> _Cost:
    return _Cost(sum(cost.ways for cost in costs), 1 + sum(cost.work for cost in costs))


def _repeat(value: tuple[int, int, Tree], n: int) -> _Cost:
    low, high, body = int(value[0]), int(value[1]), value[2]
    ways, work = _sequence(body, n)
    least = body.getwidth()[0]
    rounds = min(high, n // least if least else low + n + 1)
    if ways == 1:
        return _Cost(max(1, rounds - low + 1), (rounds + 1) * (work + 1))
    entered = _series(ways, rounds)
    return _Cost(entered, min(entered * (work + 1), _ENDLESS))


def _series(ways: float, rounds: int) -> float:
    """Return 1 + ways + ... + ways^rounds."""
    total = 1.0
    for _ in range(rounds):
        total = 1 + ways * total
        if total > _ENDLESS:
            return _ENDLESS
    return total
