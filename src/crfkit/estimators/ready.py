"""What ready-made estimators for graphs share: they make a batch of X and y; `GraphCRF` learns from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.labelling import labelled
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.params import PartParams
from crfkit.estimators.queries import weights_of
from crfkit.inference.graphs import GraphLabelling
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.graph_model import GraphModel
from crfkit.optimise.problem import Optimiser
from crfkit.structures.graph_batch import GraphBatch
from crfkit.training.stop import Stop

__all__ = ["ReadyMade", "accuracy", "cut", "label_ids"]

T = TypeVar("T", list[Any], Floats)


class ReadyMade(PartParams):
    """An estimator whose data become graphs."""

    objective: Objective | str
    optimiser: Optimiser | str
    method: Method | str | None
    features: Features | str
    stop: Stop
    seed: int
    threads: int | None

    model_: GraphModel
    how_: How | None
    n_iter_: int

    _parts: ClassVar[Mapping[str, Callable[[Any], Any] | None]] = GraphCRF._parts

    def _learn(
        self, batch: GraphBatch, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> None:
        """Train on a batch, and take over what was learned."""
        crf = GraphCRF(
            batch.graph,
            objective=self.objective,
            optimiser=self.optimiser,
            method=self._method(),
            features=self.features,
            stop=self.stop,
            seed=self.seed,
            threads=self.threads,
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

    def _fitted(self) -> GraphModel:
        check_is_fitted(self, "model_")
        return self.model_


def label_ids(data: Dataset, y: Any, labels: Alphabet, column: str = "") -> Ids:
    """Return the label ids of sequences, [P], -1 where a label is not known; new labels are added."""
    where = f"column {column!r}: " if column else ""
    try:
        batch = labelled(data, y, labels).batch
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}{error}") from None
    if batch.allowed is not None or batch.soft is not None or batch.label is None:
        raise ValueError(f"{where}labels of graphs are strings, or None where unknown")
    return batch.label


def accuracy(
    data: Dataset,
    gold: Mapping[str, Any],
    found: Mapping[str, Ids] | GraphLabelling,
    classes: Mapping[str, NDArray[np.object_]],
    sample_weight: ArrayLike | None,
) -> float:
    """Return the share of the labels of all columns that are found; labels of None do not count."""
    each = weights_of(sample_weight, len(data))
    weight = np.repeat(np.ones(len(data)) if each is None else each, np.diff(data.batch.seq_ptr))  # [P]
    right = known = 0.0
    for name, sequences in gold.items():
        ids = label_ids(data, sequences, Alphabet(classes[name].tolist()), name)
        right += float(weight @ (ids == found[name]))
        known += float(weight @ (ids >= 0))
    return right / max(known, 1e-300)


def cut(flat: T, ptr: Pointers) -> list[T]:
    """Return a list or an array of all positions by sequence."""
    return [flat[a:b] for a, b in pairwise(ptr.tolist())]
