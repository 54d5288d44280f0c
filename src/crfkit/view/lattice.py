"""The lattice of a chain: labels by tokens, the probability of each and of each step, and the best paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import sqrt
from typing import Any, TypeAlias

from crfkit.tags.schemes import OUTSIDE
from crfkit.view.entities import UNSURE
from crfkit.view.frame import drawing, framed, keys, scrolled
from crfkit.view.markup import Markup, tag
from crfkit.view.style import color_classes, kind_of
from crfkit.view.text import brief, cut, share, width

__all__ = ["Link", "lattice", "rows_of"]

#: The attributes of the link at a token, or at one of its labels (by number); without href there is none.
Link: TypeAlias = Callable[[int, int | None], Mapping[str, object]]

_ROW, _TOP, _LONGEST, _NAME = 36, 40, 22, 26
_CIRCLES, _LINES = 6, 4  #: drawn for each token at most, so that long sentences stay small
_LABELS = 26  #: rows at most


def lattice(
    tokens: Sequence[str],
    labels: Sequence[str],
    node: Any,
    edge: Any = None,
    best: Sequence[int] | None = None,
    second: Sequence[int] | None = None,
    *,
    least: float = 0.01,
    unsure: float = UNSURE,
    title: str = "",
    at: int | None = None,
    fixed: Collection[int] = (),
    link: Link | None = None,
) -> Markup:
    """Return the lattice of one sequence: the area of a circle and the width of a line are probabilities.

    Parameters
    ----------
    tokens : sequence of str [T]
    labels : sequence of str [L]
    node : array [T, L]
        The probability of each label.
    edge : array [T - 1, L, L] or [T, L, L], optional
        The probability of each pair of labels, the second at that token or the next one.
    best, second : sequence of int [T], optional
        Two labelings, by number of label.
    least : float
        What is less probable is left out; more is left out where there would be too much to see, and the
        picture says so.
    at : int, optional
        The token that is chosen; it stands on a band.
    fixed : collection of int
        Tokens whose label somebody has fixed: a square instead of a circle.
    link : function of a token and a label or None, optional
        What tokens and circles link to, as attributes of HTML: ``{"href": "?at=2"}``.

    Examples
    --------
    >>> made = lattice(["a", "b"], ["D", "N"], [[0.9, 0.1], [0.2, 0.8]], best=[0, 1])
    >>> made.count("<circle")
    4
    """
    node = _lists(node)
    steps = _lists(edge)[-(len(tokens) - 1) :] if edge is not None and len(tokens) > 1 else []
    shown = rows_of(labels, node, best, second, least)
    colors = color_classes(labels)
    wide = [max(46.0, width(cut(token, _LONGEST)) + 16) for token in tokens]
    names = brief((labels[y] for y in shown), _NAME)
    left = 24 + max((width(one, 14.0) for one in names.values()), default=0.0)  # they are bold
    run, x = left, []
    for w in wide:
        x.append(run + w / 2)
        run += w
    y_of = {y: _TOP + _ROW * i + _ROW / 2 for i, y in enumerate(shown)}
    across, high = run + 12, _TOP + _ROW * len(shown) + 36
    parts: list[Markup] = []
    if at is not None and 0 <= at < len(tokens):
        size = {"x": x[at] - wide[at] / 2, "width": wide[at], "height": float(high - 4)}
        parts.append(tag("rect", y=2, rx=8, class_="band", **size))
    for y in shown:
        parts.append(tag("line", x1=left, x2=across - 8, y1=y_of[y], y2=y_of[y], class_="dots"))
        name = tag("text", names[labels[y]], x=left - 10, y=y_of[y] + 4.5, text_anchor="end", class_="name")
        parts.append(tag("g", name, class_=colors[labels[y]]))
    lines, seen = _steps(steps, shown, x, y_of, labels, max(least, 0.0), _LINES * len(tokens))
    parts += lines
    for path, look in ((second, "second"), (best, "best")):
        if path is not None:
            points = " ".join(f"{x[t]:.0f},{y_of[y]:.0f}" for t, y in enumerate(path) if y in y_of)
            parts.append(tag("polyline", points=points, class_=look))
    circles, drawn = _circles(tokens, labels, node, best, shown, x, y_of, colors, least, fixed, link)
    parts += circles
    parts += _tokens(tokens, labels, node, best, x, high - 12, unsure, fixed, link)
    if best is not None:
        parts.append(tag("text", "p", x=left - 10, y=high - 12, text_anchor="end", class_="soft small"))
    paths = {"best labeling": "best"} if best is not None else {}
    paths |= {"second best": "second"} if second is not None else {}
    limit = max(drawn, seen if steps else 0.0)
    more = f", above {share(limit)}" if limit > least else ""
    legend = keys(paths, f"area of a circle{', width of a line' if steps else ''}: probability{more}")
    told = f"lattice of {len(tokens)} tokens and {len(labels)} labels"
    drawn_parts = drawing(parts, across, high, told, "group" if link else "img")
    return framed(scrolled(drawn_parts, told), title, legend=legend)


def rows_of(labels: Sequence[str], node: Any, best: Any, second: Any, least: float) -> list[int]:
    """Return the labels that get a row: what is probable somewhere, or on a path; types together."""
    most = [max((row[y] for row in node), default=0.0) for y in range(len(labels))]
    taken = {*(best or ()), *(second or ())}
    found = [y for y in range(len(labels)) if most[y] >= least or y in taken]
    found = sorted(found, key=lambda y: (y not in taken, -most[y]))[: max(_LABELS, len(taken))]
    return sorted(found, key=lambda y: ("" if labels[y] == OUTSIDE else kind_of(labels[y]), labels[y]))


def _lists(given: Any) -> Any:
    return given.tolist() if hasattr(given, "tolist") else given


def _steps(
    steps: Any, shown: Sequence[int], x: Any, y_of: Any, labels: Sequence[str], least: float, most: int
) -> tuple[list[Markup], float]:
    """Return a line for each probable pair of labels, and the least probability that is drawn."""
    found = [
        (p, t, y, z)
        for t, table in enumerate(steps)
        for y in shown
        for z, p in enumerate(table[y])
        if p >= least and z in y_of
    ]
    if len(found) > most:
        found = sorted(found, reverse=True)[:most]
        least = found[-1][0]
    made = []
    for p, t, y, z in found:
        tip = tag("title", f"{labels[y]} to {labels[z]}: {p:.3f}")
        look = {"stroke_opacity": f"{0.12 + 0.35 * p:.2f}", "stroke_width": 0.8 + 7 * p}
        made.append(tag("line", tip, x1=x[t], y1=y_of[y], x2=x[t + 1], y2=y_of[z], class_="step", **look))
    return made, least


def _circles(
    tokens: Sequence[str], labels: Any, node: Any, best: Any, shown: Any, x: Any, y_of: Any, colors: Any,
    least: float, fixed: Collection[int], link: Link | None,
) -> tuple[list[Markup], float]:  # fmt: skip
    """Return a circle for each probable label, and the least probability that is drawn."""
    found = [(p, t, y) for t, row in enumerate(node) for y in shown if (p := row[y]) >= least]
    if len(found) > _CIRCLES * len(tokens):
        found = sorted(found, reverse=True)[: _CIRCLES * len(tokens)]
        least = found[-1][0]
    made: dict[str, list[Markup]] = {}
    for p, t, y in found:
        kind = "taken" if best is not None and best[t] == y else "dot"
        tip = tag("title", f"{cut(tokens[t], _LONGEST)} = {labels[y]}: {p:.4f}")
        radius = max(2.2, 13 * sqrt(min(p, 1.0)))
        if t in fixed:
            size = {"x": x[t] - radius, "y": y_of[y] - radius, "width": 2 * radius, "height": 2 * radius}
            one = tag("rect", tip, rx=4, class_=kind, **size)
        else:
            one = tag("circle", tip, cx=x[t], cy=y_of[y], r=radius, class_=kind)
        one = _linked(one, link, t, y)
        made.setdefault(colors[labels[y]], []).append(one)
    return [tag("g", *several, class_=color) for color, several in sorted(made.items())], least


def _tokens(
    tokens: Sequence[str], labels: Any, node: Any, best: Any, x: Any, bottom: float, unsure: float,
    fixed: Collection[int], link: Link | None,
) -> list[Markup]:  # fmt: skip
    """Return the tokens above, and the probability of the best labels below."""
    made = []
    for t, token in enumerate(tokens):
        strong = "strong" if best is not None and labels[best[t]] != OUTSIDE else None
        tip = tag("title", token) if len(token) > _LONGEST else None
        word = tag("text", cut(token, _LONGEST), tip, x=x[t], y=22, text_anchor="middle", class_=strong)
        made.append(_linked(word, link, t, None))
        if best is not None:
            p = node[t][best[t]]
            look = "small doubt" if p < unsure else "small soft"
            told = "fixed" if t in fixed else share(p) + (" ?" if p < unsure else "")
            made.append(tag("text", told, x=x[t], y=bottom, text_anchor="middle", class_=look))
    return made


def _linked(one: Markup, link: Link | None, t: int, y: int | None) -> Markup:
    given = {} if link is None else link(t, y)
    return tag("a", one, **given) if given.get("href") else one
