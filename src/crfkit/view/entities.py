"""Colored text: labeled spans with probabilities, in one text or in several versions of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from crfkit.view.frame import framed, keys
from crfkit.view.markup import Markup, join, tag
from crfkit.view.style import color_classes
from crfkit.view.text import limit, share

__all__ = ["UNSURE", "Spans", "apart", "compare", "entities", "joined"]

#: (start, end, label) or (start, end, label, probability), in code points.
Spans: TypeAlias = Iterable[Sequence[Any]]
UNSURE = 0.7  #: spans that are less probable have dashes
_WHOLE = 24  #: letters of spans that no line breaks


def entities(
    text: str,
    spans: Spans,
    *,
    labels: Iterable[str] = (),
    unsure: float = UNSURE,
    title: str = "",
    legend: bool = True,
) -> Markup:
    """Return a text with its labeled spans in color; what is improbable has dashes.

    Parameters
    ----------
    text : str
    spans : iterable of (start, end, label) or (start, end, label, probability)
        Counted in code points. Of those that lie over each other the first is colored, of several that begin
        there the longest; the others are listed below the text.
    labels : iterable of str
        All labels of the model, so that each has one color in all pictures.
    unsure : float
    title : str
    legend : bool

    Examples
    --------
    >>> print(entities("Ana ran", [(0, 3, "PER", 0.998)], legend=False))  # doctest: +ELLIPSIS
    <figure class="crfkit"><div class="text" dir="auto"><mark class="k... whole" ...><bdi>Ana</bdi>...
    """
    shown, hidden = apart(text, spans)
    colors = color_classes([*labels, *(one[2] for one in (*shown, *hidden))])
    body = tag("div", _marked(text, shown, colors, unsure), class_="text", dir="auto")
    if hidden:
        listed = [_mark(text, one, colors, unsure) for one in hidden]
        body = join(
            [
                body,
                tag(
                    "div", tag("em", "lying over these: ", class_="soft"), *listed, class_="text", dir="auto"
                ),
            ]
        )
    doubt = any(len(one) > 3 and one[3] is not None and one[3] < unsure for one in (*shown, *hidden))
    names = {one[2]: colors[one[2]] for one in sorted((*shown, *hidden), key=lambda one: str(one[2]))}
    note = f"dashed: below {limit(unsure)}" if doubt else ""
    return framed(body, title, legend=keys(names, note) if legend and (names or note) else None)


def compare(
    text: str,
    versions: Mapping[str, Spans],
    *,
    gold: Spans | None = None,
    labels: Iterable[str] = (),
    unsure: float = UNSURE,
    title: str = "",
    note: str = "",
) -> Markup:
    """Return a text with the spans of several systems, a line for each.

    What all agree on is underlined thinly. Beside gold spans, which get a line of their own, a sign says
    what is right.

    Examples
    --------
    >>> found = compare("in York", {"A": [(3, 7, "LOC")], "B": []}, gold=[(3, 7, "LOC")])
    >>> "✓" in found, found.count("<mark")
    (True, 2)
    """
    given = {} if gold is None else {"gold": apart(text, gold)[0]}
    rows = {**given, **{name: apart(text, each)[0] for name, each in versions.items()}}
    places = [{(one[0], one[1], one[2]) for one in each} for each in rows.values()]
    common = set.intersection(*places) if places else set()
    right = None if gold is None else places[0]
    colors = color_classes([*labels, *(one[2] for each in rows.values() for one in each)])
    cells: list[Markup] = []
    for name, each in rows.items():
        is_gold = gold is not None and name == "gold"
        marks = ["same" if (one[0], one[1], one[2]) in common else "gold" if is_gold else "" for one in each]
        signs = [
            "" if is_gold or right is None or mark else "✓" if (one[0], one[1], one[2]) in right else "✕"
            for one, mark in zip(each, marks, strict=True)
        ]
        inner = _marked(text, each, colors, unsure, marks, signs)
        cells += [tag("div", tag("bdi", name)), tag("div", inner, class_="text", dir="auto")]
    names = {one: colors[one] for one in sorted({str(one[2]) for each in rows.values() for one in each})}
    return framed(tag("div", *cells, class_="versions"), title, note, keys(names) if names else None)


def joined(words: Sequence[str], spans: Spans = ()) -> tuple[str, list[tuple[Any, ...]]]:
    """Return words with blanks between them, and spans counted in words as spans of that text.

    Examples
    --------
    >>> joined(["in", "New", "York"], [(1, 3, "LOC", 0.9)])
    ('in New York', [(3, 11, 'LOC', 0.9)])
    """
    begins, at = [], 0
    for word in words:
        begins.append(at)
        at += len(word) + 1
    moved = [(begins[a], begins[b - 1] + len(words[b - 1]), *more) for a, b, *more in spans]
    return " ".join(words), moved


def apart(text: str, spans: Spans) -> tuple[list[Any], list[Any]]:
    """Return spans within the text that lie apart, in order, and the others that are in the text."""
    shown: list[Any] = []
    hidden: list[Any] = []
    for one in sorted(spans, key=lambda one: (one[0], -one[1])):
        if 0 <= one[0] < one[1] <= len(text):
            (shown if not shown or shown[-1][1] <= one[0] else hidden).append(one)
    return shown, hidden


def _marked(
    text: str,
    spans: Sequence[Any],
    colors: Mapping[str, str],
    unsure: float,
    marks: Sequence[str] | None = None,
    signs: Sequence[str] | None = None,
) -> Markup:
    parts: list[str] = []
    at = 0
    for i, one in enumerate(spans):
        kind, sign = marks[i] if marks else "", signs[i] if signs else ""
        parts += [text[at : one[0]], _mark(text, one, colors, unsure, kind, sign)]
        at = one[1]
    return join([*parts, text[at:]])


def _mark(
    text: str, one: Sequence[Any], colors: Mapping[str, str], unsure: float, kind: str = "", sign: str = ""
) -> Markup:
    start, end, label = one[0], one[1], one[2]
    p = one[3] if len(one) > 3 else None
    words = text[start:end]
    doubt = p is not None and p < unsure and not kind
    whole = len(words) <= _WHOLE and "\n" not in words
    names = [colors[label], kind, *(["unsure"] if doubt else []), *(["whole"] if whole else [])]
    tip = f"{label}" if p is None else f"{label}, probability {p:.3f}"
    shown = None
    if kind != "same":
        sure = tag("i", share(p)) if p is not None else None
        shown = tag("b", f"{sign} " if sign else None, tag("bdi", label), sure, dir="ltr")
    return tag("mark", tag("bdi", words), shown, class_=" ".join(filter(None, names)), title=tip)
