"""Every query by enumeration of all labelings: slow, obvious, and independent of the kernels.

The scores of a labeling are added up by loops straight from the formulas of
`crfkit.inference.reference.formulas`, and a query is its definition: log Z is the log of a sum over a list, a
marginal the sum of the probabilities of the labelings that have a part. For problems of a few thousand
labelings; beyond that see `crfkit.inference.reference.textbook`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit._safe.cached import once
from crfkit.inference.reference.formulas import FORMULAS, Formula
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Marginals


@dataclass(frozen=True)
class Outcome:
    """One labeling and its score, -inf where it is forbidden."""

    labels: tuple[int, ...]
    score: float
    begin: tuple[bool, ...] | None = None  #: where segments begin; semi-Markov only


def enumerate_labelings(potentials: Potentials) -> Iterator[Outcome]:
    """Yield every labeling of one sequence with its score, forbidden ones with -inf.

    Examples
    --------
    >>> from crfkit import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]])
    >>> [(y.labels, y.score) for y in enumerate_labelings(scores)]
    [((0, 0), 0.5), ((0, 1), 0.0), ((1, 0), 1.5), ((1, 1), 1.0)]
    """
    formula = _formula(potentials)
    for labels, begin in formula.labelings():
        yield Outcome(labels, _score(formula, labels, begin), begin)


def labeling_score(
    potentials: Potentials, labels: Sequence[int], begin: Sequence[bool] | None = None
) -> float:
    """Return the score of one labeling of one sequence, by its formula.

    Parameters
    ----------
    potentials
        Scores of one sequence.
    labels
        One label id for each position (tree: variable).
    begin
        Semi-Markov: where segments begin; without it at every change of the label.

    Examples
    --------
    >>> from crfkit import Chain
    >>> labeling_score(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]), [1, 0])
    1.5
    """
    return _score(_formula(potentials), labels, begin)


def _formula(potentials: Potentials) -> Formula:
    if not potentials.single:
        raise ValueError("potentials is a batch; give one sequence: potentials.sequence(n)")
    if type(potentials) not in FORMULAS:
        raise TypeError(f"{type(potentials).__name__} has no formula in crfkit.inference.reference.formulas")
    return FORMULAS[type(potentials)](potentials)


def _score(formula: Formula, labels: Sequence[int], begin: Sequence[bool] | None) -> float:
    scores = [score for _, score in formula.parts(labels, begin)]
    return -math.inf if -math.inf in scores or not formula.accepts(labels) else math.fsum(scores)


class Enumeration:
    """All allowed labelings of one sequence, and every query as a sum or a search over them.

    Examples
    --------
    >>> from crfkit import Chain
    >>> every = Enumeration(Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]]))
    >>> every.count, [y.labels for y in every.kbest(2)]
    (4, [(1, 0), (1, 1)])
    """

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        self.outcomes = [y for y in enumerate_labelings(potentials) if y.score > -math.inf]

    @property
    def count(self) -> int:
        """How many labelings are allowed."""
        return len(self.outcomes)

    @once
    def log_partition(self) -> float:
        """Log of the sum of exp(score)."""
        if not self.outcomes:
            return -math.inf
        top = max(y.score for y in self.outcomes)
        return top + math.log(math.fsum(math.exp(y.score - top) for y in self.outcomes))

    @once
    def probabilities(self) -> list[float]:
        """Probability of each of `outcomes`."""
        return [math.exp(y.score - self.log_partition) for y in self.outcomes]

    @once
    def entropy(self) -> float:
        """Minus the sum of p log p."""
        return math.fsum(
            p * (self.log_partition - y.score) for p, y in zip(self.probabilities, self.outcomes, strict=True)
        )

    def kbest(self, k: int) -> list[Outcome]:
        """Return the k best labelings, best first."""
        return sorted(self.outcomes, key=lambda y: -y.score)[:k]

    def decode(self, *, tolerance: float = 1e-12) -> list[Outcome]:
        """Return every labeling of the highest score, up to a relative tolerance."""
        top = max(y.score for y in self.outcomes)
        margin = tolerance * max(1.0, abs(top))
        return [y for y in self.outcomes if y.score >= top - margin]

    def posterior(self, *, tolerance: float = 1e-9) -> list[set[int]]:
        """Return, for each position, the labels of the highest marginal."""
        rows = [np.asarray(row) for row in self.marginals().node]
        return [set(np.flatnonzero(row >= row.max() - tolerance).tolist()) for row in rows]

    def log_prob(self, labels: Sequence[int], begin: Sequence[bool] | None = None) -> float:
        """Return log p(y | x) of one labeling."""
        return labeling_score(self.potentials, labels, begin) - self.log_partition

    def span_probability(self, start: int, end: int, labels: Sequence[int]) -> float:
        """Return the probability that positions start to end - 1 have these labels."""
        return math.fsum(
            p
            for p, y in zip(self.probabilities, self.outcomes, strict=True)
            if y.labels[start:end] == tuple(labels)
        )

    def marginals(self, *, edges_by_position: bool = False) -> Marginals:
        """Return the probability of every part (of shared edges: the expected number)."""
        return self._collect(edges_by_position, math.fsum)

    def reachable(self, *, edges_by_position: bool = False) -> Marginals:
        """Return which parts some allowed labeling has."""
        return self._collect(edges_by_position, lambda ps: len(ps) > 0)

    def _collect(self, by_position: bool, total: Callable[[list[float]], Any]) -> Marginals:
        """Fill each part with a total of the probabilities of the labelings that have it."""
        formula = _formula(self.potentials)
        shares: dict[tuple[Any, ...], list[float]] = {}
        for y, p in zip(self.outcomes, self.probabilities, strict=True):
            for place, _ in formula.parts(y.labels, y.begin, by_position):
                shares.setdefault(place, []).append(p)

        def fill(shape: tuple[int, ...], *name: Any) -> Any:
            array = np.zeros(shape, dtype=type(total([])))
            for index in np.ndindex(shape):
                if (*name, *index) in shares:
                    array[index] = total(shares[(*name, *index)])
            return array

        return Marginals(self.log_partition, **formula.filled(fill, by_position))
