"""What `evaluate` returns: a score, and what it is made of.

It prints as a table like that of scikit-learn's ``classification_report``, and is plain data for everything
else that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from crfkit._safe.frames import frame_of
from crfkit._safe.printable import counted, shown
from crfkit.metrics.counts import COLUMNS, Average, Score, table
from crfkit.metrics.encoding import Ints
from crfkit.metrics.mistakes import Labels, Mistake, WrongSequence, mistakes_of
from crfkit.metrics.tokenwise import Confusion
from crfkit.tags.reading import LabelScheme


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
        invented      1: LOC
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
    scheme: LabelScheme | None = None  #: how labels spell spans, where rows are of spans

    def __float__(self) -> float:
        return self.score

    def __repr__(self) -> str:
        return f"<Report {self.metric} {self.score:.4f} of {counted(self.n, self.unit)}>"

    @property
    def sequence_accuracy(self) -> float:
        """The part of the sequences without a mistake."""
        return float((self.wrong == 0).mean()) if self.n else 0.0

    def errors(
        self,
        n: int | None = 10,
        *,
        words: Sequence[Sequence[str]] | None = None,
        probability: Sequence[Sequence[float | None]] | None = None,
        lines: Sequence[int] | None = None,
    ) -> list[WrongSequence]:
        """Return the sequences with the most wrong labels and their mistakes, the worst first.

        Parameters
        ----------
        n : int, optional
            At most this many; None: all.
        words : words of each sequence, optional
            They are printed.
        probability : numbers of each sequence, optional
            The probability of each gold label: what is improbable may be wrong in the gold.
        lines : numbers, optional
            The line of the file where each sequence begins.
        """
        worst = np.argsort(-self.wrong, kind="stable")[:n].tolist()
        return [
            WrongSequence(
                i + 1,
                int(self.wrong[i]),
                *(both := self.labels_of(i)),
                self._mistakes(*both, None if probability is None else probability[i]),
                self.unit,
                None if words is None else words[i],
                None if lines is None else lines[i],
            )
            for i in worst
            if self.wrong[i]
        ]

    def _mistakes(
        self, gold: Labels, found: Labels, probability: Sequence[float | None] | None
    ) -> tuple[Mistake, ...]:
        if isinstance(gold, dict) or isinstance(found, dict):
            assert isinstance(gold, dict)
            assert isinstance(found, dict)
            return tuple(
                replace(one, part=part)
                for part, report in self.parts.items()
                for one in mistakes_of(gold[part], found[part], report.scheme)
            )
        return tuple(mistakes_of(gold, found, self.scheme, probability))

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
        blocks.append([accuracy] + [f"{self.metric} {self.score:.4f}"] * (self.metric != "accuracy"))
        return "\n\n".join(map("\n".join, blocks))

    def _repr_html_(self) -> str:
        from crfkit.metrics.pictures import report_pictures
        from crfkit.view import cell

        return cell(*report_pictures(self), plain=str(self))

    @property
    def _table(self) -> list[str]:
        return table({**self.rows, **self._averages})


def _plain(name: Hashable) -> Any:
    return name if isinstance(name, str | int | float | None) else str(name)
