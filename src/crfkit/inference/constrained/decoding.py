"""The best labeling under constraints on whole labelings, exactly (Gupta 2005, section 4.3).

All sequences are decoded freely, and most answers keep the constraints. The others are decoded again with a
memory for what they break, where that takes few states (`automata`): in a batch for each kind of breach. For
what is left the first of the k best labelings that keeps the constraints is the answer, k = 8, then 64; and
else, one sequence after the other, it is a linear program, in integers where that is needed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Pointers, ranges
from crfkit.errors import InfeasibleError
from crfkit.inference.constrained.automata import Ordered, fits, joined, remembered
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.inference.constrained.program import solve
from crfkit.inference.constrained.rules import Machine, Rule, steps_of
from crfkit.inference.constrained.trellis import trellis_of
from crfkit.inference.training import best
from crfkit.native import kernels, threads_or_all
from crfkit.structures.gold import Path
from crfkit.structures.results import Labeling

Way: TypeAlias = Literal["free", "DP", "k-best", "LP", "ILP", "none"]
#: How answers are found; "none": no labeling keeps the constraints, and the free answer stands.
WAYS: tuple[Way, ...] = ("free", "DP", "k-best", "LP", "ILP", "none")
Rules: TypeAlias = Sequence[tuple[GlobalConstraint, Rule]]
_ROUNDS = (8, 64)
_MOST_MARKS = 1 << 24  # parts of rules times labelings that are looked at together
_MOST_TRIED = 20  # constraints, each of which a program tries alone to name the one that cannot be kept


@dataclass(frozen=True, eq=False, kw_only=True)
class Constrained(Labeling):
    """The best labeling that satisfies constraints."""

    free_score: float  #: of the best labeling without constraints
    how: Way  #: found freely, by a dynamic program with a memory, among the k best, or by a linear program

    @property
    def cost(self) -> float:
        """What the constraints cost: the score of the free answer minus this one's."""
        return self.free_score - self.score


