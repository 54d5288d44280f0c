"""The probable segments of a sequence, as brackets above its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from crfkit.view.entities import UNSURE
from crfkit.view.frame import drawing, framed, keys, scrolled
from crfkit.view.markup import Markup, tag
from crfkit.view.style import color_classes
from crfkit.view.text import cut, limit, share, width

__all__ = ["segments"]

_LANE, _LONGEST, _MOST = 30.0, 22, 4


def segments(
    tokens: Sequence[str],
    found: Iterable[Sequence[Any]],
    best: Iterable[Sequence[Any]] = (),
    *,
    labels: Iterable[str] = (),
    least: float = 0.05,
    unsure: float = UNSURE,
    title: str = "",
) -> Markup:
    """Return tokens with segments above: those of the best labeling next to them, the others farther up.

    Parameters
    ----------
    tokens : sequence of str
    found : iterable of (start, end, label, probability)
        Counted in tokens; of very many the most probable ones.
    best : iterable of (start, end, label)
        Those that were chosen, which have a thick edge.
    labels : iterable of str
        All labels of the model.
    least : float
        What is less probable is left out, unless it was chosen.

    Examples
    --------
    >>> made = segments(["New", "York"], [(0, 2, "LOC", 0.8), (1, 2, "PER", 0.1)], [(0, 2, "LOC")])
    >>> made.count("<rect")
    2
    """
    chosen = {(one[0], one[1], one[2]) for one in best}
    within = [one for one in found if 0 <= one[0] < one[1] <= len(tokens)]
    listed = [one for one in within if one[3] >= least or (one[0], one[1], one[2]) in chosen]
    several = sorted(listed, key=lambda one: ((one[0], one[1], one[2]) not in chosen, -one[3]))
    several = several[: max(_MOST * len(tokens), 1)]
    colors = color_classes([*labels, *(one[2] for one in several)])
    x = [12.0]
    for token in tokens:
        x.append(x[-1] + max(46.0, width(cut(token, _LONGEST)) + 16))
    lanes: list[list[tuple[int, int]]] = []
    placed = []
    for one in several:
        lane = next(
            (i for i, at in enumerate(lanes) if all(one[1] <= a or b <= one[0] for a, b in at)), len(lanes)
        )
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((one[0], one[1]))
        placed.append((lane, one))
    bottom = 12 + _LANE * len(lanes)
    parts: list[Markup] = []
    for lane, (start, end, label, p, *_) in placed:
        y = bottom - _LANE * (lane + 1)
        kind = "taken" if (start, end, label) in chosen else ""
        parts.append(_bracket((x[start] + 2, x[end] - 2), y, label, p, colors[label], kind, unsure))
    for t, token in enumerate(tokens):
        tip = tag("title", token) if len(token) > _LONGEST else None
        middle = (x[t] + x[t + 1]) / 2
        parts.append(tag("text", cut(token, _LONGEST), tip, x=middle, y=bottom + 20, text_anchor="middle"))
    name = f"segments of {len(tokens)} tokens"
    names = {one: colors[one] for one in sorted({one[2] for one in several})}
    legend = keys(names, f"thick edge: chosen; dashed: below {limit(unsure)}" if several else "")
    return framed(scrolled(drawing(parts, x[-1] + 12, bottom + 34, name), name), title, legend=legend or None)


def _bracket(
    ends: tuple[float, float], y: float, label: str, p: float, color: str, kind: str, unsure: float
) -> Markup:
    wide = ends[1] - ends[0]
    told = f"{label} {share(p)}"
    if width(told, 12.0) + 6 > wide:
        told = share(p) if width(share(p), 12.0) + 4 <= wide else ""
    doubt = " unsure" if p < unsure else ""
    thick = {"stroke_width": 2.4} if kind else {}
    # The pattern of a label that shares its color: a thick line, of which the style sheet makes a hatching.
    line = f"M{ends[0] + 9:.0f} {y + _LANE / 2 - 3:.0f}h{wide - 18:.0f}"
    pattern = tag("path", d=line) if " " in color else None
    return tag(
        "g",
        tag("title", f"{label}: {p:.4f}"),
        tag("rect", x=ends[0], y=y, width=wide, height=_LANE - 6, rx=5, class_=f"box{doubt}", **thick),
        pattern,
        tag("text", told, x=sum(ends) / 2, y=y + 16.5, text_anchor="middle", class_="name small"),
        class_=color,
    )
