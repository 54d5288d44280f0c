"""From data to scores: how a model reads data, and the parts in which it scores them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from crfkit import _native
from crfkit._safe.cached import Memo
from crfkit.arrays import Bools, Floats
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.features.conjunctions import conjoined
from crfkit.inference.results import counted_from
from crfkit.linear.layout import Layout
from crfkit.linear.score import cells_by_position, ready_rows, score
from crfkit.models.encoding import Recoding
from crfkit.models.names import Names
from crfkit.models.states import HIDDEN, States
from crfkit.models.tags import Spelling
from crfkit.structures.gold import Sets, sets_of
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from crfkit.models.known import Watch
    from crfkit.models.model import SequenceModel

#: Gold labels and predicted ones, a list of strings for each sequence, to a number; more is better.
Metric = Callable[[list[list[str]], list[list[str]]], float]

A = TypeVar("A")

#: Doubles of scores held at a time by queries: 32 MB.
_CELLS = 1 << 22


class Scoring:
    """Data and scores of a `crfkit.models.SequenceModel`."""

    structure: Structure
    layout: Layout
    names: Names
    w: Floats

    def dataset(self, X: Any, y: Any = None, *, threads: int | None = None) -> Dataset:
        """Return data with the names of this model: attributes that it does not know are dropped.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            What the model was trained on: columns of text or token rows for its recipe, items without one
            (see `crfkit.models.reading`). A batch must have the ids of the model.
        y : list of lists, optional
            The gold (see `crfkit.data.dataset`); by default the column of labels that the model was
            trained on, where X has it. Labels that the model does not know get ids above its own.
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> data = model.dataset([[["new"], ["dog"]]], [["?", "N"]])
        >>> data.batch.attr.tolist(), data.batch.label.tolist(), data.labels.strings()
        ([1], [2, 1], ['D', 'N', '?'])
        """
        from crfkit.models.reader import Reader

        return Reader(cast("SequenceModel", self))(X, y, threads=threads)

    def batch_of(self, X: Any, *, threads: int | None = None, watch: Watch | None = None) -> Batch:
        """Return data with the ids of this model; X as in `dataset`.

        Attributes that the model does not know are dropped, gold labels that it does not know become -1.
        Where it knows next to none of them there is a warning; `watch` counts them over several calls.
        """
        if isinstance(X, Batch):
            return self._checked(X, threads)
        if not isinstance(X, Dataset):
            from crfkit.models.reader import Reader

            X = Reader(cast("SequenceModel", self))(X, gold=False, threads=threads)
        else:
            X = self.mapped(X, threads)
        if self.states is not None:
            X = self.states.sets(X)
        made = self.names.renamed(X, self.weighted)
        if X.attributes is not self.names.attributes:
            from crfkit.models.known import Watch

            (watch or Watch.of(cast("SequenceModel", self))).renamed(X.batch, made, X.attributes)
        return self._checked(made, threads)

    def batch_given(self, X: Any, given: Any, threads: int | None) -> tuple[Batch, Sets | None]:
        """Return data with the ids of the model, and the labels that each position may have; None: all."""
        if given is None:
            return self.batch_of(X, threads=threads), None
        data = self.dataset(X, given, threads=threads)
        known = self.structure.labels if self.states is None else self.answers
        strange = [name for name in data.labels.strings() if name not in known]
        if strange:
            raise ValueError(
                f"given has the label {strange[0]!r}, which the model does not know; its labels are "
                f"{', '.join(map(repr, known))}, and None where one is asked for"
            )
        batch = self.batch_of(data, threads=threads)
        return batch, sets_of(batch, len(self.structure.labels))

    def mapped(self, X: Any, threads: int | None = None) -> Any:
        """Return what the feature map makes of X; X itself without one, or where it made X."""
        feature_map = cast("SequenceModel", self).feature_map
        if feature_map is None or (isinstance(X, Dataset) and X.attributes is self.names.attributes):
            return X
        return self.names.dataset(feature_map(X, threads), self.weighted)

    def _checked(self, batch: Batch, threads: int | None) -> Batch:
        """Refuse data without the attributes of segments that the model has weights of; make conjunctions."""
        for kind in ("begin", "end", "segment"):
            if self.layout.has(kind) and getattr(batch, f"{kind}_ptr") is None and batch.positions:
                raise ValueError(
                    f"the model has weights of segments (the kind {kind}), but the data have no such "
                    "attributes: make them with model.dataset(X) where the model has a recipe, else with "
                    "crfkit.features.segment_features(X, max_length, functions, like=model)"
                )
        conjunctions = cast("SequenceModel", self).conjunctions
        if conjunctions is None:
            return batch
        table = self._once("conjunctions", lambda: conjunctions.table(self.names.attributes))
        return conjoined(batch, table, threads)

    @property
    def weighted(self) -> tuple[bool, bool, bool]:
        """Whether there are weights for attributes, edge attributes and segment attributes."""
        kinds = (("node",), ("edge",), ("begin", "end", "segment"))
        node, edge, segment = (any(self.layout.rows_of(name) > 0 for name in each) for each in kinds)
        return node, edge, segment

    def potentials(self, batch: Batch, *, threads: int | None = None) -> Any:
        """Return the scores of a batch with the ids of this model, for `crfkit.inference`."""
        scores = score(self.layout, self.w, batch, threads=threads, ready=lambda b: self.ready(b, threads))
        return self.structure.potentials_of(scores, batch)

    def ready(self, block: str, threads: int | None = None) -> _native.ReadyRows:
        """Return the weights of a block as the kernels read them, made once."""
        return self._once(block, lambda: ready_rows(self.layout, self.w, block, threads))

    def parts(
        self, batch: Batch, *, allowed: Bools | Sets | None = None, threads: int | None = None, cells: int = 1
    ) -> Iterator[tuple[Batch, Any]]:
        """Yield sequences of a batch and their scores, a part at a time, so that scores stay small.

        Labels that `allowed` [P, L] forbids score -inf; `Sets` also say what is known of begins of segments.
        A query that needs more numbers for each position than scores do says so by `cells`.
        """
        for chosen in batch.cut(min(self.positions_at_a_time(batch), max(_CELLS // cells, 1))):
            whole = chosen.stop - chosen.start == batch.sequences
            part = batch if whole else batch.select(chosen)
            with counted_from(chosen.start):
                potentials = self.potentials(part, threads=threads)
            if allowed is not None:
                rows = slice(int(batch.seq_ptr[chosen.start]), int(batch.seq_ptr[chosen.stop]))
                whole = allowed if isinstance(allowed, Sets) else Sets(batch.seq_ptr, allowed)
                potentials = whole.rows(rows).clamped(potentials)
            yield part, potentials

    def positions_at_a_time(self, batch: Batch) -> int:
        """Return how many positions of a batch to score together, so that their scores take 32 MB."""
        return max(_CELLS // max(cells_by_position(self.layout, batch), self.structure.cells()), 1)

    @property
    def segmental(self) -> bool:
        """Whether the labels are those of segments, which may be long."""
        return self.structure.segmental

    @property
    def states(self) -> States | None:
        """The labels that the labels of the structure are hidden states of; None where they are not."""
        found = self.spelling if cast("SequenceModel", self).encoding == HIDDEN else None
        return found if isinstance(found, States) else None

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels of answers: those of the structure, or those that its hidden states belong to.

        Where the model learned another encoding, they are the tags of the scheme of the training data.
        """
        if cast("SequenceModel", self).encoding is None:
            return self.structure.labels
        return tuple(self.spelling.alphabet.strings())

    def said(self, labels: Iterable[str]) -> list[Any]:
        """Return labels as they were given in training: numbers where they were numbers."""
        return [*map(int, labels)] if cast("SequenceModel", self).numbers else [*labels]

    @property
    def spelling(self) -> Spelling:
        """How labels are written: those of segments as the tags of the training data, where it had tags."""
        return self.spelling_for(None)

    def spelling_for(self, metric: Metric | str | None) -> Spelling:
        """Return how a metric reads labels: one of segments needs tags to know where segments begin."""
        scheme = cast("SequenceModel", self).scheme
        name = metric if isinstance(metric, str) else getattr(metric, "name", "")
        if scheme is None and self.segmental:
            from crfkit.metrics.registry import of_spans  # tagging does not judge

            scheme = "BIO" if of_spans(name) else None
        kind = {None: Spelling, HIDDEN: States}.get(cast("SequenceModel", self).encoding, Recoding)
        return self._once(f"spelling {scheme}", lambda: kind(self.structure.labels, scheme))

    @property
    def _once(self) -> Memo:
        made: Memo | None = self.__dict__.get("_made_once")
        return self.__dict__.setdefault("_made_once", Memo()) if made is None else made


def asked(parts: Iterable[tuple[Batch, Any]], ask: Callable[[Batch, Any], A]) -> Iterator[tuple[Batch, A]]:
    """Run a query on each part; errors count sequences from the first part on."""
    before = 0
    for part, potentials in parts:
        with counted_from(before):
            answer = ask(part, potentials)
        before += part.sequences
        yield part, answer
