"""Mistakes in words: missed, invented, of a wrong type or border; and which gold labels to doubt.

`Report.errors` lists them sequence by sequence. All are plain data, for everything that shows them.
"""

from __future__ import annotations

import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from crfkit._safe.printable import counted, cut, shown
from crfkit.tags.reading import LabelScheme
from crfkit.tags.segments import spans

#: Labels of one sequence, None where the gold is unknown; by part, where there are parts.
Labels: TypeAlias = "list[str | None] | dict[str, list[str | None]]"
Place: TypeAlias = tuple[int, int, str]

DOUBTFUL: Final = 0.01  #: a gold label that a model finds less probable than this may be wrong
_LISTED = 20  #: mistakes of a sequence that are printed
_WIDTH = 80
_LONGEST = 40  #: letters of the words of a mistake
_NAME = 14  #: letters of the kind of a mistake


@dataclass(frozen=True)
class Mistake:
    """A span, or a run of labels, where gold and prediction differ.

    Examples
    --------
    >>> print(Mistake("wrong border", (1, 3, "LOC"), (2, 3, "LOC")).line(["in", "New", "York"]))
    wrong border  2-3 New York: LOC, predicted for York
    """

    kind: Literal["missed", "invented", "wrong type", "wrong border", "wrong label"]
    gold: Place | None  #: start, end, type or label: ``words[start:end]``; None where it is invented
    predicted: Place | None  #: the same, None where it is missed
    part: str = ""  #: its column or kind, where there are several
    probability: float | None = None  #: of the least probable gold label here, where a model says it

    @property
    def place(self) -> Place:
        """Where it is: in the gold, or what was invented."""
        found = self.gold or self.predicted
        assert found is not None
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        places = {"gold": self.gold, "predicted": self.predicted}
        named = {
            name: one and dict(zip(("start", "end", "label"), one, strict=True))
            for name, one in places.items()
        }
        return {"kind": self.kind, **named, "part": self.part, "probability": self.probability}

    def line(self, words: Sequence[str] | None = None) -> str:
        """Return it in one line; positions count from 1."""
        start, end, label = self.place
        text = f"{_positions(start, end)}{_text(words, start, end)}: {shown(label)}"
        if self.predicted is not None and self.gold is not None:
            there = self.predicted[:2] != self.gold[:2]
            same = self.predicted[2] == label
            text += ", predicted" + ("" if same else f" {shown(self.predicted[2])}")
            if there:
                where = _text(words, *self.predicted[:2]) or f" {_positions(*self.predicted[:2])}"
                text += f" for{where}"
        doubt = ""
        if self.probability is not None and self.probability < DOUBTFUL:
            p = self.probability
            doubt = f"  ? gold has {p:.2g}" if p >= 1e-4 else "  ? gold has less than 0.0001"
        return f"{self.kind:{_NAME}}{self.part and shown(self.part) + ' '}{text}{doubt}"


@dataclass(frozen=True)
class WrongSequence:
    """A sequence with wrong labels; it prints its words and its mistakes."""

    sequence: int  #: its number, from 1
    wrong: int  #: how many labels are wrong
    gold: Labels
    predicted: Labels
    mistakes: tuple[Mistake, ...]  #: in the order of their places
    unit: str = "sequence"
    words: Sequence[str] | None = None
    line: int | None = None  #: of the file, from 1, where it begins

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            self.unit: self.sequence,
            "line": self.line,
            "words": None if self.words is None else list(self.words),
            "wrong": self.wrong,
            "gold": self.gold,
            "predicted": self.predicted,
            "mistakes": [one.to_dict() for one in self.mistakes],
        }

    @property
    def name(self) -> str:
        """What to call it: its number, and its line where that is known."""
        return f"{self.unit} {self.sequence}" + ("" if self.line is None else f", line {self.line}")

    def __str__(self) -> str:
        parts = self.gold.values() if isinstance(self.gold, dict) else [self.gold]
        known = sum(y is not None for labels in parts for y in labels)
        lines = [f"{self.name}: {self.wrong} of {counted(known, 'label')} wrong"]
        if self.words is not None:
            text = shown(" ".join(self.words))
            lines += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=5)
        lines += [f"    {one.line(self.words)}" for one in self.mistakes[:_LISTED]]
        left = len(self.mistakes) - _LISTED
        return "\n".join([*lines, *([f"    and {left} more"] if left > 0 else [])])


def doubtful(wrong: Iterable[WrongSequence]) -> list[tuple[WrongSequence, Mistake]]:
    """Return the mistakes whose gold label a model finds improbable, which may be wrong itself, first."""
    found = [
        (one.probability, each, one)
        for each in wrong
        for one in each.mistakes
        if one.probability is not None and one.probability < DOUBTFUL
    ]
    return [(each, one) for _, each, one in sorted(found, key=lambda row: row[0])]


