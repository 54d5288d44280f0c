"""Answers about graphs: labels and probabilities by kind of variable, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.methods.how import How


@dataclass(frozen=True, eq=False)
class GraphLabeling:
    """Labels of all variables, by kind: ``labeling["token"]``."""

    labels: Mapping[str, Ids]  #: kind -> [V] label ids; [k, V] of several labelings
    score: Any  #: of each graph: a number or [N]; [k] or [k, N] of several labelings
    info: How
    kinds: Mapping[str, Any]  #: kind -> its labels, as the graph has them

    def __getitem__(self, kind: str) -> Ids:
        """Return the label ids of one kind."""
        return self.labels[kind]

    def names(self, kind: str) -> NDArray[np.object_]:
        """Return the labels of one kind by name, shaped as the ids; None where there is no labeling."""
        labels, names = self.labels[kind], self.kinds[kind]
        if not isinstance(names, tuple):
            raise ValueError(f"the labels of kind {kind!r} have no names")
        return np.array([*names, None], dtype=object)[labels]


@dataclass(frozen=True, eq=False)
class GraphLabelings(GraphLabeling):
    """Several labelings of each graph: ``found["token"]`` are the ids of all of them, [k, V].

    As of sequences, ``found[i]`` is labeling i of one graph, and of a batch all labelings of graph i; those
    that do not exist, where a graph has fewer than were asked for, are left out there.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> scores = Graph.from_factors([2, 2], [([0], [0.0, 2.0]), ([1], [1.0, 0.0])])
    >>> found = inference.kbest(scores, 9)
    >>> len(found), found[1]["variable"].tolist(), found[1].score
    (4, [1, 1], 2.0)
    """

    ptr: Mapping[str, Pointers] | None = None  #: kind -> where graphs begin, [N + 1]; None: this is one graph

    def __len__(self) -> int:
        """Return how many labelings there are of one graph; of a batch, how many graphs."""
        return int(np.count_nonzero(self.score > -np.inf)) if self.ptr is None else self.score.shape[1]

    def __getitem__(self, which: Any) -> Any:
        """Return the ids of a kind, given its name; labeling i of one graph, or those of graph i."""
        if isinstance(which, str):
            return self.labels[which]
        at = range(len(self))[index(which)]
        if self.ptr is None:
            labels = {kind: ids[at] for kind, ids in self.labels.items()}
            return GraphLabeling(labels, float(self.score[at]), self.info, self.kinds)
        score = self.score[:, at]
        there = score > -np.inf
        cut = {kind: ids[there, ptr[at] : ptr[at + 1]] for (kind, ids), ptr in self._by_kind()}
        return GraphLabelings(cut, score[there], self.info.of_graph(at), self.kinds)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over labelings, or over graphs."""
        return (self[i] for i in range(len(self)))

    def _by_kind(self) -> Iterator[tuple[tuple[str, Ids], Pointers]]:
        assert self.ptr is not None
        return zip(self.labels.items(), self.ptr.values(), strict=True)


@dataclass(frozen=True, eq=False)
class GraphMarginals:
    """Probabilities of labels, by kind: ``marginals["token"]`` is [V, L]."""

    log_partition: Any  #: a number, or [N]
    node: Mapping[str, Any]  #: kind -> [V, L]; a list of arrays where variables differ in labels
    clique: Mapping[str, Floats]  #: clique -> [M, L1, ..., La]; empty if not asked for
    info: How

    def __getitem__(self, kind: str) -> Any:
        """Return the marginals of the variables of one kind."""
        return self.node[kind]
