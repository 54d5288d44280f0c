"""What a report shows: notes, claims, tables and figures, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crfkit.arrays import Floats


@dataclass(frozen=True)
class Claim:
    """What a paper says, and whether the numbers here bear it out."""

    text: str
    holds: bool | None  #: None: there are not enough numbers yet
    why: str  #: the numbers that decide, in words

    def __str__(self) -> str:
        answer = "not decided yet" if self.holds is None else "holds" if self.holds else "does not hold"
        return f"**{answer}**: {self.text} ({self.why})"


@dataclass(frozen=True)
class Table:
    """Rows of text under a header."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        r"""Return the table as Markdown.

        Examples
        --------
        >>> print(Table("F1", ["task", "CRF"], [["city", "73.2"]]).markdown())
        ### F1
        <BLANKLINE>
        | task | CRF |
        | --- | --- |
        | city | 73.2 |
        """
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return f"### {self.title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Line:
    """A curve with its interval; missing bounds are not drawn."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


@dataclass(frozen=True)
class Points:
    """Marks without a curve: filled circles, or open squares."""

    x: Sequence[float]
    y: Sequence[float]
    filled: bool = True


@dataclass(frozen=True)
class Figure:
    """Panels of curves and points by their titles; the name is that of the file, without .png."""

    name: str
    title: str
    x: str | Sequence[str]  #: what the axis shows: in all panels, or in each
    y: str | Sequence[str]
    panels: Mapping[str, Mapping[str, Line | Points]]
    log: Literal["", "x", "y", "xy"] = ""  #: axes with a logarithmic scale
    diagonal: bool = False  #: both axes have the same range, and a line shows where they are equal


@dataclass(frozen=True)
class Pictures:
    """Rows of images, [rows, columns, 3] from 0 to 1 each; the name is that of the file, without .png."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Floats]]


@dataclass(frozen=True)
class Page:
    """The parts of a report that an experiment makes."""

    notes: Sequence[str] = ()  #: which data, and how they differ from the paper's
    claims: Sequence[Claim] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure | Pictures] = ()
