"""The queries: what `crfkit.inference` offers, on the native sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from crfkit.inference.counting import exact_counts
from crfkit.inference.results import Space, cut_labellings, demand_labelling, in_logs
from crfkit.native import kernels, threads_or_all
from crfkit.structures.potentials import Potentials, one_or_all
from crfkit.structures.results import Labelling, Marginals

__all__ = [
    "Labelling",
    "Marginals",
    "Potentials",
    "count",
    "decode",
    "entropy",
    "kbest",
    "log_partition",
    "log_prob",
    "marginals",
    "reachable",
    "sample",
    "score",
    "span_probability",
]


def log_partition(potentials: Potentials, *, space: Space = "auto", threads: int | None = None) -> Any:
    """Return log Z, the log of the sum of exp(score) over all labellings.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    space : {"auto", "log"}
        "auto" sums scaled probabilities where that is exact and logarithms elsewhere, sequence by
        sequence; "log" forces logarithms.
    threads : int, optional
        Default: all cores. Results are the same bits for any number.

    Returns
    -------
    float, or array [N] for a batch

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> round(inference.log_partition(Chain(2).potentials([[0.0, 0.0]] * 3)), 4)  # log 2**3
    2.0794
    """
    values = kernels.log_partition(potentials.problem, in_logs(space), threads_or_all(threads))
    if potentials.constrained:
        demand_labelling(values)
    return one_or_all(potentials, values)


def entropy(potentials: Potentials, *, space: Space = "auto", threads: int | None = None) -> Any:
    """Return the entropy of p(y | x) in nats.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> round(inference.entropy(Chain(2).potentials([[0.0, 0.0]] * 3)), 4)  # uniform: log 2**3
    2.0794
    """
    values, expected = kernels.expected_score(potentials.problem, in_logs(space), threads_or_all(threads))
    demand_labelling(values)
    return one_or_all(potentials, np.maximum(values - expected, 0.0))


def marginals(
    potentials: Potentials,
    *,
    edges_by_position: bool = False,
    space: Space = "auto",
    threads: int | None = None,
) -> Marginals:
    """Return the probability of every label, edge and segment.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    edges_by_position : bool
        Keep p(y_{t-1}, y_t) for every position, [P, L, L] (first positions are 0), although the edge
        scores are shared. Otherwise shared edges give expected counts over the whole batch.
    space, threads
        As in `log_partition`.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.0, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> inference.marginals(scores).node.round(3)
    array([[0.269, 0.731],
           [0.393, 0.607]])
    """
    raw = kernels.marginals(potentials.problem, edges_by_position, in_logs(space), threads_or_all(threads))
    demand_labelling(raw["value"])
    return potentials.shaped(raw)


def reachable(
    potentials: Potentials, *, edges_by_position: bool = False, threads: int | None = None
) -> Marginals:
    """Tell which parts lie on some allowed labelling, in the shape of `marginals` (booleans).

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> never = float("-inf")
    >>> scores = Chain(2).potentials([[0.0, never], [0.0, 0.0]], edge=[[0.0, never], [0.0, 0.0]])
    >>> inference.reachable(scores).node
    array([[ True, False],
           [ True, False]])
    """
    raw = kernels.reach(potentials.problem, edges_by_position, threads_or_all(threads))
    shaped = potentials.shaped(raw)

    def positive(part: Any) -> Any:
        if part is None:
            return None
        return [p > 0 for p in part] if isinstance(part, list | tuple) else part > 0

    return Marginals(
        shaped.log_partition,
        *(positive(getattr(shaped, k)) for k in ("node", "edge", "start", "stop", "segment")),
    )


def decode(
    potentials: Potentials,
    method: Literal["viterbi", "posterior"] = "viterbi",
    *,
    threads: int | None = None,
) -> Any:
    """Return the best labelling.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    method : {"viterbi", "posterior"}
        "viterbi": the labelling of the highest score; ties go to the lowest label, from the end of
        the sequence backwards (semi-Markov: first to the shorter segment). "posterior": the label of
        the highest marginal at every position on its own, which expects the fewest wrong labels; such
        a labelling may be forbidden as a whole, and its score is then -inf.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    Labelling, or a list of them for a batch

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> inference.decode(scores).labels.tolist()
    [1, 1]
    """
    if method == "viterbi":
        values, paths, begins = kernels.best(potentials.problem, threads_or_all(threads))
        demand_labelling(values)
        found = cut_labellings(potentials, paths, begins, values[:, None])
    elif method == "posterior":
        found = _posterior(potentials, threads)
    else:
        raise ValueError(f"method is {method!r}, expected 'viterbi' or 'posterior'")
    return found[0][0] if potentials.single else [labellings[0] for labellings in found]


def _posterior(potentials: Potentials, threads: int | None) -> list[list[Labelling]]:
    labels, begin = potentials.posterior(marginals(potentials, threads=threads).node)
    scores = potentials.path_score(labels, begin).tolist()
    return [
        [Labelling(labels[a:b], score, None if begin is None else begin[a:b])]
        for (a, b), score in zip(pairwise(potentials.seq_ptr.tolist()), scores, strict=True)
    ]


def kbest(potentials: Potentials, k: int, *, threads: int | None = None) -> Any:
    """Return the k best labellings, distinct and best first; fewer where fewer exist.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]])
    >>> [(y.labels.tolist(), y.score) for y in inference.kbest(scores, 3)]
    [([1, 0], 1.5), ([1, 1], 1.0), ([0, 0], 0.5)]
    """
    scores, paths, begins = kernels.kbest(potentials.problem, k, threads_or_all(threads))
    if potentials.constrained:
        demand_labelling(scores[:, 0])
    found = cut_labellings(potentials, paths, begins, scores)
    return found[0] if potentials.single else found


def sample(
    potentials: Potentials,
    n: int = 1,
    seed: int = 0,
    *,
    space: Space = "auto",
    threads: int | None = None,
) -> Any:
    """Draw n labellings from p(y | x).

    The draws of a sequence depend on the seed, on its place in the batch and on its scores only.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> draws = inference.sample(Chain(2).potentials([[0.0, 9.0], [9.0, 0.0]]), n=3, seed=1)
    >>> [y.labels.tolist() for y in draws]
    [[1, 0], [1, 0], [1, 0]]
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}, expected 0 to 2**64 - 1")
    scores, paths, begins = kernels.sample(
        potentials.problem, n, seed, in_logs(space), threads_or_all(threads)
    )
    demand_labelling(scores[:, 0])
    found = cut_labellings(potentials, paths, begins, scores)
    return found[0] if potentials.single else found


