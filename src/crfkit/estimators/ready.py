"""What ready-made estimators for graphs share: X and y become graphs by a `Grounding`, and `GraphCRF` learns.

An estimator says how its X is read and which graph fits y (`_grounded`), and how predictions are judged. The
rest is done for all of them here, and by the model, which holds the grounding: every query of graphs answers
about samples, in the form of y.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit import inference
from crfkit.arrays import Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.estimators.base import learned
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.graph_queries import GraphQueries
from crfkit.estimators.parameters import Trained
from crfkit.estimators.queries import judged, weights_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.metrics.rule import AUTO, check_known, metric_for, named_for
from crfkit.models.graph_asked import AskedOfSamples
from crfkit.models.graph_model import GraphMetric, GraphModel
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.grounding.sequences import label_ids
from crfkit.models.model import Metric
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.training.events import Listener
from crfkit.training.graphs.fit import training_method
from crfkit.training.runs.checkpoint import Checkpoints

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ReadyMade", "score_of"]


class ReadyMade(GraphQueries, Trained):
    """An estimator whose data become graphs."""

    method: Method | str | None = None

    model_: GraphModel = learned()
    inference_info_: How | None = learned()
    n_iter_: int = learned()

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        """Return the graph that fits X and y, how samples become graphs, X as read, and label ids by kind.

        What users see of labels, such as ``classes_``, is set here.
        """
        raise NotImplementedError

    def _judged(
        self, graph: Graph, samples: Samples, y: Any, found: Mapping[str, Ids], weight: ArrayLike | None
    ) -> float:
        """Return how good label ids by kind are, by the metric of the estimator."""
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
        progress: bool | None = False,
    ) -> Self:
        """Train, and forget what was learned before. What X and y are, the class says.

        Parameters
        ----------
        X : samples
        y : labels
            Of each sample.
        dev : (X, y), optional
            Data to score the weights on, by the metric of `score`: training ends when the score no longer
            rises, and the best weights are kept.
        sample_weight : array [N], optional
            Weight of each sample: 2 is as if it were there twice.
        checkpoint, listeners, progress
            As in `GraphCRF.fit`.
        """
        graph, grounding, samples, labels = self._grounded(X, y)
        weight = weights_of(sample_weight, len(samples))
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero everywhere; give some of the data a weight")
        held, metric = self._dev(graph, grounding, dev)
        crf = GraphCRF(
            graph,
            objective=self._part("objective"),
            optimizer=self.optimizer,
            method=self._method(),
            selection=self._part("selection"),
            stop=self._part("stop"),
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
                self.model_ = replace(crf.model_, grounding=grounding)
                self.inference_info_, self.n_iter_ = crf.inference_info_, crf.n_iter_
        return self

    def _dev(
        self, graph: Graph, grounding: Grounding, dev: Any
    ) -> tuple[GraphBatch | None, GraphMetric | str]:
        """Return the graphs of dev data with the labels that they share with X, and how they are judged."""
        if dev is None:
            return None, AUTO
        if not isinstance(dev, tuple) or len(dev) != 2:
            raise ValueError(
                f"dev is a {type(dev).__name__}, expected a pair, as in fit(X, y, dev=(X_dev, y_dev))"
            )
        X, y = dev
        samples = grounding.samples(X, self._threads)
        gold = grounding.gold(graph, samples, y)
        known = {kind: np.where(ids < graph.width(kind), ids, -1) for kind, ids in gold.items()}
        held = grounding.graphs(graph, samples, known)
        asked = getattr(self, "metric", AUTO)
        if asked == "log_prob":
            return held, asked

        def judge(_: Mapping[str, Ids], found: Mapping[str, Ids]) -> float:
            return self._judged(graph, samples, y, found, None)

        judge.__name__ = asked if isinstance(asked, str) else getattr(asked, "__name__", type(asked).__name__)
        return held, judge

    def _method(self) -> Method | str | None:
        return self.method

    @property
    def _summing(self) -> Method:
        return training_method(self._method())

    def batch(self, X: Any, y: Any = None) -> GraphBatch:
        """Return the graphs of X, with the labels of y: for queries of `model_` and `crfkit.inference`."""
        return self._model.batch(self._taken(X), y, threads=self._threads)

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, given: Any = None
    ) -> float:
        """Return how good predictions are, by the metric of the estimator.

        Parameters
        ----------
        X, y
            As in `fit`. Labels that are not known do not count.
        sample_weight : array [N], optional
            How often each sample counts.
        given : labels, optional
            In the form of y: labels that are known to `predict`.
        """
        model = self._model
        asked = model._asked(self._taken(X), self._threads)
        if not isinstance(asked, AskedOfSamples):
            raise TypeError("X is a GraphBatch; give X and y as in fit, or ask model_.evaluate")
        if getattr(self, "metric", AUTO) == "log_prob":
            label, _ = asked.gold(y)
            each = weights_of(sample_weight, asked.batch.graphs)
            each = np.ones(asked.batch.graphs) if each is None else each
            known = np.bincount(asked.batch.graph_of[label >= 0], minlength=asked.batch.graphs)
            found = self.log_prob(X, y)
            return float(each @ found) / max(float(each @ known), 1e-300)
        scores = model.given(asked.batch, asked.clamped(given), threads=self._threads)
        best = inference.decode(scores, threads=self._threads)
        return self._judged(model.graph, asked.samples, y, best.labels, sample_weight)


def score_of(
    samples: Samples,
    gold: Mapping[str, Any],
    found: Mapping[str, Ids],
    classes: Mapping[str, NDArray[np.object_]],
    metric: Metric | str,
    sample_weight: ArrayLike | None,
) -> float:
    """Return the mean over columns of a metric; "auto" is that which fits the labels of each column.

    Labels of None do not count in the accuracy of tokens; other metrics need all labels.
    """
    each = weights_of(sample_weight, len(samples))
    ptr = samples.data[0].batch.seq_ptr
    scores = []
    for name, sequences in gold.items():
        known = classes[name].tolist()
        alphabet = Alphabet(known)
        ids = label_ids(samples, sequences, alphabet, name)  # [P], -1 where unknown
        names = [*alphabet.strings(), None]
        told = f"y: column {name!r}" if name else "y"
        spelled = [names[y] for y in ids.tolist()]
        check_known([[y for y in spelled if y is not None]], known, source=told)
        judge = metric_for(known) if metric == AUTO else metric
        if judge == "token_accuracy":
            weight = np.repeat(np.ones(len(samples)) if each is None else each, np.diff(ptr))  # [P]
            total = float(weight @ (ids >= 0))
            scores.append(float(weight @ (ids == found[name])) / max(total, 1e-300))
            continue
        if (ids < 0).any():
            n = int(np.searchsorted(ptr, int(np.argmax(ids < 0)), side="right")) - 1
            raise ValueError(
                f"{told}: sequence {n} has positions without a label, which the metric {judge} needs; leave "
                'such sequences out, or give metric="token_accuracy"'
            )
        answers = _cut(classes[name][found[name]].tolist(), ptr)
        judged_by = named_for(judge) if isinstance(judge, str) else judge
        scores.append(judged(judged_by, _cut(spelled, ptr), answers, each))
    return float(np.mean(scores))


def _cut(flat: list[Any], ptr: Pointers) -> list[list[Any]]:
    """Return a list of all positions by sequence."""
    return [flat[a:b] for a, b in pairwise(ptr.tolist())]
