"""What models of sequences and of graphs share: the verbs, and what is known of their training."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from crfkit.arrays import Floats
from crfkit.linear.layout import Layout

if TYPE_CHECKING:
    from crfkit.models.explanation import Explanation
    from crfkit.training.events import Summary

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
    ...     print(isinstance(model, BaseModel), model.evaluate(data))
    True 1.0
    True 1.0
    """

    layout: Layout
    w: Floats  #: [F]
    training: Summary | None  #: how it was trained
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
    def evaluate(self, X: Any, metric: Any = "auto", *, threads: int | None = None) -> float:
        """Return a metric of the predictions on labeled data; more is better."""

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
