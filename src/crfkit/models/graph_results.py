"""What queries of models of graphs give: labels and probabilities by kind, and by graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.methods.how import How
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch

T = TypeVar("T")


class PerGraph(PerSequence[T]):
    """A list with one entry for each graph, and how they were found."""

    def __init__(self, entries: Iterable[T], info: How) -> None:
        super().__init__(entries)
        self.info = info


def kind_pointers(batch: GraphBatch) -> dict[str, Pointers]:
    """Return where the graphs begin among the variables of each kind, [N + 1] each."""
    each = np.arange(batch.graphs + 1)
    return {kind: np.searchsorted(of, each) for kind, of in batch.by_kind(batch.graph_of).items()}


def spelled(ids: NDArray[Any], names: Any) -> NDArray[Any]:
    """Return labels by name; ids where the labels of the kind have no names.

    Examples
    --------
    >>> spelled(np.array([1, 0]), ("D", "N")).tolist(), spelled(np.array([1, 0]), 2).tolist()
    (['N', 'D'], [1, 0])
    """
    return np.array(names, dtype=object)[ids] if isinstance(names, tuple) else ids


@dataclass(frozen=True, eq=False)
class _ByKind(Generic[T]):
    """A mapping by kind over all graphs, whose length is the number of graphs."""

    info: How  #: by which method each graph was answered, whether exactly, and bounds
    ptr: Mapping[str, Pointers]  #: kind -> where graphs begin, [N + 1]

    def __getitem__(self, kind: str) -> T:
        raise NotImplementedError

    def keys(self) -> Iterable[str]:
        """Return the kinds."""
        return self.ptr.keys()

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield each kind with what its variables have."""
        return ((kind, self[kind]) for kind in self.ptr)

    def values(self) -> Iterator[T]:
        """Yield what the variables of each kind have."""
        return (self[kind] for kind in self.ptr)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ptr)

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self.info.exact)

    def __str__(self) -> str:
        """Return what it has of each kind, and how it was found."""
        return "\n".join([*(f"{kind}: {each}" for kind, each in self.items()), str(self.info)])

    def split(self) -> list[dict[str, T]]:
        """Return a dict for each graph: kind -> what the variables of this graph have."""
        parts = dict(self.items())
        return [
            {kind: whole[self.ptr[kind][n] : self.ptr[kind][n + 1]] for kind, whole in parts.items()}  # type: ignore[index]
            for n in range(len(self))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists by kind."""
        return {kind: [np.asarray(row).tolist() for row in each] for kind, each in self.items()}  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class GraphLabels(_ByKind[NDArray[Any]]):
    """The labels of all variables by kind: ``labels["token"]`` is [V], ``labels.split()[n]`` of graph n.

    Examples
    --------
    >>> from crfkit import Graph, train
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> found = train(data).predict(data)
    >>> found["token"].tolist(), found.ids["token"].tolist(), len(found)
    (['D', 'N', 'N'], [0, 1, 1], 1)
    """

    ids: Mapping[str, Ids]  #: kind -> [V]
    score: Floats  #: [N] of the labels of each graph
    kinds: Mapping[str, Any]  #: kind -> its labels, as the graph has them

    def __getitem__(self, kind: str) -> NDArray[Any]:
        """Return the labels of one kind, [V]; numbers where they have no names."""
        return spelled(self.ids[kind], self.kinds[kind])


@dataclass(frozen=True, eq=False)
class GraphProba(_ByKind[Any]):
    """The probabilities of labels by kind: ``proba["token"]`` is [V, L], in the order of the graph's labels.

    Examples
    --------
    >>> from crfkit import Graph, train
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> train(data).predict_proba(data)["token"].shape
    (3, 2)
    """

    node: Mapping[str, Any]  #: kind -> [V, L]; a list of arrays where variables differ in labels
    clique: Mapping[str, Floats]  #: clique -> [M, L1, ..., La]; empty if not asked for
    log_partition: Floats  #: [N]

    def __getitem__(self, kind: str) -> Any:
        """Return the probabilities of the variables of one kind."""
        return self.node[kind]
