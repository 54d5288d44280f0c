"""Metrics by name: one number out of two labelings.

A metric is a sum of counts over sequences and a value of that sum. So it can be had for all sequences, for
each group of them, and for a thousand bootstrap samples (significance.py) without reading a label twice.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.metrics.counts import Floats, averages, precision_recall_f1, ratio
from crfkit.metrics.encoding import Encoded, Ints, LabelSequences, encode, group
from crfkit.metrics.spanwise import span_counts
from crfkit.metrics.tokenwise import token_counts, whole_sequences
from crfkit.tags.reading import LabelScheme

Count: TypeAlias = Callable[[Encoded, Ints, int], NDArray[Any]]
Value: TypeAlias = Callable[[NDArray[Any]], Floats]


@dataclass(frozen=True)
class Metric:
    """A metric of labelings, from 0 to 1; call it with ``y_true`` and ``y_pred``.

    Examples
    --------
    >>> f1 = METRICS["span_f1"]
    >>> y_true, y_pred = [["B-A", "O"], ["B-A"]], [["B-A", "O"], ["O"]]
    >>> round(f1(y_true, y_pred), 3)
    0.667
    >>> f1.by_group(y_true, y_pred, ["page 1", "page 2"])
    {'page 1': 1.0, 'page 2': 0.0}
    """

    name: str
    count: Count  #: (encoded, group of each sequence [N], G) to counts [G, ...] that add up over sequences
    value: Value  #: counts [G, ...] to values [G]

    def __call__(
        self,
        y_true: LabelSequences,
        y_pred: LabelSequences,
        *,
        labels: Sequence[str] | None = None,
        seq_ptr: NDArray[Any] | None = None,
    ) -> float:
        """Return the metric; ``labels`` and ``seq_ptr`` come with flat arrays of ids."""
        encoded = encode({"y_true": y_true, "y_pred": y_pred}, labels, seq_ptr)
        return float(self.value(self.count(encoded, np.zeros(encoded.N, np.int64), 1))[0])

    def by_group(
        self,
        y_true: LabelSequences,
        y_pred: LabelSequences,
        by: Sequence[Hashable],
        *,
        labels: Sequence[str] | None = None,
        seq_ptr: NDArray[Any] | None = None,
    ) -> dict[Hashable, float]:
        """Return the metric for each group of sequences, such as a document or a field."""
        encoded = encode({"y_true": y_true, "y_pred": y_pred}, labels, seq_ptr)
        names, groups = group(by, encoded.N)
        values = self.value(self.count(encoded, groups, len(names))).tolist()
        return dict(zip(names, values, strict=True))


@dataclass(frozen=True)
class Scorer:
    """A metric as scikit-learn calls it, for cross-validation and grid search; it can be pickled."""

    metric: Metric

    def __call__(self, estimator: Any, X: Any, y: LabelSequences) -> float:
        """Return the metric of ``estimator.predict(X)``."""
        return self.metric(y, estimator.predict(X))


def of_spans(name: str) -> bool:
    """Return whether a metric of this name counts spans, and not labels."""
    return name.startswith("span_")


def metric(name: str, *, scheme: LabelScheme = "lenient") -> Metric:
    """Return a metric of `METRICS` by its name; span metrics with a scheme of your choice.

    Examples
    --------
    >>> metric("span_f1")([["B-A"]], [["I-A"]]), metric("span_f1", scheme="BIO")([["B-A"]], [["I-A"]])
    (1.0, 0.0)
    """
    if name not in METRICS:
        close = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"metric {name!r} is not known; expected one of {', '.join(METRICS)}{hint}")
    if of_spans(name):
        return _spans(name, scheme)
    if scheme != "lenient":
        raise ValueError(f"metric {name!r} has no scheme; only span metrics have one")
    return METRICS[name]


def scorer(name: str | Metric, *, scheme: LabelScheme = "lenient") -> Scorer:
    """Return a metric as a scikit-learn scorer: ``cross_val_score(..., scoring=scorer("span_f1"))``.

    Examples
    --------
    >>> class Constant:
    ...     def predict(self, X):
    ...         return [["O"] * len(x) for x in X]
    >>> scorer("accuracy")(Constant(), [[{}, {}]], [["O", "B-A"]])
    0.5
    """
    return Scorer(name if isinstance(name, Metric) else metric(name, scheme=scheme))


# Module-level functions and partial: metrics travel to the workers of a grid search.


def _one_of(which: int, counts: NDArray[Any]) -> Floats:
    made: Floats = precision_recall_f1(counts)[..., which, 0]
    return made


def _averaged(which: int, weighted: bool, counts: NDArray[Any]) -> Floats:
    made: Floats = averages(counts, weighted=weighted)[..., which]
    return made


def share(counts: NDArray[Any]) -> Floats:
    """Return the first of two counts divided by the second: [..., 2] to [...]."""
    return ratio(counts[..., 0], counts[..., 1])


def _count_tokens(encoded: Encoded, groups: Ints, G: int) -> Ints:
    place = groups[encoded.sequence]  # [P]
    right = encoded.columns[0] == encoded.columns[1]  # [P]
    return np.stack([np.bincount(place[right], minlength=G), np.bincount(place, minlength=G)], -1)


def _count_sequences(encoded: Encoded, groups: Ints, G: int) -> Ints:
    right = whole_sequences(encoded)  # [N]
    return np.stack([np.bincount(groups[right], minlength=G), np.bincount(groups, minlength=G)], -1)


def _count_spans(scheme: LabelScheme, encoded: Encoded, groups: Ints, G: int) -> Ints:
    return span_counts(encoded, scheme, groups, G)[1]


def _count_all_spans(scheme: LabelScheme, encoded: Encoded, groups: Ints, G: int) -> Ints:
    made: Ints = _count_spans(scheme, encoded, groups, G).sum(-1, keepdims=True)
    return made


_PARTS: Final = {"precision": 0, "recall": 1, "f1": 2}


def _spans(name: str, scheme: LabelScheme) -> Metric:
    _, part, *average = name.split("_")
    if average:
        value = partial(_averaged, _PARTS[part], average == ["weighted"])
        return Metric(name, partial(_count_spans, scheme), value)
    return Metric(name, partial(_count_all_spans, scheme), partial(_one_of, _PARTS[part]))


def _tokens(name: str) -> Metric:
    part, average = name.split("_")
    return Metric(name, token_counts, partial(_averaged, _PARTS[part], average == "weighted"))


_AVERAGES: Final = [f"{part}_{kind}" for part in _PARTS for kind in ("macro", "weighted")]
_LISTED: Final = [
    Metric("accuracy", _count_tokens, share),
    Metric("sequence_accuracy", _count_sequences, share),
    *(_spans(f"span_{part}", "lenient") for part in (*_PARTS, *_AVERAGES)),
    *(_tokens(part) for part in _AVERAGES),
]
#: Metrics by name; `metric` also takes a scheme.
METRICS: Final[dict[str, Metric]] = {one.name: one for one in _LISTED}
