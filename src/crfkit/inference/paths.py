"""Queries about labelings: the best, the k best, draws, and the score or probability of given ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.checks import check_number
from crfkit.inference.engines import for_any_structure, only_of_graphs
from crfkit.inference.results import Space, cut_labelings, demand_finite, demand_labeling, in_logs
from crfkit.inference.sums import log_partition, marginals
from crfkit.native import kernels, threads_or_all
from crfkit.structures.potentials import Potentials, one_or_all
from crfkit.structures.results import Labeling

if TYPE_CHECKING:
    from crfkit.inference.methods.method import Method

_MOST_PATHS = (1 << 31) - 1  # as native calls count them


@for_any_structure
def decode(
    potentials: Potentials, method: Method | str | None = "viterbi", *, threads: int | None = None
) -> Any:
    """Return the best labeling.

    Parameters
    ----------
    potentials
        Scores of one sequence or graph, or of a batch.
    method : {"viterbi", "posterior"}; of graphs also `crfkit.inference.methods.Method` or str
        "viterbi": the labeling of the highest score; ties go to the lowest label, from the end of
        the sequence backwards (semi-Markov: first to the shorter segment). "posterior": the label of
        the highest marginal at every position on its own, which expects the fewest wrong labels; such
        a labeling may be forbidden as a whole, and its score is then -inf. Of graphs: who looks for the best
        labeling, such as ``TRWS()`` or ``"icm"`` (`crfkit.inference.methods`); "viterbi" or None: `Auto`.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    Labeling, or a list of them for a batch
        For graphs one `crfkit.inference.graphs.GraphLabeling`: labels by kind, and ``.info``.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> inference.decode(scores).labels.tolist()
    [1, 1]
    """
    if method is None or method == "viterbi":
        values, paths, begins = kernels.best(potentials.problem, threads_or_all(threads))
        demand_labeling(values)
        found = cut_labelings(potentials, paths, begins, values[:, None])
    elif method == "posterior":
        found = _posterior(potentials, threads)
    else:
        raise ValueError(f"method is {method!r}, expected 'viterbi' or 'posterior'")
    return found[0][0] if potentials.single else [labelings[0] for labelings in found]


def _posterior(potentials: Potentials, threads: int | None) -> list[list[Labeling]]:
    labels, begin = potentials.posterior(marginals(potentials, threads=threads, counts=False).node)
    scores = potentials.path_score(labels, begin)
    demand_finite(scores)
    return [
        [Labeling(labels[a:b], score, None if begin is None else begin[a:b])]
        for (a, b), score in zip(pairwise(potentials.seq_ptr.tolist()), scores.tolist(), strict=True)
    ]


@for_any_structure
def kbest(
    potentials: Potentials, k: int, *, method: Method | str | None = None, threads: int | None = None
) -> Any:
    """Return the k best labelings, distinct and best first; fewer where fewer exist.

    Parameters
    ----------
    potentials
        Scores of one sequence or graph, or of a batch.
    k : int
        How many.
    method : `crfkit.inference.methods.Method` or str, optional
        The inference method for graphs: ``Elimination()``, which is the default, or ``Enumeration()``.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    list of Labeling, or for a batch a list of such lists
        For graphs `crfkit.inference.graphs.GraphLabelings`, which is indexed in the same way.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]])
    >>> [(y.labels.tolist(), y.score) for y in inference.kbest(scores, 3)]
    [([1, 0], 1.5), ([1, 1], 1.0), ([0, 0], 0.5)]
    """
    only_of_graphs(method=(method, None))
    _check_count("k", k)
    scores, paths, begins = kernels.kbest(potentials.problem, k, threads_or_all(threads))
    (demand_labeling if potentials.constrained else demand_finite)(scores[:, 0])
    found = cut_labelings(potentials, paths, begins, scores)
    return found[0] if potentials.single else found


def _check_count(name: str, count: int) -> None:
    check_number(name, count, 1, whole=True)
    if count > _MOST_PATHS:
        raise ValueError(f"{name} is {count:,}, expected {_MOST_PATHS:,} at most")


@for_any_structure
def sample(
    potentials: Potentials,
    n: int = 1,
    seed: int = 0,
    *,
    space: Space = "auto",
    method: Method | str | None = None,
    threads: int | None = None,
) -> Any:
    """Draw n labelings from p(y | x).

    The draws of a sequence depend on the seed, on its place in the batch and on its scores only.

    Parameters
    ----------
    potentials
        Scores of one sequence or graph, or of a batch.
    n : int
        How many draws of each.
    seed : int
        0 to 2**64 - 1.
    space : {"auto", "log"}
        As in `log_partition`, for sequences and trees.
    method : `crfkit.inference.methods.Method` or str, optional
        How samples of graphs are drawn: ``Elimination()`` (the default: independent and exact),
        ``Enumeration()`` or ``Gibbs()``.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    list of Labeling, or for a batch a list of such lists
        For graphs `crfkit.inference.graphs.GraphLabelings`, which is indexed in the same way.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> draws = inference.sample(Chain(2).potentials([[0.0, 9.0], [9.0, 0.0]]), n=3, seed=1)
    >>> [y.labels.tolist() for y in draws]
    [[1, 0], [1, 0], [1, 0]]
    """
    only_of_graphs(method=(method, None))
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}, expected 0 to 2**64 - 1")
    _check_count("n", n)
    scores, paths, begins = kernels.sample(
        potentials.problem, n, seed, in_logs(space), threads_or_all(threads)
    )
    demand_labeling(scores[:, 0])
    found = cut_labelings(potentials, paths, begins, scores)
    return found[0] if potentials.single else found


@for_any_structure
def score(potentials: Potentials, labels: Any) -> Any:
    """Return the score of a labeling; for a batch, of one labeling for each sequence, in one list.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    labels
        Label ids or names, one per position (tree: variable); a `Labeling`; for semi-Markov a list of
        (start, end, label) segments; for graphs ids or names by kind. A forbidden labeling scores -inf.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> inference.score(Chain(["a", "b"]).potentials([[0.0, 1.0], [0.5, 0.0]]), ["b", "a"])
    1.5
    """
    values = potentials.path_score(*potentials.flat_path(labels))
    demand_finite(values)
    return one_or_all(potentials, values)


@for_any_structure
def log_prob(
    potentials: Potentials,
    labels: Any,
    *,
    space: Space = "auto",
    method: Method | str | None = None,
    threads: int | None = None,
) -> Any:
    """Return log p(y | x) of a labeling: its score minus log Z.

    Parameters
    ----------
    potentials, space, method, threads
        As in `log_partition`.
    labels
        As in `score`.

    Examples
    --------
    >>> import math
    >>> from crfkit import Chain, inference
    >>> math.exp(inference.log_prob(Chain(2).potentials([[0.0, 0.0]] * 2), [0, 1]))
    0.25
    """
    only_of_graphs(method=(method, None))
    scored = score(potentials, labels)
    total = log_partition(potentials, space=space, threads=threads)
    demand_labeling(np.atleast_1d(total))
    return scored - total


@for_any_structure
def span_probability(
    potentials: Potentials, start: int, end: int, labels: Sequence[str | int], *, sequence: int = 0
) -> float:
    """Return the probability that positions start to end - 1 have the given labels.

    By constrained forward-backward (Culotta & McCallum 2004; Sutton & McCallum 2006 section 1.3.3): the
    mass of the labelings that agree with the span, over the mass of all.

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
    demand_labeling(total)
    agreeing = kernels.log_partition(part.problem, False, 1)
    return float(np.exp(min(agreeing[0] - total[0], 0.0)))
