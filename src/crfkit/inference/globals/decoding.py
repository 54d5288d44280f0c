"""The best labelling under constraints on whole labellings, exactly (Gupta 2005, section 4.3).

All sequences are decoded freely, and most answers keep the constraints. For the others the first of the k
best labellings that keeps them is the answer, k = 8, then 64, found and looked at in batches. What is left,
one sequence after the other, is a linear program, in integers where that is needed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.inference.globals.kinds import GlobalConstraint
from crfkit.inference.globals.program import solve
from crfkit.inference.globals.rules import Rule, rules_of, steps_of
from crfkit.inference.globals.trellis import trellis_of
from crfkit.inference.results import NoLabellingError
from crfkit.inference.training import best
from crfkit.native import kernels, threads_or_all
from crfkit.structures.chain_potentials import ChainPotentials
from crfkit.structures.gold import Path
from crfkit.structures.results import Labelling
from crfkit.structures.semimarkov_potentials import SemiMarkovPotentials

__all__ = ["WAYS", "Answers", "Constrained", "InfeasibleError", "Rules", "constrained", "constrained_paths"]

Way: TypeAlias = Literal["free", "k-best", "LP", "ILP", "none"]
#: How answers are found; "none": no labelling keeps the constraints, and the free answer stands.
WAYS: tuple[Way, ...] = ("free", "k-best", "LP", "ILP", "none")
Rules: TypeAlias = Sequence[tuple[GlobalConstraint, Rule]]
_ROUNDS = (8, 64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Constrained(Labelling):
    """The best labelling that keeps constraints."""

    free_score: float  #: of the best labelling without constraints
    how: Way  #: found freely, among the k best, or by a program

    @property
    def cost(self) -> float:
        """What the constraints cost: the score of the free answer minus this one's."""
        return self.free_score - self.score


