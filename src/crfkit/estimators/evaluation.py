"""How good an estimator's predictions are: `score` and `evaluate`, which all estimators share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from crfkit.estimators.base import Estimator
from crfkit.metrics.default_metric import AUTO

if TYPE_CHECKING:
    from crfkit.metrics.comparison import Compared
    from crfkit.metrics.report import Report


class Evaluated(Estimator):
    """An estimator whose predictions are compared with gold labels."""

    def _compared(self, X: Any, y: Any, metric: Any) -> Compared:
        """Return gold labels and predicted ones, and the metric that judges them."""
        raise NotImplementedError

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return how good the predictions are: the score of `evaluate`, by the metric of the estimator.

        "auto" is the F1 of spans where the labels of the model spell them (right are those with their type
        and both ends; O does not count), else the accuracy of labels; models, dev sets and ``crfkit
        evaluate`` have the same rule. Gold labels that the model does not know count as errors, with a
        `crfkit.errors.DataWarning`; where it knows none of them, a ValueError says so.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array [N], optional
            How often each sequence counts.
        """
        return self._compared(X, y, self._metric(None)).score(sample_weight)

    def evaluate(
        self, X: Any, y: Any = None, *, metric: Any = None, groups: Sequence[Hashable] | None = None
    ) -> Report:
        """Return how good the predictions are: a report to print, whose ``float`` is that of `score`.

        Parameters
        ----------
        X, y
            As in `fit`.
        metric : str or function, optional
            A name of `crfkit.metrics.METRICS`, or a function of gold and predicted labels, more is better.
            Default: that of the estimator.
        groups : sequence [N], optional
            The group of each sequence, such as its document: the report has a row for each.
        """
        return self._compared(X, y, self._metric(metric)).report(groups)

    def _metric(self, asked: Any) -> Any:
        return getattr(self, "metric", AUTO) if asked is None else asked
