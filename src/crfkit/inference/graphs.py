"""Queries about graphs: evidence is cut out, a method answers, and its flat answers get kinds and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.checks import NotFiniteError, check_number
from crfkit.errors import InfeasibleError, MethodError
from crfkit.inference.graph_results import GraphLabeling, GraphLabelings, GraphMarginals
from crfkit.inference.methods.how import How, Number, Numbers
from crfkit.inference.methods.method import Labeled, Method
from crfkit.inference.methods.registry import METHODS, method_of
from crfkit.native import check_memory, threads_or_all
from crfkit.structures.graphs.evidence import Reduced, without_observed
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.graphs.potentials import GraphPotentials

__all__ = [
    "GraphLabeling",
    "GraphLabelings",
    "GraphMarginals",
    "best",
    "count",
    "decode",
    "entropy",
    "expected",
    "kbest",
    "log_partition",
    "log_prob",
    "marginals",
    "sample",
    "score",
]


#: Labels that one answer may have: 16 GB.
_MOST = 2**32


def log_partition(
    potentials: GraphPotentials, *, method: Method | str | None = None, threads: int | None = None
) -> Any:
    """Return log Z of each graph, or an estimate; ``.info`` says which."""
    reduced = without_observed(potentials)
    value, how = _asked(potentials, method).log_partition(reduced.potentials, threads_or_all(threads))
    _demand_finite(value)
    return _numbers(potentials, value, how.settled(value))


def marginals(
    potentials: GraphPotentials,
    *,
    cliques: bool = True,
    method: Method | str | None = None,
    threads: int | None = None,
) -> GraphMarginals:
    """Return the probability of each label of each variable, and of each cell of each factor.

    Those of factors take a number for each cell of each factor: ``cliques=False`` leaves them out.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> graph = Graph({"token": 2}, word=["token"], step=["token", "token"])
    >>> batch = graph.batch(sizes={"token": 2}, scopes={"step": [[0, 1]]})
    >>> scores = batch.potentials(word=[[0.0, 1.0], [0.0, 0.0]], step=[[1.0, 0.0], [0.0, 1.0]])
    >>> p = inference.marginals(scores)
    >>> p["token"].round(3)
    array([[0.269, 0.731],
           [0.393, 0.607]])
    >>> p.clique["step"].shape
    (1, 2, 2)
    """
    reduced = without_observed(potentials)
    summed = _asked(potentials, method).marginals(reduced.potentials, cliques, threads_or_all(threads))
    demand(summed.value)
    how = summed.info.settled(summed.value)
    return GraphMarginals(
        _numbers(potentials, summed.value, how),
        _nodes(potentials, reduced.node(summed.node)),
        reduced.clique(summed.clique) if cliques else {},
        how,
    )


def entropy(
    potentials: GraphPotentials, *, method: Method | str | None = None, threads: int | None = None
) -> Any:
    """Return log Z - <marginals, scores>: the entropy of p(y), or the method's approximation of it."""
    answering = _asked(potentials, method)
    if not answering.sums:
        raise answering.cannot("give the entropy")
    reduced = without_observed(potentials)
    summed = answering.marginals(reduced.potentials, True, threads_or_all(threads))
    demand(summed.value)
    value = np.maximum(summed.value - reduced.potentials.expected_score(summed.clique), 0.0)
    return _numbers(potentials, value, summed.info.unbounded().settled(value))  # bounds were of log Z


