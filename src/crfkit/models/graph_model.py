"""A model of graphs: the graph, its layout, the names of attributes and the weights. It does not train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crfkit import inference
from crfkit.arrays import Floats, Ids, Ragged, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.inference.graphs import GraphLabelling, GraphMarginals
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.layout import Layout
from crfkit.structures.clique_features import CliqueFeatures
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import GraphBatch
from crfkit.structures.graph_potentials import GraphPotentials

if TYPE_CHECKING:
    from crfkit.training.events import Summary

__all__ = ["GraphModel"]


@dataclass(frozen=True, eq=False)
class GraphModel:
    """Weights of a graph; made by `crfkit.GraphCRF`."""

    graph: Graph
    layout: Layout
    w: Floats  #: [F]
    attributes: Mapping[str, Alphabet] = field(default_factory=dict)  #: clique -> names, where it has any
    training: Summary | None = None

    def __post_init__(self) -> None:
        w = np.array(self.w, dtype=np.float64)
        if w.shape != (self.layout.weights,):
            raise ValueError(f"w has shape {w.shape}, expected ({self.layout.weights},)")
        w.setflags(write=False)
        object.__setattr__(self, "w", w)

    def potentials(self, batch: GraphBatch, *, threads: int | None = None) -> GraphPotentials:
        """Return the scores of a batch of the same graph, for all queries of `crfkit.inference`."""
        return GraphScores(self.layout, self.fitted(batch)).potentials(self.w, threads=threads)

    def fitted(self, batch: GraphBatch) -> GraphBatch:
        """Return a batch whose attributes have the numbers that they have in the model; checked."""
        if batch.graph != self.graph:
            raise ValueError(f"the batch is of {batch.graph!r}, the model of {self.graph!r}")
        features: dict[str, CliqueFeatures] = {}
        for name, block in self.layout.block.items():
            given = batch.features.get(name)
            if (given is None) != (block.by is None):
                has = "has no features" if given is None else "has features"
                raise ValueError(
                    f"clique {name!r} {has} in the batch; in the data of training it was otherwise"
                )
            if given is not None:
                features[name] = self._renamed(name, given)
        return replace(batch, features=features)

    def _renamed(self, clique: str, given: CliqueFeatures) -> CliqueFeatures:
        rows = self.layout.rows_of(clique)
        if given.dense is not None:
            if given.columns != rows:
                raise ValueError(
                    f"features of clique {clique!r} have {given.columns} columns, the model expects {rows}"
                )
            return given
        names = self.attributes.get(clique)
        assert given.rows is not None
        if names is None or given.names is None or names is given.names:
            return given
        new = names.ids(given.names.strings())
        ids: Ids = new[given.rows.id]
        known = ids >= 0
        of = np.repeat(np.arange(len(given)), np.diff(given.rows.ptr))[known]
        value = None if given.rows.value is None else given.rows.value[known]
        kept = Ragged(pointers(np.bincount(of, minlength=len(given))), ids[known], value)
        return CliqueFeatures(rows, rows=kept, names=names)

    def predict(
        self,
        batch: GraphBatch,
        *,
        given: Mapping[str, ArrayLike] | None = None,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> GraphLabelling:
        """Return the best labelling; `given` clamps some labels: kind -> ids, -1 where they are asked for."""
        scores = self._given(batch, given, threads)
        found: GraphLabelling = inference.decode(scores, method=method, threads=threads)
        return found

    def predict_marginals(
        self,
        batch: GraphBatch,
        *,
        given: Mapping[str, ArrayLike] | None = None,
        cliques: bool = False,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> GraphMarginals:
        """Return the probability of each label of each variable, by kind."""
        scores = self._given(batch, given, threads)
        found: GraphMarginals = inference.marginals(scores, cliques=cliques, method=method, threads=threads)
        return found

    def _given(
        self, batch: GraphBatch, given: Mapping[str, ArrayLike] | None, threads: int | None
    ) -> GraphPotentials:
        scores = self.potentials(batch, threads=threads)
        return scores if given is None else scores.given(given)

    def tables(self) -> dict[str, Any]:
        """Return the weights of each clique as tables: [L1, ..., La], or [attributes, L1, ..., La].

        Cells without a weight are 0; fixed scores are not in them.
        """
        made = {}
        for name, block in self.layout.block.items():
            shape, rows = self.graph.shape(name), len(block.ptr) - 1
            columns = np.zeros((rows, self.layout.slots[name].cells))
            row = np.repeat(np.arange(rows), np.diff(block.ptr))
            columns[row, block.cell] = self.w[self.layout.parts[name]]
            table = (columns @ self.graph.cliques[name].spread(shape).T).reshape(rows, *shape)
            made[name] = table[0] if block.by is None else table
        return made
