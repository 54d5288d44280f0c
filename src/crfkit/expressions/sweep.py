"""Programs are run once, from the end of a text to its beginning: in states x characters steps.

    end[s] = where a match that is in state s at this character ends, -1 where there is none

follows from the values of other states at this character and at the next; an atomic group also asks for what
follows it at the character where it ends, so these values are kept.
"""

from __future__ import annotations

from typing import Any

from crfkit.expressions.program import (
    ACCEPT,
    ATOMIC,
    CHARACTER,
    CHOICE,
    FAIL,
    LOOK,
    PLACE,
    ROUND,
    Part,
    Program,
)

__all__ = ["ends_of"]


def ends_of(program: Program, text: str, *, whole: bool) -> list[int]:
    """Return where the match that begins at each character ends, -1 where there is none: [n + 1].

    Examples
    --------
    >>> import re
    >>> from crfkit.expressions.parser import parsed
    >>> from crfkit.expressions.program import program_of
    >>> ends_of(program_of(parsed(re.compile("(a+)+b"))), "caab", whole=False)
    [-1, 4, 4, -1, -1]
    """
    letters = "".join(dict.fromkeys(text))
    characters = [frozenset(found[0] for found in one.finditer(letters)) for one in program.characters]
    places = [frozenset(found.start() for found in one.finditer(text)) for one in program.places]
    ends: list[list[int]] = []
    for part in program.parts:
        last = len(ends) == len(program.parts) - 1
        ends.append(_sweep(part, text, characters, places, ends, whole=whole and last))
    return ends[-1]


def _sweep(
    part: Part,
    text: str,
    characters: list[frozenset[str]],
    places: list[frozenset[int]],
    ends: list[list[int]],
    *,
    whole: bool,
) -> list[int]:
    n, states = len(text), part.states
    tables: dict[int, list[Any]] = {
        CHARACTER: [*characters],
        PLACE: [*places],
        **{kind: [*ends] for kind in (LOOK, ATOMIC, ROUND)},
    }
    kept = {s.to: [-1] * (n + 1) for s in states if s.kind in (ATOMIC, ROUND)}
    steps = []
    for i in part.order:
        s = states[i]
        table = tables[s.kind][s.table] if s.kind in tables else s.targets
        if s.kind != FAIL:
            steps.append((s.kind, i, table, s.to, s.other, s.back, s.negated))
    accept, character, choice, place, look, round_ = ACCEPT, CHARACTER, CHOICE, PLACE, LOOK, ROUND
    found = [-1] * (n + 1)
    nothing = [-1] * len(states)
    after = nothing
    for at in range(n, -1, -1):
        letter = text[at : at + 1]
        now = nothing.copy()
        for kind, i, table, to, other, back, negated in steps:
            if kind == character:
                if letter in table:
                    now[i] = after[to]
            elif kind == choice:
                for target in table:
                    if now[target] >= 0:
                        now[i] = now[target]
                        break
            elif kind == place:
                if at in table:
                    now[i] = now[to]
            elif kind == look:
                if (at >= back and table[at - back] >= 0) != negated:
                    now[i] = now[to]
            elif kind == accept:
                now[i] = at if at == n or not whole else -1
            else:
                end = table[at]
                if end > at:
                    now[i] = kept[to][end]
                elif end == at or kind == round_:
                    now[i] = now[other]
        for state, values in kept.items():
            values[at] = now[state]
        found[at] = now[part.start]
        after = now
    return found