def decode(
    potentials: GraphPotentials, method: Method | str | None = None, *, threads: int | None = None
) -> GraphLabeling:
    """Return the best labeling, or the best that the method found; "posterior": the likeliest labels.

    "viterbi" is the best labeling by the default method.
    """
    if method == "posterior":
        return _posterior(potentials, threads)
    reduced = without_observed(potentials)
    if isinstance(method, str) and method not in (*METHODS, "viterbi"):
        names = ", ".join(METHODS)
        raise MethodError(f"method is {method!r}, expected viterbi, posterior, {names}, or a method object")
    chosen = _asked(potentials, None if method == "viterbi" else method)
    if reduced.potentials is not potentials:
        chosen = chosen.without_observed(potentials)
    found = chosen.best(reduced.potentials, threads_or_all(threads))
    demand(found.score[0])
    labels, how = reduced.label(found.label)[0], found.info.settled(found.score[0])
    score = found.score[0, 0].item() if potentials.single else found.score[0]
    return GraphLabeling(potentials.batch.by_kind(labels), score, how, potentials.structure.kinds)


def kbest(
    potentials: GraphPotentials, k: int, *, method: Method | str | None = None, threads: int | None = None
) -> GraphLabelings:
    """Return the k best labelings of each graph, best first; labels are -1 where there are fewer."""
    _check_many("k", k, potentials)
    reduced = without_observed(potentials)
    found = _asked(potentials, method).kbest(reduced.potentials, k, threads_or_all(threads))
    return _labelings(potentials, reduced, found, found.info.settled(found.score[0]))


def sample(
    potentials: GraphPotentials,
    n: int = 1,
    seed: int = 0,
    *,
    method: Method | str | None = None,
    threads: int | None = None,
) -> GraphLabelings:
    """Draw n labelings of each graph."""
    _check_many("n", n, potentials)
    check_number("seed", seed, whole=True)
    if seed >= 2**64:
        raise ValueError(f"seed is {seed}, expected 0 to 2**64 - 1")
    reduced = without_observed(potentials)
    found = _asked(potentials, method).sample(reduced.potentials, n, seed, threads_or_all(threads))
    demand(found.score[0])
    return _labelings(potentials, reduced, found, found.info)


def count(
    potentials: GraphPotentials, *, method: Method | str | None = None, threads: int | None = None
) -> Any:
    """Return how many labelings of each graph are allowed, as exact integers."""
    reduced = without_observed(potentials)
    totals, _ = _asked(potentials, method).count(reduced.potentials, threads_or_all(threads))
    return totals[0] if potentials.single else totals


def score(potentials: GraphPotentials, labels: Mapping[str, Any] | GraphLabeling) -> Any:
    """Return the score of one labeling of each graph, given by kind."""
    given = labels.labels if isinstance(labels, GraphLabeling) else labels
    flat = potentials.given(given).observed
    assert flat is not None
    if (flat < 0).any():
        raise ValueError("labels must name a label of every variable of every kind")
    values = potentials.labeling_score(flat)
    return values[0].item() if potentials.single else values


def log_prob(
    potentials: GraphPotentials,
    labels: Mapping[str, Any] | GraphLabeling,
    *,
    method: Method | str | None = None,
    threads: int | None = None,
) -> Any:
    """Return log p(y) of one labeling of each graph."""
    total = log_partition(potentials, method=method, threads=threads)
    demand(np.atleast_1d(np.asarray(total)))
    scored = np.atleast_1d(score(potentials, labels))
    sure = np.isneginf(scored)  # forbidden, whatever log Z is
    lower, upper = (scored - np.where(sure, 0.0, z) for z in (total.info.upper, total.info.lower))
    how = replace(total.info, lower=lower, upper=upper)
    return _numbers(potentials, scored - np.atleast_1d(np.asarray(total)), how)


def expected(
    potentials: GraphPotentials, weight: ArrayLike, *, threads: int | None = None
) -> tuple[Numbers, dict[str, Floats]]:
    """Return log Z of each graph, and the gradient of sum_n weight[n] log Z_n by the scores of tables.

    Parameters
    ----------
    potentials
        Scores of graphs; ``potentials.method`` answers.
    weight : array [N]
        Factor of each graph; 0 and less are allowed.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    log_partition : array [N]
        A number for each graph, without its weight; ``.info`` says how it was found.
    by_score : dict of arrays
        Clique -> array like the scores of its tables, [K, L1, ..., La]. The caller may change these arrays.
    """
    reduced, each = without_observed(potentials), np.ascontiguousarray(weight, dtype=np.float64)
    found = method_of(potentials.method).expected(reduced.potentials, each, threads_or_all(threads))
    demand(found.value)
    return Numbers(found.value, found.info.settled(found.value)), reduced.counts(found.by_score, each)


