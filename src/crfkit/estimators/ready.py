"""What ready-made estimators for graphs share: they make a batch of X and y; `GraphCRF` learns from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.labeling import labeled
from crfkit.estimators.base import learned
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.parameters import Trained
from crfkit.estimators.queries import judged, weights_of
from crfkit.inference.graphs import GraphLabeling
from crfkit.inference.methods.how import How, Numbers
from crfkit.inference.methods.method import Method
from crfkit.metrics.rule import AUTO, check_known, metric_for, named_for
from crfkit.models.graph_model import GraphModel
from crfkit.models.model import Metric
from crfkit.structures.graphs.batch import GraphBatch

__all__ = ["ReadyMade", "cut", "label_ids", "score_of"]

T = TypeVar("T", list[Any], Floats)


class ReadyMade(Trained):
    """An estimator whose data become graphs."""

    method: Method | str | None = None

    model_: GraphModel = learned()
    inference_info_: How | None = learned()
    n_iter_: int = learned()

    def _learn(
        self, batch: GraphBatch, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> None:
        """Train on a batch, and take over what was learned."""
        crf = GraphCRF(
            batch.graph,
            objective=self._part("objective"),
            optimizer=self.optimizer,
            method=self._method(),
            selection=self._part("selection"),
            stop=self._part("stop"),
            random_state=self._seed,
            n_jobs=self._threads,
        )
        weight = weights_of(sample_weight, batch.graphs)
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero everywhere; give some of the data a weight")
        try:
            crf.fit(batch, sample_weight=weight, progress=progress)
        finally:
            if hasattr(crf, "model_"):  # also where the user has interrupted it
                self.model_, self.inference_info_, self.n_iter_ = crf.model_, crf.inference_info_, crf.n_iter_

    def _method(self) -> Method | str | None:
        return self.method

    def batch(self, X: Any) -> GraphBatch:
        """Return the graphs of X, for queries of `model_`."""
        raise NotImplementedError

    def entropy(self, X: Any) -> Numbers:
        """Return the entropy of the labels of each graph, [N] nats, or the method's approximation of it."""
        batch = self.batch(X)
        scores = self.model_.potentials(batch, threads=self._threads)
        found: Numbers = inference.entropy(scores, method=self._method(), threads=self._threads)
        return found

    def _fitted(self) -> GraphModel:
        check_is_fitted(self, "model_")
        return self.model_


def label_ids(data: Dataset, y: Any, labels: Alphabet, column: str = "") -> Ids:
    """Return the label ids of sequences, [P], -1 where a label is not known; new labels are added."""
    where = f"column {column!r}: " if column else ""
    try:
        batch = labeled(data, y, labels).batch
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}{error}") from None
    if batch.allowed is not None or batch.soft is not None or batch.label is None:
        raise ValueError(f"{where}labels of graphs are strings, or None where unknown")
    return batch.label


def score_of(
    data: Dataset,
    gold: Mapping[str, Any],
    found: Mapping[str, Ids] | GraphLabeling,
    classes: Mapping[str, NDArray[np.object_]],
    metric: Metric | str,
    sample_weight: ArrayLike | None,
) -> float:
    """Return the mean over columns of a metric; "auto" is that which fits the labels of each column.

    Labels of None do not count in the accuracy of tokens; other metrics need all labels.
    """
    each = weights_of(sample_weight, len(data))
    ptr = data.batch.seq_ptr
    scores = []
    for name, sequences in gold.items():
        known = classes[name].tolist()
        alphabet = Alphabet(known)
        ids = label_ids(data, sequences, alphabet, name)  # [P], -1 where unknown
        names = [*alphabet.strings(), None]
        told = f"y: column {name!r}" if name else "y"
        spelled = [names[y] for y in ids.tolist()]
        check_known([[y for y in spelled if y is not None]], known, source=told)
        judge = metric_for(known) if metric == AUTO else metric
        if judge == "token_accuracy":
            weight = np.repeat(np.ones(len(data)) if each is None else each, np.diff(ptr))  # [P]
            total = float(weight @ (ids >= 0))
            scores.append(float(weight @ (ids == found[name])) / max(total, 1e-300))
            continue
        if (ids < 0).any():
            n = int(np.searchsorted(ptr, int(np.argmax(ids < 0)), side="right")) - 1
            raise ValueError(
                f"{told}: sequence {n} has positions without a label, which the metric {judge} needs; leave "
                'such sequences out, or give metric="token_accuracy"'
            )
        answers = cut(classes[name][found[name]].tolist(), ptr)
        judged_by = named_for(judge) if isinstance(judge, str) else judge
        scores.append(judged(judged_by, cut(spelled, ptr), answers, each))
    return float(np.mean(scores))


def cut(flat: T, ptr: Pointers) -> list[T]:
    """Return a list or an array of all positions by sequence."""
    return [flat[a:b] for a, b in pairwise(ptr.tolist())]
