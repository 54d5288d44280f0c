"""`Explanation`: why labels won, in chains, segments and graphs (`Model.explain`); it prints as a table.

A decision compares the best labeling with the best one that has another label there (of segments, that does
not have the segment). Both scores are sums of weights, and so is their difference: what each weight adds to
it is a contribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from crfkit.inference.methods.how import How

#: A position of a sequence, from 0; of graphs, a variable: its kind, and its number within kind and graph. Of
#: several columns (position, column), of an image (row, column).
At: TypeAlias = int | tuple[str, int] | tuple[int, str] | tuple[int, int]

_ROWS = 20  #: contributions that are printed


def place_of(at: At) -> str:
    """Return a place as people say it.

    Examples
    --------
    >>> [place_of(at) for at in (3, ("token", 3), (3, "pos"), (3, 4))]
    ['position 3', 'token 3', 'position 3 pos', 'row 3 column 4']
    """
    if not isinstance(at, tuple):
        return f"position {at}"
    if isinstance(at[0], str):
        return f"{at[0]} {at[1]}"
    return f"position {at[0]} {at[1]}" if isinstance(at[1], str) else f"row {at[0]} column {at[1]}"


@dataclass(frozen=True)
class Contribution:
    """What one weight adds to the difference of two scores; above 0 it speaks for the label that won."""

    #: The attribute; of transitions, the labels that were taken and those that were not; of graphs, "weight"
    #: where factors have no attributes, "fixed" for scores that are not learned.
    name: str
    #: "attribute", "edge", "transition", "start", "stop", "dense", "begin", "end", "segment" or "length"; of
    #: graphs, the clique.
    kind: str
    at: int | tuple[At, ...]  #: the position, from 0; of graphs, the variables of the factor
    amount: float
    factor: tuple[str, ...] = ()  #: of graphs: each variable of the factor, with its labels

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        made: dict[str, Any] = {"name": self.name, "kind": self.kind, "at": self.at, "amount": self.amount}
        return made | {"factor": list(self.factor)} if self.factor else made


@dataclass(frozen=True)
class Decision:
    """One position, segment or variable: what won, against what, and by which weights."""

    at: At  #: of a segment, its first position
    label: str
    probability: float  #: marginal
    runner_up: str | None  #: the most probable other label; None where no other is possible
    runner_up_probability: float
    contributions: tuple[Contribution, ...] = ()  #: those that are not 0, the largest first
    alternative: tuple[str, ...] = ()  #: of sequences: the best labeling with the runner-up here
    positions: int = 1  #: of the segment

    @property
    def difference(self) -> float:
        """How much higher the best labeling scores than the alternative: the sum of the contributions."""
        return math.fsum(one.amount for one in self.contributions)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "at": self.at,
            "label": self.label,
            "probability": self.probability,
            "runner_up": self.runner_up,
            "runner_up_probability": self.runner_up_probability,
            "difference": self.difference,
            "contributions": [one.to_dict() for one in self.contributions],
        }

    def __str__(self) -> str:
        """Return a table."""
        name = place_of(self.at)
        if self.positions > 1 and isinstance(self.at, int):
            name = f"positions {self.at} to {self.at + self.positions - 1}"
        head = f"{name} is {self.label} (p = {self.probability:.3f})"
        if self.runner_up is None:
            return f"{head}; no other label is possible"
        head += f", not {self.runner_up} (p = {self.runner_up_probability:.3f}): {self.difference:+.3f}"
        rows = [
            (f"{one.amount:+.3f}", one.kind, one.name, self._where(one)) for one in self.contributions[:_ROWS]
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)] if rows else []
        lines = [
            f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}".rstrip()
            for row in rows
        ]
        left = len(self.contributions) - len(rows)
        return "\n".join([head, *lines, *([f"  and {left} smaller ones"] if left else [])])

    def _where(self, one: Contribution) -> str:
        if one.factor or not isinstance(one.at, int) or not isinstance(self.at, int):
            return "; ".join(one.factor)
        far = self.distance(one)
        return f"[{far:+d}]" if far else ""

    def distance(self, one: Contribution) -> int:
        """Return how far from the position, or from the nearest one of the segment, a contribution lies."""
        assert isinstance(self.at, int)
        assert isinstance(one.at, int)
        return min(one.at - self.at, 0) + max(one.at - self.at - self.positions + 1, 0)


@dataclass(frozen=True)
class Explanation(Sequence[Decision]):
    """Why labels won: a sequence of `Decision`, one for each position, segment or variable; `print` it.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]]]
    >>> model = train(ItemExtractor()(X, [["D", "A", "N"], ["D", "N"]]))
    >>> print(model.explain([["the"], ["dog"]], at=1))  # doctest: +ELLIPSIS
    position 1 is N (p = 0...), not A (p = 0...): +...
      +...  attribute   dog
      -...  transition  D → N, not D → A
    """

    decisions: tuple[Decision, ...]
    info: How | None = None  #: of graphs: how the best labeling was found
    tokens: tuple[str, ...] = ()  #: of sequences of words: what stands at each position

    def __getitem__(self, number: Any) -> Any:
        """Return a decision, or those of a slice."""
        return self.decisions[number]

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def at(self, place: At) -> Decision:
        """Return the decision of a position, of the segment that covers it, or of a variable."""
        for one in self.decisions:
            covered = range(one.at, one.at + one.positions) if isinstance(one.at, int) else (one.at,)
            if place in covered:
                return one
        raise KeyError(place)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"decisions": [one.to_dict() for one in self.decisions]}

    def to_frame(self) -> Any:
        """Return a data frame of pandas: a row for each contribution, with the decision that it speaks to."""
        from crfkit._safe.frames import frame_of

        rows = [
            (place_of(each.at), each.label, each.runner_up, one.kind, one.name, one.amount)
            for each in self.decisions
            for one in each.contributions
        ]
        columns = ["at", "label", "runner_up", "kind", "name", "amount"]
        return frame_of(dict(enumerate(rows)), columns)

    def _repr_html_(self) -> str:
        from crfkit.models.pictures import explanation_pictures
        from crfkit.view import cell

        return cell(*explanation_pictures(self), plain=str(self))

    def __str__(self) -> str:
        return "\n".join(map(str, self.decisions))
