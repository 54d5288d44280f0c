"""Scores of label sequences, given as lists of lists; options go to scikit-learn's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crfkit.compat.sklearn_crfsuite.utils import flatten

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]

Labels = Sequence[Sequence[Any]]


def _by_sklearn(name: str, y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    try:
        from sklearn import metrics
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"flat_{name} is a metric of scikit-learn: pip install scikit-learn", name=error.name
        ) from error
    return getattr(metrics, name)(flatten(y_true), flatten(y_pred), **options)


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of items whose label is right.

    Examples
    --------
    >>> flat_accuracy_score([["x", "z", "y"], ["x"]], [["y", "z", "y"], ["x"]])
    0.75
    """
    gold, found = flatten(y_true), flatten(y_pred)
    if len(gold) != len(found):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(gold)}, {len(found)}]"
        )
    return sum(bool(a == b) for a, b in zip(gold, found, strict=True)) / len(gold) if gold else float("nan")


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the precision of items."""
    return _by_sklearn("precision_score", y_true, y_pred, **kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the recall of items."""
    return _by_sklearn("recall_score", y_true, y_pred, **kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the F1 score of items."""
    return _by_sklearn("f1_score", y_true, y_pred, **kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: Any) -> Any:
    """Return the F-beta score of items."""
    return _by_sklearn("fbeta_score", y_true, y_pred, beta=beta, **kwargs)


def flat_classification_report(y_true: Labels, y_pred: Labels, labels: Any = None, **kwargs: Any) -> Any:
    """Return scikit-learn's report on items."""
    return _by_sklearn("classification_report", y_true, y_pred, labels=labels, **kwargs)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of sequences that are right as a whole; 0 without any.

    Examples
    --------
    >>> sequence_accuracy_score([[1, 2], [3, 4]], [[1, 2], [3, 3]])
    0.5
    """
    if not len(y_true):
        return 0
    if len(y_true) != len(y_pred):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(y_true)}, {len(y_pred)}]"
        )
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / len(y_true)