def count(potentials: Potentials, *, threads: int | None = None) -> Any:
    """Return how many labellings are allowed, as exact Python integers.

    The kernel counts modulo primes of 61 bits; the Chinese remainder theorem puts them together.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> inference.count(Chain(23).potentials([[0.0] * 23] * 50)) == 23**50
    True
    """
    totals = exact_counts(
        lambda prime: kernels.count(potentials.problem, prime, threads_or_all(threads)).tolist(),
        size=len(potentials.seq_ptr) - 1,
        bound=potentials.most(),
    )
    if potentials.constrained:
        demand_labelling(np.array([0.0 if total else -np.inf for total in totals]))
    return totals[0] if potentials.single else totals


def score(potentials: Potentials, labels: Any) -> Any:
    """Return the score of a labelling (of one for each sequence of a batch, end to end).

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    labels
        Label ids or names, one per position (tree: variable); a `Labelling`; for semi-Markov a list of
        (start, end, label) segments. A forbidden labelling scores -inf.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> inference.score(Chain(["a", "b"]).potentials([[0.0, 1.0], [0.5, 0.0]]), ["b", "a"])
    1.5
    """
    return one_or_all(potentials, potentials.path_score(*potentials.flat_path(labels)))


def log_prob(
    potentials: Potentials, labels: Any, *, space: Space = "auto", threads: int | None = None
) -> Any:
    """Return log p(y | x) of a labelling: its score minus log Z.

    Examples
    --------
    >>> import math
    >>> from crfkit import Chain, inference
    >>> math.exp(inference.log_prob(Chain(2).potentials([[0.0, 0.0]] * 2), [0, 1]))
    0.25
    """
    scored = score(potentials, labels)
    total = log_partition(potentials, space=space, threads=threads)
    demand_labelling(np.atleast_1d(total))
    return scored - total


def span_probability(
    potentials: Potentials,
    start: int,
    end: int,
    labels: Sequence[str | int],
    *,
    sequence: int = 0,
) -> float:
    """Return the probability that positions start to end - 1 have the given labels.

    By constrained forward-backward (Culotta & McCallum 2004; Sutton & McCallum 2006 section 1.3.3): the
    mass of the labellings that agree with the span, over the mass of all.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    start, end : int
        The span, within its sequence.
    labels : list of str or int
        One label for each position of the span (tree: for each variable).
    sequence : int
        Which sequence of a batch.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> inference.span_probability(Chain(2).potentials([[0.0, 0.0]] * 4), 1, 3, [0, 1])
    0.25
    """
    if not 0 <= sequence < len(potentials.seq_ptr) - 1:
        raise ValueError(f"sequence is {sequence}, expected 0 to {len(potentials.seq_ptr) - 2}")
    _ = potentials.problem  # checks all sequences, not only the one asked for
    one = potentials if potentials.single else potentials.sequence(sequence)
    T = int(one.seq_ptr[-1])
    if not 0 <= start <= end <= T:
        raise ValueError(f"span {start} to {end} does not lie in a sequence of {T} positions")
    if len(labels) != end - start:
        raise ValueError(f"labels has {len(labels)} entries, expected {end - start}")
    part = one.clamped(one.span_mask(start, end, labels))
    total = kernels.log_partition(one.problem, False, 1)
    demand_labelling(total)
    agreeing = kernels.log_partition(part.problem, False, 1)
    return float(min(np.exp(agreeing[0] - total[0]), 1.0))
