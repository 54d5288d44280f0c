"""What constraints on whole labelings mean for given labels: rules about steps.

A *step* is one position of a labeling (of segments: one segment) together with the label before it. The
steps of labelings are looked at to see whether they break a rule; the arcs of a trellis are steps too, of
which an integer program chooses some. One table [L + 1, L] says which steps count as an occurrence, its last
row those of a first label, so that both ways read a constraint alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats
from crfkit.structures.gold import Path

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of labelings, or arcs of a trellis; S of them in N sequences."""

    before: NDArray[Any]  # [S] the label before; L where there is none
    label: NDArray[Any]  # [S]
    position: Counts  # [S] among all sequences
    sequence: Counts  # [S]
    seq_ptr: Counts  # [N + 1]

    @property
    def count(self) -> int:
        """How many sequences there are."""
        return len(self.seq_ptr) - 1

    @once
    def place(self) -> Counts:
        """Position within its sequence, [S]."""
        return self.position - self.seq_ptr[self.sequence]

    @property
    def after(self) -> Counts:
        """How many positions of its sequence come after it, [S]."""
        return self.seq_ptr[self.sequence + 1] - 1 - self.position


def steps_of(path: Path, labels: int) -> Steps:
    """Return the steps of labelings.

    Examples
    --------
    >>> path = Path(np.array([0, 2, 3]), np.array([1, 0, 1], dtype=np.int32))
    >>> steps_of(path, 2).before.tolist(), steps_of(path, 2).place.tolist()
    ([2, 1, 2], [0, 1, 0])
    """
    ptr, label = path.seq_ptr, path.label
    length = np.diff(ptr)
    sequence = np.repeat(np.arange(len(length)), length)  # [P]
    before = np.empty_like(label)
    before[1:] = label[:-1]
    before[ptr[:-1][length > 0]] = labels
    if path.begin is None:
        return Steps(before, label, np.arange(len(label)), sequence, ptr)
    at = np.flatnonzero(path.begin)  # the label before a segment is that of the position before it
    return Steps(before[at], label[at], at, sequence[at], ptr)


@dataclass(frozen=True, eq=False)
class Machine:
    """An automaton over steps; it begins in state 0."""

    next: NDArray[np.int64]  # [M, L + 1, L] the state after a step; -1: the step is not allowed
    accept: Bools  # [M] whether a labeling may end there


class Rows(Protocol):
    """Where rules enter their rows; columns are steps and further variables from 0 to 1."""

    def variables(self, count: int) -> Counts:
        """Return the columns of that many further variables."""

    def add(self, row: Any, column: Any, value: Any, low: Any, high: Any) -> None:
        """Add rows: entries by row from 0, and the bounds of each row, [R]."""


class Rule(Protocol):
    """One constraint, resolved."""

    @property
    def parts(self) -> int:
        """How many parts the rule has, each of which can be broken by itself."""

    def broken(self, steps: Steps) -> Bools:
        """Mark the parts that the steps of each sequence break, [N, parts]."""

    def memories(self, part: int) -> int | None:
        """Return how many states the automaton of one part has; None where there is none."""

    def machine(self, part: int) -> Machine:
        """Return the automaton that keeps one part."""

    def enter(self, steps: Steps, rows: Rows) -> None:
        """Add the rule to a program that chooses steps of one sequence."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Numbers of steps add up to something between bounds, group by group."""

    group: NDArray[np.signedinteger[Any]]  # [L + 1, L] the group that a step counts for; -1: none
    least: Floats  # [G]
    most: Floats  # [G]

    @property
    def parts(self) -> int:
        """One for each group."""
        return len(self.least)

    def _entries(self, steps: Steps) -> tuple[Counts, Counts, Floats | None]:
        group = self.group[steps.before, steps.label]  # [S]
        at = np.flatnonzero(group >= 0)
        return at, group[at].astype(np.int64), None

    def broken(self, steps: Steps) -> Bools:
        """Mark the groups whose totals are out of bounds, [N, G]."""
        at, group, weight = self._entries(steps)
        G = len(self.least)
        key = steps.sequence[at] * G + group
        total = np.bincount(key, weight, minlength=steps.count * G).reshape(steps.count, G)
        slack = (
            0.0 if weight is None else 1e-9 * (1.0 + np.abs(self.most))
        )  # sums of coefficients are rounded
        broken = total > self.most + slack
        if self.least.max(initial=-np.inf) > 0.0:
            broken |= total < self.least
        return np.asarray(broken)

    def memories(self, part: int) -> int | None:
        """Return the numbers of occurrences that matter: from 0 up to the bound."""
        most = float(self.most[part])
        return 1 + int(float(self.least[part]) if most == np.inf else most)

    def machine(self, part: int) -> Machine:
        """Count occurrences up to the bound."""
        most, least = float(self.most[part]), float(self.least[part])
        cap = int(least if most == np.inf else most)
        count = np.arange(cap + 1)
        more = np.append(count[1:], cap if most == np.inf else -1)
        counts = (self.group == part)[None]  # [1, L + 1, L]
        return Machine(np.where(counts, more[:, None, None], count[:, None, None]), count >= least)

    def enter(self, steps: Steps, rows: Rows) -> None:
        """Gupta (2005) section 4.3.2, 1: a row for each group."""
        at, group, weight = self._entries(steps)
        rows.add(group, at, np.ones(len(at)) if weight is None else weight, self.least, self.most)


