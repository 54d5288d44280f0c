"""Precision, recall and F1 out of three counts, and their averages.

Nothing divided by nothing is 0, as in conlleval and seqeval. Averages run over the labels or types that
occur in the truth or in the prediction, as in scikit-learn; ``weighted`` weighs them by the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import shown

#: Of tables of scores.
COLUMNS: Final = ("precision", "recall", "f1", "support")
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
        """Which part of what was found is correct."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Which part of what is true was found."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.found + self.support) if self.found + self.support else 0.0

    @property
    def cells(self) -> tuple[float, ...]:
        """What a row of a table has of it, by `COLUMNS`."""
        return self.precision, self.recall, self.f1, self.support

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return {**dict(zip(COLUMNS, self.cells, strict=True)), "correct": self.correct, "found": self.found}

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

    @property
    def cells(self) -> tuple[float | None, ...]:
        """What a row of a table has of it, by `COLUMNS`."""
        return self.precision, self.recall, self.f1, None

    def to_dict(self) -> dict[str, float]:
        """Return plain data."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


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


def table(
    rows: Mapping[Any, Score | Average],
    more: Sequence[str] = (),
    cells: Mapping[Any, Sequence[float]] | None = None,
) -> list[str]:
    r"""Return the lines of a table of scores by name, with further columns where they are given.

    Examples
    --------
    >>> print(*table({"N": Score(1, 2, 3), "macro": Average(0.5, 0.25, 0.3)}), sep="\n")
           precision  recall      f1  support
    N         0.5000  0.3333  0.4000        3
    macro     0.5000  0.2500  0.3000
    """
    made: list[tuple[str, list[str]]] = [("", [*COLUMNS, *more])]
    for name, row in rows.items():
        further = () if cells is None else cells[name]
        made.append((shown(name), [_spelled(cell) for cell in (*row.cells, *further)]))
    first = max(len(name) for name, _ in made)
    widths = [max(6, len(column)) for column in made[0][1]]
    return [
        f"{name:{first}}  {'  '.join(f'{cell:>{w}}' for cell, w in zip(line, widths, strict=True))}".rstrip()
        for name, line in made
    ]


def _spelled(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)
