"""What Python's `re` parses, as parts whose cost is known; the only file that knows its parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from crfkit._safe.expressions.parts import ALL, Part, choice, handing_on_once, repeat, sequence, single, union
from crfkit._safe.printable import quoted

try:  # it has no public name
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as _parser

MOST_NESTED = 100  #: groups, choices and repeats within each other

_OTHERS = 1 << 128  # of a set of characters: all that are not ASCII
_NEWLINE = 1 << 10


def named(text: str) -> str:
    """Return what messages call an expression."""
    return f"the regular expression {quoted(text)}"


def parsed(pattern: str | re.Pattern[str], flags: int = 0) -> Any:
    """Return the tree of an expression whose groups are not nested too deeply for whoever walks it."""
    text = pattern if isinstance(pattern, str) else pattern.pattern
    too_deep = ValueError(
        f"{named(text)} has more than {MOST_NESTED} groups and repeats within each other; leave some out"
    )
    try:
        tree = _parser.parse(text, flags if isinstance(pattern, str) else pattern.flags)
    except RecursionError:
        raise too_deep from None
    inside, depth = [tree], 0
    while inside:
        inside, depth = [one for part in inside for _, value in part.data for one in _trees(value)], depth + 1
        if depth > MOST_NESTED + 1:
            raise too_deep
    return tree


def _trees(value: object) -> Iterator[Any]:
    """Yield the trees within an item."""
    for entry in value if isinstance(value, tuple) else (value,):
        for one in entry if isinstance(entry, list) else (entry,):
            if isinstance(one, _parser.SubPattern):
                yield one


def items(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all items, those within others too."""
    trees = [tree]
    while trees:
        for item in trees.pop().data:
            yield item
            trees += _trees(item[1])


def range_width(tree: Any) -> int:
    """Return how many characters the ranges of classes have, all together: `re` writes them out."""
    return sum(
        min(last - first + 1, 1 << 16)
        for op, value in items(tree)
        if op.name == "IN"
        for kind, ends in value
        if kind.name == "RANGE"
        for first, last in [ends]
    )


class Reader:
    """Makes parts of a tree."""

    def __init__(self, tree: Any) -> None:
        flags = tree.state.flags
        for op, value in items(tree):
            if op.name == "SUBPATTERN":
                flags |= value[1]  # of a group: taken for those of all
        self.caseless = bool(flags & re.IGNORECASE)
        self.dotall = bool(flags & re.DOTALL)
        self.multiline = bool(flags & re.MULTILINE)
        self.widths = tree.state.groupwidths
        self.part = self.sequence(tree)
        self.failing = self.sequence(tree, failing=True)

    def sequence(self, tree: Any, *, failing: bool = False) -> Part:
        """Return the part of a tree; of `failing` without what cannot fail at its end."""
        items = [self.item(item) for item in tree.data]
        while failing and items:
            last = self.item(tree.data[len(items) - 1], failing=True)
            if not _cannot_fail(last):
                items[-1] = last
                break
            items.pop()
        return sequence(items)

    def item(self, item: tuple[Any, Any], *, failing: bool = False) -> Part:
        """Return the part of one item of a tree."""
        name, value = item[0].name, item[1]
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return single(self.characters(name, value), 1 + (len(value) // 4 if name == "IN" else 0))
        if name == "AT":
            return self.place(value.name)
        if name == "SUBPATTERN":
            return self.sequence(value[-1], failing=failing)
        if name == "BRANCH":
            parts = [self.sequence(part, failing=failing) for part in value[1]]
            return Part() if failing and any(map(_cannot_fail, parts)) else choice(parts)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high = int(value[0]), int(value[1])
            if failing and not low:
                return Part()
            return repeat(low, low if failing else high, self.sequence(value[2]))
        if name == "POSSESSIVE_REPEAT":
            body = handing_on_once(self.sequence(value[2]), moves=True)
            return handing_on_once(repeat(int(value[0]), int(value[1]), body), moves=True)
        if name in ("ASSERT", "ASSERT_NOT"):
            return handing_on_once(self.sequence(value[1]), moves=False)
        if name == "ATOMIC_GROUP":
            return handing_on_once(self.sequence(value), moves=True)
        if name == "GROUPREF":
            return Part("again", longest=self.widths[value][1], first=ALL, more=ALL, clear=False)
        if name == "GROUPREF_EXISTS":
            return choice([Part(), *(self.sequence(part) for part in value[1:] if part is not None)])
        return Part("place", clear=False)  # FAILURE, and what later versions of Python add

    def place(self, name: str) -> Part:
        """Return the part of a place between characters."""
        if name in ("AT_END", "AT_END_STRING"):
            return Part("place", empty=False, first=_NEWLINE if name == "AT_END" else 0, left=1)
        begins = name == "AT_BEGINNING_STRING" or (name == "AT_BEGINNING" and not self.multiline)
        return Part("place", left=1, anchored=begins)

    def characters(self, name: str, value: Any) -> int:
        """Return the set of characters that an item takes."""
        if name == "ANY":
            return ALL if self.dotall else ALL & ~_NEWLINE
        if name in ("LITERAL", "NOT_LITERAL"):
            found, negated = _bit(value), name == "NOT_LITERAL"
        else:
            found, negated = 0, value[0][0].name == "NEGATE"
            for op, what in value[negated:]:
                if op.name == "LITERAL":
                    found |= _bit(what)
                elif op.name == "RANGE":
                    found |= _range(*what)
                else:
                    found |= _category(what.name)
        if negated:
            found = ALL & ~found | _OTHERS
        return _other_cases(found) if self.caseless else found


def _cannot_fail(part: Part) -> bool:
    return part.kind == "sequence" and not part.parts


def _bit(code: int) -> int:
    return 1 << min(code, 128)


def _range(first: int, last: int) -> int:
    return (1 << min(last, 128) + 1) - (1 << min(first, 128))


@lru_cache(maxsize=16)
def _category(name: str) -> int:
    letter = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.rpartition("_")[2]]
    negated = "_NOT_" in name
    bits = (1 << code for code in range(128) if (re.fullmatch(letter, chr(code), re.S) is None) == negated)
    return _OTHERS | sum(bits)


def _other_cases(found: int) -> int:
    """Add what is equal but for its case; K, S and I have other cases beyond ASCII."""
    upper, lower = (((1 << 26) - 1) << start for start in (65, 97))
    found |= (found & upper) << 32 | (found & lower) >> 32
    special = union(_bit(ord(letter)) for letter in "kKsSiI")
    if found & special:
        found |= _OTHERS
    return found | (special if found & _OTHERS else 0)
