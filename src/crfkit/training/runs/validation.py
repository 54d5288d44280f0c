"""The dev set, of sequences or of graphs: how good weights are on data that training does not see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from crfkit import inference
from crfkit._safe.printable import counted
from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.inference.methods import Auto
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.score import GraphScores
from crfkit.models.graph_model import GraphMetric, GraphModel, accuracy, log_prob
from crfkit.models.model import Metric, Model, gold_labels
from crfkit.models.tags import as_segments
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.graphs.data import checked_graphs

__all__ = ["GraphMetric", "GraphValidation", "SequenceValidation", "Validation", "check_metric"]

M = TypeVar("M")

_BUDGET = 2**22  #: cells of a component that is decoded exactly


def check_metric(metric: Metric | str) -> None:
    """Refuse what is neither a name of a metric nor a function, before any work begins."""
    if callable(metric) or metric in ("auto", "log_prob"):
        return
    if not isinstance(metric, str):
        raise TypeError(
            f"metric is {metric!r}, expected a name, 'auto' or a function of gold and predicted labels"
        )
    from crfkit import metrics

    metrics.named(metric)


class Validation(ABC, Generic[M]):
    """The dev score of weights, as a function of them.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while its names stay.
    name : str
        What the score is called.
    threads : int, optional
    """

    def __init__(self, model: M, name: str, threads: int | None) -> None:
        self.model, self.name, self.threads = model, name, threads
        self.notes: list[str] = []

    @abstractmethod
    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]; more is better."""


class SequenceValidation(Validation[Model]):
    """The dev score of weights on sequences.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while the alphabets stay.
    dev : Dataset
        Positions without a label cannot be scored: their sequences are left out.
    metric : str or function
        A name of `crfkit.metrics`; "log_prob", the mean over positions; a function of gold and
        predicted labels, where more is better; "auto": what fits the labels, as in `Model.judge`.
    threads : int, optional
    """

    def __init__(self, model: Model, dev: Dataset, metric: Metric | str, threads: int | None = None) -> None:
        self._function = None if metric == "log_prob" else model.judge(metric)
        named = getattr(self._function, "name", getattr(self._function, "__name__", ""))
        name = "log_prob" if self._function is None else named or type(metric).__name__
        super().__init__(model, name, threads)
        dev = self._labeled(as_segments(dev) if model.segmental else dev)
        self._spelling = model.spelling_for(self._function)
        self._gold = gold_labels(dev, self._spelling.scheme)
        self._batch = model.batch_of(dev)
        model.check_known(self._gold, self._function, source="the dev set")

    def _labeled(self, dev: Dataset) -> Dataset:
        """Return the sequences that have a label at every position."""
        label = dev.batch.label
        if label is None or not dev.batch.positions:
            raise ValueError("dev has no labels; give a dev set with labels")
        lacking = np.add.reduceat(np.append(label < 0, 0), dev.batch.seq_ptr[:-1]) > 0  # [N]
        lacking &= np.diff(dev.batch.seq_ptr) > 0
        if not lacking.any():
            return dev
        if lacking.all():
            raise ValueError("every sequence of dev lacks labels; give a dev set with labels")
        count = int(lacking.sum())
        self.notes.append(f"left out of the dev set: {counted(count, 'sequence')} without all labels")
        return dev[~lacking]

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        model = replace(self.model, w=w)
        if self._function is None:
            return float(np.sum(model.log_prob(self._batch, threads=self.threads))) / max(
                self._batch.positions, 1
            )
        found = self._spelling.tags(model._path(self._batch, threads=self.threads))
        return float(self._function(self._gold, found))


class GraphValidation(Validation[GraphModel]):
    """The dev score of weights on graphs.

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
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        super().__init__(model, name, threads)
        self._metric = metric
        self._sums, self._best = method, method
        if isinstance(method, Auto) or method.lacks("best"):
            self._best = Auto(budget=getattr(method, "budget", _BUDGET), seconds=0.0)
        self._dev = checked_graphs(dev, model.graph, "dev")
        self._scores = GraphScores(model.layout, model.fitted(self._dev))

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        scores = self._scores.potentials(w, threads=self.threads)
        label = self._dev.label
        assert label is not None
        if self._metric == "log_prob":
            found = log_prob(scores, label, method=self._sums, threads=self.threads)
            return float(np.sum(found)) / int((label >= 0).sum())
        labeling = inference.decode(scores, self._best, threads=self.threads)
        if callable(self._metric):
            return float(self._metric(self._dev.by_kind(label), labeling.labels))
        return accuracy(self._dev, labeling.labels)
