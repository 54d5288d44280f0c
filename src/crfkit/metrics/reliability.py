"""Calibration: whether labels with a probability of 0.8 turn out right 8 times in 10.

Expected calibration error: sum over bins of n_b / n |accuracy_b - confidence_b| (Naeini et al. 2015, Guo et
al. 2017); Brier score: mean of (p - right)². The error depends on the bins, the Brier score does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from crfkit.metrics.counts import Floats
from crfkit.metrics.encoding import Ints


@dataclass(frozen=True, eq=False)
class Calibration:
    """What `calibration` returns: a reliability diagram with B bins, and numbers that sum it up."""

    edges: Floats  #: [B + 1] bin b holds edges[b] < p <= edges[b + 1]; the first also its left edge
    count: Ints  #: [B]
    confidence: Floats  #: [B] mean probability; nan in an empty bin
    accuracy: Floats  #: [B] part that is right; nan in an empty bin
    expected_error: float  #: mean over all probabilities of ``|accuracy - confidence|`` of their bin
    maximum_error: float  #: largest ``|accuracy - confidence|`` of a bin
    brier: float  #: mean squared difference of probability and outcome

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, bins: int = 10) -> Calibration:
        """Return whether the most probable labels of an estimator or a model come true in labeled data."""
        return calibration(estimator.predict_proba(X).to_dicts(), y, bins)

    def __str__(self) -> str:
        """Return a table: a row for each bin that is not empty."""
        lines = ["   from     to  claimed   right       n"]
        rows = zip(self.edges, self.edges[1:], self.confidence, self.accuracy, self.count, strict=False)
        lines += [f"{a:7.2f}{b:7.2f}{p:9.4f}{right:8.4f}{n:8,}" for a, b, p, right, n in rows if n]
        lines.append(f"expected error {self.expected_error:.4f}, Brier score {self.brier:.4f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from crfkit.metrics.pictures import calibration_picture
        from crfkit.view import cell

        return cell(calibration_picture({"labels": self}), plain=str(self))


def calibration(
    probabilities: ArrayLike | Iterable[Any],
    correct: ArrayLike | Iterable[Any],
    bins: int = 10,
    *,
    spacing: Literal["width", "count"] = "width",
    labels: Sequence[str] | None = None,
) -> Calibration:
    """Compare probabilities with how often they come true.

    Parameters
    ----------
    probabilities
        An array of any shape: marginals of the predicted labels, [P], or of all labels, [P, L]. Or the
        dicts of ``crf.predict_proba(X).to_dicts()``, of which each stands for its most probable label.
    correct
        An array of that shape: whether the label is the true one. With marginals of `ChainCRF`: the true
        labels, as lists of lists; positions where they are None are left out.
    bins
        Number of bins.
    spacing
        Bins of equal ``"width"``, or with equal ``"count"`` (quantiles; fewer bins if many are equal).
    labels
        The labels of the columns where marginals are arrays: the ``classes_`` of the estimator.

    Examples
    --------
    >>> made = calibration([0.9, 0.9, 0.8, 0.2], [True, True, False, False], bins=2)
    >>> made.count.tolist(), made.accuracy.round(2).tolist()
    ([1, 3], [0.0, 0.67])
    >>> round(made.expected_error, 3), round(made.brier, 3)
    (0.2, 0.175)
    >>> print(made)
       from     to  claimed   right       n
       0.00   0.50   0.2000  0.0000       1
       0.50   1.00   0.8667  0.6667       3
    expected error 0.2000, Brier score 0.1750
    >>> marginals = [[{"N": 0.9, "V": 0.1}, {"N": 0.4, "V": 0.6}]]
    >>> calibration(marginals, [["N", "N"]]).count[5:].tolist()
    [1, 0, 0, 1, 0]
    """
    if labels is not None or _first(probabilities, Mapping):
        probabilities, correct = _of_best(probabilities, correct, labels)
    elif _first(probabilities, str):
        raise TypeError("probabilities is lists of labels: give calibration(marginals, y), in this order")
    p = np.asarray(probabilities, np.float64)
    right = np.asarray(correct)
    if p.shape != right.shape:
        raise ValueError(f"probabilities has shape {p.shape} and correct {right.shape}, expected the same")
    if right.dtype != np.bool_ and not np.isin(right, (0, 1)).all():
        raise ValueError("correct must be true or false (or 1 or 0) for each probability")
    if p.size == 0:
        raise ValueError("probabilities is empty, expected at least one")
    if bins < 1:
        raise ValueError(f"bins is {bins}, expected 1 or more")
    p, right = p.ravel(), right.ravel().astype(np.float64)
    slack = 1e-6  # marginals are sums of rounded numbers
    if not ((p >= -slack) & (p <= 1 + slack)).all():
        place = int(np.flatnonzero(~((p >= -slack) & (p <= 1 + slack)))[0])
        raise ValueError(f"probabilities has {p[place]} at place {place}, expected numbers from 0 to 1")
    p = p.clip(0, 1)
    edges = np.linspace(0, 1, bins + 1)  # [B + 1]
    if spacing == "count":
        edges = np.unique([0, *np.quantile(p, edges[1:-1]), 1])
    elif spacing != "width":
        raise ValueError(f"spacing is {spacing!r}, expected 'width' or 'count'")
    B = len(edges) - 1
    bin_of = (np.searchsorted(edges, p, side="left") - 1).clip(0)
    count = np.bincount(bin_of, minlength=B)  # [B]
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(bin_of, p, B) / count  # [B]
        accuracy = np.bincount(bin_of, right, B) / count  # [B]
    gap = np.where(count > 0, np.abs(accuracy - confidence), 0.0)  # [B]
    return Calibration(
        edges,
        count,
        confidence,
        accuracy,
        expected_error=float((gap * count).sum() / p.size),
        maximum_error=float(gap.max()),
        brier=float(np.mean((p - right) ** 2)),
    )


def _first(nested: Any, kind: type) -> bool:
    """Return whether the first position of lists of lists is of a type."""
    if not isinstance(nested, list | tuple):
        return False
    return any(isinstance(row[0], kind) for row in nested[:100] if isinstance(row, list | tuple) and row)


def _of_best(marginals: Any, y: Any, labels: Sequence[str] | None) -> tuple[list[float], list[bool]]:
    """Return the probability of the most probable label of each position, and whether it is the true one."""
    rows, truth = list(marginals), list(y)
    if len(rows) != len(truth):
        raise ValueError(f"there are marginals of {len(rows)} sequences and labels of {len(truth)}")
    p: list[float] = []
    right: list[bool] = []
    for n, (row, names) in enumerate(zip(rows, truth, strict=True)):
        if isinstance(names, str) or len(row) != len(names):
            raise ValueError(
                f"sequence {n}: there are marginals of {len(row)} positions and labels {names!r:.60}"
            )
        for shares, name in zip(row, names, strict=True):
            if name is None:
                continue
            if labels is not None:
                shares = dict(zip(labels, shares, strict=True))
            best = max(shares, key=shares.__getitem__)
            p.append(float(shares[best]))
            right.append(best == name)
    return p, right
