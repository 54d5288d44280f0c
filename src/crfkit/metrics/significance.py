"""Two tests of whether one system is better than another, on the same sequences.

McNemar's test looks at tokens that just one of two systems labels right, as Sha and Pereira (2003) did for
chunking after Gillick and Cox (1989); it takes tokens for independent, which within a sentence they are not.
The paired bootstrap (Efron and Tibshirani 1993; Berg-Kirkpatrick et al. 2012) draws whole sequences, or
whole documents, and works for every metric. It draws sums of counts: no label is read twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.metrics import registry
from crfkit.metrics.counts import Floats
from crfkit.metrics.encoding import LabelSequences, encode, group
from crfkit.metrics.registry import Metric, Value

_FEW = 25  # disagreements from which chi-squared is close enough to the binomial
_BLOCK = 4_000_000  # draws held at once: 32 MB


@dataclass(frozen=True)
class McNemar:
    """What `mcnemar` returns."""

    only_a: int  #: tokens that only system a labels right
    only_b: int  #: tokens that only system b labels right
    exact: bool  #: binomial, not chi-squared
    statistic: float  #: (|only_a - only_b| - 1)² / (only_a + only_b), or the smaller of the two if exact
    p_value: float  #: two-sided


def mcnemar(
    y_true: LabelSequences,
    y_a: LabelSequences,
    y_b: LabelSequences,
    *,
    exact: bool | None = None,
    labels: Sequence[str] | None = None,
    seq_ptr: NDArray[Any] | None = None,
) -> McNemar:
    """Test whether two systems label equally many tokens right.

    Parameters
    ----------
    y_true, y_a, y_b
        The truth and two systems; ``labels`` and ``seq_ptr`` as in `span_scores`.
    exact
        Binomial test (True), chi-squared with continuity correction (False), or the first if just one
        system is right for fewer than 25 tokens (None).

    Examples
    --------
    >>> mcnemar([["N"] * 9], [["N"] * 9], [["N"] * 3 + ["V"] * 6])
    McNemar(only_a=6, only_b=0, exact=True, statistic=0.0, p_value=0.03125)
    """
    from scipy.special import bdtr, chdtrc

    encoded = encode({"y_true": y_true, "y_a": y_a, "y_b": y_b}, labels, seq_ptr)
    truth, a, b = encoded.columns
    only_a = int(np.count_nonzero((a == truth) & (b != truth)))
    only_b = int(np.count_nonzero((b == truth) & (a != truth)))
    n = only_a + only_b
    if exact or (exact is None and n < _FEW):
        fewer = min(only_a, only_b)
        p = min(1.0, 2 * float(bdtr(fewer, n, 0.5))) if n else 1.0
        return McNemar(only_a, only_b, True, float(fewer), p)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / n if n else 0.0
    return McNemar(only_a, only_b, False, statistic, float(chdtrc(1, statistic)))


@dataclass(frozen=True)
class Bootstrap:
    """What `paired_bootstrap` returns."""

    metric: str
    a: float  #: metric of system a
    b: float  #: metric of system b
    interval_a: tuple[float, float]
    interval_b: tuple[float, float]
    difference: float  #: b - a
    interval: tuple[float, float]  #: of the difference
    p_value: float  #: two-sided: how often chance would make a difference at least as large
    level: float
    samples: int


def paired_bootstrap(
    y_true: LabelSequences,
    y_a: LabelSequences,
    y_b: LabelSequences,
    metric: str | Metric = "span_f1",
    *,
    samples: int = 1000,
    random_state: int = 0,
    level: float = 0.95,
    by: Sequence[Hashable] | None = None,
    labels: Sequence[str] | None = None,
    seq_ptr: NDArray[Any] | None = None,
) -> Bootstrap:
    """Compare two systems on samples of the sequences, drawn with replacement.

    Parameters
    ----------
    y_true, y_a, y_b
        The truth and two systems; ``labels`` and ``seq_ptr`` as in `span_scores`.
    metric
        A name in `METRICS`, or a `Metric`.
    samples, random_state
        How many samples, and where their draws begin: same state, same numbers.
    level
        Level of the intervals, which are between percentiles.
    by
        The group of each sequence, such as its document: whole groups are drawn.

    Returns
    -------
    Bootstrap
        The p-value is ``(1 + #{|d_i - d| >= |d|}) / (1 + samples)`` for differences d_i of samples.

    Examples
    --------
    >>> y_true = [["B-A", "O"]] * 40
    >>> y_a, y_b = [["O", "O"]] * 20 + y_true[20:], y_true
    >>> made = paired_bootstrap(y_true, y_a, y_b, "span_recall")
    >>> made.a, made.b, made.difference, made.interval[0] > 0, made.p_value < 0.01
    (0.5, 1.0, 0.5, True, True)
    """
    measure = metric if isinstance(metric, Metric) else registry.metric(metric)
    encoded = encode({"y_true": y_true, "y_a": y_a, "y_b": y_b}, labels, seq_ptr)
    names, groups = group(by, encoded.N) if by is not None else ([], np.arange(encoded.N))
    N = len(names) if by is not None else encoded.N
    if N == 0:
        raise ValueError("y_true is empty, expected at least one sequence")
    systems = [measure.count(encoded.against(system), groups, N) for system in (1, 2)]
    return bootstrap_counts(
        np.stack(systems, 1),
        measure.value,
        measure.name,
        samples=samples,
        random_state=random_state,
        level=level,
    )


def bootstrap_counts(
    counts: NDArray[Any],
    value: Value,
    name: str,
    *,
    samples: int = 1000,
    random_state: int = 0,
    level: float = 0.95,
) -> Bootstrap:
    """Compare two systems by counts that add up over sequences, images or other units.

    Parameters
    ----------
    counts : array [N, 2, ...]
        Counts of each unit and of each of the two systems.
    value : function
        Sums of counts [G, ...] to the values [G] of a metric.
    name : str
        Name of the metric.
    samples, random_state, level
        As in `paired_bootstrap`.

    Examples
    --------
    >>> right = np.array([[[3, 4], [4, 4]]] * 30)  # [N, 2, right and all]
    >>> made = bootstrap_counts(right, lambda sums: sums[..., 0] / sums[..., 1], "accuracy")
    >>> made.a, made.b, made.interval
    (0.75, 1.0, (0.25, 0.25))
    """
    if samples < 1 or not 0 < level < 1:
        raise ValueError(f"samples is {samples} and level {level}, expected 1 or more, and between 0 and 1")
    a, b = value(counts.sum(0)).tolist()
    drawn = _draw(counts, samples, np.random.default_rng(random_state))  # [samples, 2, ...]
    values = value(drawn)  # [samples, 2]
    difference = values[:, 1] - values[:, 0]  # [samples]
    # A hair of slack: equal differences of F1 may differ in their last bit.
    extreme = int(np.count_nonzero(np.abs(difference - (b - a)) >= abs(b - a) - 1e-12))
    return Bootstrap(
        name,
        a,
        b,
        _interval(values[:, 0], level),
        _interval(values[:, 1], level),
        b - a,
        _interval(difference, level),
        (1 + extreme) / (1 + samples),
        level,
        samples,
    )


def _draw(counts: NDArray[Any], samples: int, random: np.random.Generator) -> Floats:
    """Return sums of counts over N sequences drawn with replacement: [samples, ...]."""
    N = len(counts)
    flat = counts.reshape(N, -1).astype(np.float64)  # [N, C]
    drawn = np.empty((samples, flat.shape[1]))
    block = max(1, _BLOCK // N)
    for first in range(0, samples, block):
        B = min(block, samples - first)
        chosen = random.integers(N, size=(B, N)) + N * np.arange(B)[:, None]
        times = np.bincount(chosen.ravel(), minlength=B * N).reshape(B, N)
        drawn[first : first + B] = times.astype(np.float64) @ flat
    return drawn.reshape(samples, *counts.shape[1:])


def _interval(values: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