def best(potentials: GraphPotentials, *, threads: int | None = None) -> tuple[Numbers, GraphGold]:
    """Return the score of the best labeling of each graph, [N], and these labelings as gold."""
    found = decode(potentials, threads=threads)
    flat = np.concatenate([found[kind] for kind in potentials.batch.kind_ptr])
    return Numbers(np.atleast_1d(np.asarray(found.score)), found.info), GraphGold(flat)


def _check_many(name: str, labelings: int, potentials: GraphPotentials) -> None:
    """Refuse a number of labelings of all variables that would not fit into memory."""
    check_number(name, labelings, 1, whole=True)
    if labelings * max(1, potentials.batch.variables) > _MOST:
        raise MethodError(
            f"{name} is {labelings}: with {potentials.batch.variables} variables that is more than 2**32 "
            "labels; ask for fewer at a time"
        )
    check_memory(f"{labelings} labelings", labelings, potentials.batch.variables, each=4)


def _demand_finite(values: Floats) -> None:
    """Raise where the scores of a graph add up to infinity [N]; nan: the method does not give the sum."""
    wrong = np.flatnonzero(values == np.inf)
    if wrong.size:
        raise NotFiniteError(f"graph {wrong[0]}: its scores overflow when they are added up; scale them")


def demand(values: Floats) -> None:
    """Raise unless every graph has a labeling, and a finite score."""
    _demand_finite(values)
    none = np.flatnonzero(np.isneginf(values))
    if none.size:
        raise InfeasibleError(int(none[0]), none.size - 1, "graph")


def _asked(potentials: GraphPotentials, method: Method | str | None) -> Method:
    return method_of(potentials.method if method is None else method)


def _numbers(potentials: GraphPotentials, values: Floats, how: How) -> Number | Numbers:
    return Number(float(values[0]), how) if potentials.single else Numbers(values, how)


def _nodes(potentials: GraphPotentials, flat: Floats) -> dict[str, Any]:
    batch = potentials.batch
    made: dict[str, Any] = {}
    for kind, (first, last) in batch.kind_ptr.items():
        part = flat[batch.label_ptr[first] : batch.label_ptr[last]]
        if isinstance(batch.graph.kinds[kind], np.ndarray):
            ends = batch.label_ptr[first + 1 : last] - batch.label_ptr[first]
            made[kind] = np.split(part, ends) if first < last else []
        else:
            made[kind] = part.reshape(last - first, batch.graph.width(kind))
    return made


def _labelings(potentials: GraphPotentials, reduced: Reduced, found: Labeled, how: How) -> GraphLabelings:
    batch, ptr = potentials.batch, None
    if not potentials.single:
        each = np.arange(batch.graphs + 1)
        ptr = {kind: np.searchsorted(of, each) for kind, of in batch.by_kind(batch.graph_of).items()}
    score = found.score[:, 0] if potentials.single else found.score
    labels = batch.by_kind(reduced.label(found.label))  # kind -> [k, V]
    return GraphLabelings(labels, score, how, potentials.structure.kinds, ptr)


def _posterior(potentials: GraphPotentials, threads: int | None) -> GraphLabeling:
    found = marginals(potentials, cliques=False, threads=threads)
    labels = {
        kind: np.array([np.argmax(p) for p in each], dtype=np.int32)
        if isinstance(each, list)
        else each.argmax(axis=1).astype(np.int32)
        for kind, each in found.node.items()
    }
    how = found.info.unbounded()  # bounds were of log Z
    return GraphLabeling(labels, score(potentials, labels), how, potentials.structure.kinds)
