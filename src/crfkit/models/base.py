"""What models of sequences and of graphs share: the verbs, and what is known of their training."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.linear.layout import Layout

if TYPE_CHECKING:
    from crfkit.metrics.comparison import Compared
    from crfkit.metrics.report import Report
    from crfkit.models.explanation import Explanation
    from crfkit.training.events import TrainingRecord

__all__ = ["BaseModel"]


class BaseModel(ABC):
    """A trained model of sequences (`Model`) or of graphs (`GraphModel`): what `train` and `load` give.

    X is what the model was trained on: sequences, or a GraphBatch.

    Examples
    --------
    >>> from crfkit import Graph, train
    >>> from crfkit.features import ItemExtractor
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> graphs = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> for data in (ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]), graphs):
    ...     model = train(data)
    ...     print(isinstance(model, BaseModel), model.score(data))
    True 1.0
    True 1.0
    """

    layout: Layout
    w: Floats  #: [F]
    training: TrainingRecord | None  #: how it was trained
    notes: str  #: free text that goes with the model
    license: str  #: under which terms others may use it
    lacks: str  #: what a file of it would lack, and what to save instead; "" where it stands alone

    @property
    @abstractmethod
    def labels(self) -> Any:
        """The labels by id; of graphs, by kind."""

    @abstractmethod
    def predict(self, X: Any, *, threads: int | None = None) -> Any:
        """Return the best labels."""

    @abstractmethod
    def _compared(
        self, X: Any, y: Any = None, metric: Any = "auto", *, threads: int | None = None
    ) -> Compared:
        """Return gold labels and predicted ones, and the metric that judges them."""

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        threads: int | None = None,
    ) -> float:
        """Return how good the predictions on labeled data are: the score of `evaluate`."""
        return self._compared(X, y, threads=threads).score(sample_weight)

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        metric: Any = None,
        groups: Sequence[Hashable] | None = None,
        threads: int | None = None,
    ) -> Report:
        """Return how good the predictions on labeled data are: a report to print, with one score.

        Parameters
        ----------
        X, y
            Labeled data: gold labels in X, or in y.
        metric : str or function, optional
            A name of `crfkit.metrics.METRICS`, "log_prob", or a function of gold and predicted labels, more
            is better. Default: by the labels of the model, the F1 of spans where they spell spans, else the
            accuracy of labels.
        groups : sequence [N], optional
            The group of each sequence or graph, such as its document: the report has a row for each.
        threads : int, optional
            Default: all cores.
        """
        return self._compared(X, y, "auto" if metric is None else metric, threads=threads).report(groups)

    @abstractmethod
    def explain(self, x: Any, at: Any = None, *, threads: int | None = None) -> Explanation:
        """Explain why labels of one sequence or graph won, at one place or everywhere; prints as a table."""

    @abstractmethod
    def potentials(self, batch: Any, *, threads: int | None = None) -> Any:
        """Return the scores of a batch, for all queries of `crfkit.inference`."""

    @abstractmethod
    def save(
        self, path: str | os.PathLike[str], *, notes: str | None = None, license: str | None = None
    ) -> None:
        """Write the model to a file, as a whole or not at all; `crfkit.load` opens it."""

    def check_alone(self) -> None:
        """Refuse to be written where a file of the model alone would answer otherwise than its estimator."""
        if self.lacks:
            raise ValueError(f"a file of this model alone would lack {self.lacks}")
