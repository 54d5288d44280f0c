r"""Parts of an expression: what the next character decides, and how many steps `re` takes at most.

Where the next character always decides what comes next (*clear*: in ``\d+(,\d+)*`` a comma begins a round,
a digit goes on with one, and all else ends it), `re` is at one place of the expression at a time, and takes
(characters + 1) x the things that it can try at one of them. Of other parts, where w are the ways in which
one can match and k is its work:

    sequence    ways = product of ways             work = k1 + w1 k2 + w1 w2 k3 + ...
    choice      ways = sum of ways                 work = 1 + sum of work
    repeat      ways = 1 + w + ... + w^rounds      work = ways (k + 1)

Look-around and atomic groups hand on once. Sets of characters are integers: a bit for each character of
ASCII, and one for all others together. They may be too large, never too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ALL = (1 << 129) - 1  #: characters
_ENDLESS = 1e200  # more than anything that is asked for, and its square is finite


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression, and bounds of what it does: none may be too small."""

    kind: str = "sequence"
    parts: tuple[Part, ...] = ()
    rounds: tuple[int, int] = (1, 1)  # of a repeat
    shortest: int = 0  # characters that it matches
    longest: float = 0
    empty: bool = True  # it may be passed whatever the next character is
    first: int = 0  # characters that it may begin with
    more: int = 0  # with which it may go on where it could end
    clear: bool = True  # the next character decides what comes next, all through it
    tries: float = 1  # things to try at one character, of clear parts
    left: float = 0  # things that have been tried at the character where it ends
    anchored: bool = False

    @property
    def ahead(self) -> int:
        """The characters that it may take where it could also be left."""
        return self.more | (self.first if self.empty else 0)


def single(characters: int, tries: float = 1) -> Part:
    """Return one character of a set."""
    return Part("single", shortest=1, longest=1, empty=False, first=characters, tries=tries)


def _joined(before: Part, part: Part) -> Part:
    """Return two that are clear together, one after the other, as one."""
    stays = part.empty or part.longest == 0
    return Part(
        "run",
        shortest=before.shortest + part.shortest,
        longest=before.longest + part.longest,
        empty=before.empty and part.empty,
        first=before.first | (part.first if before.empty else 0),
        more=part.more | (before.more | part.first if part.empty else 0),
        tries=max(before.tries, before.left + part.tries),
        left=max(part.left, before.left + part.tries if stays else 0),
        anchored=before.anchored,
    )


def sequence(parts: Sequence[Part]) -> Part:
    """Return parts one after the other; neighbors that are clear together become one."""
    runs: list[Part] = []
    for part in parts:
        for one in part.parts if part.kind == "sequence" else (part,):
            if runs and runs[-1].clear and one.clear and not runs[-1].ahead & one.first:
                runs[-1] = _joined(runs[-1], one)
            else:
                runs.append(one)
    if len(runs) == 1:
        return runs[0]
    first, more, open_ = 0, 0, True
    for run in runs:
        first |= run.first if open_ else 0
        open_ = open_ and run.empty
        more = run.more | (more | run.first if run.empty else 0)
    return Part(
        parts=tuple(runs),
        shortest=sum(run.shortest for run in runs),
        longest=sum(run.longest for run in runs),
        empty=open_,
        first=first,
        more=more,
        clear=not runs,
        anchored=bool(runs) and runs[0].anchored,
    )


def choice(parts: Sequence[Part]) -> Part:
    """Return one part of several, which `re` tries in order."""
    first, clear = 0, sum(part.empty for part in parts) < 2
    for part in parts:
        clear = clear and part.clear and not first & part.first and (part.empty or part.longest > 0)
        first |= part.first
    return Part(
        "choice",
        tuple(parts),
        shortest=min(part.shortest for part in parts),
        longest=max(part.longest for part in parts),
        empty=any(part.empty for part in parts),
        first=first,
        more=union(part.more for part in parts),
        clear=clear,
        tries=1 + sum(part.tries for part in parts),
        left=max(part.left for part in parts),
        anchored=all(part.anchored for part in parts),
    )


def union(sets: Iterable[int]) -> int:
    """Return the characters that are in one of the sets."""
    made = 0
    for one in sets:
        made |= one
    return made


def repeat(low: int, high: int, body: Part) -> Part:
    r"""Return a part that is matched again and again.

    Examples
    --------
    >>> a, b = single(1), single(2)
    >>> repeat(1, 9, sequence([repeat(1, 9, a), b])).clear, repeat(1, 9, repeat(1, 9, a)).clear
    (True, False)
    """
    again = body.first if high > 1 else 0
    return Part(
        "repeat",
        (body,),
        (low, high),
        shortest=low * body.shortest,
        longest=min(high * body.longest, _ENDLESS),
        empty=low == 0 or body.empty,
        first=body.first,
        more=body.more | again,
        clear=body.clear and not body.empty and body.shortest > 0 and not body.more & again,
        tries=1 + body.left + body.tries,
        left=1 + body.left + body.tries,
        anchored=low > 0 and body.anchored,
    )


def handing_on_once(body: Part, *, moves: bool) -> Part:
    """Return what matches in one way at most: an atomic group, or one that looks around."""
    longest = body.longest if moves else 0
    return Part("once", (body,), longest=longest, first=ALL, more=ALL, clear=False)


def entered(part: Part) -> float:
    """Return the most things that are tried of a part at the character at which it fails at once."""
    if part.clear or not part.parts:
        return part.tries
    if part.kind == "choice":
        return 1 + sum(map(entered, part.parts))
    return 1 + entered(part.parts[0])


class Cost(NamedTuple):
    """In how many ways a part matches at most, and what it takes to try all."""

    ways: float
    work: float


def total(part: Part, n: int) -> float:
    """Return the most steps that a part takes on n characters, from one of them on.

    Examples
    --------
    >>> digits = repeat(1, 1 << 32, single(1))
    >>> total(digits, 100) < 1000, total(repeat(1, 1 << 32, digits), 100) > 1e30
    (True, True)
    """
    return sum(cost(part, n))


def cost(part: Part, n: int) -> Cost:
    """Return the cost of a part on n characters."""
    longest = min(n, part.longest)
    if part.clear:
        return Cost(max(1, longest - part.shortest + 1), (longest + 1) * part.tries)
    if part.kind == "sequence":
        ways, work = 1.0, 0.0
        for one in part.parts:
            each = cost(one, n)
            work = min(work + ways * each.work, _ENDLESS)
            ways = min(ways * each.ways, _ENDLESS)
        return Cost(ways, work)
    if part.kind == "choice":
        costs = [cost(one, n) for one in part.parts]
        return Cost(sum(each.ways for each in costs), 1 + sum(each.work for each in costs))
    if part.kind == "repeat":
        return _cost_of_repeat(part, n)
    if part.kind == "once":
        return Cost(1, 1 + cost(part.parts[0], n).work)
    return Cost(1, 1 + longest)


def _cost_of_repeat(part: Part, n: int) -> Cost:
    (low, high), (body,) = part.rounds, part.parts
    ways, work = cost(body, n)
    rounds = min(high, n // body.shortest if body.shortest else low + n + 1)
    if ways == 1:
        return Cost(max(1, rounds - low + 1), min((rounds + 1) * (work + 1), _ENDLESS))
    entered = 1.0
    for _ in range(rounds):
        entered = 1 + ways * entered
        if entered > _ENDLESS:
            return Cost(_ENDLESS, _ENDLESS)
    return Cost(entered, min(entered * (work + 1), _ENDLESS))
