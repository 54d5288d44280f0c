"""The queries of a model: labels, probabilities, and scores of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np

from crfkit import _native, inference
from crfkit.arrays import Bools, Floats, Ids
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.segmentation import Segments, are_tags, segments_of
from crfkit.features.conjunctions import conjoined
from crfkit.inference.globals.decoding import Answers, Rules, constrained_paths
from crfkit.inference.globals.kinds import GlobalConstraint
from crfkit.inference.globals.rules import rules_of
from crfkit.inference.results import counted_from
from crfkit.linear.layout import Layout
from crfkit.linear.score import cells_by_position, ready_rows, score
from crfkit.models.encoding import Recoding
from crfkit.models.memo import Memo
from crfkit.models.names import Names
from crfkit.models.scores import Decoding, flat_path
from crfkit.models.states import HIDDEN, States
from crfkit.models.tags import Spelling, as_segments
from crfkit.structures.gold import Path, Sets, sets_of
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from crfkit.models.confidence import SureSegments
    from crfkit.models.model import Model

__all__ = ["Metric", "Queries", "gold_labels"]

#: Gold labels and predicted ones, a list of strings for each sequence, to a number; more is better.
Metric = Callable[[list[list[str]], list[list[str]]], float]

A = TypeVar("A")

#: Doubles of scores held at a time by queries: 32 MB.
_CELLS = 1 << 22


class Queries:
    """The queries of a `crfkit.Model`."""

    structure: Structure
    layout: Layout
    names: Names
    w: Floats
    constraints: tuple[GlobalConstraint, ...]

    def dataset(self, X: Any, y: Any = None, *, threads: int | None = None) -> Dataset:
        """Return data with the names of this model: attributes that it does not know are dropped.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            What the model was trained on: columns of text or token rows for its recipe, items without one
            (see `crfkit.models.reading`). A batch must have the ids of the model.
        y : list of lists, optional
            The gold (see `crfkit.data.labelling`); by default the column of labels that the model was
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
        from crfkit.models.reading import Reader

        return Reader(cast("Model", self))(X, y, threads=threads)

    def batch_of(self, X: Any, *, threads: int | None = None) -> Batch:
        """Return data with the ids of this model; X as in `dataset`.

        Attributes that the model does not know are dropped, gold labels that it does not know become -1.
        """
        if isinstance(X, Batch):
            return self._checked(X, threads)
        if not isinstance(X, Dataset):
            from crfkit.models.reading import Reader

            X = Reader(cast("Model", self))(X, gold=False, threads=threads)
        if self.states is not None:
            X = self.states.sets(X)
        return self._checked(self.names.renamed(X, self.weighted), threads)

    def _checked(self, batch: Batch, threads: int | None) -> Batch:
        """Refuse data without the attributes of segments that the model has weights of; make conjunctions."""
        for kind in ("begin", "end", "segment"):
            if self.layout.has(kind) and getattr(batch, f"{kind}_ptr") is None and batch.positions:
                raise ValueError(
                    f"the model has weights of segments (the kind {kind}), but the data have no such "
                    "attributes: make them with model.dataset(X) where the model has a recipe, else with "
                    "crfkit.features.segment_features(X, max_length, functions, like=model)"
                )
        conjunctions = cast("Model", self).conjunctions
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
        self,
        batch: Batch,
        *,
        allowed: Bools | Sets | None = None,
        threads: int | None = None,
        cells: int = 1,
    ) -> Iterator[tuple[Batch, Any]]:
        """Yield sequences of a batch and their scores, a part at a time, so that scores stay small.

        Labels that `allowed` [P, L] forbids score -inf; `Sets` also say what is known of begins of segments.
        A query that needs more numbers for each position than scores do says so by `cells`.
        """
        for chosen in batch.cut(min(self.positions_at_a_time(batch), max(_CELLS // cells, 1))):
            whole = chosen.stop - chosen.start == batch.sequences
            part = batch if whole else batch.select(chosen)
            potentials = self.potentials(part, threads=threads)
            if allowed is not None:
                rows = slice(int(batch.seq_ptr[chosen.start]), int(batch.seq_ptr[chosen.stop]))
                whole = allowed if isinstance(allowed, Sets) else Sets(batch.seq_ptr, allowed)
                potentials = whole.rows(rows).clamped(potentials)
            yield part, potentials

    def positions_at_a_time(self, batch: Batch) -> int:
        """Return how many positions of a batch to score together, so that their scores take 32 MB."""
        return max(_CELLS // max(cells_by_position(self.layout, batch), self.structure.cells()), 1)

    def best(
        self,
        X: Any,
        *,
        method: Decoding = None,
        allowed: Bools | None = None,
        threads: int | None = None,
    ) -> Ids:
        """Return the ids of the best labels of all positions, [P]; see `predict`."""
        return self.path(X, method=method, allowed=allowed, threads=threads).label

    def path(
        self,
        X: Any,
        *,
        method: Decoding = None,
        allowed: Bools | Sets | None = None,
        constraints: Iterable[GlobalConstraint] | None = None,
        infeasible: Literal["raise", "free"] = "raise",
        threads: int | None = None,
    ) -> Path:
        """Return the best labels of all positions, and where segments begin; see `predict`."""
        if constraints is not None or self.constraints:
            if method not in (None, "viterbi"):
                raise ValueError(
                    f"method is {method!r}, which chooses the label of each position by itself; constraints "
                    'on whole labellings need method="viterbi"'
                )
            found = self.decode(X, constraints, allowed=allowed, infeasible=infeasible, threads=threads)
            found.tell()
            return found.path
        batch = self.batch_of(X, threads=threads)
        states = self.states
        if states is not None and isinstance(allowed, np.ndarray):
            allowed = allowed[:, states.group]
        parts = self.parts(batch, allowed=allowed, threads=threads)
        each = [
            path for _, path in _asked(parts, lambda _, scores: flat_path(scores, method, threads, states))
        ]
        label = np.concatenate([np.zeros(0, dtype=np.int32), *(path.label for path in each)])
        begin = None
        if self.segmental:
            begin = np.concatenate([np.zeros(0, dtype=np.bool_), *(path.begin for path in each)])
        return Path(batch.seq_ptr, label, begin)

    def decode(
        self,
        X: Any,
        constraints: Iterable[GlobalConstraint] | None = None,
        *,
        allowed: Bools | Sets | None = None,
        infeasible: Literal["raise", "free"] = "raise",
        threads: int | None = None,
    ) -> Answers:
        """Return the best labels that keep constraints, what they score, and how each was found.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        constraints : list of constraints, optional
            On whole labellings (`crfkit.constraints`); default: those of the model.
        allowed : array of bool [P, L], optional
            Which labels each position may have, by id; default: all.
        infeasible : {"raise", "free"}
            Where no labelling keeps them: raise an error, or answer freely ("none" in ``how``).
        threads : int, optional

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.constraints import AtMost
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model.decode([[["the"], ["dog"]], [["dog"]]], [AtMost("N", 0)]).counts()
        {'DP': 2}
        """
        if self.states is not None:
            raise ValueError(
                "constraints on whole labellings are not for hidden states: a labelling is a sum over many "
                "paths of states"
            )
        batch = self.batch_of(X, threads=threads)
        rules = self.rules if constraints is None else rules_of(constraints, self.structure)

        def ask(_: Batch, scores: Any) -> Answers:
            return constrained_paths(scores, rules, infeasible=infeasible, threads=threads)

        parts = self.parts(batch, allowed=allowed, threads=threads) if len(batch.seq_ptr) > 1 else ()
        found = [answer for _, answer in _asked(parts, ask)]
        return Answers.joined(found or [ask(batch, self.potentials(batch, threads=threads))])

    @property
    def rules(self) -> Rules:
        """What the constraints of the model mean for its labels."""
        return self._once("rules", lambda: rules_of(self.constraints, self.structure))

    @property
    def segmental(self) -> bool:
        """Whether the labels are those of segments, which may be long."""
        return "segment" in self.structure.slots()

    @property
    def states(self) -> States | None:
        """The labels that the labels of the structure are hidden states of; None where they are not."""
        found = self.spelling if cast("Model", self).encoding == HIDDEN else None
        return found if isinstance(found, States) else None

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels of answers: those of the structure, or those that its hidden states belong to."""
        states = self.states
        return self.structure.labels if states is None else tuple(states.alphabet.strings())

    @property
    def spelling(self) -> Spelling:
        """How labels are written: those of segments as the tags of the training data, where it had tags."""
        return self.spelling_for(None)

    def spelling_for(self, metric: Metric | str | None) -> Spelling:
        """Return how a metric reads labels: one of segments needs tags to know where segments begin."""
        scheme = cast("Model", self).scheme
        if scheme is None and self.segmental and isinstance(metric, str) and metric.startswith("segment"):
            scheme = "BIO"
        kind = {None: Spelling, HIDDEN: States}.get(cast("Model", self).encoding, Recoding)
        return self._once(f"spelling {scheme}", lambda: kind(self.structure.labels, scheme))

    def predict(
        self,
        X: Any,
        *,
        method: Decoding = None,
        allowed: Bools | None = None,
        constraints: Iterable[GlobalConstraint] | None = None,
        infeasible: Literal["raise", "free"] = "raise",
        threads: int | None = None,
    ) -> list[list[str]]:
        """Return the best labels of each sequence; of segments as tags, where it was trained on tags.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        method : {"viterbi", "posterior"}, optional
            The best labelling, or the most probable label of each position; of hidden states, the labels of
            the best path of states, or the label whose states have the highest sum of probabilities, which
            is the default there.
        allowed : array of bool [P, L], optional
            Which labels each position may have, by id; default: all.
        constraints : list of constraints, optional
            On whole labellings (`crfkit.constraints`), such as ``Once()``; default: those of the model.
        infeasible : {"raise", "free"}
            Where no labelling keeps the constraints: raise an error that names the sequence, or take the free
            answer and warn.
        threads : int, optional
            Default: all cores.
        """
        path = self.path(
            X,
            method=method,
            allowed=allowed,
            constraints=constraints,
            infeasible=infeasible,
            threads=threads,
        )
        return self.spelling.tags(path)

    def segments(self, X: Any, *, threads: int | None = None) -> list[Segments]:
        """Return the segments of each sequence as (start, end, label), without those outside, labelled O.

        The end is one past the last position. Labels of a chain must spell segments, as ``B-PER`` does.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["in"], ["New"], ["York"]]] * 9, [["O", "B-LOC", "I-LOC"]] * 9))
        >>> model.segments([[["New"], ["York"], ["in"]]])
        [[(0, 2, 'LOC')]]
        """
        return self.segments_in(self.path(X, threads=threads))

    def segments_in(self, path: Path) -> list[Segments]:
        """Return the segments of labels that the model gave; see `segments`."""
        if path.begin is None:
            if not are_tags(self.answers):
                raise ValueError(
                    f"the labels of the model ({', '.join(self.answers[:5])}, ...) do not spell "
                    "segments; use predict"
                )
            from crfkit import metrics

            return [metrics.segments(tags) for tags in self.spelling.tags(path)]
        names = np.array(self.structure.labels, dtype=object)[path.label].tolist()
        begin = path.begin.tolist()
        return [segments_of(names[a:b], begin[a:b]) for a, b in pairwise(path.seq_ptr.tolist())]

    def confidence(self, X: Any, *, threads: int | None = None) -> list[SureSegments]:
        """Return the predicted segments of each sequence as (start, end, label, probability).

        The probability is that of exactly this segment, with both ends and the label, over all labellings
        (Culotta & McCallum 2004); one sweep serves all segments. They are those of `segments`.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["in"], ["New"], ["York"]]] * 9, [["O", "B-LOC", "I-LOC"]] * 9))
        >>> [(start, end, label, p)] = model.confidence([[["New"], ["York"], ["in"]]])[0]
        >>> (start, end, label), 0.5 < p < 1.0
        ((0, 2, 'LOC'), True)
        """
        from crfkit.models.confidence import segment_confidence

        return segment_confidence(cast("Model", self), X, threads=threads)

    def segment_marginals(
        self, X: Any, *, least: float = 0.01, threads: int | None = None
    ) -> list[list[tuple[int, int, str, float]]]:
        """Return the probable segments of each sequence as (start, end, label, probability).

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        least : float
            Segments that are less probable are left out.
        threads : int, optional
        """
        if not self.segmental:
            raise ValueError(
                f"the model is {self.structure.describe()}, which has labels of positions; use marginals"
            )
        found: list[list[tuple[int, int, str, float]]] = []
        names = self.structure.labels
        parts = self.parts(self.batch_of(X, threads=threads), threads=threads)
        for part, segment in _asked(
            parts, lambda _, scores: inference.marginals(scores, threads=threads).segment
        ):
            assert segment is not None  # [P, D, L]
            ptr = part.seq_ptr
            begin = len(found)
            found += [[] for _ in range(part.sequences)]
            p, d, y = np.nonzero(segment >= max(least, 1e-300))
            sequence = np.searchsorted(ptr, p, side="right") - 1
            values = segment[p, d, y].tolist()
            first = (p - ptr[sequence]).tolist()
            for n, a, more, label, share in zip(
                sequence.tolist(), first, d.tolist(), y.tolist(), values, strict=True
            ):
                found[begin + n].append((a, a + more + 1, names[label], min(share, 1.0)))
        return found

    def marginals(self, X: Any, *, threads: int | None = None) -> list[Floats]:
        """Return the probability of every label at every position: [T, L] for each sequence.

        Columns are `answers`: of hidden states, each is the sum over the states of a label.
        """
        found: list[Floats] = []
        parts = self.parts(self.batch_of(X, threads=threads), threads=threads)
        for part, node in _asked(
            parts, lambda part, potentials: inference.marginals(potentials, threads=threads).node
        ):
            node = self.label_shares(node)
            found.extend(node[a:b] for a, b in pairwise(part.seq_ptr.tolist()))
        return found

    def label_shares(self, node: Floats) -> Floats:
        """Return the probabilities of `answers` [P, L] from those of the labels of the structure."""
        shares = node if self.states is None else self.states.summed(node)
        curves = cast("Model", self).calibration
        return shares if curves is None else curves.labels(shares)

    def check_labellings(self, what: str) -> None:
        """Refuse a query of whole labellings where the model has no probabilities for them."""
        if self.states is not None:
            raise ValueError(
                f"{what} is not for models with hidden states: a labelling is a sum over many paths of "
                "states; use marginals, or sample"
            )
        if cast("Model", self).calibration is not None:
            raise ValueError(
                f"{what} is not for models calibrated by isotonic regression, which corrects probabilities "
                "of labels and segments only; calibrate by temperature"
            )

    def log_likelihood(self, X: Any, y: Any = None, *, threads: int | None = None) -> Floats:
        """Return log p(gold | x) of each sequence, [N]; labels of -1 are summed over, as far as allowed."""

        def scored(part: Batch, potentials: Any) -> Floats:
            label = part.label
            if label is None or part.soft is not None:
                raise ValueError("the data have no gold labels; give labelled data")
            total: Floats = inference.log_partition(potentials, threads=threads)
            if (label >= 0).all():
                return np.asarray(potentials.path_score(label, part.begin) - total)
            within = sets_of(part, len(self.structure.labels)).clamped(potentials)
            return np.asarray(inference.log_partition(within, threads=threads) - total)

        data = X if isinstance(X, Dataset | Batch) and y is None else self.dataset(X, y, threads=threads)
        each = _asked(self.parts(self.batch_of(data), threads=threads), scored)
        return np.concatenate([np.zeros(0), *(found for _, found in each)])

    def evaluate(
        self, X: Any, metric: Metric | str = "token_accuracy", *, y: Any = None, threads: int | None = None
    ) -> float:
        """Return a metric of the predictions: a function of gold and predicted labels, or a name."""
        name = metric
        if isinstance(metric, str):
            from crfkit import metrics

            metric = metrics.named(metric)
        data = X if isinstance(X, Dataset) and y is None else self.dataset(X, y, threads=threads)
        gold, found = self.labels_for(name, data, threads=threads)
        return float(metric(gold, found))

    def labels_for(
        self,
        metric: Metric | str | None,
        data: Dataset,
        *,
        path: Path | None = None,
        threads: int | None = None,
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Return gold labels and predicted ones, or those of a path, as a metric reads them."""
        spelling = self.spelling_for(metric)
        found = self.path(data, threads=threads) if path is None else path
        return gold_labels(data, spelling.scheme), spelling.tags(found)

    @property
    def _once(self) -> Memo:
        made: Memo | None = self.__dict__.get("_made_once")
        return self.__dict__.setdefault("_made_once", Memo()) if made is None else made


def _asked(parts: Iterable[tuple[Batch, Any]], ask: Callable[[Batch, Any], A]) -> Iterator[tuple[Batch, A]]:
    """Run a query on each part; errors count sequences from the first part on."""
    before = 0
    for part, potentials in parts:
        with counted_from(before):
            answer = ask(part, potentials)
        before += part.sequences
        yield part, answer


def gold_labels(data: Dataset, scheme: str | None = None) -> list[list[str]]:
    """Return the gold labels as strings, those of segments by a scheme; each position must have one."""
    label = data.batch.label
    if label is None:
        raise ValueError("the data have no labels; give labelled data")
    if (label < 0).any():
        p = int(np.argmax(label < 0))
        n = int(np.searchsorted(data.batch.seq_ptr, p, side="right")) - 1
        raise ValueError(f"sequence {n}, position {p - int(data.batch.seq_ptr[n])} has no label")
    if scheme is not None and data.batch.begin is None:
        data = as_segments(data)
    path = Path(data.batch.seq_ptr, np.asarray(data.batch.label), data.batch.begin)
    return Spelling(tuple(data.labels.strings()), scheme).tags(path)
