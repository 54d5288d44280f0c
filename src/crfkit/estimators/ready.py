"""What ready-made estimators for graphs share: they make a batch of X and y; `GraphCRF` learns from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers, weights_of
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.base import learned
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.judged import Judged
from crfkit.estimators.parameters import Trained
from crfkit.inference.graphs import GraphLabeling
from crfkit.inference.methods.how import How, Numbers
from crfkit.inference.methods.method import Method
from crfkit.metrics.comparison import Columns, Compared, Joined, name_of
from crfkit.metrics.rule import AUTO, check_known, metric_for, named_for, scheme_of_rows
from crfkit.models.graph_model import GraphModel
from crfkit.models.model import Metric
from crfkit.structures.graphs.batch import GraphBatch

__all__ = ["ReadyMade", "compared_columns", "cut", "label_ids"]

T = TypeVar("T", list[Any], Floats)


class ReadyMade(Judged, Trained):
    """An estimator whose data become graphs."""

    method: Method | str | None = None

    model_: GraphModel = learned()
    how_: How | None = learned()
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
                self.model_, self.how_, self.n_iter_ = crf.model_, crf.how_, crf.n_iter_

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


def compared_columns(
    data: Dataset,
    gold: Mapping[str, Any],
    found: Mapping[str, Ids] | GraphLabeling,
    classes: Mapping[str, NDArray[np.object_]],
    metric: Metric | str,
) -> Compared:
    """Return columns of labels to compare; "auto" is the metric that fits the labels of each column.

    Labels of None do not count; metrics of spans need all labels.
    """
    parts = {}
    for name, sequences in gold.items():
        known = classes[name].tolist()
        alphabet = Alphabet(known)
        ids = label_ids(data, sequences, alphabet, name)  # [P], -1 where unknown
        names = alphabet.strings()
        told = f"y: column {name!r}" if name else "y"
        check_known([[names[y] for y in ids[ids >= 0].tolist()]], known, source=told)
        judge = metric_for(known) if metric == AUTO else metric
        judged_by = named_for(judge) if isinstance(judge, str) else judge
        scheme = scheme_of_rows(name_of(judged_by), known)
        ptr = data.batch.seq_ptr
        parts[name] = Columns.of_ids(names, ids, found[name], ptr, judged_by, scheme=scheme, source=told)
    return Joined.mean(parts)


def cut(flat: T, ptr: Pointers) -> list[T]:
    """Return a list or an array of all positions by sequence."""
    return [flat[a:b] for a, b in pairwise(ptr.tolist())]