@dataclass(frozen=True, eq=False)
class Weighted(Totals):
    """Numbers of steps times coefficients, some of them only at a position, in one group."""

    terms: tuple[tuple[Bools, int | None, float], ...] = ()

    def memories(self, part: int) -> int | None:
        """Return None: sums of coefficients have too many values for an automaton."""
        return None

    def _entries(self, steps: Steps) -> tuple[Counts, Counts, Floats | None]:
        weight = np.zeros(len(steps.label))
        everywhere = slice(None)
        first, last = _Placed(steps.place), _Placed(steps.after)
        for table, position, number in self.terms:
            some: Any = everywhere
            if position is not None:
                some = first.at(position) if position >= 0 else last.at(-1 - position)
                if not some.size:
                    continue
            weight[some] += np.where(table[steps.before[some], steps.label[some]], number, 0.0)
        at = np.flatnonzero(weight)
        return at, np.zeros(len(at), np.int64), weight[at]


class _Placed:
    """Steps by where they are."""

    def __init__(self, place: Counts) -> None:
        self._order = np.argsort(place, kind="stable")
        self._begin = np.searchsorted(place[self._order], np.arange(place.max(initial=-1) + 2)).tolist()

    def at(self, place: int) -> Counts:
        """Return the steps at one place."""
        if place + 1 >= len(self._begin):
            return self._order[:0]
        return self._order[self._begin[place] : self._begin[place + 1]]


@dataclass(frozen=True, eq=False)
class Order:
    """No occurrence of a comes after one of b."""

    a: Bools  # [L + 1, L]
    b: Bools  # [L + 1, L]

    parts: ClassVar[int] = 1

    def memories(self, part: int) -> int | None:
        """Two."""
        return 2

    def machine(self, part: int) -> Machine:
        """Remember whether a b came."""
        return Machine(np.stack([np.where(self.b, 1, 0), np.where(self.a, -1, 1)]), np.ones(2, np.bool_))

    def broken(self, steps: Steps) -> Bools:
        """Mark the sequences with an a after a b, [N, 1]."""
        last = np.full(steps.count, -1)
        first = np.full(steps.count, np.iinfo(np.int64).max)
        for table, reduce, found in ((self.a, np.maximum, last), (self.b, np.minimum, first)):
            at = np.flatnonzero(table[steps.before, steps.label])
            reduce.at(found, steps.sequence[at], steps.place[at])
        return np.asarray(last > first)[:, None]

    def enter(self, steps: Steps, rows: Rows) -> None:
        """Variable t, which only rises, is 1 where a b came at t or before; an a at t + 1 forbids it."""
        a = np.flatnonzero(self.a[steps.before, steps.label])
        b = np.flatnonzero(self.b[steps.before, steps.label])
        if not len(a) or not len(b):
            return
        T = int(steps.place.max()) + 1
        seen = rows.variables(T)
        t, ones = np.arange(T), np.ones(T)
        rise = np.arange(T - 1)
        rows.add(  # seen[t] - seen[t + 1] <= 0
            np.concatenate([rise, rise]),
            np.concatenate([seen[:-1], seen[1:]]),
            np.repeat([1, -1], T - 1),
            -np.inf * ones[1:],
            0 * ones[1:],
        )
        rows.add(  # b at t - seen[t] <= 0
            np.concatenate([steps.place[b], t]),
            np.concatenate([b, seen]),
            np.concatenate([np.ones(len(b)), -ones]),
            -np.inf * ones,
            0 * ones,
        )
        rows.add(  # a at t + seen[t - 1] <= 1
            np.concatenate([steps.place[a], t[1:]]),
            np.concatenate([a, seen[:-1]]),
            np.ones(len(a) + T - 1),
            -np.inf * ones,
            ones,
        )


@dataclass(frozen=True, eq=False)
class Presence:
    """Where a occurs, b occurs."""

    a: Bools  # [L + 1, L]
    b: Bools  # [L + 1, L]

    parts: ClassVar[int] = 1

    def memories(self, part: int) -> int | None:
        """Three."""
        return 3

    def machine(self, part: int) -> Machine:
        """Remember whether only an a came (1), or a b (2)."""
        after_a = np.where(self.b, 2, 1)
        steps = np.stack([np.where(self.a | self.b, after_a, 0), after_a, np.full_like(after_a, 2)])
        return Machine(steps, np.array([True, False, True]))

    def broken(self, steps: Steps) -> Bools:
        """Mark the sequences with an a and without a b, [N, 1]."""
        has_a, has_b = np.zeros(steps.count, np.bool_), np.zeros(steps.count, np.bool_)
        for table, has in ((self.a, has_a), (self.b, has_b)):
            has[steps.sequence[table[steps.before, steps.label]]] = True
        return np.asarray(has_a & ~has_b)[:, None]

    def enter(self, steps: Steps, rows: Rows) -> None:
        """Gupta (2005) section 4.3.2, 2, by a variable that is 1 only where b occurs, and where a occurs."""
        a = np.flatnonzero(self.a[steps.before, steps.label])
        b = np.flatnonzero(self.b[steps.before, steps.label])
        (there,) = rows.variables(1)
        rows.add(  # there - sum of b <= 0
            np.zeros(len(b) + 1, np.int64),
            np.append(b, there),
            np.append(-np.ones(len(b)), 1),
            [-np.inf],
            [0.0],
        )
        places, place = np.unique(steps.place[a], return_inverse=True)
        K = len(places)
        rows.add(  # a at t - there <= 0
            np.concatenate([place, np.arange(K)]),
            np.concatenate([a, np.full(K, there)]),
            np.repeat([1, -1], [len(a), K]),
            np.full(K, -np.inf),
            np.zeros(K),
        )
