"""Curves with axes, as `training` and `reliability` draw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isfinite, log10

from crfkit.view.frame import drawing
from crfkit.view.markup import Markup, tag
from crfkit.view.text import compact

__all__ = ["Chart", "thinned"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 66.0, 26.0, 36.0
_POINTS = 160  #: of a curve at most


@dataclass
class Chart:
    """A chart of some size; y may be on a log scale.

    Examples
    --------
    >>> chart = Chart("loss", (0.0, 2.0), (1.0, 4.0))
    >>> chart.curve([0, 1, 2], [4, 2, 1])
    >>> chart.drawn().count("<polyline")
    1
    """

    title: str
    across: tuple[float, float]
    up: tuple[float, float]
    log: bool = False
    below: str = ""  #: what x counts
    size: tuple[float, float] = (360.0, 210.0)
    written: Callable[[float], str] = compact  #: the numbers of the y axis
    parts: list[Markup] = field(default_factory=list)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point is drawn."""
        (a, b), (low, high) = self.across, self.up
        if self.log:
            y, low, high = log10(y), log10(low), log10(high)
        wide, tall = self.size[0] - _LEFT - _RIGHT, self.size[1] - _TOP - _BOTTOM
        return _LEFT + wide * (x - a) / ((b - a) or 1.0), _TOP + tall * (high - y) / ((high - low) or 1.0)

    def curve(self, x: Sequence[float], y: Sequence[float], kind: str = "") -> None:
        """Draw a curve through the points that are numbers, at most as many as can be seen."""
        points = [
            self.place(a, b)
            for a, b in zip(x, y, strict=True)
            if isfinite(b) and (b > 0 or not self.log) and self.up[0] <= b <= self.up[1]
        ]
        told = " ".join(f"{a:.1f},{b:.1f}" for a, b in thinned(points))
        self.parts.append(tag("polyline", points=told, class_=f"curve {kind}".strip()))

    def dot(self, x: float, y: float, told: str = "", kind: str = "for", radius: float = 3.5) -> None:
        """Draw a point, and a few words beside it."""
        a, b = self.place(x, y)
        self.parts.append(tag("circle", cx=a, cy=b, r=radius, class_=kind))
        if told:
            self.parts.append(tag("text", told, x=a + 7, y=b - 5, class_=f"{kind} small strong"))

    def words(self, x: float, y: float, told: str, kind: str = "") -> None:
        """Write words at a point."""
        a, b = self.place(x, y)
        self.parts.append(tag("text", told, x=a, y=b, class_=f"{kind} small".strip()))

    def drawn(self) -> Markup:
        """Return the chart with its axes."""
        lines: list[Markup] = [tag("text", self.title, x=8, y=14, class_="strong")]
        for y in _ticks(*self.up, self.log):
            at = self.place(self.across[0], y)[1]
            lines.append(tag("line", x1=_LEFT, x2=self.size[0] - _RIGHT, y1=at, y2=at, class_="rule"))
            lines.append(
                tag("text", self.written(y), x=_LEFT - 7, y=at + 4, text_anchor="end", class_="soft small")
            )
        bottom = self.size[1] - _BOTTOM
        for x in _ticks(*self.across, False):
            at = self.place(x, self.up[0])[0]
            lines.append(
                tag("text", compact(x), x=at, y=bottom + 16, text_anchor="middle", class_="soft small")
            )
        end = self.size[0] - _RIGHT
        if self.below:
            lines.append(
                tag("text", self.below, x=end, y=bottom + 31, text_anchor="end", class_="soft small")
            )
        return drawing([*lines, *self.parts], *self.size, self.title)


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most as many points as can be seen, the first and the last among them.

    Examples
    --------
    >>> len(thinned([(float(i), 0.0) for i in range(1000)]))
    160
    """
    if len(points) <= _POINTS:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (_POINTS - 1))] for i in range(_POINTS)]


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
        if last - first < 2:
            found = [many * 10.0**n for n in range(first - 1, last + 1) for many in (1, 2, 5)]
            return [one for one in found if low <= one <= high]
        every = max(1, ceil((last - first + 1) / 6))
        return [10.0**n for n in range(first, last + 1, every)]
    span = high - low
    if not span > 0:
        return [low]
    step = 10.0 ** floor(log10(span / 4))
    step *= next(many for many in (1, 2, 5, 10) if span / (step * many) <= 5)
    first = ceil(low / step - 1e-9)
    return [n * step for n in range(first, floor(high / step + 1e-9) + 1)]
