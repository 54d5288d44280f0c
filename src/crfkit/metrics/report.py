"""What `evaluate` returns: a score, and what it is made of.

It prints as a table like that of scikit-learn's ``classification_report``, and is plain data for everything
else that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from crfkit._safe.frames import frame_of
from crfkit._safe.printable import counted, shown
from crfkit.metrics.counts import COLUMNS, Average, Score, table
from crfkit.metrics.encoding import Ints
from crfkit.metrics.tokenwise import Confusion

__all__ = ["GroupScore", "Mistake", "Report"]

#: Labels of one sequence, None where the gold is unknown; by part, where there are parts.
Labels: TypeAlias = "list[str | None] | dict[str, list[str | None]]"

_LISTED = 20  #: wrong labels of a sequence that are printed


@dataclass(frozen=True)
class GroupScore:
    """The scores of one group of sequences."""

    score: float  #: by the metric of the report
    accuracy: float
    n: int  #: sequences
    micro: Score  #: all spans or labels together

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"score": self.score, "accuracy": self.accuracy, "n": self.n, **self.micro.to_dict()}


@dataclass(frozen=True)
class Mistake:
    """A sequence with wrong labels; it prints those."""

    sequence: int  #: its number, from 1
    wrong: int  #: how many labels are wrong
    gold: Labels
    predicted: Labels
    unit: str = "sequence"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            self.unit: self.sequence,
            "wrong": self.wrong,
            "gold": self.gold,
            "predicted": self.predicted,
        }

    def __str__(self) -> str:
        gold, found = (one if isinstance(one, dict) else {"": one} for one in (self.gold, self.predicted))
        wrong = [
            f"  {part and shown(part) + ' '}{t}: {shown(y)}, predicted {shown(z)}"
            for part, labels in gold.items()
            for t, (y, z) in enumerate(zip(labels, found[part], strict=True), 1)
            if y is not None and y != z
        ]
        left = len(wrong) - _LISTED
        more = [f"  and {left} more"] if left > 0 else []
        known = sum(y is not None for labels in gold.values() for y in labels)
        head = f"{self.unit} {self.sequence}: {self.wrong} of {counted(known, 'label')} wrong"
        return "\n".join([head, *wrong[:_LISTED], *more])


@dataclass(frozen=True, eq=False)
class Report:
    """How good predictions are: `print` it; ``float(report)`` is the score.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> X = [[{"w": "New"}, {"w": "York"}, {"w": "is"}], [{"w": "York"}]]
    >>> crf = ChainCRF().fit(X, [["B-LOC", "I-LOC", "O"], ["B-LOC"]])
    >>> report = crf.evaluate(X, [["B-LOC", "I-LOC", "O"], ["O"]], groups=["a", "b"])
    >>> print(report)
              precision  recall      f1  support
    LOC          0.5000  1.0000  0.6667        1
    micro        0.5000  1.0000  0.6667        1
    macro        0.5000  1.0000  0.6667
    weighted     0.5000  1.0000  0.6667
    <BLANKLINE>
       precision  recall      f1  support  accuracy  span_f1
    a     1.0000  1.0000  1.0000        1    1.0000   1.0000
    b     0.0000  0.0000  0.0000        0    0.0000   0.0000
    <BLANKLINE>
    accuracy 0.7500 of 4 labels; 1 of 2 sequences without a mistake
    span_f1 0.6667
    >>> print(report.errors(1)[0])
    sequence 2: 1 of 1 label wrong
      1: O, predicted B-LOC
    >>> float(report) == report.score == crf.score(X, [["B-LOC", "I-LOC", "O"], ["O"]])
    True
    """

    metric: str  #: its name
    score: float
    accuracy: float  #: of all labels that are known
    n: int  #: sequences, graphs, images or samples
    labels: int  #: those that are known
    kind: Literal["spans", "labels", "parts"]  #: what the rows are of
    rows: Mapping[str, Score]  #: by type of span, or by label; of parts with their name before it
    micro: Score  #: all rows together
    macro: Average  #: mean of the rows
    weighted: Average  #: mean of the rows, weighted by support
    confusion: Confusion  #: of labels, also where rows are of spans
    wrong: Ints = field(repr=False)  #: [n] labels of each sequence
    labels_of: Callable[[int], tuple[Labels, Labels]] = field(repr=False)  #: gold and predicted, by number
    unit: str = "sequence"  #: what n counts
    groups: Mapping[Hashable, GroupScore] = field(default_factory=dict)
    parts: Mapping[str, Report] = field(default_factory=dict)  #: by column or kind, where there are several

    def __float__(self) -> float:
        return self.score

    def __repr__(self) -> str:
        return f"<Report {self.metric} {self.score:.4f} of {counted(self.n, self.unit)}>"

    @property
    def sequence_accuracy(self) -> float:
        """The part of the sequences without a mistake."""
        return float((self.wrong == 0).mean()) if self.n else 0.0

    def errors(self, n: int = 10) -> list[Mistake]:
        """Return the sequences with the most wrong labels, at most n, the worst first."""
        worst = np.argsort(-self.wrong, kind="stable")[:n].tolist()
        return [
            Mistake(i + 1, int(self.wrong[i]), *self.labels_of(i), self.unit) for i in worst if self.wrong[i]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "metric": self.metric,
            "score": self.score,
            "accuracy": self.accuracy,
            "sequence_accuracy": self.sequence_accuracy,
            "n": self.n,
            "labels": self.labels,
            "kind": self.kind,
            "rows": {name: row.to_dict() for name, row in self.rows.items()},
            **{name: row.to_dict() for name, row in self._averages.items()},
            "confusion": self.confusion.to_dict(),
            "groups": [{"group": _plain(name), **one.to_dict()} for name, one in self.groups.items()],
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }

    def to_frame(self) -> Any:
        """Return the rows and their averages as a pandas DataFrame."""
        rows = {**self.rows, **self._averages}
        return frame_of({name: row.cells for name, row in rows.items()}, COLUMNS, self.kind)

    @property
    def _averages(self) -> dict[str, Score | Average]:
        return {"micro": self.micro, "macro": self.macro, "weighted": self.weighted}

    def __str__(self) -> str:
        parts = self.parts.items()
        blocks = [[f"{shown(name)}:", *one._table, f"{one.metric} {one.score:.4f}"] for name, one in parts]
        if not blocks:
            blocks = [self._table]
        if self.groups:
            each = {name: one.micro for name, one in self.groups.items()}
            more = {name: (one.accuracy, one.score) for name, one in self.groups.items()}
            blocks.append(table(each, ("accuracy", self.metric), more))
        right = f"{int((self.wrong == 0).sum()):,} of {counted(self.n, self.unit)} without a mistake"
        accuracy = f"accuracy {self.accuracy:.4f} of {counted(self.labels, 'label')}; {right}"
        blocks.append([accuracy, f"{self.metric} {self.score:.4f}"])
        return "\n\n".join(map("\n".join, blocks))

    @property
    def _table(self) -> list[str]:
        return table({**self.rows, **self._averages})


def _plain(name: Hashable) -> Any:
    return name if isinstance(name, str | int | float | None) else str(name)