def mistakes_of(
    gold: Sequence[str | None],
    predicted: Sequence[str | None],
    scheme: LabelScheme | None = None,
    probability: Sequence[float | None] | None = None,
) -> list[Mistake]:
    """Return the mistakes in the labels of a sequence, in the order of their places.

    A predicted span with the borders of a gold one has a wrong type; one that overlaps a gold one of its type
    has a wrong border; one that overlaps a gold one and differs in both has a wrong type, too. Each span is
    in one mistake at most.

    Parameters
    ----------
    gold, predicted : labels
        None where the gold is not known.
    scheme : str or Scheme, optional
        How labels spell spans. Without one, each run of the same wrong label is a mistake.
    probability : numbers, optional
        Probability of the gold label at each position, None where it is not known.

    Examples
    --------
    >>> found = mistakes_of(["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-PER", "B-LOC", "B-ORG"], "BIO")
    >>> [(one.kind, one.gold, one.predicted) for one in found]  # doctest: +NORMALIZE_WHITESPACE
    [('wrong border', (0, 2, 'PER'), (1, 2, 'PER')), ('invented', None, (2, 3, 'LOC')),
     ('wrong type', (3, 4, 'LOC'), (3, 4, 'ORG'))]
    >>> [one.kind for one in mistakes_of(["N", "O", "V"], ["V", "N", "V"])]
    ['wrong label', 'invented']
    """
    if scheme is None:
        found = [*_of_labels(gold, predicted)]
    else:
        found = _of_spans(*(spans([y or "O" for y in each], scheme) for each in (gold, predicted)))
    if probability is None:
        return found
    return [replace(one, probability=_least(one, gold, predicted, probability)) for one in found]


def _of_labels(gold: Sequence[str | None], predicted: Sequence[str | None]) -> Iterable[Mistake]:
    """Yield each run of one wrong label."""
    pairs = [(y, z) if y is not None and y != z else None for y, z in zip(gold, predicted, strict=True)]
    start = 0
    for pair, run in groupby(pairs):
        end = start + sum(1 for _ in run)
        if pair is not None:
            true, made = (None if label == "O" or label is None else (start, end, label) for label in pair)
            kind = "invented" if true is None else "missed" if made is None else "wrong label"
            yield Mistake(kind, true, made)  # type: ignore[arg-type]
        start = end


def _of_spans(gold: Sequence[Place], predicted: Sequence[Place]) -> list[Mistake]:
    """Pair spans that differ: same borders first, then same types, then what overlaps."""
    right = {*gold} & {*predicted}
    left = [one for one in gold if one not in right]
    free = [one for one in predicted if one not in right]
    starts, ends = [one[0] for one in free], [one[1] for one in free]
    taken: dict[Place, Place] = {}
    found: list[Mistake] = []

    def pair(kind: Any, fits: Callable[[Place, Place], bool]) -> None:
        for one in left:
            if one in taken:
                continue
            near = free[bisect_right(ends, one[0]) : bisect_left(starts, one[1])]
            open_ = [other for other in near if other not in used and fits(one, other)]
            if open_:
                best = max(open_, key=lambda other: min(one[1], other[1]) - max(one[0], other[0]))
                taken[one] = best
                used.add(best)
                found.append(Mistake(kind, one, best))

    used: set[Place] = set()
    pair("wrong type", lambda one, other: one[:2] == other[:2])
    pair("wrong border", lambda one, other: one[2] == other[2])
    pair("wrong type", lambda one, other: True)
    found += [Mistake("missed", one, None) for one in left if one not in taken]
    found += [Mistake("invented", None, one) for one in free if one not in used]
    return sorted(found, key=lambda one: one.place)


def _least(
    one: Mistake,
    gold: Sequence[str | None],
    predicted: Sequence[str | None],
    probability: Sequence[float | None],
) -> float | None:
    """Return the probability of the least probable gold label that differs here."""
    places = [place for place in (one.gold, one.predicted) if place is not None]
    here = range(min(a for a, *_ in places), max(b for _, b, _ in places))
    sure = [p for t in here if gold[t] != predicted[t] and (p := probability[t]) is not None]
    return min(sure, default=None)


def _positions(start: int, end: int) -> str:
    return str(end) if end == start + 1 else f"{start + 1}-{end}"


def _text(words: Sequence[str] | None, start: int, end: int) -> str:
    return "" if words is None else f" {cut(shown(' '.join(words[start:end])), _LONGEST)}"
