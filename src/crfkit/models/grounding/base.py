"""The contract: X to graphs, y to labels of variables, and what was found to what y looks like.

A `Grounding` is part of a `GraphModel` that was trained on sequences, images or rows, so that its file
predicts from the same X. It knows the graph only as an argument, and no weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Ids, Pointers, pointers
from crfkit.metrics.comparison import Columns
from crfkit.models.explanation import At
from crfkit.models.parts import Map
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class Samples:
    """X as it was read: sample n has an array of variables of each kind, of shape n."""

    data: Any  #: what the graphs are made of
    shapes: list[tuple[int, ...]]  #: [N]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.shapes)

    @property
    def ptr(self) -> Pointers:
        """Where samples begin among the variables of a kind, [N + 1]."""
        return pointers([prod(shape) for shape in self.shapes])

    def cut(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """Return what all variables of a kind have by sample, in its shape."""
        ends = self.ptr.tolist()
        return [
            flat[a:b].reshape(*shape, *flat.shape[1:])
            for a, b, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `Grounding.compared` is asked."""

    graph: Graph
    samples: Samples
    y: Any  #: labels, in the form in which the estimator takes them
    found: Mapping[str, Ids]  #: label ids of all variables, by kind
    metric: Any  #: a name or a function; "auto" is what fits the labels
    kind: str | None = None  #: the only one that counts


class Grounding(Map):
    """How X becomes graphs, and answers about graphs what y looks like."""

    @abstractmethod
    def samples(self, X: Any, threads: int | None = None) -> Samples:
        """Read X, checked."""

    @abstractmethod
    def graphs(self, graph: Graph, samples: Samples, labels: Mapping[str, Any] | None = None) -> GraphBatch:
        """Return a graph for each sample, with label ids by kind."""

    @abstractmethod
    def gold(
        self, graph: Graph, samples: Samples, y: Any, what: str = "y", *, foreign: bool = True
    ) -> dict[str, Ids]:
        """Return the label ids of y by kind: -1 where unknown, the number of labels for one that is foreign.

        Parameters
        ----------
        graph : Graph
        samples : Samples
        y : labels, in the form in which the estimator takes them
        what : str
            What messages call it.
        foreign : bool
            Labels that the graph does not have are allowed.
        """

    @abstractmethod
    def compared(self, asked: Comparison) -> dict[str, Columns]:
        """Return the labels of y and those found, ids by kind, as they are compared: by column.

        Foreign labels are errors, with a `DataWarning`.
        """

    @abstractmethod
    def answer(self, graph: Graph, labels: Mapping[str, Ids]) -> Any:
        """Return what y has for one sample with these label ids by kind."""

    def gathered(self, answers: list[Any]) -> Any:
        """Return what y has for all samples."""
        return PerSequence(answers)

    @abstractmethod
    def proba(self, node: Mapping[str, list[Any]]) -> Any:
        """Return probabilities in the form of y: kind -> those of each sample."""

    def one(self, x: Any) -> Any:
        """Return an X whose only sample is x."""
        return [x]

    @abstractmethod
    def variable(self, at: Any, shape: tuple[int, ...]) -> tuple[str, int]:
        """Return the kind and the number of the variable at a place of a sample; refuse what is none."""

    @abstractmethod
    def place(self, kind: str, number: int, shape: tuple[int, ...]) -> At:
        """Return the place of a variable of a sample."""

    def label(self, graph: Graph, kind: str, y: int) -> str:
        """Return the label of an id as a text."""
        names = graph.kinds[kind]
        return names[y] if isinstance(names, tuple) else str(y)


def integers_of(fields: Fields, name: str) -> NDArray[np.integer[Any]]:
    """Return different integers in order, of the type that y had."""
    values, dtype = fields[name], fields["dtype"]
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        fields.wrong(name, "a list of whole numbers")
    if dtype not in (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)):
        fields.wrong("dtype", "a type of whole numbers")
    if values != sorted(set(values)):
        fields.wrong(name, "different numbers in order")
    return np.array(values, dtype=dtype)  # raises where one is too large
