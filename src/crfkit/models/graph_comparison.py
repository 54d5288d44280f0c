"""Known labels of graphs beside predicted ones: kinds of variables are columns, whose labels count alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, pointers
from crfkit.metrics.comparison import ByFunction, Columns, Compared, Joined, name_of
from crfkit.metrics.default_metric import rule_of_kind
from crfkit.metrics.registry import METRICS
from crfkit.structures.graphs.batch import GraphBatch


def compared_graphs(
    batch: GraphBatch,
    found: Mapping[str, Ids],
    metric: Any = "auto",
    kind: str | None = None,
    each: Floats | None = None,
) -> Compared:
    """Return the labels of a batch and predicted ones, by kind, and what judges them.

    Parameters
    ----------
    batch : GraphBatch
        With labels; -1 where they are not known.
    found : by kind
        The labels that were predicted, [V].
    metric : {"auto", "accuracy", "log_prob"} or function
        A score of labels by kind.
    kind : str, optional
        The only one that counts.
    each : array [N], optional
        The log probabilities of "log_prob": of the labels that count.

    Examples
    --------
    >>> from crfkit import Graph
    >>> graph = Graph({"token": ["D", "N"], "size": 2})
    >>> batch = graph.batch(labels={"token": ["D", "N"], "size": [1]})
    >>> found = {"token": np.array([0, 0]), "size": np.array([1])}
    >>> compared_graphs(batch, found, kind="token").score()
    0.5
    """
    if not callable(metric) and metric not in ("auto", "accuracy", "log_prob"):
        raise ValueError(
            f"metric is {metric!r}, expected 'auto', 'accuracy', 'log_prob' or a function of labels by kind"
        )
    assert batch.label is not None
    gold = batch.by_kind(batch.label)
    graph_of = batch.by_kind(batch.graph_of)
    kinds = [name for name in gold if kind in (None, name)]
    if not any((gold[name] >= 0).any() for name in kinds):
        raise ValueError("there are no labels to compare with" + (f" of kind {kind!r}" if kind else ""))
    parts, names = {}, batch.graph.labels
    for name in kinds:
        whole = metric == "auto" and bool((gold[name] >= 0).all())
        judge, scheme = rule_of_kind(names[name], whole)
        ptr = pointers(np.bincount(graph_of[name], minlength=batch.graphs))
        parts[name] = Columns.of_ids(
            names[name], gold[name], found[name], ptr, judge, scheme=scheme, unit="graph"
        )
    if callable(metric):
        told = ByFunction(partial(_asked, metric, gold, found, graph_of))
        return Joined.of(parts, name_of(metric), told)
    if metric == "log_prob":
        assert each is not None
        return Joined.by_log_prob(parts, np.asarray(each))
    return Joined.pooled(parts, METRICS["accuracy"])


def _asked(
    function: Any,
    gold: Mapping[str, Ids],
    found: Mapping[str, Ids],
    graph_of: Mapping[str, Ids],
    which: NDArray[np.int64],
) -> float:
    """Return what a function of labels by kind says of some of the graphs."""
    here = {name: np.isin(of, which) for name, of in graph_of.items()}
    return float(function(*({k: each[k][mask] for k, mask in here.items()} for each in (gold, found))))
