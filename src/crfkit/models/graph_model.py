"""A model of graphs: the graph, its layout, the names of attributes and the weights. It does not train."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from crfkit import inference
from crfkit._safe.pickling import Restored
from crfkit._safe.printable import counted
from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.inference.graph_results import GraphLabeling
from crfkit.inference.methods.auto import Auto
from crfkit.inference.methods.how import How, Numbers
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.layout import Layout
from crfkit.models.base import FittedBy, Model
from crfkit.models.graph_queries import QueriedGraphs, QueriedSamples, known_attributes
from crfkit.models.graph_results import PerGraph
from crfkit.models.results import Candidate
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials

if TYPE_CHECKING:
    from crfkit.features import Recipe
    from crfkit.graphs.text_form import GraphForm
    from crfkit.metrics.comparison import Compared
    from crfkit.metrics.report import Report
    from crfkit.models.explanation import Explanation
    from crfkit.models.grounding import Grounding
    from crfkit.training.record import TrainingRecord

#: How labels are chosen: the best labeling, or the likeliest label of each variable.
Decoding: TypeAlias = Literal["viterbi", "posterior"]
DECODINGS: tuple[Decoding, ...] = get_args(Decoding)
_SUMS = Auto(budget=2**22)  # of the likeliest labels: as in training
#: Labels that are clamped, by kind: ids or names, -1 where they are asked for; "labels": those of the batch.
Given: TypeAlias = "Mapping[str, Any] | Literal['labels'] | None"
#: Gold labels and predicted ones by kind, ids [V] with -1 where the gold is unknown, to a number.
GraphMetric: TypeAlias = Callable[[Mapping[str, Ids], Mapping[str, Ids]], float]


@dataclass(frozen=True, eq=False)
class GraphModel(Restored, Model):
    """A trained graph model; see `crfkit.train` and `crfkit.GraphCRF`.

    Examples
    --------
    >>> import os, tempfile
    >>> import crfkit
    >>> from crfkit import Graph, GraphCRF
    >>> from crfkit.graphs import scopes
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> data = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> model = GraphCRF(graph).fit(data).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.crf"))
    ...     again = crfkit.load(os.path.join(folder, "m.crf"))
    >>> again
    <GraphModel of Graph({'token': ('D', 'N')}, step=['token', 'token']), 4 weights>
    """

    graph: Graph
    layout: Layout
    w: Floats  #: [F]
    attributes: Mapping[str, Alphabet] = field(default_factory=dict)  #: clique -> names, where it has any
    training: TrainingRecord | None = None
    notes: str = ""  #: free text that goes with the model
    license: str = ""  #: under which terms others may use it
    form: GraphForm | None = None  #: how columns become graphs, where `crfkit train` made the model
    lacks: str = ""  #: why it cannot be written to a file, and what to do instead; "" where it can
    estimator: FittedBy | None = None  #: what learned it, where an estimator did
    feature_map: Grounding | None = None  #: how samples become graphs, where it was trained on such
    decoding: Decoding = "viterbi"  #: what `predict` gives where no method is named
    info: How | None = None  #: how graphs were answered at the end of training; not in files

    @property
    def recipe(self) -> Recipe | None:
        """What makes features of tokens, where it was trained on sequences of them."""
        return getattr(self.feature_map, "recipe", None)

    def __post_init__(self) -> None:
        w = np.array(self.w, dtype=np.float64)
        w.setflags(write=False)
        object.__setattr__(self, "w", w)
        if w.shape != (self.layout.weights,):
            raise ValueError(f"w has shape {w.shape}, expected ({self.layout.weights},)")
        check_choice("decoding", self.decoding, DECODINGS)

    def __repr__(self) -> str:
        """Return what it is a model of."""
        return f"<GraphModel of {self.graph!r}, {counted(self.layout.weights, 'weight')}>"

    def _pieces(self, **options: Any) -> Iterable[bytes]:
        """Return the bytes of the file, piece by piece."""
        from crfkit.models.files.graphs import graph_pieces

        return graph_pieces(self, **options)

    # ---- data

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each kind by id; numbers as text where they have no names."""
        return self.graph.labels

    def potentials(self, batch: GraphBatch, *, threads: int | None = None) -> GraphPotentials:
        """Return the scores of a batch of the same graph, for all queries of `crfkit.inference`."""
        return GraphScores(self.layout, self.fitted(batch)).potentials(self.w, threads=threads)

    def fitted(self, batch: GraphBatch) -> GraphBatch:
        """Return a batch whose attributes have the numbers that they have in the model; checked."""
        return known_attributes(self, batch)

    def given(self, batch: GraphBatch, given: Given, *, threads: int | None = None) -> GraphPotentials:
        """Return the scores of a batch, given some labels."""
        scores = self.potentials(batch, threads=threads)
        if given is None:
            return scores
        if not isinstance(given, str):
            return scores.given(given)
        if given != "labels":
            raise ValueError(f'given is {given!r}, expected labels by kind, or "labels": those of the batch')
        if batch.label is None:
            raise ValueError('given is "labels", and the batch has none')
        return replace(scores, observed=batch.label)

    # ---- queries

    def batch(self, X: Any, y: Any = None, *, threads: int | None = None) -> GraphBatch:
        """Return the graphs that samples become, with the labels of y: those that queries answer about.

        Examples
        --------
        >>> from crfkit import FactorialCRF
        >>> X, y = [[["the"], ["dog"]]], [[("D", "B"), ("N", "I")]]
        >>> FactorialCRF().fit(X, y).model_.batch(X, y).label.tolist()
        [0, 1, 0, 1]
        """
        asked = self._asked(X, threads)
        if y is None:
            return asked.batch
        label, foreign = asked.gold(y)
        if foreign.any():
            raise ValueError(
                f"y of sample {int(np.argmax(foreign))} has a label that the model does not know"
            )
        return replace(asked.batch, label=label)

    def _asked(self, X: Any, threads: int | None = None) -> QueriedGraphs:
        """Return X as graphs, with the form of answers about them."""
        if isinstance(X, GraphBatch):
            return QueriedGraphs(self.fitted(X))
        if self.feature_map is None:
            raise TypeError(f"X is a {type(X).__name__}, expected graphs of graph.batch(...)")
        samples = self.feature_map.samples(X, threads)
        return QueriedSamples(
            self.fitted(self.feature_map.graphs(self.graph, samples)), self.feature_map, samples
        )

    def _given(self, X: Any, given: Any, threads: int | None) -> tuple[QueriedGraphs, GraphPotentials]:
        asked = self._asked(X, threads)
        return asked, self.given(asked.batch, asked.clamped(given), threads=threads)

    def predict(
        self, X: Any, *, given: Any = None, method: Method | str | None = None, threads: int | None = None
    ) -> Any:
        """Return labels: of graphs `GraphLabels`, of samples what y was in training.

        Parameters
        ----------
        X : GraphBatch, or samples as in training
            Labels that graphs have are not looked at, unless `given` says so.
        given : mapping or "labels", optional
            Labels to clamp: kind -> ids or names, -1 or None where they are asked for; "labels": those that
            the batch has. Of samples: in the form of y.
        method : {"viterbi", "posterior"}, or a method of `crfkit.inference.methods`, or its name, optional
            "viterbi": the best labeling; "posterior": the likeliest label of each variable; a method: the
            best labeling that it finds. Default: `decoding`.
        threads : int, optional
        """
        return self._labels(X, given, method, None, threads)

    def _labels(
        self,
        X: Any,
        given: Any,
        method: Method | str | None,
        summing: Method | str | None,
        threads: int | None,
    ) -> Any:
        """Return labels; `summing` gives the probabilities where the likeliest are asked for."""
        asked, scores = self._given(X, given, threads)
        return asked.labels(self._decoded(scores, method, summing, threads))

    def _decoded(
        self,
        scores: GraphPotentials,
        method: Method | str | None,
        summing: Method | str | None,
        threads: int | None,
    ) -> GraphLabeling:
        method = self.decoding if method is None else method
        if method == "posterior":
            scores = replace(scores, method=_SUMS if summing is None else summing)
        found: GraphLabeling = inference.decode(scores, method=method, threads=threads)
        return found

    def predict_proba(
        self,
        X: Any,
        *,
        given: Any = None,
        cliques: bool = False,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> Any:
        """Return the probability of each label: of graphs `GraphProba`, of samples arrays in the form of y.

        ``cliques=True`` also asks for those of factors of graphs.
        """
        asked, scores = self._given(X, given, threads)
        return asked.proba(inference.marginals(scores, cliques=cliques, method=method, threads=threads))

    def log_prob(
        self, X: Any, y: Any = None, *, method: Method | str | None = None, threads: int | None = None
    ) -> Numbers:
        """Return the logarithm of the probability of the known labels of each graph, [N].

        Labels that are not known are summed over; one that the model does not have has probability 0.
        """
        asked = self._asked(X, threads)
        return self._log_prob(asked, asked.gold(y), method, threads)

    def _log_prob(
        self, asked: QueriedGraphs, gold: tuple[Ids, Bools], method: Method | str | None, threads: int | None
    ) -> Numbers:
        label, foreign = gold
        scores = self.potentials(asked.batch, threads=threads)
        found = log_prob(scores, label, method=method, threads=threads)
        return Numbers(np.where(foreign, -np.inf, found), found.info)

    def kbest(
        self,
        X: Any,
        k: int,
        *,
        given: Any = None,
        method: Method | str | None = None,
        summing: Method | str | None = None,
        threads: int | None = None,
    ) -> PerGraph[list[Candidate]]:
        """Return the k best labelings of each graph or sample, best first; fewer where fewer exist.

        Each has ``labels`` (by kind, or in the form of y), ``log_prob`` and ``probability``, given what is
        given; `summing` is the method that finds the sum over all labelings for these.
        """
        asked, scores = self._given(X, given, threads)
        found = inference.kbest(scores, k, method=method, threads=threads)
        total = inference.log_partition(scores, method=summing, threads=threads)
        return asked.candidates(found, np.atleast_1d(np.asarray(total)))

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        *,
        random_state: int | None = None,
        given: Any = None,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> PerGraph[list[Any]]:
        """Draw labelings: for each graph or sample `n_samples` of them, by kind or in the form of y."""
        asked, scores = self._given(X, given, threads)
        return asked.drawn(
            inference.sample(scores, n_samples, random_state or 0, method=method, threads=threads)
        )

    def entropy(
        self, X: Any, *, given: Any = None, method: Method | str | None = None, threads: int | None = None
    ) -> Numbers:
        """Return the entropy of each graph's labels in nats, [N], or the method's approximation of it."""
        found = inference.entropy(self._given(X, given, threads)[1], method=method, threads=threads)
        return Numbers(np.atleast_1d(np.asarray(found)), found.info)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        kind: str | None = None,
        given: Any = None,
        threads: int | None = None,
    ) -> float:
        """Return how good the predictions are, of graphs the share of known labels: see `evaluate`."""
        return self._compared(X, y, kind=kind, given=given, threads=threads).score(sample_weight)

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        metric: GraphMetric | str | None = None,
        groups: Sequence[Hashable] | None = None,
        kind: str | None = None,
        given: Any = None,
        threads: int | None = None,
    ) -> Report:
        """Return how good the predictions on labeled data are: a report to print, with one score.

        As `crfkit.GraphCRF.evaluate`; X is a GraphBatch with labels, or y has those of samples.
        """
        asked = "auto" if metric is None else metric
        return self._compared(X, y, asked, kind=kind, given=given, threads=threads).report(groups)

    def _compared(
        self,
        X: Any,
        y: Any = None,
        metric: Any = "auto",
        *,
        kind: str | None = None,
        given: Any = None,
        found: Mapping[str, Ids] | None = None,
        summing: Method | str | None = None,
        threads: int | None = None,
    ) -> Compared:
        """Return known labels and predicted ones, or `found`, and what judges them; see `evaluate`."""
        asked = self._asked(X, threads)
        if kind is not None and kind not in self.graph.kinds:
            raise ValueError(f"{kind!r} is not a kind of the graph: {', '.join(map(repr, self.graph.kinds))}")
        gold = asked.gold(y, kind)
        if found is None:
            scores = self.given(asked.batch, asked.clamped(given), threads=threads)
            found = self._decoded(scores, None, summing, threads).labels
        each = self._log_prob(asked, gold, summing, threads) if metric == "log_prob" else None
        return asked.compared(y, found, metric, kind, each)

    def explain(
        self,
        x: Any,
        at: Any = None,
        *,
        given: Any = None,
        method: Method | str | None = None,
        threads: int | None = None,
    ) -> Explanation:
        """Explain why variables have their labels and not the runners-up; prints as a table.

        The best labeling is compared with the best one that has the runner-up at a variable, and the
        difference of their scores is split into what each weight of each factor adds.

        Parameters
        ----------
        x : GraphBatch with one graph, or one sample
            ``X[0]``.
        at : (kind, number), optional
            Which variable, by its number within its kind, from 0; of samples a position, (position, column),
            (row, column) of a pixel, or the number of a label. Default: all of them.
        given, method, threads
            As in `predict`.
        """
        from crfkit.models.explain_graphs import explain_graph

        whole = x if isinstance(x, GraphBatch) or self.feature_map is None else self.feature_map.one(x)
        asked = self._asked(whole, threads)
        if asked.batch.graphs != 1:
            raise ValueError(f"x has {asked.batch.graphs} graphs; explain one at a time, as in explain(X[0])")
        return explain_graph(self, asked, at, given=asked.clamped(given), method=method, threads=threads)

    # ---- weights

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


def log_prob(
    scores: GraphPotentials, label: Ids, *, method: Method | str | None, threads: int | None
) -> Numbers:
    """Return log p of the known labels [V, -1 elsewhere] of each graph, summed over the others: [N]."""
    total = inference.log_partition(scores, method=method, threads=threads)
    within = inference.log_partition(replace(scores, observed=label), method=method, threads=threads)
    return Numbers(np.atleast_1d(np.asarray(within) - np.asarray(total)), total.info)
