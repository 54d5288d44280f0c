"""What a report shows: notes, claims, tables and figures, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crfkit.arrays import Floats
from crfkit.metrics.significance import bootstrap_counts
from crfkit.papers.results import Result


@dataclass(frozen=True)
class Claim:
    """What a paper says, and whether the numbers here bear it out."""

    text: str
    holds: bool | None  #: None: there are not enough numbers yet
    why: str  #: the numbers that decide, in words

    @classmethod
    def missing(cls, text: str) -> Claim:
        """Return a claim that is not decided yet."""
        return cls(text, None, "numbers are missing")

    @classmethod
    def significant(
        cls, text: str, counts: Floats, statistic: Callable[[Floats], Floats], what: str, over: str
    ) -> Claim:
        """Return whether the second learner is better than the first, by the paired bootstrap.

        `counts` [N, 2, K] are those of both on each example; `over` says what the examples are.
        """
        made = bootstrap_counts(counts, statistic, what)
        low, high = (100.0 * end for end in made.interval)
        why = (
            f"{what} {100.0 * made.a:.2f} and {100.0 * made.b:.2f} %, difference "
            f"{100.0 * made.difference:+.2f} [{low:+.2f}, {high:+.2f}], p = {made.p_value:.3f} by the paired "
            f"bootstrap over {over}"
        )
        return cls(text, made.difference > 0.0 and made.p_value < 0.05, why)

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

    @classmethod
    def of(cls, results: Mapping[int, Result | None] | Mapping[float, Result | None]) -> Line:
        """Return the means and intervals of results by their x; what is not measured yet is left out."""
        known = {float(x): one for x, one in results.items() if one is not None}
        y, low, high = ([getattr(one, end) for one in known.values()] for end in ("ours", "low", "high"))
        return cls([*known], y, low, high)


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