@dataclass(frozen=True, eq=False)
class Answers:
    """The best labellings of N sequences that keep constraints."""

    path: Path
    score: Floats  #: [N]
    free_score: Floats  #: [N] of the best labellings without constraints
    how: NDArray[np.int8]  #: [N] places in `WAYS`

    def counts(self) -> dict[str, int]:
        """Return how many answers were found in each way, without the ways that found none."""
        found = Counter(self.how.tolist())
        return {way: found[i] for i, way in enumerate(WAYS) if found[i]}

    def labellings(self) -> list[Constrained]:
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
        """Warn where no labelling keeps the constraints, and free answers stand in."""
        without = np.flatnonzero(self.how == WAYS.index("none"))
        if without.size:
            warnings.warn(
                f"{len(without)} of {len(self.how)} sequences (first: {without[0]}) have no labelling that "
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


class InfeasibleError(NoLabellingError):
    """No labelling of a sequence keeps the constraints; `sequence` says which one.

    Examples
    --------
    >>> print(InfeasibleError(3, 0, "AtLeast('a', 5)").after(10))
    sequence 13 has no labelling that keeps AtLeast('a', 5): relax it, or ask for the free answer there \
(infeasible="free", --infeasible free)
    """

    def __init__(self, sequence: int, more: int = 0, what: str = "") -> None:
        super().__init__(sequence, more)
        others = f" (and {more} more)" if more else ""
        self.args = (
            f"sequence {sequence} has no labelling that keeps {what}{others}: relax it, or ask for the free "
            'answer there (infeasible="free", --infeasible free)',
        )
        self.what = what

    def __reduce__(self) -> tuple[type[NoLabellingError], tuple[Any, ...]]:
        return type(self), (self.sequence, self.more, self.what)

    def after(self, sequences: int) -> InfeasibleError:
        """Return the same error, counted from the beginning of data with so many sequences before."""
        return InfeasibleError(self.sequence + sequences, self.more, self.what)


def constrained(
    potentials: ChainPotentials | SemiMarkovPotentials,
    constraints: Iterable[GlobalConstraint],
    *,
    infeasible: Literal["raise", "free"] = "raise",
    threads: int | None = None,
) -> Any:
    """Return the best labelling that keeps constraints on whole labellings.

    Parameters
    ----------
    potentials
        Scores of a chain or of segments: of one sequence or of a batch.
    constraints
        Any number of `crfkit.constraints.AtMost`, `AtLeast`, `Exactly`, `Once`, `Before`, `Implies`,
        `Linear`; all of them hold.
    infeasible : {"raise", "free"}
        Where no labelling keeps them: raise an `InfeasibleError`, or return the free answer, say so in
        ``how`` ("none") and warn.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    Constrained, or a list of them for a batch

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> from crfkit.constraints import AtMost
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0]])
    >>> found = inference.constrained(scores, [AtMost("b", 1)])
    >>> found.labels.tolist(), found.score, found.cost, found.how
    ([1, 0], 3.0, 2.0, 'k-best')
    """
    if not isinstance(potentials, ChainPotentials | SemiMarkovPotentials):
        raise TypeError(
            f"potentials are {type(potentials).__name__}; constraints on whole labellings are for chains and "
            "segments, whose labels have an order"
        )
    rules = rules_of(constraints, potentials.structure)
    found = constrained_paths(potentials, rules, infeasible=infeasible, threads=threads)
    found.tell()
    made = found.labellings()
    return made[0] if potentials.single else made


def constrained_paths(
    potentials: ChainPotentials | SemiMarkovPotentials,
    rules: Rules,
    *,
    infeasible: Literal["raise", "free"] = "raise",
    threads: int | None = None,
) -> Answers:
    """Return the same as `constrained` in flat arrays, from rules that `rules_of` made."""
    if infeasible not in ("raise", "free"):
        raise ValueError(f'infeasible is {infeasible!r}, expected "raise" or "free"')
    values, path = best(potentials, threads=threads)
    label = path.label.copy()
    begin = None if path.begin is None else path.begin.copy()
    score, how = values.copy(), np.zeros(len(values), np.int8)
    left = np.flatnonzero(_broken(path, rules, len(potentials.structure.labels)))  # no answer yet
    lowest = values[left]  # what answers score at most
    for k in _ROUNDS if left.size else ():
        chosen = potentials.select(left)
        rank, scores, paths = _among_best(chosen, rules, k, threads)
        for i in np.flatnonzero(rank >= 0).tolist():
            n, r = int(left[i]), int(rank[i])
            here = slice(int(path.seq_ptr[n]), int(path.seq_ptr[n + 1]))
            there = slice(int(chosen.seq_ptr[i]), int(chosen.seq_ptr[i + 1]))
            label[here] = paths[0][r, there]
            if begin is not None:
                begin[here] = paths[1][r, there]
            score[n], how[n] = scores[i, r], WAYS.index("k-best")
        rest = rank < 0
        left, lowest = left[rest], scores[rest, -1]
    without: list[int] = []
    for n, low in zip(left.tolist(), lowest.tolist(), strict=True):
        one = potentials.sequence(n)
        # A list that ended has all labellings, and none of them keeps the constraints.
        answer = None
        if low > -np.inf and len(one.seq_ptr) and one.seq_ptr[-1] > 0:
            trellis = trellis_of(one)
            answer = solve(trellis, [rule for _, rule in rules], max(2.0 * (values[n] - low), 1e-6))
        if answer is None:
            without.append(n)
            how[n] = WAYS.index("none")
            continue
        found = trellis.path(answer[0], begin is not None)
        here = slice(int(path.seq_ptr[n]), int(path.seq_ptr[n + 1]))
        label[here] = found.label
        if begin is not None and found.begin is not None:
            begin[here] = found.begin
        score[n], how[n] = one.path_score(found.label, found.begin)[0], WAYS.index(answer[1])
    if without and infeasible == "raise":
        raise InfeasibleError(without[0], len(without) - 1, _culprit(potentials.sequence(without[0]), rules))
    return Answers(Path(path.seq_ptr, label, begin), score, values, how)


def _broken(path: Path, rules: Rules, labels: int) -> NDArray[np.bool_]:
    """Mark the sequences that break one of the rules, [N]."""
    steps = steps_of(path, labels)
    broken = np.zeros(steps.N, np.bool_)
    for _, rule in rules:
        broken |= rule.broken(steps)
    return broken


def _among_best(
    potentials: ChainPotentials | SemiMarkovPotentials, rules: Rules, k: int, threads: int | None
) -> tuple[NDArray[np.int64], Floats, tuple[Any, Any]]:
    """Return the rank of the first of the k best labellings that keeps the rules, [N], or -1.

    Also the scores of all [N, k], and labels and begins [k, P].
    """
    scores, paths, begins = kernels.kbest(potentials.problem, k, threads_or_all(threads))
    labels = potentials.as_labels(paths)  # [k, P]
    length, N = np.diff(potentials.seq_ptr), len(scores)
    ptr = np.concatenate([[0], np.tile(length, k)]).cumsum()  # all of rank 0, all of rank 1, ...
    every = Path(ptr, labels.ravel(), None if begins is None else begins.ravel().astype(np.bool_))
    keeps = ~_broken(every, rules, len(potentials.structure.labels)).reshape(k, N).T  # [N, k]
    keeps &= scores > -np.inf
    rank = np.where(keeps.any(axis=1), keeps.argmax(axis=1), -1)
    return rank, scores, (labels, begins)


def _culprit(one: ChainPotentials | SemiMarkovPotentials, rules: Rules) -> str:
    """Name the constraint that no labelling keeps; where each can be kept alone, all of them."""
    for item, rule in rules:
        if one.seq_ptr[-1] == 0:
            alone = not _broken(Path(one.seq_ptr, np.zeros(0, np.int32)), [(item, rule)], 1)[0]
        else:
            alone = solve(trellis_of(one), [rule], 1.0) is not None
        if not alone:
            return repr(item)
    return f"all of {', '.join(repr(item) for item, _ in rules)} together"
