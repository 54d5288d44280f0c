"""Whether probabilities come true: accuracy by claimed probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt
from typing import TypeAlias

from crfkit.view.chart import Chart
from crfkit.view.frame import framed
from crfkit.view.markup import Markup, join, tag
from crfkit.view.text import share

__all__ = ["reliability"]

#: By bin: mean probability, part that is right, how many.
Bins: TypeAlias = tuple[Sequence[float], Sequence[float], Sequence[int]]


def reliability(curves: Mapping[str, Bins], *, title: str = "Calibration", note: str = "") -> Markup:
    """Return how often what is claimed with some probability is right; dots have the area of their number.

    Parameters
    ----------
    curves : mapping of name -> (mean probability, part that is right, number) by bin
        One or two: the first of two is dashed. Empty bins have nan, or the number 0.

    Examples
    --------
    >>> made = reliability({"before": ([0.3, 0.9], [0.5, 0.8], [10, 90])})
    >>> "too sure" in made, made.count("<circle")
    (True, 2)
    """
    chart = Chart("right", (0.0, 1.0), (0.0, 1.0), below="claimed probability", size=(360.0, 300.0))
    chart.curve([0.0, 1.0], [0.0, 1.0], "plain dashed")
    words: list[Markup] = []
    tones = {}
    for n, (name, (claimed, right, count)) in enumerate(curves.items()):
        found = [
            (float(p), float(r), int(c))
            for p, r, c in zip(claimed, right, count, strict=True)
            if c and isfinite(p) and isfinite(r)
        ]
        first = len(curves) > 1 and not n
        chart.curve([p for p, *_ in found], [r for _, r, _ in found], "before dashed" if first else "")
        most = max((c for *_, c in found), default=1)
        for p, r, c in found:
            chart.dot(p, r, kind="against" if first else "for", radius=max(2.5, 9 * sqrt(c / most)))
        told = [tag("b", tag("bdi", name)), ": "] if len(curves) > 1 else []
        words.append(tag("p", *told, _sentence(found)))
        tones[name] = "--k:var(--against)" if first else "--k:var(--for)"
    body = tag("div", chart.drawn(), tag("div", *words, class_="words"), class_="side")
    legend = join(tag("span", tag("bdi", name), style=tone) for name, tone in tones.items())
    return framed(body, title, note, legend if len(curves) > 1 else None)


def _sentence(found: Sequence[tuple[float, float, int]]) -> str:
    """Say the worst of it: the bin that is off by the most beyond chance."""
    total = sum(c for *_, c in found)
    if not total:
        return "Nothing was claimed."
    error = sum(c * abs(p - r) for p, r, c in found) / total
    p, r, _ = max(found, key=lambda one: sqrt(one[2]) * abs(one[0] - one[1]))
    sure = "too sure" if p > r else "not sure enough"
    worst = "" if error < 0.005 else f" Where it claims {share(p)}, {share(r)} are right: {sure}."
    return f"Off by {100 * error:.1f} points on average.{worst}"