@dataclass(frozen=True, eq=False)
class Answers:
    """The best labelings of N sequences that keep constraints."""

    path: Path
    score: Floats  #: [N]
    free_score: Floats  #: [N] of the best labelings without constraints
    how: NDArray[np.int8]  #: [N] places in `WAYS`

    def counts(self) -> dict[str, int]:
        """Return how many answers were found in each way, without the ways that found none."""
        found = Counter(self.how.tolist())
        return {way: found[i] for i, way in enumerate(WAYS) if found[i]}

    def labelings(self) -> list[Constrained]:
        """Return the answers one by one."""
        label, begin = self.path.label, self.path.begin
        return [
            Constrained(
                label[a:b],
                float(self.score[n]),
                None if begin is None else begin[a:b],
                free_score=float(self.free_score[n]),
                how=WAYS[self.how[n]],
            )
            for n, (a, b) in enumerate(pairwise(self.path.seq_ptr.tolist()))
        ]

    def tell(self) -> None:
        """Warn where no labeling keeps the constraints, and free answers stand in."""
        without = np.flatnonzero(self.how == WAYS.index("none"))
        if without.size:
            warnings.warn(
                f"{len(without)} of {len(self.how)} sequences (first: {without[0]}) have no labeling that "
                "keeps the constraints; they have their free answers",
                RuntimeWarning,
                stacklevel=3,
            )

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers of all parts, one after the other; there is at least one."""
        ptr = np.concatenate([[0], *(np.diff(part.path.seq_ptr) for part in parts)]).cumsum()
        begins = [part.path.begin for part in parts if part.path.begin is not None]
        path = Path(
            ptr, np.concatenate([p.path.label for p in parts]), np.concatenate(begins) if begins else None
        )
        score, free, how = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("score", "free_score", "how")
        )
        return cls(path, score, free, how)


def constrained_paths(
    potentials: Ordered,
    rules: Rules,
    *,
    infeasible: Literal["raise", "free"] = "raise",
    threads: int | None = None,
) -> Answers:
    """Return the same as `constrained` in flat arrays, from rules that `rules_of` made."""
    if infeasible not in ("raise", "free"):
        raise ValueError(f'infeasible is {infeasible!r}, expected "raise" or "free"')
    values, path = best(potentials, threads=threads)
    broken = _broken(path, rules, len(potentials.structure.labels))  # [N, parts]
    if not broken.any():
        return Answers(path, values, values, np.zeros(len(values), np.int8))
    search = _Search(potentials, rules, path, values, threads)
    left = np.flatnonzero(broken.any(axis=1))
    left = search.by_automata(left, broken[left])
    for k in _ROUNDS if left.size else ():
        left = search.among_best(left, k)
    for n in left.tolist():
        search.by_program(n)
    without = np.flatnonzero(search.how == WAYS.index("none")).tolist()
    if without and infeasible == "raise":
        culprit = _culprit(potentials.sequence(without[0]), rules)
        raise InfeasibleError(without[0], len(without) - 1, constraints=culprit)
    return Answers(Path(path.seq_ptr, search.label, search.begin), search.score, values, search.how)


class _Memory:
    """The automaton of some parts of rules, made where it is needed."""

    def __init__(self, parts: Sequence[tuple[Rule, int]]) -> None:
        self._parts = parts
        sizes = [rule.memories(part) for rule, part in parts]
        #: How many states it has; None: there is no automaton.
        self.states = None if None in sizes else prod(size for size in sizes if size is not None)

    @once
    def machine(self) -> Machine:
        """The automaton."""
        return joined([rule.machine(part) for rule, part in self._parts])


class _Search:
    """Answers of a batch, filled in as they are found."""

    def __init__(
        self, potentials: Ordered, rules: Rules, path: Path, values: Floats, threads: int | None
    ) -> None:
        self.potentials, self.rules, self.threads = potentials, rules, threads
        self.ptr, self.free = path.seq_ptr, values
        self.label = path.label.copy()
        self.begin = None if path.begin is None else path.begin.copy()
        self.score, self.how = values.copy(), np.zeros(len(values), np.int8)
        self.bound = values.copy()  # what the answer of a sequence scores at most
        self.L = len(potentials.structure.labels)

    def by_automata(self, left: Pointers, broken: Bools) -> Pointers:
        """Decode with a memory for what is broken, until nothing is; return what has no answer yet."""
        parts = [(rule, part) for _, rule in self.rules for part in range(rule.parts)]
        beyond = [np.zeros(0, np.int64)]
        while left.size:
            kinds, kind = np.unique(broken, axis=0, return_inverse=True)
            again = [(np.zeros(0, np.int64), broken[:0])]
            for i, one in enumerate(kinds):
                memory = _Memory([parts[q] for q in np.flatnonzero(one).tolist()])
                here = left[kind == i]
                for some in np.split(here, len(here)) if self.potentials.steps_by_position else (here,):
                    found = self._remembered(some, memory)
                    if found is None:
                        beyond.append(some)
                    else:
                        again.append((found[0], one | found[1]))
            left, broken = (np.concatenate(each) for each in zip(*again, strict=True))
        return np.sort(np.concatenate(beyond))

    def _remembered(self, some: Pointers, memory: _Memory) -> tuple[Pointers, Bools] | None:
        """Decode some sequences; return those that break further parts, or None where it takes too much."""
        chosen = self.potentials.select(some)
        if memory.states is None or not fits(chosen, memory.states):
            return None
        scores, path = remembered(chosen, memory.machine, self.threads)
        more = _broken(path, self.rules, self.L)
        done = (scores == -np.inf) | ~more.any(axis=1)
        self._take(some, done, "DP", scores, path)
        return some[~done], more[~done]

    def among_best(self, left: Pointers, k: int) -> Pointers:
        """Take the first of the k best labelings that keeps the rules; return those without an answer."""
        parts = sum(rule.parts for _, rule in self.rules)
        some = max(1, _MOST_MARKS // (k * parts))
        rest = [self._among_best(left[i : i + some], k) for i in range(0, len(left), some)]
        return np.concatenate([left[:0], *rest])

    def _among_best(self, left: Pointers, k: int) -> Pointers:
        chosen = self.potentials.select(left)
        rank, scores, path = _among_best(chosen, self.rules, k, self.threads)
        ended = (rank < 0) & (scores[:, -1] == -np.inf)  # the list has all labelings
        found = np.where(ended, -np.inf, scores[np.arange(len(left)), rank])
        self._take(left, (rank >= 0) | ended, "k-best", found, path)
        rest = ~ended & (rank < 0)
        self.bound[left[rest]] = np.minimum(self.bound[left[rest]], scores[rest, -1])
        return np.asarray(left[rest])

    def by_program(self, n: int) -> None:
        """Solve one sequence as a linear program, or as one in integers."""
        one = self.potentials.sequence(n)
        trellis = trellis_of(one)
        reach = max(1.5 * float(self.free[n] - self.bound[n]), 1e-6)
        answer = solve(trellis, [rule for _, rule in self.rules], reach)
        if answer is None:
            self.how[n] = WAYS.index("none")
            return
        path = trellis.path(answer[0], self.begin is not None)
        score = one.path_score(path.label, path.begin)
        self._take(np.array([n]), np.ones(1, np.bool_), answer[1], score, path)

    def _take(self, left: Pointers, done: Bools, way: Way, scores: Floats, path: Path) -> None:
        """Keep the labelings of sequences that are done; where the score is -inf, there is none."""
        which = np.flatnonzero(done & (scores > -np.inf))
        to = left[which]
        counts = np.diff(self.ptr)[to]
        here, there = ranges(self.ptr[to], counts), ranges(path.seq_ptr[which], counts)
        self.label[here] = path.label[there]
        if self.begin is not None and path.begin is not None:
            self.begin[here] = path.begin[there]
        self.score[to], self.how[to] = scores[which], WAYS.index(way)
        self.how[left[done & (scores == -np.inf)]] = WAYS.index("none")
        self.bound[left[~done]] = scores[~done]


def _broken(path: Path, rules: Rules, labels: int) -> Bools:
    """Mark the parts of rules that each sequence breaks, [N, parts of all rules]."""
    steps = steps_of(path, labels)
    each = [rule.broken(steps) for _, rule in rules]
    return np.concatenate(each, axis=1) if each else np.zeros((steps.count, 0), np.bool_)


def _among_best(
    potentials: Ordered, rules: Rules, k: int, threads: int | None
) -> tuple[Pointers, Floats, Path]:
    """Return the rank of the first of the k best labelings that keeps the rules, [N], or -1.

    Also the scores of all [N, k], and the labelings of these ranks.
    """
    scores, paths, begins = kernels.kbest(potentials.problem, k, threads_or_all(threads))
    labels = potentials.as_labels(paths)  # [k, P]
    length, N = np.diff(potentials.seq_ptr), len(scores)
    ptr = np.concatenate([[0], np.tile(length, k)]).cumsum()  # all of rank 0, all of rank 1, ...
    every = Path(ptr, labels.ravel(), None if begins is None else begins.ravel().astype(np.bool_))
    broken = _broken(every, rules, len(potentials.structure.labels)).any(axis=1)  # [k * N]
    keeps = ~broken.reshape(k, N).T & (scores > -np.inf)  # [N, k]
    rank = np.where(keeps.any(axis=1), keeps.argmax(axis=1), -1)
    at = np.repeat(np.maximum(rank, 0), length), np.arange(labels.shape[1])
    begin = None if begins is None else begins[at].astype(np.bool_)
    return rank, scores, Path(potentials.seq_ptr, labels[at], begin)


def _culprit(one: Ordered, rules: Rules) -> str:
    """Name the constraint that no labeling keeps; where each can be kept alone, all of them."""
    for item, rule in rules[:_MOST_TRIED]:
        if one.seq_ptr[-1] == 0:
            alone = not _broken(Path(one.seq_ptr, np.zeros(0, np.int32)), [(item, rule)], 1).any()
        else:
            alone = solve(trellis_of(one), [rule], 1.0) is not None
        if not alone:
            return repr(item)
    if len(rules) > _MOST_TRIED:
        return f"all of {len(rules):,} constraints together"
    return f"all of {', '.join(repr(item) for item, _ in rules)} together"
