"""A report on labels that are there already, whoever predicted them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit.metrics.encoding import LabelSequences, encode

if TYPE_CHECKING:
    from crfkit.metrics.report import Report

__all__ = ["classification_report"]


def classification_report(y_true: LabelSequences, y_pred: LabelSequences, *, metric: str = "auto") -> Report:
    """Return how good predicted labels are: what `evaluate` of a model says of its own.

    Parameters
    ----------
    y_true, y_pred : list of list of str
        Gold and predicted labels of each sequence.
    metric : str
        A name of `METRICS`; "auto": the F1 of spans where the gold labels spell spans, else accuracy.

    Examples
    --------
    >>> report = classification_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> report.metric, round(report.score, 3), report.rows["LOC"].recall
    ('span_f1', 0.667, 0.0)
    """
    from crfkit.metrics.comparison import Columns
    from crfkit.metrics.default_metric import judge_for, metric_for, scheme_of_rows

    encoded = encode({"y_true": y_true, "y_pred": y_pred}, None, None)
    gold, predicted = encoded.columns
    labels = [encoded.names[y] for y in sorted({*gold.tolist()})]
    judge = judge_for(metric, metric_for(labels))
    scheme = scheme_of_rows(judge.name, labels)
    made = Columns.of_ids(
        encoded.names, gold, predicted, encoded.seq_ptr, judge, scheme=scheme, source="y_true"
    )
    return made.report()
