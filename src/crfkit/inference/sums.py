"""Queries that sum over labelings: log Z, entropy, marginals, what is reachable, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.inference.counting import exact_counts
from crfkit.inference.engines import for_any_structure, only_of_graphs
from crfkit.inference.results import Space, demand_finite, demand_labeling, in_logs
from crfkit.native import kernels, threads_or_all
from crfkit.structures.potentials import Potentials, one_or_all
from crfkit.structures.results import Marginals

if TYPE_CHECKING:
    from crfkit.inference.methods.method import Method


@for_any_structure
def log_partition(
    potentials: Potentials,
    *,
    space: Space = "auto",
    method: Method | str | None = None,
    threads: int | None = None,
) -> Any:
    """Return log Z, the log of the sum of exp(score) over all labelings.

    Parameters
    ----------
    potentials
        Scores of one sequence or graph, or of a batch.
    space : {"auto", "log"}
        "auto" sums scaled probabilities where that is exact and logarithms elsewhere, sequence by sequence;
        "log" forces logarithms. For sequences and trees.
    method : `crfkit.inference.methods.Method` or str, optional
        The inference method for graphs, such as ``Elimination()`` or ``"belief-propagation"``;
        `crfkit.inference.methods` lists them with their options. Default: `crfkit.inference.methods.Auto`,
        which is exact where tables stay small.
    threads : int, optional
        Default: all cores. Results are the same bits for any number.

    Returns
    -------
    float, or array [N] for a batch
        For graphs an estimate, where the method is not exact: ``.info`` says which graphs, and bounds.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> round(inference.log_partition(Chain(2).potentials([[0.0, 0.0]] * 3)), 4)  # log 2**3
    2.0794
    """
    only_of_graphs(method=(method, None))
    values = kernels.log_partition(potentials.problem, in_logs(space), threads_or_all(threads))
    (demand_labeling if potentials.constrained else demand_finite)(values)
    return one_or_all(potentials, values)


@for_any_structure
def entropy(
    potentials: Potentials,
    *,
    space: Space = "auto",
    method: Method | str | None = None,
    threads: int | None = None,
) -> Any:
    """Return the entropy of p(y | x) in nats.

    Parameters
    ----------
    potentials, space, method, threads
        As in `log_partition`; an approximate method gives its approximation of the entropy.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> round(inference.entropy(Chain(2).potentials([[0.0, 0.0]] * 3)), 4)  # uniform: log 2**3
    2.0794
    """
    only_of_graphs(method=(method, None))
    values, expected = kernels.expected_score(potentials.problem, in_logs(space), threads_or_all(threads))
    demand_labeling(values)
    demand_finite(expected)
    return one_or_all(potentials, np.maximum(values - expected, 0.0))


@for_any_structure
def marginals(
    potentials: Potentials,
    *,
    edges_by_position: bool = False,
    space: Space = "auto",
    threads: int | None = None,
    weight: Floats | None = None,
    counts: bool = True,
    cliques: bool = True,
    method: Method | str | None = None,
) -> Marginals:
    """Return the probability of every label, edge and segment.

    Parameters
    ----------
    potentials
        Scores of one sequence or graph, or of a batch.
    edges_by_position : bool
        Keep p(y_{t-1}, y_t) for every position, [P, L, L] (first positions are 0), although the edge
        scores are shared. Otherwise shared edges give expected counts over the whole batch.
    space, threads
        As in `log_partition`.
    weight : array [N], optional
        Factors of the probabilities of each sequence, also in expected counts over the whole batch.
    counts : bool
        Give expected counts of shared edges. Without them (`edge` is None) chains are summed faster, those
        of many labels and few transitions by far.
    cliques : bool
        Whether to return the marginals of the factors of graphs too, a number for each cell.
    method : `crfkit.inference.methods.Method` or str, optional
        The inference method for graphs, as in `log_partition`; `edges_by_position`, `space`, `weight` and
        `counts` apply to sequences and trees.

    Returns
    -------
    Marginals; of graphs `crfkit.inference.graphs.GraphMarginals`, by kind of variable and by clique

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.0, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> inference.marginals(scores).node.round(3)
    array([[0.269, 0.731],
           [0.393, 0.607]])
    """
    only_of_graphs(method=(method, None), cliques=(cliques, True))
    raw = kernels.marginals(
        potentials.problem, edges_by_position, in_logs(space), threads_or_all(threads), weight, counts
    )
    demand_labeling(raw["value"])
    return potentials.shaped(raw)


@for_any_structure
def reachable(
    potentials: Potentials, *, edges_by_position: bool = False, threads: int | None = None
) -> Marginals:
    """Return which parts lie on some allowed labeling, in the shape of `marginals` (booleans).

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


@for_any_structure
def count(potentials: Potentials, *, method: Method | str | None = None, threads: int | None = None) -> Any:
    """Return how many labelings are allowed, as exact Python integers.

    The kernel counts modulo primes of 61 bits; the Chinese remainder theorem puts them together.

    Parameters
    ----------
    potentials, method, threads
        As in `log_partition`; of graphs ``Elimination()`` and ``Enumeration()`` count.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> inference.count(Chain(23).potentials([[0.0] * 23] * 50)) == 23**50
    True
    """
    only_of_graphs(method=(method, None))
    totals = exact_counts(
        lambda prime: kernels.count(potentials.problem, prime, threads_or_all(threads)).tolist(),
        size=len(potentials.seq_ptr) - 1,
        bound=potentials.most(),
    )
    if potentials.constrained:
        demand_labeling(np.array([0.0 if total else -np.inf for total in totals]))
    return totals[0] if potentials.single else totals
