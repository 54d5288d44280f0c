"""Expressions as programs: states, each of which leads to others, in the order in which `re` tries them.

A program is built from its end: every part gets the states that follow it. Repeats with counts are written
out. `re` ends a repeat whose body has matched nothing in a round, so a state must know for which of the
repeats around it nothing has been consumed in the round at hand. These are always the innermost ones, so that
their number says it all: what follows a part is a tuple, a state for each number, and a character leads to
the first.
Look-around, atomic groups and bodies of possessive repeats are programs of their own, inner ones first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from crfkit.expressions.parser import UNLIMITED, Item, Tree, Wraps, single

__all__ = [
    "ACCEPT",
    "ATOMIC",
    "CHARACTER",
    "CHOICE",
    "FAIL",
    "LOOK",
    "MOST_STATES",
    "PLACE",
    "ROUND",
    "Part",
    "Program",
    "State",
    "UnknownError",
    "program_of",
]

MOST_STATES = 10_000  #: of a program

Follow: TypeAlias = tuple[int, ...]  # states by the number of repeats that have consumed nothing


class UnknownError(ValueError):
    """There is no program for an expression."""


# What a state does.
ACCEPT = 0  #: ends
CHARACTER = 1  #: one of the characters `table`, then `to`
CHOICE = 2  #: the first of `targets` that succeeds
PLACE = 3  #: one of the places `table`, then `to`
LOOK = 4  #: part `table` matches `back` characters before (not: `negated`), then `to`
ATOMIC = 5  #: part `table` matches, then `to`; `other` where it matches nothing
ROUND = 6  #: part `table` matches something, then `to`; else `other`
FAIL = 7


class State(NamedTuple):
    """One state; which fields count depends on its kind."""

    kind: int
    table: int = 0
    to: int = 0
    other: int = 0
    targets: Follow = ()
    back: int = 0
    negated: bool = False

    @property
    def nearby(self) -> Follow:
        """The states that it asks at the same character."""
        if self.kind == CHOICE:
            return self.targets
        if self.kind in (PLACE, LOOK):
            return (self.to,)
        return (self.other,) if self.kind in (ATOMIC, ROUND) else ()


@dataclass
class Part:
    """A program, or one within it."""

    states: list[State] = field(default_factory=lambda: [State(ACCEPT)])  # the first accepts
    start: int = 0
    order: list[int] = field(default_factory=list)  # states after those that they ask


@dataclass
class Program:
    """The parts of an expression, those that others ask first; the last one is the whole."""

    parts: list[Part] = field(default_factory=list)
    characters: list[re.Pattern[str]] = field(default_factory=list)
    places: list[re.Pattern[str]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many states there are."""
        return sum(len(part.states) for part in self.parts)


def program_of(tree: Tree) -> Program:
    """Return the program of a parsed expression; an `UnknownError` says why there is none.

    Examples
    --------
    >>> from crfkit.expressions.parser import parsed
    >>> program_of(parsed("ab")).size
    3
    """
    builder = _Builder(tree.state)
    builder.part(tree, ())
    return builder.program


class _Builder:
    def __init__(self, state: Any) -> None:
        self.state = state
        self.program = Program()
        self.known: dict[tuple[str, str, Wraps], int] = {}
        self.count = 0

    def part(self, tree: Tree, wraps: Wraps) -> int:
        """Add the program of a tree; return its number."""
        made = Part()
        made.start = _Writer(self, made).sequence(tree, wraps, (0,))[0]
        made.order = _ordered(made.states)
        self.program.parts.append(made)
        return len(self.program.parts) - 1

    def table(self, tables: list[re.Pattern[str]], item: Item, wraps: Wraps) -> int:
        """Return the number of the expression for one item."""
        key = (item[0].name, repr(item[1]), wraps)
        if key not in self.known:
            self.known[key] = len(tables)
            tables.append(single(item, self.state, wraps))
        return self.known[key]


