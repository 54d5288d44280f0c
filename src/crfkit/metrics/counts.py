"""Precision, recall and F1 out of three counts, and their averages.

Nothing divided by nothing is 0, as in conlleval and seqeval. Averages run over the labels or types that
occur in the truth or in the prediction, as in scikit-learn; ``weighted`` weighs them by the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Average", "Floats", "Score", "averages", "precision_recall_f1", "ratio"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """How one label, one type or all together were found.

    Examples
    --------
    >>> Score(correct=1, found=2, support=3)
    Score(correct=1, found=2, support=3, precision=0.500, recall=0.333, f1=0.400)
    """

    correct: int  #: in truth and prediction
    found: int  #: in the prediction
    support: int  #: in the truth

    @property
    def precision(self) -> float:
        """Of what was found, the part that is correct."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Of what is true, the part that was found."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.found + self.support) if self.found + self.support else 0.0

    def __repr__(self) -> str:
        return (
            f"Score(correct={self.correct}, found={self.found}, support={self.support}, "
            f"precision={self.precision:.3f}, recall={self.recall:.3f}, f1={self.f1:.3f})"
        )


@dataclass(frozen=True)
class Average:
    """Precision, recall and F1, each averaged by itself.

    Examples
    --------
    >>> Average(0.5, 0.25, 0.3).f1
    0.3
    """

    precision: float
    recall: float
    f1: float


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Divide; 0 where there is nothing to divide by."""
    made: Floats = np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) != 0)
    return made


def precision_recall_f1(counts: NDArray[Any]) -> Floats:
    """Return three numbers from correct, found and true ones, along the last axis but one: [..., 3, K]."""
    correct, found, gold = np.moveaxis(counts, -2, 0)
    return np.stack([ratio(correct, found), ratio(correct, gold), ratio(2 * correct, found + gold)], -2)


def averages(counts: NDArray[Any], *, weighted: bool) -> Floats:
    """Return averages of precision, recall and F1 over K labels: [..., 3, K] counts give [..., 3].

    Examples
    --------
    >>> averages(np.array([[1, 0], [2, 1], [1, 0]]), weighted=False).tolist()
    [0.25, 0.5, 0.3333333333333333]
    """
    gold, found = counts[..., 2, :], counts[..., 1, :]
    weight = gold if weighted else (gold + found > 0)  # [..., K]
    total = (precision_recall_f1(counts) * weight[..., None, :]).sum(-1)  # [..., 3]
    return ratio(total, np.broadcast_to(weight.sum(-1)[..., None], total.shape))
