"""What ready-made estimators for graphs share: they make a batch of X and y; `GraphCRF` learns from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.params import PartParams
from crfkit.estimators.queries import weights_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.graph_model import GraphModel
from crfkit.optimise.problem import Optimiser
from crfkit.structures.graph_batch import GraphBatch
from crfkit.training.stop import Stop

__all__ = ["ReadyMade"]


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
