"""Graphs to learn from and dev sets of graphs: what they must have, and how good weights are on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids
from crfkit.inference.methods import Auto
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.objective import Objective
from crfkit.models.graph_model import GraphModel, accuracy, log_prob
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph

__all__ = ["GraphMetric", "GraphValidation", "check_learnable", "checked_graphs"]

#: Gold labels and predicted ones by kind, ids [V] with -1 where the gold is unknown, to a number.
GraphMetric: TypeAlias = Callable[[Mapping[str, Ids], Mapping[str, Ids]], float]

_BUDGET = 2**22  #: cells of a component that is decoded exactly


def checked_graphs(given: Any, graph: Graph, name: str) -> GraphBatch:
    """Return graphs with labels that are of this graph; refuse others."""
    if not isinstance(given, GraphBatch):
        raise TypeError(f"{name} is a {type(given).__name__}, expected graphs of graph.batch(...)")
    if given.graph != graph:
        raise ValueError(f"{name} is of another graph: {given.graph!r}, not {graph!r}")
    if not given.variables:
        raise ValueError(f"{name} has {given.graphs} graphs and no variables (0 samples)")
    if given.label is None or not (given.label >= 0).any():
        raise ValueError(
            f"{name} has no labels: give graph.batch(labels={{kind: ids}}), -1 only where a label is hidden"
        )
    return given


def check_allowed(batch: GraphBatch) -> None:
    """Refuse labels that fixed scores of -inf forbid: no weights could give them."""
    assert batch.label is not None
    for name, clique in batch.graph.cliques.items():
        if clique.fixed is None or not np.isneginf(clique.fixed).any():
            continue
        label = batch.label[batch.scopes[name]]  # [M, a]
        known = np.flatnonzero((label >= 0).all(axis=1))
        wrong = known[np.isneginf(clique.fixed[tuple(label[known].T)])]
        if len(wrong):
            m = int(wrong[0])
            n, ids = int(batch.graph_of[batch.scopes[name][m, 0]]), ", ".join(map(str, label[m]))
            raise ValueError(
                f"graph {n}: factor {m} of clique {name!r} has the labels {ids}, which its fixed scores "
                f"forbid (-inf), and so do {len(wrong) - 1} more; correct the labels or the fixed scores"
            )


def check_learnable(batch: GraphBatch, objective: Objective) -> list[str]:
    """Refuse hidden labels where an objective has to know all; return notes about what cannot be learned."""
    assert batch.label is not None
    for kind, (first, last) in batch.kind_ptr.items():
        hidden = int((batch.label[first:last] < 0).sum())
        if hidden and not objective.covers(batch.graph, ["path"]) and objective.covers(batch.graph, ["set"]):
            what = (
                f"no variable of kind {kind!r} has a label"
                if hidden == last - first
                else f"{hidden} of {last - first} variables of kind {kind!r} have no label"
            )
            raise ValueError(
                f"{what}, and the objective {objective.name} needs all labels; give them, or use "
                "objective=Likelihood(), which sums over hidden labels"
            )
    check_allowed(batch)
    return [
        f"clique {name!r} has no factors in the data: its weights stay where they start"
        for name, scope in batch.scopes.items()
        if not len(scope)
    ]


class GraphValidation:
    """The dev score of weights, as a function of them.

    Parameters
    ----------
    model : GraphModel
        Whose weights vary.
    dev : GraphBatch
        Variables without a label do not count.
    metric : {"auto", "accuracy", "log_prob"} or function
        The share of right labels (also "auto"), the mean logarithm of the probability of known labels by
        variable, or a function of gold and predicted labels by kind; more is better.
    method : Method
        Who sums and maximizes. An integer program, which a clock ends, is not begun: a score is a function
        of the weights.
    threads : int, optional
    """

    def __init__(
        self,
        model: GraphModel,
        dev: GraphBatch,
        metric: GraphMetric | str,
        method: Method,
        threads: int | None = None,
    ) -> None:
        metric = "accuracy" if metric == "auto" else metric
        if not callable(metric) and metric not in ("accuracy", "log_prob"):
            raise ValueError(
                f"metric is {metric!r}, expected 'auto', 'accuracy', 'log_prob' or a function of "
                "gold and predicted labels by kind"
            )
        self.name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        self.notes: list[str] = []
        self.model, self._metric, self._threads = model, metric, threads
        self._sums, self._best = method, method
        if isinstance(method, Auto) or method.lacks("best"):
            self._best = Auto(budget=getattr(method, "budget", _BUDGET), seconds=0.0)
        self._dev = checked_graphs(dev, model.graph, "dev")
        self._scores = GraphScores(model.layout, model.fitted(self._dev))

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        scores = self._scores.potentials(w, threads=self._threads)
        label = self._dev.label
        assert label is not None
        if self._metric == "log_prob":
            found = log_prob(scores, label, method=self._sums, threads=self._threads)
            return float(np.sum(found)) / int((label >= 0).sum())
        labeling = inference.decode(scores, self._best, threads=self._threads)
        if callable(self._metric):
            return float(self._metric(self._dev.by_kind(label), labeling.labels))
        return accuracy(self._dev, labeling.labels)
