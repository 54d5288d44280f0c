"""Gold labels beside predicted ones, and the metric that judges them: what scores and reports are made of.

Estimators and models of all kinds say which labels to compare; here is what becomes of them. A metric is
counts that add up over sequences, so that groups and weighted sequences cost no second look at a label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Floats, pointers, weights_of
from crfkit.metrics.counts import Average, Score, averages
from crfkit.metrics.encoding import Encoded, Ints, group
from crfkit.metrics.mistakes import Labels
from crfkit.metrics.registry import Metric, of_spans, share
from crfkit.metrics.report import GroupScore, Report
from crfkit.metrics.spanwise import span_counts
from crfkit.metrics.tokenwise import Confusion, confusion_of, token_counts
from crfkit.tags.reading import LabelScheme

#: A function of gold and predicted labels, or a metric by its counts; more is better.
Judge: TypeAlias = "Metric | Callable[[list[list[str]], list[list[str]]], float]"


class Judging(Protocol):
    """What scores N sequences."""

    def by_group(self, groups: Ints, G: int) -> Floats:
        """Return the score of each group [G] of sequences, given the group of each [N]."""

    def weighted(self, weight: Floats) -> float:
        """Return the score where sequence n counts weight[n] times."""


@dataclass(frozen=True)
class Counted:
    """A metric of counts, added up over columns."""

    metric: Metric
    columns: tuple[Encoded, ...]

    def by_group(self, groups: Ints, G: int) -> Floats:
        """Return the score of each group, [G]."""
        return self.metric.value(self._counts(groups, G))

    def weighted(self, weight: Floats) -> float:
        """Return the score where sequence n counts weight[n] times."""
        N = len(weight)
        counts = np.tensordot(weight, self._counts(np.arange(N), N), axes=1)
        return float(self.metric.value(counts[None])[0])

    def _counts(self, groups: Ints, G: int) -> NDArray[Any]:
        each = [self.metric.count(column, groups, G) for column in self.columns]
        made: NDArray[Any] = sum(each[1:], start=each[0])
        return made


@dataclass(frozen=True)
class ByFunction:
    """A function of some of the sequences, by their numbers."""

    function: Callable[[Ints], float]

    def by_group(self, groups: Ints, G: int) -> Floats:
        """Return the score of each group, [G]."""
        return np.array([float(self.function(np.flatnonzero(groups == g))) for g in range(G)])

    def weighted(self, weight: Floats) -> float:
        """Refuse: a function does not say how sequences add up."""
        raise ValueError("sample_weight: the metric is a function of labels, which cannot be weighted")


@dataclass(frozen=True)
class Mean:
    """The mean of scores of columns."""

    each: tuple[Judging, ...]

    def by_group(self, groups: Ints, G: int) -> Floats:
        """Return the score of each group, [G]."""
        made: Floats = np.mean([one.by_group(groups, G) for one in self.each], axis=0)
        return made

    def weighted(self, weight: Floats) -> float:
        """Return the score where sequence n counts weight[n] times."""
        return float(np.mean([one.weighted(weight) for one in self.each]))


def log_prob(found: Floats, labels: Ints) -> Metric:
    """Return the metric of log probabilities [N] of sequences, which have `labels` [N]: the mean by label."""
    return Metric("log_prob", partial(_sums, found, labels), share)


def _sums(found: Floats, labels: Ints, _: Encoded, groups: Ints, G: int) -> NDArray[Any]:
    return np.stack([np.bincount(groups, each, minlength=G) for each in (found, labels)], -1)


class Compared(ABC):
    """Gold and predicted labels of N sequences, and what judges them."""

    metric: str  #: its name
    judging: Judging
    unit: str  #: what N counts

    @property
    @abstractmethod
    def N(self) -> int:  # noqa: N802
        """Number of sequences."""

    def score(self, sample_weight: ArrayLike | None = None) -> float:
        """Return the score; where weights [N] are given, sequence n counts sample_weight[n] times."""
        weight = weights_of(sample_weight, self.N)
        if weight is not None:
            return self.judging.weighted(weight)
        return float(self.judging.by_group(np.zeros(self.N, np.int64), 1)[0])

    @abstractmethod
    def report(self, groups: Sequence[Hashable] | None = None) -> Report:
        """Return the score and what it is made of, also for each group of sequences."""

    @abstractmethod
    def counts(self, groups: Ints, G: int) -> tuple[tuple[str, ...], Ints, Ints]:
        """Return the names of rows [K], and of each group their counts [G, 3, K]; [G, 2] labels."""

    def _grouped(self, groups: Sequence[Hashable] | None) -> dict[Hashable, GroupScore]:
        names, codes = group(groups, self.N, "groups")
        G = len(names)
        if not G:
            return {}
        _, counts, right = self.counts(codes, G)
        size = np.bincount(codes, minlength=G).tolist()
        scores, accuracy = self.judging.by_group(codes, G).tolist(), share(right).tolist()
        return {
            name: GroupScore(scores[g], accuracy[g], size[g], Score(*counts[g].sum(-1).tolist()))
            for g, name in enumerate(names)
        }

    def _told(self) -> dict[str, Any]:
        """Return what reports have of all sequences together."""
        names, counts, right = self.counts(np.zeros(self.N, np.int64), 1)
        macro, weighted = (averages(counts[0], weighted=heavy).tolist() for heavy in (False, True))
        correct, labels = right[0].tolist()
        return {
            "metric": self.metric,
            "score": self.score(),
            "accuracy": correct / labels if labels else 0.0,
            "n": self.N,
            "labels": labels,
            "rows": {
                name: Score(*counts[0, :, k].tolist())
                for k, name in enumerate(names)
                if counts[0, :, k].any()
            },
            "micro": Score(*counts[0].sum(-1).tolist()),
            "macro": Average(*macro),
            "weighted": Average(*weighted),
            "unit": self.unit,
        }


@dataclass(frozen=True, eq=False)
class Columns(Compared):
    """Two columns of labels, gold and predicted.

    Examples
    --------
    >>> from crfkit.metrics import METRICS
    >>> made = Columns.of([["N", None], ["V"]], [["N", "V"], ["N"]], METRICS["accuracy"])
    >>> made.score(), made.score(np.array([3.0, 1.0])), made.report().errors()[0].gold
    (0.5, 0.75, ['V'])
    """

    encoded: Encoded  #: what is known, of which metrics are
    gold: Ints  #: [P] -1 where unknown
    predicted: Ints  #: [P]
    seq_ptr: Ints  #: [N + 1] of all positions
    metric: str
    judging: Judging
    scheme: LabelScheme | None  #: of the spans that rows are of; None: of labels
    unit: str = "sequence"

    @classmethod
    def of(
        cls, gold: Iterable[Sequence[str | None]], found: Iterable[Sequence[str]], metric: Judge, **more: Any
    ) -> Columns:
        """Return labels to compare.

        Parameters
        ----------
        gold, found
            The labels of each sequence, of the same lengths; None where the gold is not known.
        metric : Metric or function
        **more
            As in `of_ids`.
        """
        gold, found = [*gold], [*found]
        flat: list[list[str | None]] = [[*chain.from_iterable(each)] for each in (gold, found)]
        names = sorted({name for each in flat for name in each if name is not None})
        number: dict[str | None, int] = {name: id for id, name in enumerate(names)} | {None: -1}
        true, pred = (np.fromiter(map(number.__getitem__, each), np.int64) for each in flat)
        return cls.of_ids(names, true, pred, pointers([len(each) for each in gold]), metric, **more)

    @classmethod
    def of_ids(
        cls,
        names: Iterable[str],
        gold: NDArray[np.integer[Any]],
        predicted: NDArray[np.integer[Any]],
        seq_ptr: Ints,
        metric: Judge,
        *,
        scheme: LabelScheme | None = None,
        source: str = "y",
        unit: str = "sequence",
        absent: int = 0,
    ) -> Columns:
        """Return labels to compare.

        Parameters
        ----------
        names
            Names of the ids.
        gold, predicted : [P]
            -1 where the gold is not known.
        seq_ptr : [N + 1]
        metric : Metric or function
        scheme : str or Scheme, optional
            How labels spell the spans that reports have rows of; default: rows are of labels.
        source, unit : str
            What messages call the gold, and what is counted.
        absent : int
            1 where the last name says that there is no label: tables have no row of it.
        """
        true, pred = gold.astype(np.int64), predicted.astype(np.int64)
        encoded = Encoded(tuple(names), (true, pred), seq_ptr, absent)
        known = true >= 0
        if not known.all():
            if not isinstance(metric, Metric) or of_spans(metric.name):
                n = int(np.searchsorted(seq_ptr, int(np.argmin(known)), side="right")) - 1
                raise ValueError(
                    f"{source}: {unit} {n} has positions without a label, which the metric "
                    f'{name_of(metric)} needs; leave them out, or give metric="accuracy"'
                )
            scheme = None
            count = np.bincount(encoded.sequence[known], minlength=encoded.N)
            encoded = replace(encoded, columns=(true[known], pred[known]), seq_ptr=pointers(count))
        if isinstance(metric, Metric):
            judging: Judging = Counted(metric, (encoded,))
        else:
            judging = ByFunction(partial(_asked, metric, encoded))
        return cls(encoded, true, pred, seq_ptr, name_of(metric), judging, scheme, unit)

    @property
    def N(self) -> int:  # noqa: N802
        """Number of sequences."""
        return len(self.seq_ptr) - 1

    def counts(self, groups: Ints, G: int) -> tuple[tuple[str, ...], Ints, Ints]:
        """Return the names of rows, and of each group their counts, and how many labels are right."""
        place = groups[self.encoded.sequence]  # [P]
        right = self.encoded.columns[0] == self.encoded.columns[1]  # [P]
        labels = [np.bincount(one, minlength=G) for one in (place[right], place)]
        if self.scheme is None:
            names, counts = self.encoded.names, token_counts(self.encoded, groups, G)
        else:
            names, counts = span_counts(self.encoded, self.scheme, groups, G)
        return names[: counts.shape[-1]], counts, np.stack(labels, -1)

    def report(self, groups: Sequence[Hashable] | None = None) -> Report:
        """Return the score and what it is made of, also for each group of sequences."""
        wrong = self.encoded.columns[0] != self.encoded.columns[1]  # [P]
        return Report(
            **self._told(),
            kind="labels" if self.scheme is None else "spans",
            confusion=confusion_of(self.encoded),
            wrong=np.bincount(self.encoded.sequence[wrong], minlength=self.N),
            labels_of=self.labels_of,
            groups=self._grouped(groups),
            scheme=self.scheme,
        )

    def labels_of(self, n: int) -> tuple[Labels, Labels]:
        """Return the gold and the predicted labels of a sequence."""
        names, here = [*self.encoded.names, None], slice(*self.seq_ptr[n : n + 2].tolist())
        gold, found = ([names[y] for y in each[here].tolist()] for each in (self.gold, self.predicted))
        return gold, found


@dataclass(frozen=True, eq=False)
class Joined(Compared):
    """Several columns of the same sequences: columns of labels, or kinds of variables."""

    parts: Mapping[str, Columns]
    metric: str
    judging: Judging
    unit: str = "sequence"

    @classmethod
    def of(cls, parts: Mapping[str, Columns], metric: str, judging: Judging) -> Compared:
        """Return columns that are judged together; one column is not joined with anything."""
        first = next(iter(parts.values()))
        if len(parts) == 1:
            return replace(first, metric=metric, judging=judging)
        return cls(parts, metric, judging, first.unit)

    @classmethod
    def mean(cls, parts: Mapping[str, Columns]) -> Compared:
        """Return columns whose score is the mean of theirs."""
        named = [*dict.fromkeys(one.metric for one in parts.values())]
        metric = named[0] if len(named) == 1 else f"mean of {', '.join(named)}"
        return cls.of(parts, metric, Mean(tuple(one.judging for one in parts.values())))

    @classmethod
    def pooled(cls, parts: Mapping[str, Columns], metric: Metric) -> Compared:
        """Return columns whose labels count alike."""
        return cls.of(parts, metric.name, Counted(metric, tuple(p.encoded for p in parts.values())))

    @classmethod
    def by_log_prob(cls, parts: Mapping[str, Columns], found: Floats) -> Compared:
        """Return columns judged by the log probabilities [N] of all their known labels: the mean by label."""
        each = [one.encoded for one in parts.values()]
        metric = log_prob(found, np.sum([np.diff(one.seq_ptr) for one in each], axis=0))
        return cls.of(parts, metric.name, Counted(metric, (each[0],)))

    @property
    def N(self) -> int:  # noqa: N802
        """Number of sequences."""
        return next(iter(self.parts.values())).N

    def counts(self, groups: Ints, G: int) -> tuple[tuple[str, ...], Ints, Ints]:
        """Return the names of rows, and of each group their counts, and how many labels are right."""
        each = {part: one.counts(groups, G) for part, one in self.parts.items()}
        names = tuple(_within(part, name) for part, (mine, _, _) in each.items() for name in mine)
        right: Ints = np.sum([one for _, _, one in each.values()], axis=0)
        return names, np.concatenate([one for _, one, _ in each.values()], axis=-1), right

    def report(self, groups: Sequence[Hashable] | None = None) -> Report:
        """Return the score and what it is made of, also for each group of sequences."""
        each = {part: one.report() for part, one in self.parts.items()}
        return Report(
            **self._told(),
            kind="parts",
            confusion=_side_by_side({part: one.confusion for part, one in each.items()}),
            wrong=np.sum([one.wrong for one in each.values()], axis=0),
            labels_of=self.labels_of,
            groups=self._grouped(groups),
            parts=each,
        )

    def labels_of(self, n: int) -> tuple[Labels, Labels]:
        """Return the gold and the predicted labels of a sequence, by part."""
        both = {part: one.labels_of(n) for part, one in self.parts.items()}
        gold: Any = {part: labels for part, (labels, _) in both.items()}
        found: Any = {part: labels for part, (_, labels) in both.items()}
        return gold, found


def name_of(metric: Any) -> str:
    """Return what a metric or a function is called.

    Examples
    --------
    >>> from crfkit.metrics import metric
    >>> name_of(metric("span_f1")), name_of(max)
    ('span_f1', 'max')
    """
    return str(getattr(metric, "name", "") or getattr(metric, "__name__", "") or type(metric).__name__)


def _asked(function: Any, labels: Encoded, which: Ints) -> float:
    """Return what a function says of some of the sequences."""
    names, ptr = np.array([*labels.names, None], dtype=object), labels.seq_ptr.tolist()
    gold, found = (names[column].tolist() for column in labels.columns)
    pairs = [(ptr[n], ptr[n + 1]) for n in which.tolist()]
    return float(function([gold[a:b] for a, b in pairs], [found[a:b] for a, b in pairs]))


def _within(part: str, name: str) -> str:
    return f"{part} {name}"


def _side_by_side(parts: Mapping[str, Confusion]) -> Confusion:
    """Return one table of labels of several parts, which are never taken for each other."""
    names = tuple(_within(part, name) for part, one in parts.items() for name in one.labels)
    matrix, first = np.zeros((len(names), len(names)), np.int64), 0
    for one in parts.values():
        here = slice(first, first + len(one.labels))
        matrix[here, here] = one.matrix
        first = here.stop
    return Confusion(names, matrix)
