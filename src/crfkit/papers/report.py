"""The report of an experiment: report.md, and its figures as PNG where matplotlib is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crfkit import __version__
from crfkit.arrays import Floats
from crfkit.data.sink import write_bytes
from crfkit.metrics.counts import ratio
from crfkit.papers.page import Figure, Line, Page, Pictures, Points, Table
from crfkit.papers.registry import Entry
from crfkit.papers.results import Result

_MARKED = 30  # points of a curve up to which each has a mark
NO_PLOT = "matplotlib is not installed, so there are no figures; install it with: pip install 'crfkit[plot]'"


def number(value: float | None) -> str:
    """Return a number as reports show it.

    Examples
    --------
    >>> number(73.249), number(0.00109), number(0.0), number(None)
    ('73.2', '0.0011', '0.0', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2g}" if 0.0 < abs(value) < 0.95 else f"{value:.1f}"


def with_interval(result: Result | None, digits: int = 1) -> str:
    """Return the mean with half of its interval, with `digits` digits after the point.

    Examples
    --------
    >>> with_interval(Result.of("F1", None, "generated", {"0": 71.0, "1": 73.0}, {}))
    '72.0 ± 12.7'
    """
    if result is None:
        return "-"
    spread = "" if result.high is None else f" ± {result.high - result.ours:.{digits}f}"
    return f"{result.ours:.{digits}f}{spread}"


def f1_of_counts(counts: Floats) -> Floats:
    """Return F1 of right, found and true units [..., 3]."""
    return ratio(2.0 * counts[..., 0], counts[..., 1] + counts[..., 2])


def write_report(
    folder: Path,
    entry: Entry,
    page: Page,
    results: Sequence[Result],
    seeds: Sequence[int],
    done: tuple[int, int],
) -> None:
    """Write report.md and the figures."""
    plots = importlib.util.find_spec("matplotlib") is not None
    parts = [
        f"# {entry.name}: {entry.paper}, {entry.shows}",
        f"Made by crfkit {__version__}, with the seeds {', '.join(map(str, seeds))}. Numbers are means over "
        "runs; ± and brackets give the 95 % interval of the mean (Student's t).",
    ]
    if done[0] < done[1]:
        parts.append(f"**Not complete**: {done[0]} of {done[1]} numbers are there; the same command goes on.")
    parts += page.notes
    if page.claims:
        parts += ["## What the paper says, and what came out here", "\n".join(f"- {c}" for c in page.claims)]
    if page.tables:
        parts += ["## Tables", *(table.markdown() for table in page.tables)]
    if page.figures:
        parts.append("## Figures")
        for figure in page.figures:
            if plots:
                path = folder / f"{figure.name}.png"
                if isinstance(figure, Pictures):
                    _show(path, figure)
                else:
                    _draw(path, figure)
                parts.append(f"![{figure.title}]({figure.name}.png)\n\n{figure.title}")
        parts += [] if plots else [NO_PLOT]
    parts += ["## All numbers", _everything(results)]
    write_bytes(folder / "report.md", ["\n\n".join(parts).encode(), b"\n"])


def _everything(results: Sequence[Result]) -> str:
    rows = [
        [
            one.quantity,
            number(one.paper),
            number(one.ours),
            "-" if one.low is None else f"[{number(one.low)}, {number(one.high)}]",
            str(len(one.runs)),
            one.data,
        ]
        for one in results
    ]
    return Table(
        "Paper and ours", ["quantity", "paper", "ours", "95 % interval", "runs", "data"], rows
    ).markdown()


def _show(path: Path, pictures: Pictures) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    high, wide = len(pictures.rows), len(pictures.columns)
    canvas = Canvas(figsize=(2.2 * wide, 1.9 * high), layout="constrained")
    FigureCanvasAgg(canvas)
    for i, row in enumerate(pictures.rows):
        for k, image in enumerate(row):
            axes = canvas.add_subplot(high, wide, i * wide + k + 1)
            axes.imshow(image, interpolation="nearest")
            axes.set_axis_off()
            if i == 0:
                axes.set_title(pictures.columns[k], fontsize=8)
    canvas.savefig(path, dpi=120)


def _draw(path: Path, figure: Figure) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import NullFormatter

    canvas = Canvas(figsize=(4.5 * len(figure.panels), 3.6), layout="constrained")
    FigureCanvasAgg(canvas)
    for place, (title, lines) in enumerate(figure.panels.items()):
        axes = canvas.add_subplot(1, len(figure.panels), place + 1)
        for name, line in lines.items():
            _add(axes, name, line)
        axes.set_title(title)
        axes.set_xlabel(figure.x if isinstance(figure.x, str) else figure.x[place])
        axes.set_ylabel(figure.y if isinstance(figure.y, str) else figure.y[place])
        for axis in figure.log:
            getattr(axes, f"set_{axis}scale")("log")
            getattr(axes, f"{axis}axis").set_minor_formatter(NullFormatter())  # they would overlap
        if figure.diagonal:
            ends = min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1])
            axes.plot(ends, ends, color="gray", linewidth=0.8)
            axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.legend(fontsize=7)
    canvas.savefig(path, dpi=120)


def _add(axes: Any, name: str, line: Line | Points) -> None:
    """Draw a curve with its interval, or points."""
    if isinstance(line, Points):
        shape = {"marker": "o"} if line.filled else {"marker": "s", "facecolors": "none"}
        axes.scatter(line.x, line.y, s=16, edgecolors="black", linewidths=0.8, label=name, **shape)
        return
    axes.plot(line.x, line.y, marker="o" if len(line.x) <= _MARKED else "", markersize=3, label=name)
    if line.low and line.high:
        x, low, high = np.array([line.x, line.low, line.high], dtype=float)  # None becomes nan
        axes.fill_between(x, low, high, alpha=0.15)
