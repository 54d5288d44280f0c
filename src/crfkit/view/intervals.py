"""Two systems row by row: scores with their intervals, a circle and a square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from crfkit.view.frame import drawing
from crfkit.view.markup import Markup, join, tag

__all__ = ["Interval", "intervals"]

#: A score and the ends of its interval.
Interval: TypeAlias = tuple[float, float, float]
_WIDE, _HIGH = 300.0, 30.0


def intervals(
    rows: Sequence[tuple[str, Interval, Interval]], names: tuple[str, str] = ("A", "B")
) -> list[Markup]:
    """Return a drawing of each row, all on one scale, and the scale itself as the last.

    Examples
    --------
    >>> made = intervals([("all", (0.75, 0.73, 0.77), (0.73, 0.7, 0.75))])
    >>> len(made), made[0].count("<circle"), made[0].count("<rect")
    (2, 1, 1)
    """
    ends = [end for _, a, b in rows for end in (*a, *b)] or [0.0, 1.0]
    low, high = max(min(ends) - 0.01, 0.0), min(max(ends) + 0.01, 1.0)
    scale = (_WIDE - 24) / ((high - low) or 1.0)

    def place(value: float) -> float:
        return 12 + (value - low) * scale

    step = next(one for one in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (high - low) / one <= 6)
    ticks = [n * step for n in range(int(low / step), int(high / step) + 2) if low <= n * step <= high]
    rules = join(tag("line", x1=place(x), x2=place(x), y1=0, y2=_HIGH, class_="rule") for x in ticks)
    made = []
    for row, a, b in rows:
        told = f"{row}: {names[0]} {100 * a[0]:.1f}, {names[1]} {100 * b[0]:.1f}"
        parts = [
            rules,
            tag("line", x1=place(a[1]), x2=place(a[2]), y1=9, y2=9, class_="curve"),
            tag("circle", cx=place(a[0]), cy=9, r=4.5, class_="for"),
            tag("line", x1=place(b[1]), x2=place(b[2]), y1=21, y2=21, class_="curve before"),
            tag("rect", x=place(b[0]) - 4, y=17, width=8, height=8, class_="against"),
        ]
        made.append(drawing(parts, _WIDE, _HIGH, told))
    written = [
        tag("text", f"{100 * x:.0f}", x=place(x), y=14, text_anchor="middle", class_="soft small")
        for x in ticks
    ]
    return [*made, drawing(written, _WIDE, 20.0, "scale")]
