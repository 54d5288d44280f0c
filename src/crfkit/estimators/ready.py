"""What ready-made estimators for graphs share: X and y become graphs by a `Grounding`, and `GraphCRF` learns.

An estimator says how its X is read and which graph fits y (`_grounded`). The rest is done for all of them
here, and by the model, which holds the grounding: every query of graphs answers about samples, in the form
of y.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Ids, weights_of
from crfkit.estimators.base import learned
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.graph_queries import GraphQueries
from crfkit.estimators.parameters import Trained
from crfkit.estimators.saving import OF_FEATURES, recorded
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.metrics.comparison import name_of
from crfkit.metrics.default_metric import AUTO, LOG_PROB
from crfkit.models.graph_model import GraphMetric, GraphModel
from crfkit.models.graph_queries import QueriedSamples
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.model import Metric
from crfkit.models.reading import itemized
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.training.events import Listener
from crfkit.training.graphs.fit import GraphInit, training_method
from crfkit.training.runs.checkpoint import Checkpoints

if TYPE_CHECKING:
    from typing_extensions import Self


class ReadyMade(GraphQueries, Trained):
    """An estimator whose data become graphs."""

    _needed: ClassVar[Mapping[str, str]] = OF_FEATURES

    method: Method | str | None = None
    init: GraphInit = "piecewise"
    restarts: int = 1
    metric: Metric | str = "auto"

    model_: GraphModel = learned()
    inference_info_: How | None = learned()
    n_iter_: int = learned()

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        """Return the graph that fits X and y, how samples become graphs, X as read, and label ids by kind.

        What users see of labels, such as ``classes_``, is set here.
        """
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
        listeners: Sequence[Listener] = (),
        progress: bool | None = None,
    ) -> Self:
        """Train, and forget what was learned before. What X and y are, the class says.

        Parameters
        ----------
        X : samples
        y : labels
            Those of each sample.
        dev : (X, y), or GraphBatch of `batch`, optional
            Data to score the weights on, by the metric of `score`: training ends when the score no longer
            rises, and the best weights are kept.
        sample_weight : array [N], optional
            Weight of each sample: 2 is as if it were there twice.
        checkpoint, listeners, progress
            As in `GraphCRF.fit`.
        """
        graph, grounding, samples, labels = self._grounded(self._items(X), y)
        weight = weights_of(sample_weight, len(samples), "samples")
        held, metric = self._dev(graph, grounding, dev)
        crf = GraphCRF(
            graph,
            objective=self._part("objective"),
            optimizer=self.optimizer,
            method=self._method(),
            selection=self._part("selection"),
            stop=self._part("stop"),
            init=self.init,
            restarts=self.restarts,
            metric=metric,
            random_state=self._seed,
            n_jobs=self._threads,
        )
        try:
            crf.fit(
                grounding.graphs(graph, samples, labels),
                dev=held,
                sample_weight=weight,
                checkpoint=checkpoint,
                listeners=listeners,
                progress=progress,
            )
        finally:
            if hasattr(crf, "model_"):  # also where the user has interrupted it
                self.model_ = recorded(self, replace(crf.model_, feature_map=grounding))
                self.inference_info_, self.n_iter_ = crf.inference_info_, crf.n_iter_
        return self

    def _dev(
        self, graph: Graph, grounding: Grounding, dev: Any
    ) -> tuple[GraphBatch | None, GraphMetric | str]:
        """Return the graphs of dev data with the labels that they share with X, and how they are judged."""
        if dev is None:
            return None, AUTO
        if isinstance(dev, GraphBatch):
            return dev, AUTO if callable(self._metric(None)) else self._metric(None)
        if not isinstance(dev, tuple) or len(dev) != 2:
            raise ValueError(
                f"dev is a {type(dev).__name__}, expected a pair, as in fit(X, y, dev=(X_dev, y_dev)), or a "
                "GraphBatch"
            )
        X, y = dev
        samples = grounding.samples(self._items(X), self._threads)
        gold = grounding.gold(graph, samples, y)
        known = {kind: np.where(ids < graph.width(kind), ids, -1) for kind, ids in gold.items()}
        held = grounding.graphs(graph, samples, known)
        metric = self._metric(None)
        if metric == LOG_PROB:
            return held, metric
        asked = QueriedSamples(held, grounding, samples)

        def judge(_: Mapping[str, Ids], found: Mapping[str, Ids]) -> float:
            return asked.compared(y, found, metric, None, None).score()

        judge.__name__ = metric if isinstance(metric, str) else name_of(metric)
        return held, judge

    def _items(self, X: Any) -> Any:
        """Return what a function of features makes of X, else X."""
        features = getattr(self, "features", None)
        return X if features is None or isinstance(X, GraphBatch) else itemized(features, X)

    def _checked(self, X: Any) -> Any:
        return self._items(X)

    def _method(self) -> Method | str | None:
        return self.method

    @property
    def _summing(self) -> Method:
        return training_method(self._method(), rough=False)

    def batch(self, X: Any, y: Any = None) -> GraphBatch:
        """Return the graphs of X, with the labels of y: for queries of `model_` and `crfkit.inference`."""
        return self._model.batch(self._checked(X), y, threads=self._threads)
