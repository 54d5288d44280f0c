"""Hidden Markov models: their tables, and how these are counted or learned by Baum-Welch.

p(x, y) = start[y_1] prod_t emission[y_t, x_t] prod_t step[y_{t-1}, y_t] step[y_T, end]

This is Sutton & McCallum (2006) eq. 1.8 with an end, so that the sequences of all lengths share a mass of 1.
Tables are counts plus `Smoothing`, divided by their sums: with labels, in one pass. Where labels are missing
or are sets, EM repeats this with expected counts of the clamped sweep. A smoothing of s is a Dirichlet prior
of 1 + s, and every iteration raises

    sum_n weight_n log p(x_n, y_n in the known sets) + sum of s log(table)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crfkit import inference
from crfkit.arrays import Bools, Floats, Ids, dot
from crfkit.checks import check_number
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.gold import Gold, Path, Sets


@dataclass(frozen=True)
class Smoothing:
    """Amounts added to the counts of each table, above 0 so that nothing is impossible.

    Examples
    --------
    >>> Smoothing(emission=0.0)
    Traceback (most recent call last):
    ValueError: emission is 0.0, expected more than 0
    """

    start: float = 0.1  #: of first labels
    transition: float = 0.1  #: of steps from label to label, and to the end
    emission: float = 0.01  #: of words, known and unknown

    def __post_init__(self) -> None:
        for name in ("start", "transition", "emission"):
            given = getattr(self, name)
            check_number(name, given)
            if not 0.0 < given < np.inf:
                raise ValueError(f"{name} is {given}, expected more than 0" + " and finite" * (given > 0))


@dataclass(frozen=True, eq=False)
class Tables:
    """Probabilities (or counts) of a hidden Markov model with L labels and S symbols."""

    start: Floats  #: [L]
    step: Floats  #: [L, L + 1]: to each label, and to the end
    emission: Floats  #: [L, S]

    def normalized(self, smoothing: Smoothing) -> Tables:
        """Return the probabilities of these counts.

        Examples
        --------
        >>> counts = Tables(np.array([3.0]), np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
        >>> counts.normalized(Smoothing(emission=0.5)).emission.tolist()
        [[0.75, 0.25]]
        """
        added = (smoothing.start, smoothing.transition, smoothing.emission)
        counts = [table + s for table, s in zip(self.all(), added, strict=True)]
        return Tables(*(table / table.sum(axis=-1, keepdims=True) for table in counts))

    def log_prior(self, smoothing: Smoothing) -> float:
        """Return the sum of smoothing * log(probability)."""
        added = (smoothing.start, smoothing.transition, smoothing.emission)
        return float(sum(s * np.log(table).sum() for table, s in zip(self.all(), added, strict=True)))

    def expected_log(self, counts: Tables) -> float:
        """Return the sum of counts * log(probability)."""
        return float(sum((n * np.log(p)).sum() for n, p in zip(counts.all(), self.all(), strict=True)))

    def potentials(self, chain: Chain, data: Observed) -> ChainPotentials:
        """Return scores whose sum over a labeling is log p(x, y)."""
        node = np.log(self.emission.T)[data.symbol]  # [P, L]
        step = np.log(self.step)
        return chain.potentials(
            node, step[:, :-1], start=np.log(self.start), stop=step[:, -1], seq_ptr=data.gold.seq_ptr
        )

    def all(self) -> tuple[Floats, Floats, Floats]:
        """Return the tables in order."""
        return self.start, self.step, self.emission


@dataclass(frozen=True, eq=False)
class Observed:
    """What a hidden Markov model is learned from."""

    symbol: Ids  #: [P]
    symbols: int  #: S
    gold: Gold
    weight: Floats  #: [N]

    def tables(self, slots: Mapping[str, Floats], L: int) -> Tables:
        """Return counts by slot as tables."""
        node = slots["node"]  # [P, L]
        emission = [np.bincount(self.symbol, node[:, y], self.symbols) for y in range(L)]
        step = np.column_stack([slots["transition"].reshape(L, L), slots["stop"]])
        return Tables(slots["start"], step, np.array(emission, dtype=np.float64).reshape(L, self.symbols))

    def counted(self, chain: Chain, gold: Gold, weight: Floats) -> Tables:
        """Return the counts of gold that does not depend on weights: a path, or distributions."""
        L = len(chain.labels)
        cells = {"node": (len(self.symbol), L), "transition": (L * L,), "start": (L,), "stop": (L,)}
        slots = {name: np.zeros(shape) for name, shape in cells.items()}
        chain.add_counts(gold, weight, slots)
        return self.tables(slots, L)


class Learned(NamedTuple):
    """The tables that were learned, and how."""

    tables: Tables
    history: list[float]  #: the objective before each iteration, and of the tables
    converged: bool


def baum_welch(
    data: Observed,
    chain: Chain,
    smoothing: Smoothing,
    *,
    restarts: int = 1,
    seed: int = 0,
    max_iterations: int = 200,
    tolerance: float = 1e-5,
    threads: int | None = None,
) -> Learned:
    """Return the tables of the best of several starts; one pass is enough where all is labeled.

    A start has the counts of the sequences that are labeled throughout, and random numbers: as large as the
    smoothing, or of mean 1 where no sequence is.
    """
    if not isinstance(data.gold, Sets):
        return learned_of(data.counted(chain, data.gold, data.weight), smoothing)
    return max(
        (
            _climb(data, data.gold, chain, smoothing, start, max_iterations, tolerance, threads)
            for start in (_start(data, data.gold, chain, smoothing, [seed, r]) for r in range(restarts))
        ),
        key=lambda run: run.history[-1],
    )


def learned_of(counts: Tables, smoothing: Smoothing) -> Learned:
    """Return the tables of the counts of labeled data.

    Examples
    --------
    >>> counts = Tables(np.array([3.0]), np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
    >>> learned_of(counts, Smoothing(emission=0.5)).tables.emission.tolist()
    [[0.75, 0.25]]
    """
    tables = counts.normalized(smoothing)
    return Learned(tables, [tables.expected_log(counts) + tables.log_prior(smoothing)], True)


def _climb(
    data: Observed,
    gold: Sets,
    chain: Chain,
    smoothing: Smoothing,
    tables: Tables,
    max_iterations: int,
    tolerance: float,
    threads: int | None,
) -> Learned:
    """Run EM from some tables until the objective rises by less than `tolerance` for each position."""
    history: list[float] = []
    while True:
        scores = gold.clamped(tables.potentials(chain, data))
        log_p, slots = inference.expected(scores, data.weight, threads=threads)
        history.append(dot(data.weight, log_p) + tables.log_prior(smoothing))
        if len(history) > 1 and history[-1] - history[-2] < tolerance * len(data.symbol):
            return Learned(tables, history, True)
        if len(history) > max_iterations:
            return Learned(tables, history, False)
        tables = data.tables(slots, len(chain.labels)).normalized(smoothing)


def _start(data: Observed, gold: Sets, chain: Chain, smoothing: Smoothing, seed: list[int]) -> Tables:
    """Return where EM begins."""
    unsure: Bools = gold.mask.sum(axis=1) != 1  # [P]
    lengths = np.diff(gold.seq_ptr)
    sequence = np.repeat(np.arange(len(lengths)), lengths)  # [P]
    whole = (np.bincount(sequence, unsure, len(lengths)) == 0) & (lengths > 0)  # [N]
    labels = Path(gold.seq_ptr, gold.mask.argmax(axis=1).astype(np.int32))  # those of others weigh 0
    counts = data.counted(chain, labels, data.weight * whole)
    draw = np.random.default_rng(seed).standard_exponential
    sizes = (smoothing.start, smoothing.transition, smoothing.emission) if whole.any() else (1.0, 1.0, 1.0)
    return Tables(
        *(table + size * draw(table.shape) for table, size in zip(counts.all(), sizes, strict=True))
    ).normalized(smoothing)
