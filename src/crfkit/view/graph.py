"""Factor graphs of small batches: circles are variables, squares are factors; and images of their pixels."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence
from struct import pack
from typing import Any

from crfkit.view.frame import drawing, framed, keys, scrolled
from crfkit.view.markup import Markup, join, tag
from crfkit.view.style import color_classes
from crfkit.view.text import cut, share

__all__ = ["graph", "grid"]

_RADIUS, _SQUARE, _STEP, _BAND = 20.0, 4.5, 74.0, 96.0
_VARIABLES, _FACTORS = 60, 150  #: drawn at most
#: Of labels in images: red, green, blue; those of the style sheet in light pages, and gray.
_PIXELS = "0072b2 e69f00 009e73 cc79a7 d55e00 56b4e9 8c6bb1 7f7f7f"


def graph(
    variables: Sequence[tuple[str, str | None, bool]],
    factors: Sequence[tuple[str, Sequence[int]]],
    places: Sequence[tuple[float, float]] | None = None,
    *,
    title: str = "",
    note: str = "",
) -> Markup:
    """Return a factor graph: variables of a kind in a row, or at given places, factors between them.

    Parameters
    ----------
    variables : sequence of (kind, label, observed)
        The label is written into the circle; None: it is not known.
    factors : sequence of (clique, variables)
        By number of variable.
    places : sequence of (x, y), optional
        In steps of a grid.

    Examples
    --------
    >>> made = graph([("token", "D", False), ("token", None, False)], [("step", [0, 1]), ("unary", [0])])
    >>> made.count("<circle"), made.count("<rect")
    (2, 2)
    """
    shown = min(len(variables), _VARIABLES)
    kept = [one for one in factors if all(0 <= v < shown for v in one[1])][:_FACTORS]
    kinds = list(dict.fromkeys(kind for kind, *_ in variables[:shown]))
    if places is None:
        seen = dict.fromkeys(kinds, 0)
        found = []
        for kind, *_ in variables[:shown]:
            found.append((seen[kind], kinds.index(kind) * _BAND / _STEP))
            seen[kind] += 1
        places = found
    colors = color_classes(kinds)
    # Factors of one variable, and of variables that are not neighbors, stand above them.
    raised = any(
        max(places[v][0] for v in one[1]) - min(places[v][0] for v in one[1]) not in (0, 1)
        or len(one[1]) == 1
        for one in kept
    )
    at = [(48 + _STEP * x, (66 if raised else 34) + _STEP * y) for x, y in places[:shown]]
    lines: list[Markup] = []
    squares: list[Markup] = []
    taken: dict[tuple[int, int], int] = {}
    for clique, members in kept:
        x, y = _between([at[v] for v in members], taken)
        lines += [tag("line", x1=at[v][0], y1=at[v][1], x2=x, y2=y, class_="step") for v in members]
        square = tag(
            "rect",
            tag("title", clique),
            x=x - _SQUARE,
            y=y - _SQUARE,
            width=2 * _SQUARE,
            height=2 * _SQUARE,
            class_="factor",
        )
        squares.append(square)
    circles: list[Markup] = []
    for (kind, label, observed), (x, y) in zip(variables[:shown], at, strict=True):
        look = "seen" if observed else "box"
        name = cut(label, 6) if label is not None else "?"
        tip = tag(
            "title",
            f"{kind}: {label if label is not None else 'not known'}{', observed' if observed else ''}",
        )
        circle = tag(
            "circle", tip, cx=x, cy=y, r=_RADIUS, class_=look, stroke="var(--ink)" if observed else None
        )
        text = tag("text", name, x=x, y=y + 4, text_anchor="middle", class_="name small")
        circles.append(tag("g", circle, text, class_=colors[kind]))
    across = max((x for x, _ in at), default=0.0) + 48
    high = max((y for _, y in at), default=0.0) + 44
    name = f"factor graph of {len(variables)} variables and {len(factors)} factors"
    hidden = [f"{shown} of {len(variables)} variables"] if shown < len(variables) else []
    hidden += [f"{len(kept)} of {len(factors)} factors"] if len(kept) < len(factors) else []
    legend = keys({kind: colors[kind] for kind in kinds}, "circle: variable, square: factor")
    picture = scrolled(drawing([*lines, *squares, *circles], across, high, name), name)
    return framed(picture, title, "; ".join(filter(None, [note, *hidden])), legend)


def _between(points: Sequence[tuple[float, float]], taken: dict[tuple[int, int], int]) -> tuple[float, float]:
    """Return where a factor lies: amid its variables, above where one lies between, else aside."""
    x, y = sum(a for a, _ in points) / len(points), sum(b for _, b in points) / len(points)
    level = len({round(b) for _, b in points}) == 1
    if len(points) == 1:
        y -= _RADIUS + 18
    elif level and max(a for a, _ in points) - min(a for a, _ in points) > 1.5 * _STEP:
        y -= min(26 + 6 * (max(a for a, _ in points) - min(a for a, _ in points)) / _STEP, 46)
    place = round(x), round(y)
    taken[place] = taken.get(place, 0) + 1
    return x + 13 * (taken[place] - 1), y


def grid(
    values: Any, shape: tuple[int, int], *, labels: Sequence[str] = (), title: str = "", note: str = ""
) -> Markup:
    """Return pictures of an image's pixels: labels as one, probabilities as one for each label.

    Parameters
    ----------
    values : sequence [V] of int, or [V, L] of probabilities
        Row by row.
    shape : (height, width)
    labels : sequence of str
        Their names.

    Examples
    --------
    >>> grid([0, 1, 1, 0], (2, 2), labels=["sky", "road"]).count("<img")
    1
    >>> grid([[0.5, 0.5], [1.0, 0.0]], (1, 2), labels=["sky", "road"]).count("<img")
    2
    """
    high, wide = shape
    rows = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(rows) != high * wide:
        raise ValueError(
            f"there are {len(rows)} values, expected {high * wide}: one for each pixel of {shape}"
        )
    scale = max(1, min(24, 240 // max(high, wide, 1)))
    if rows and isinstance(rows[0], list | tuple):
        L = len(rows[0])
        names = [*labels, *(str(y) for y in range(len(labels), L))]
        parts = [_probabilities([row[y] for row in rows], shape, scale, names[y]) for y in range(L)]
        return framed(tag("div", *parts, class_="side"), title, note or "white: probability 1")
    numbers = [int(y) for y in rows]
    L = max([*numbers, len(labels) - 1], default=0) + 1
    names = [*labels, *(str(y) for y in range(len(labels), L))]
    colors = _PIXELS.split()
    told = ", ".join(
        f"{names[y]} {100 * numbers.count(y) / (len(numbers) or 1):.0f} %" for y in range(min(L, 12))
    )
    image = _image(
        [y % len(colors) for y in numbers], shape, colors, scale, f"{high} x {wide} pixels: {told}"
    )
    legend = join(
        tag("span", tag("bdi", names[y]), style=f"--k:#{colors[y % len(colors)]}") for y in range(min(L, 24))
    )
    return framed(image, title, note, legend)


def _probabilities(column: Sequence[float], shape: tuple[int, int], scale: int, name: str) -> Markup:
    grays = [round(255 * min(max(p, 0.0), 1.0)) for p in column]
    mean = share(sum(column) / (len(column) or 1))
    below = tag("div", tag("bdi", name), f", mean {mean}", class_="soft")
    return tag("div", _image(grays, shape, None, scale, name), below)


def _image(
    pixels: Sequence[int], shape: tuple[int, int], colors: Sequence[str] | None, scale: int, name: str
) -> Markup:
    """Return a PNG, enlarged by whole pixels: of numbers of colors, or of grays from 0 to 255."""
    high, wide = shape
    lines = b"".join(b"\0" + bytes(pixels[y * wide : (y + 1) * wide]) for y in range(high))
    kind = 0 if colors is None else 3
    chunks = [(b"IHDR", pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0))]
    if colors is not None:
        chunks.append((b"PLTE", bytes.fromhex("".join(colors))))
    chunks += [(b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    source = f"data:image/png;base64,{b64encode(content).decode()}"
    return tag("img", src=source, width=wide * scale, height=high * scale, alt=name)
