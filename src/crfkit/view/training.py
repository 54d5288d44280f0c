"""How training went: the objective, its proved bound, the distance between them, the score of the dev set."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from crfkit.view.chart import Chart
from crfkit.view.frame import framed
from crfkit.view.markup import Markup, tag
from crfkit.view.text import compact

__all__ = ["learning", "training"]


def training(
    objective: Sequence[float],
    *,
    gap: Sequence[float] = (),
    score: Sequence[float] = (),
    seconds: Sequence[float] = (),
    kept: int = 0,
    metric: str = "dev score",
    title: str = "Training",
    note: str = "",
) -> Markup:
    """Return curves by iteration, or by seconds where these are known; numbers that are missing are nan.

    Parameters
    ----------
    objective : sequence of float [I]
        What training made small.
    gap : sequence of float [I]
        It is proved to be at most so far above the optimum.
    score : sequence of float [I]
        Score of the dev set.
    seconds : sequence of float [I]
        Since the beginning.
    kept : int
        The iteration whose weights were kept, from 1; 0: the last.

    Examples
    --------
    >>> made = training([9.0, 5.0, 4.0], gap=[float("nan"), 2.0, 0.04])
    >>> made.count("<svg"), "proved within 1.01 %" in made
    (2, True)
    """
    values = [float(v) for v in objective]
    if not values:
        return framed(tag("p", "No iteration is known.", class_="soft"), title, note)
    known = len(seconds) == len(values) and all(isfinite(s) for s in seconds)
    x = [float(s) for s in seconds] if known else [float(i + 1) for i in range(len(values))]
    below = "seconds" if known else "iterations"
    across = (0.0 if known else 1.0, max(x[-1], 1e-9 if known else 2.0))
    gaps = [float(g) for g in gap] if len(gap) == len(values) else [nan] * len(values)
    charts = [_objective(x, values, gaps, across, below)]
    within = [g / abs(v - g) if v > g else nan for v, g in zip(values, gaps, strict=True)]
    if sum(isfinite(one) and one > 0 for one in within) > 1:
        charts.append(_distance(x, within, across, below))
    scores = [float(s) for s in score]
    if len(scores) == len(values) and any(isfinite(s) for s in scores):
        charts.append(_score(x, scores, across, below, kept or len(values), metric))
    return framed(tag("div", *charts, class_="side"), title, note)


def learning(
    points: Sequence[tuple[int, float]],
    *,
    metric: str = "dev score",
    below: str = "labels given",
    title: str = "",
    note: str = "",
) -> Markup:
    """Return a score by how much was labeled.

    Parameters
    ----------
    points : sequence of (how many, score)
        In the order of their numbers.

    Examples
    --------
    >>> made = learning([(0, 0.41), (20, 0.53), (40, 0.52)])
    >>> made.count("<circle"), ".53" in made
    (3, True)
    """
    if not points:
        return framed(tag("p", "There is no score yet.", class_="soft"), title, note)
    values = [score for _, score in points]
    pad = max(0.1 * (max(values) - min(values)), 0.02)
    chart = Chart(
        metric,
        (0.0, float(max(points[-1][0], 1))),
        (max(min(values) - pad, 0.0), min(max(values) + pad, 1.0)),
        below=below,
        size=(340.0, 220.0),
        written=lambda value: f"{value:.4g}",
    )
    chart.curve([float(n) for n, _ in points], values)
    best = max(range(len(points)), key=lambda i: values[i])
    for i, (n, score) in enumerate(points):
        told = f"{score:.3f}" if i in (best, len(points) - 1) else ""
        chart.dot(float(n), score, told.removeprefix("0"))
    return framed(chart.drawn(), title, note)


def _objective(
    x: list[float], values: list[float], gaps: list[float], across: tuple[float, float], below: str
) -> Markup:
    finite = [v for v in values if isfinite(v)]
    bound = [v - g for v, g in zip(values, gaps, strict=True)]
    end = finite[-1] if finite else 0.0
    log = bool(finite) and min(finite) > 0 and max(finite) / min(finite) > 3
    least = 0.3 * end if log else end - 2 * (max(finite, default=0.0) - end)
    near = [b for b in bound if isfinite(b) and b > least]
    low, high = min([*finite, *near], default=0.0), max(finite, default=1.0)
    pad = 0.0 if log else 0.05 * ((high - low) or abs(high) or 1.0)
    chart = Chart(
        "objective", across, (low * 0.8 if log else low - pad, high * 1.1 if log else high + pad), log, below
    )
    chart.written = _thousands if log else compact
    if len(near) > 1:
        chart.curve(x, bound, "dashed")
        at = next(i for i, b in enumerate(bound) if b in near)
        chart.words(min(x[at], across[0] + 0.6 * (across[1] - across[0])), low, "proved bound", "for")
    chart.curve(x, values, "plain")
    if finite:
        chart.dot(x[-1], end, compact(end), "factor")
    return chart.drawn()


def _distance(x: list[float], within: list[float], across: tuple[float, float], below: str) -> Markup:
    found = [(a, w) for a, w in zip(x, within, strict=True) if isfinite(w) and w > 0]
    low, high = min(w for _, w in found), max(w for _, w in found)
    title = f"proved within {compact(100 * found[-1][1])} % of the optimum"
    chart = Chart(title, across, (min(low, high / 10), min(max(high, low * 10), 1e3)), True, below)
    chart.written = _percent
    chart.curve([a for a, _ in found], [w for _, w in found])
    chart.dot(*found[-1])
    return chart.drawn()


def _score(
    x: list[float], scores: list[float], across: tuple[float, float], below: str, kept: int, metric: str
) -> Markup:
    found = [(a, s) for a, s in zip(x, scores, strict=True) if isfinite(s)]
    low, high = min(s for _, s in found), max(s for _, s in found)
    pad = 0.05 * ((high - low) or 0.1)
    chart = Chart(f"{metric} of the dev set", across, (low - pad, high + pad), False, below)
    chart.curve([a for a, _ in found], [s for _, s in found])
    place = min(kept, len(x)) - 1
    at = min(found, key=lambda one: abs(one[0] - x[place]))
    chart.dot(*at, f"★ {at[1]:.4f}")
    return chart.drawn()


def _percent(value: float) -> str:
    return f"{compact(100 * value)} %"


def _thousands(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else compact(value)