class _Writer:
    """Writes the states of one part."""

    def __init__(self, builder: _Builder, part: Part) -> None:
        self.builder, self.states = builder, part.states
        self.choices: dict[Follow, int] = {}

    def add(self, state: State) -> int:
        self.builder.count += 1
        if self.builder.count > MOST_STATES:
            raise UnknownError(f"it has more than {MOST_STATES:,} states with its repeats written out")
        self.states.append(state)
        return len(self.states) - 1

    def each(self, follow: Follow, state: State) -> Follow:
        """Add a state for each that follows, where they differ."""
        made = {to: self.add(state._replace(to=to)) for to in dict.fromkeys(follow)}
        return tuple(made[to] for to in follow)

    def choice(self, *targets: int) -> int:
        if targets not in self.choices:
            self.choices[targets] = self.add(State(CHOICE, targets=targets))
        return self.choices[targets]

    def sequence(self, tree: Tree, wraps: Wraps, follow: Follow) -> Follow:
        for i in reversed(range(len(tree))):
            follow = self.item(tree[i], wraps, follow)
        return follow

    def item(self, item: Item, wraps: Wraps, follow: Follow) -> Follow:
        name, value, builder = item[0].name, item[1], self.builder
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            table = builder.table(builder.program.characters, item, wraps)
            return (self.add(State(CHARACTER, table, follow[0])),) * len(follow)
        if name == "AT":
            return self.each(follow, State(PLACE, builder.table(builder.program.places, item, wraps)))
        if name == "FAILURE":
            return (self.add(State(FAIL)),) * len(follow)
        if name == "SUBPATTERN":
            _, added, removed, body = value
            return self.sequence(body, (*wraps, (added, removed)) if added or removed else wraps, follow)
        if name == "BRANCH":
            ways = [self.sequence(one, wraps, follow) for one in value[1]]
            return tuple(self.choice(*targets) for targets in zip(*ways, strict=True))
        if name in ("ASSERT", "ASSERT_NOT"):
            back = value[1].getwidth()[0] if value[0] < 0 else 0
            looked = State(LOOK, builder.part(value[1], wraps), back=back, negated=name == "ASSERT_NOT")
            return self.each(follow, looked)
        if name == "ATOMIC_GROUP":
            return self.atomic(value, builder.part(value, wraps), follow)
        if name == "POSSESSIVE_REPEAT":
            return self.possessive(value, wraps, follow)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            return self.repeat(value, wraps, follow, lazy=name == "MIN_REPEAT")
        raise UnknownError("it has back-references or conditions")

    def atomic(self, tree: Tree, part: int, follow: Follow) -> Follow:
        if tree.getwidth()[0] > 0:  # it never matches nothing
            return (self.add(State(ATOMIC, part, follow[0], self.add(State(FAIL)))),) * len(follow)
        return tuple(self.add(State(ATOMIC, part, follow[0], other)) for other in follow)

    def rounds(self, part: int, again: int, follow: Follow) -> Follow:
        return tuple(self.add(State(ROUND, part, again, other)) for other in follow)

    def possessive(self, value: tuple[int, int, Tree], wraps: Wraps, follow: Follow) -> Follow:
        low, high, part = int(value[0]), int(value[1]), self.builder.part(value[2], wraps)
        entry = follow
        if high == UNLIMITED:
            again = self.add(State(FAIL))
            self.states[again] = State(ROUND, part, again, follow[0])
            entry = self.rounds(part, again, follow)
        else:
            for _ in range(high - low):
                entry = self.rounds(part, entry[0], follow)
        for _ in range(low):
            entry = self.atomic(value[2], part, entry)
        return entry

    def repeat(self, value: tuple[int, int, Tree], wraps: Wraps, follow: Follow, *, lazy: bool) -> Follow:
        low, high, body = int(value[0]), int(value[1]), value[2]
        nothing = body.getwidth()[0] == 0  # whether a round may consume nothing

        def round_of(after: int) -> Follow:
            """Return one more round or none, for each number; `after` follows a round that consumed."""
            inner = (after, *follow) if nothing else (after,) * len(follow)
            begun = self.sequence(body, wraps, inner)[nothing:]
            pairs = zip(begun, follow, strict=True)
            return tuple(self.choice(*((out, into) if lazy else (into, out))) for into, out in pairs)

        entry = follow
        if high == UNLIMITED:
            again = self.add(State(FAIL))
            entry = round_of(again)
            self.states[again] = State(CHOICE, targets=(entry[0],))
        else:
            for _ in range(high - low):
                entry = round_of(entry[0])
        for _ in range(low):
            entry = self.sequence(body, wraps, entry)
        return entry


def _ordered(states: Sequence[State]) -> list[int]:
    """Return all states, each after those that it asks at the same character."""
    made: list[int] = []
    seen = [0] * len(states)  # 1: begun, 2: done
    for first in range(len(states)):
        stack = [first]
        while stack:
            i = stack[-1]
            if seen[i] == 0:
                seen[i] = 1
                for j in states[i].nearby:
                    if seen[j] == 1:
                        raise UnknownError("its states ask each other")
                    if seen[j] == 0:
                        stack.append(j)
                continue
            stack.pop()
            if seen[i] == 1:
                seen[i] = 2
                made.append(i)
    return made
