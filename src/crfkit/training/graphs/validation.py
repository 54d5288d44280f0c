"""The dev set of graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.inference.methods.auto import Auto
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.score import GraphScores
from crfkit.models.graph_comparison import compared_graphs
from crfkit.models.graph_model import Decoding, GraphMetric, GraphModel, log_prob
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.graphs.data import checked_graphs
from crfkit.training.runs.run import Validation

_BUDGET: Final = 2**22  # cells of a component that is decoded exactly


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
        The inference method. It does not start integer programs, which a clock ends: a score is a function
        of the weights.
    threads : int, optional
    decoding : {"viterbi", "posterior"}
        Whether labels are those of the best labeling, or the likeliest ones by the sums of the method.
    """

    def __init__(
        self,
        model: GraphModel,
        dev: GraphBatch,
        metric: GraphMetric | str,
        method: Method,
        threads: int | None = None,
        decoding: Decoding = "viterbi",
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
        self._sums = method
        self._decoder: Method | str = method
        if decoding == "posterior":
            self._decoder = decoding
        elif isinstance(method, Auto) or method.lacks("best"):
            self._decoder = Auto(budget=getattr(method, "budget", _BUDGET), seconds=0.0)
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
        labeling = inference.decode(replace(scores, method=self._sums), self._decoder, threads=self.threads)
        return compared_graphs(self._dev, labeling.labels, self._metric).score()
