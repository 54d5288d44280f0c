"""What a model of graphs is asked about: graphs, or samples that become graphs by its grounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats, Ids, Ragged, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.inference.graphs import GraphLabeling, GraphLabelings, GraphMarginals
from crfkit.models.explanation import At
from crfkit.models.graph_results import GraphLabels, GraphProba, PerGraph, kind_pointers, spelled
from crfkit.models.known import Watch
from crfkit.models.names import Names
from crfkit.models.results import Candidate
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import CliqueFeatures

if TYPE_CHECKING:
    from crfkit.metrics.comparison import Compared
    from crfkit.models.graph_model import Given, GraphModel
    from crfkit.models.grounding import Grounding, Samples


def known_attributes(model: GraphModel, batch: GraphBatch) -> GraphBatch:
    """Return a batch whose attributes have the numbers that they have in the model; others are left out."""
    if not isinstance(batch, GraphBatch):
        raise TypeError(f"X is a {type(batch).__name__}, expected graphs of graph.batch(...)")
    if batch.graph != model.graph:
        raise ValueError(f"the batch is of {batch.graph!r}, the model of {model.graph!r}")
    features: dict[str, CliqueFeatures] = {}
    watch = _watch(model)
    for name, block in model.layout.block.items():
        given = batch.features.get(name)
        if (given is None) != (block.by is None):
            has = "has no features" if given is None else "has features"
            raise ValueError(f"clique {name!r} {has} in the batch; in the data of training it was otherwise")
        if given is not None:
            made = features[name] = _renamed(model, name, given)
            if given.rows is not None and made.rows is not None and made.names is not None:
                watch.add(len(given.rows.id), len(made.rows.id))
    return replace(batch, features=features)


def _watch(model: GraphModel) -> Watch:
    """Return what counts attributes that have names."""
    named = next(iter(model.attributes.values()), Alphabet())
    return Watch(Names(Alphabet(), named), done=not len(named))


def _renamed(model: GraphModel, clique: str, given: CliqueFeatures) -> CliqueFeatures:
    rows = model.layout.rows_of(clique)
    if given.dense is not None:
        full = len(model.layout.block[clique].cell) == rows * model.layout.slots[clique].cells
        if given.columns != rows or not full:
            expects = f"{rows} columns" if full else "a sparse matrix, as in training"
            raise ValueError(
                f"features of clique {clique!r} have {given.columns} columns, the model expects {expects}"
            )
        return given
    names = model.attributes.get(clique)
    assert given.rows is not None
    if names is None and given.names is not None:
        raise ValueError(
            f"features of clique {clique!r} are attributes with names, the model has only their numbers"
        )
    ids: Ids = given.rows.id
    if names is not None and given.names is not None and names is not given.names:
        ids = names.ids(given.names.strings())[ids]
    known = (ids >= 0) & (ids < rows)
    if known.all():
        return CliqueFeatures(rows, rows=Ragged(given.rows.ptr, ids, given.rows.value), names=names)
    of = np.repeat(np.arange(len(given)), np.diff(given.rows.ptr))[known]
    value = None if given.rows.value is None else given.rows.value[known]
    kept = Ragged(pointers(np.bincount(of, minlength=len(given))), ids[known], value)
    return CliqueFeatures(rows, rows=kept, names=names)


@dataclass(frozen=True, eq=False)
class QueriedGraphs:
    """Graphs, and the form of answers about them: by kind."""

    batch: GraphBatch  #: as the model numbers attributes

    def clamped(self, given: Any) -> Given:
        """Return the ids that are given, by kind."""
        made: Given = given
        return made

    def gold(self, y: Any, kind: str | None = None) -> tuple[Ids, Bools]:
        """Return the label ids of all variables, -1 where unknown, and which graphs have a foreign label.

        Those of other kinds are unknown where one is asked for.
        """
        if y is not None:
            raise ValueError("the labels of graphs are in X: graph.batch(labels=...); leave y out")
        if self.batch.label is None:
            raise ValueError("X has no labels; give graph.batch(labels=...)")
        label = self.batch.label
        if kind is not None:
            first, last = self.batch.kind_ptr[kind]
            variable = np.arange(len(label))
            label = np.where((first <= variable) & (variable < last), label, np.int32(-1))
        return label, np.zeros(self.batch.graphs, dtype=np.bool_)

    def compared(
        self, y: Any, found: Mapping[str, Ids], metric: Any, kind: str | None, each: Floats | None
    ) -> Compared:
        """Return known labels and those found, ids by kind, and what judges them.

        `kind` is the only one whose labels count, `each` their log probabilities for "log_prob".
        """
        from crfkit.models.graph_comparison import compared_graphs

        return compared_graphs(self.batch, found, metric, kind, each)

    def labels(self, found: GraphLabeling) -> Any:
        """Return the best labels."""
        score = np.atleast_1d(np.asarray(found.score))
        return GraphLabels(found.info, kind_pointers(self.batch), found.labels, score, found.kinds)

    def proba(self, found: GraphMarginals) -> Any:
        """Return probabilities."""
        total = np.atleast_1d(np.asarray(found.log_partition))
        return GraphProba(found.info, kind_pointers(self.batch), found.node, found.clique, total)

    def candidates(self, found: GraphLabelings, log_z: NDArray[Any]) -> PerGraph[list[Candidate]]:
        """Return the best labelings of each graph with their probabilities."""
        score = np.reshape(found.score, (-1, self.batch.graphs))  # [k, N]
        many = (score > -np.inf).sum(axis=0)  # [N]
        log_p = score - log_z
        each = [
            [
                Candidate(labels, float(log_p[i, n]), float(np.exp(log_p[i, n])), [])
                for i, labels in enumerate(several)
            ]
            for n, several in enumerate(self._several(found, many))
        ]
        return PerGraph(each, found.info)

    def drawn(self, found: GraphLabelings) -> PerGraph[list[Any]]:
        """Return the labelings that were drawn of each graph."""
        draws = len(np.reshape(found.score, (-1, self.batch.graphs)))
        return PerGraph(self._several(found, np.full(self.batch.graphs, draws)), found.info)

    def _several(self, found: GraphLabelings, many: NDArray[Any]) -> list[list[Any]]:
        """Return the first labelings of each graph, as `one` gives them."""
        ptr, made = kind_pointers(self.batch), []
        for n, count in enumerate(many.tolist()):
            here = {kind: ids[:, ptr[kind][n] : ptr[kind][n + 1]] for kind, ids in found.labels.items()}
            each = ({kind: ids[i] for kind, ids in here.items()} for i in range(count))
            made.append([self.one(n, ids) for ids in each])
        return made

    def one(self, n: int, ids: Mapping[str, Ids]) -> Any:
        """Return the labels of graph n, of ids by kind."""
        return {kind: spelled(each, self.batch.graph.kinds[kind]) for kind, each in ids.items()}

    def variable(self, at: Any) -> tuple[str, int]:
        """Return the kind and the number of a variable of the only graph."""
        if np.shape(at) != (2,) or not isinstance(at[1], int | np.integer):
            raise TypeError(f"at is {at!r}, expected a variable: its kind and its number, as in ('token', 0)")
        kind, number = at
        sizes = self.batch.kind_ptr
        if kind not in sizes:
            raise ValueError(f"{kind!r} is not a kind of the graph: {', '.join(map(repr, sizes))}")
        first, last = sizes[kind]
        if not 0 <= number < last - first:
            raise ValueError(
                f"the graph has {last - first} variables of kind {kind!r}; {number} is not one of them"
            )
        return kind, int(number)

    def place(self, kind: str, number: int) -> At:
        """Return how users name a variable of the only graph."""
        return kind, number

    def label(self, kind: str, y: int) -> str:
        """Return a label as a text."""
        return str(spelled(np.array([y]), self.batch.graph.kinds[kind])[0])


@dataclass(frozen=True, eq=False)
class QueriedSamples(QueriedGraphs):
    """Samples, and the form of answers about them: that of y in training."""

    grounding: Grounding
    samples: Samples

    def clamped(self, given: Any) -> Given:
        """Return the ids of labels in the form of y, by kind."""
        if given is None:
            return None
        return self.grounding.gold(self.batch.graph, self.samples, given, "given", foreign=False)

    def gold(self, y: Any, kind: str | None = None) -> tuple[Ids, Bools]:
        """Return the label ids of y, -1 where unknown, and which samples have a foreign label."""
        graph = self.batch.graph
        ids = self.grounding.gold(graph, self.samples, y)
        foreign = np.zeros(self.batch.graphs, dtype=np.bool_)
        flat = np.full(self.batch.variables, -1, dtype=np.int32)
        for name in ids if kind is None else [kind]:
            first, last = self.batch.kind_ptr[name]
            each = ids[name]
            there = each < graph.width(name)
            foreign[self.batch.graph_of[first:last][~there]] = True
            flat[first:last] = np.where(there, each, -1)
        return flat, foreign

    def compared(
        self, y: Any, found: Mapping[str, Ids], metric: Any, kind: str | None, each: Floats | None
    ) -> Compared:
        """Return the labels of y and those found, by column, and what judges them."""
        from crfkit.metrics.comparison import Joined
        from crfkit.models.grounding import Comparison

        asked = "sequence_accuracy" if each is not None else metric  # what the labels spell, known or not
        parts = self.grounding.compared(Comparison(self.batch.graph, self.samples, y, found, asked, kind))
        return Joined.mean(parts) if each is None else Joined.by_log_prob(parts, each)

    def labels(self, found: GraphLabeling) -> Any:
        """Return the best labels in the form of y."""
        parts = {kind: self.samples.cut(ids) for kind, ids in found.labels.items()}
        graph, N = self.batch.graph, len(self.samples)
        return self.grounding.gathered(
            [self.grounding.answer(graph, {kind: each[n] for kind, each in parts.items()}) for n in range(N)]
        )

    def proba(self, found: GraphMarginals) -> Any:
        """Return probabilities in the form of y."""
        return self.grounding.proba({kind: self.samples.cut(node) for kind, node in found.node.items()})

    def one(self, n: int, ids: Mapping[str, Ids]) -> Any:
        """Return the labels of sample n in the form of y."""
        shape = self.samples.shapes[n]
        shaped = {kind: each.reshape(shape) for kind, each in ids.items()}
        return self.grounding.answer(self.batch.graph, shaped)

    def variable(self, at: Any) -> tuple[str, int]:
        """Return the kind and the number of the variable at a place of the only sample."""
        return self.grounding.variable(at, self.samples.shapes[0])

    def place(self, kind: str, number: int) -> At:
        """Return the place of a variable in the only sample."""
        return self.grounding.place(kind, number, self.samples.shapes[0])

    def label(self, kind: str, y: int) -> str:
        """Return a label as a text."""
        return self.grounding.label(self.batch.graph, kind, y)
