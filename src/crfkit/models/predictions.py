"""The labels that a model predicts, with constraints or without, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from crfkit.arrays import Bools
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.models.reading import are_docs
from crfkit.models.results import PerSequence
from crfkit.models.scores import Decoding, flat_path
from crfkit.models.scoring import Metric, Scoring, asked
from crfkit.models.tags import Spelling, as_segments
from crfkit.structures.constraints import Scheme
from crfkit.structures.gold import Path, Sets
from crfkit.tags.detection import follow_scheme
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import Segments, runs_of, segments_of, spans

if TYPE_CHECKING:  # constraints on whole labelings are loaded where there are some
    from crfkit.inference.constrained.decoding import Answers, Rules
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.metrics.comparison import Columns
    from crfkit.models.model import SequenceModel


class Predictions(Scoring):
    """Predictions of a `crfkit.models.SequenceModel`."""

    constraints: tuple[GlobalConstraint, ...]
    decision: Decoding

    def _path(
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
                    'on whole labelings need method="viterbi"'
                )
            found = self._decode(X, constraints, allowed=allowed, infeasible=infeasible, threads=threads)
            found.tell()
            return found.path
        batch = self.batch_of(X, threads=threads)
        states, rule = self.states, method or self.decision
        if states is not None and isinstance(allowed, np.ndarray):
            allowed = allowed[:, states.group]
        parts = self.parts(batch, allowed=allowed, threads=threads)
        each = [path for _, path in asked(parts, lambda _, scores: flat_path(scores, rule, threads, states))]
        label = np.concatenate([np.zeros(0, dtype=np.int32), *(path.label for path in each)])
        begin = None
        if self.segmental:
            begin = np.concatenate([np.zeros(0, dtype=np.bool_), *(path.begin for path in each)])
        return Path(batch.seq_ptr, label, begin)

    def _decode(
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
            On whole labelings (`crfkit.constraints`); default: those of the model.
        allowed : array of bool [P, L], optional
            Which labels each position may have, by id; default: all.
        infeasible : {"raise", "free"}
            Where no labeling keeps them: raise an error, or answer freely ("none" in ``how``).
        threads : int, optional

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.constraints import AtMost
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model._decode([[["the"], ["dog"]], [["dog"]]], [AtMost("N", 0)]).counts()
        {'DP': 2}
        """
        if self.states is not None:
            raise ValueError(
                "constraints on whole labelings are not for hidden states: a labeling is a sum over many "
                "paths of states"
            )
        from crfkit.inference.constrained.decoding import Answers, constrained_paths
        from crfkit.inference.constrained.resolve import rules_of

        batch = self.batch_of(X, threads=threads)
        rules = self.rules if constraints is None else rules_of(constraints, self.structure)

        def ask(_: Batch, scores: Any) -> Answers:
            return constrained_paths(scores, rules, infeasible=infeasible, threads=threads)

        parts = self.parts(batch, allowed=allowed, threads=threads) if len(batch.seq_ptr) > 1 else ()
        found = [answer for _, answer in asked(parts, ask)]
        return Answers.joined(found or [ask(batch, self.potentials(batch, threads=threads))])

    @property
    def rules(self) -> Rules:
        """What the constraints of the model mean for its labels."""
        from crfkit.inference.constrained.resolve import rules_of

        return self._once("rules", lambda: rules_of(self.constraints, self.structure))

    def predict(
        self,
        X: Any,
        *,
        given: Any = None,
        method: Decoding = None,
        constraints: Iterable[GlobalConstraint] | None = None,
        infeasible: Literal["raise", "free"] = "raise",
        threads: int | None = None,
    ) -> PerSequence[list[str]]:
        """Return the best labels of each sequence; of segments as tags, where it was trained on tags.

        Parameters
        ----------
        X : Columns, rows, items, Dataset, Batch or documents
            As in `dataset`; of documents of raw text come documents with the spans that are found.
        given : list of lists, optional
            Labels that are known, None where one is asked for, a set where it is one of several: the others
            are the best ones with these.
        method : {"viterbi", "posterior"}, optional
            The best labeling, or the most probable label of each position; of hidden states, the labels of
            the best path of states, or the label whose states have the highest sum of probabilities.
            Default: the `decision` of the model; where it has none, the latter of hidden states, else the
            best labeling.
        constraints : list of constraints, optional
            On whole labelings (`crfkit.constraints`), such as ``AtMostOnce()``; default: those of the model.
        infeasible : {"raise", "free"}
            Where no labeling keeps the constraints: raise an error that names the sequence, or take the free
            answer and warn.
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model.predict([[["the"], ["dog"]]]), model.predict([[["the"], ["dog"]]], given=[["N", None]])
        ([['D', 'N']], [['N', 'N']])
        """
        if are_docs(X):
            from crfkit.models.documents import labeled_docs

            found: Any = labeled_docs(cast("Any", self), X, given, method, constraints, infeasible, threads)
            return cast("PerSequence[list[str]]", found)
        if given is None and method is None and constraints is None:
            from crfkit.models.decoding import labels_of_each

            each = labels_of_each(cast("SequenceModel", self), X, threads)
            if each is not None:
                return PerSequence(each)
        batch, allowed = self.batch_given(X, given, threads)
        path = self._path(
            batch,
            method=method,
            allowed=allowed,
            constraints=constraints,
            infeasible=infeasible,
            threads=threads,
        )
        tags = self.spelling.tags(path)
        return PerSequence(map(self.said, tags) if cast("SequenceModel", self).numbers else tags)

    def segments_in(self, path: Path) -> list[Segments]:
        """Return the segments of labels that the model gave, as (start, end, label).

        Where labels spell segments, as ``B-PER`` does, those of a type, without what lies outside, labeled
        O; of plain labels, runs of equal labels, O among them.
        """
        if path.begin is None:
            return [self.segments_spelled(labels) for labels in self.spelling.tags(path)]
        names = np.array(self.structure.labels, dtype=object)[path.label].tolist()
        begin = path.begin.tolist()
        return [segments_of(names[a:b], begin[a:b]) for a, b in pairwise(path.seq_ptr.tolist())]

    def segments_spelled(self, labels: Sequence[str]) -> Segments:
        """Return the segments that labels of a chain spell, or their runs; see `segments_in`."""
        if self.tags is None:
            return runs_of(labels)
        return spans([self.tags.get(label, label) for label in labels])

    @property
    def tags(self) -> dict[str, str] | None:
        """The tag, such as B-PER, that each label of a chain stands for; None where labels are plain."""
        if self.label_scheme is not None:
            parsed = [self.label_scheme.parse(name) for name in self.answers]
            tags = [OUTSIDE if kind is None else f"{part}-{kind}" for part, kind in parsed]
            return dict(zip(self.answers, tags, strict=True))
        return {name: name for name in self.answers} if follow_scheme(self.answers) else None

    def judge(self, metric: Metric | str = "auto") -> Metric:
        """Return a metric by its name; "auto": the F1 of entities where labels spell them, else accuracy.

        The labels of this model decide (`crfkit.metrics.default_metric`), so that all its test sets are
        judged alike.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["in"], ["York"]]] * 9, [["O", "B-LOC"]] * 9))
        >>> model.judge().name, model.score([[["in"], ["York"]]], [["O", "B-LOC"]])
        ('span_f1', 1.0)
        """
        if callable(metric):
            return metric
        if not isinstance(metric, str):
            raise TypeError(
                f"metric is {metric!r}, expected a name, 'auto' or a function of gold and predicted labels"
            )
        from crfkit.metrics import default_metric

        if metric == default_metric.AUTO:
            spells = self.segmental or self.label_scheme is not None
            metric = default_metric.metric_for(self.spelling.alphabet.strings(), segments=spells)
        return default_metric.named_for(metric, self.label_scheme)

    @property
    def label_scheme(self) -> Scheme | None:
        """The constraint that says how labels spell segments, where the structure has one."""
        return next((one for one in self.structure.constraints if isinstance(one, Scheme)), None)

    def _compared(
        self,
        X: Any,
        y: Any = None,
        metric: Metric | str = "auto",
        *,
        path: Path | None = None,
        threads: int | None = None,
    ) -> Columns:
        """Return gold labels and predicted ones, or those of a path, and the metric that judges them.

        Gold labels that the model does not know count as errors, with a `crfkit.errors.DataWarning`; where
        it knows none of them, a ValueError says so.
        """
        from crfkit.metrics.comparison import Columns, log_prob, name_of
        from crfkit.metrics.default_metric import LOG_PROB, scheme_of_rows

        data = X if isinstance(X, Dataset) and y is None else self.dataset(X, y, threads=threads)
        judge = spelled = self.judge("auto" if metric == LOG_PROB else metric)
        gold, found = self.labels_for(spelled, data, path=path, threads=threads)
        self.check_known(gold, spelled)
        if metric == LOG_PROB:
            judge = log_prob(cast("Any", self).log_prob(data, threads=threads), np.diff(data.batch.seq_ptr))
        known = self.spelling_for(spelled).alphabet.strings()
        scheme = scheme_of_rows(name_of(spelled), known, self.label_scheme)
        return Columns.of(gold, found, judge, scheme=scheme)

    def check_known(self, gold: list[list[str]], metric: Metric | str | None = None, **told: str) -> None:
        """Look for gold labels that the model lacks, spelled as for a metric (see `check_known`)."""
        from crfkit.metrics.default_metric import check_known

        known = self.spelling_for(metric).alphabet.strings()
        check_known(gold, known, scheme=self.label_scheme, **told)

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
        found = self._path(data, threads=threads) if path is None else path
        return gold_labels(data, spelling.scheme), spelling.tags(found)


def gold_labels(data: Dataset, scheme: str | None = None) -> list[list[str]]:
    """Return the gold labels as strings, those of segments by a scheme; each position must have one."""
    label = data.batch.label
    if label is None:
        raise ValueError("the data have no labels; give labeled data")
    if (label < 0).any():
        p = int(np.argmax(label < 0))
        n = int(np.searchsorted(data.batch.seq_ptr, p, side="right")) - 1
        raise ValueError(f"sequence {n}, position {p - int(data.batch.seq_ptr[n])} has no label")
    if scheme is not None and data.batch.begin is None:
        data = as_segments(data)
    path = Path(data.batch.seq_ptr, np.asarray(data.batch.label), data.batch.begin)
    return Spelling(tuple(data.labels.strings()), scheme).tags(path)
