"""How estimators train: what those of all structures share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.data.dataset import Dataset
from crfkit.estimators.params import PartParams
from crfkit.estimators.queries import weights_of
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric, Model
from crfkit.optimise.problem import Optimiser
from crfkit.training.fit import Init
from crfkit.training.foreign import refuse_flag
from crfkit.training.interrupt import pass_on
from crfkit.training.stop import Stop
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Fitting", "weighted"]


def weighted(data: Dataset, sample_weight: ArrayLike | None) -> Dataset:
    """Return data with these weights of sequences [N], checked; refuse data without a sequence."""
    if not len(data):
        raise ValueError("X has no sequences (0 samples): there is nothing to learn from")
    weight = weights_of(sample_weight, len(data))
    return data if weight is None else replace(data, batch=replace(data.batch, weight=weight))


class Fitting(PartParams):
    """An estimator whose parameters are those of `crfkit.train`, and which holds the model that it gives."""

    structure: Any
    features: Features | str
    objective: Objective | str
    optimiser: Optimiser | str
    stop: Stop
    seed: int
    threads: int | None

    model_: Model
    classes_: NDArray[np.object_]
    n_iter_: int

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of parts among them, as ``objective__l2``; return self."""
        refuse_flag(params.get("stop"), type(self).__name__)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = False
        return tags

    def _train(
        self,
        data: Dataset,
        progress: bool | None,
        dev: Dataset | None = None,
        init: Init = None,
        metric: Metric | str | None = None,
    ) -> Model:
        return train(
            data.freeze(),  # the model takes these very alphabets, so that ids need no renaming
            dev,
            structure=self.structure,
            features=self.features,
            objective=self.objective,
            optimiser=self.optimiser,
            init=init,
            metric=metric,
            stop=self.stop,
            seed=self.seed,
            threads=self.threads,
            progress=progress,
        )

    def _learned(self, model: Model) -> Self:
        self.model_ = model
        self.classes_ = np.array(model.structure.labels, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations
        pass_on(model.training)
        return self
