"""Tables with bars: scores by row, the strongest features of each label, what became of spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crfkit.view.frame import framed, scrolled
from crfkit.view.markup import Markup, join, tag
from crfkit.view.style import color_classes
from crfkit.view.text import cut, signed, split

__all__ = ["alignment", "facts", "scores", "top_features"]

_LABELS = 60  #: of which features are shown
_OPEN = 3  #: labels whose features are not folded


def scores(
    columns: Sequence[str],
    rows: Mapping[str, Sequence[float | int | None]],
    *,
    bar: int | None = None,
    full: float = 1.0,
    labels: Sequence[str] = (),
    title: str = "",
    note: str = "",
) -> Markup:
    """Return numbers by row: shares with four digits, counts whole; a bar for one column of shares.

    A bar is as long as it can be where the share is `full`.

    Examples
    --------
    >>> made = scores(["f1", "support"], {"LOC": [0.5, 1200], "all": [None, 3]}, bar=0)
    >>> ".5000" in made, "1,200" in made, made.count('class="bar"')
    (True, True, 1)
    """
    colors = color_classes(labels)
    made = []
    for name, values in rows.items():
        cells = [tag("td", _value(value)) for value in values]
        if bar is not None:
            value = values[bar]
            shown = None if value is None else _bar(float(value) / (full or 1.0))
            cells.append(tag("td", shown, class_="l"))
        made.append(tag("tr", tag("th", tag("bdi", name), scope="row", class_=colors.get(name)), *cells))
    heads = [tag("td"), *(tag("th", tag("bdi", one), scope="col") for one in columns)]
    if bar is not None:
        heads.append(tag("td"))
    return framed(_rows(heads, made, title or "scores"), title, note)


def top_features(
    features: Mapping[str, Sequence[tuple[str, float]]],
    *,
    labels: Sequence[str] = (),
    most: int = 10,
    title: str = "Strongest features",
    note: str = "",
) -> Markup:
    """Return bars of the largest weights of each label; the first labels are open, the others are folded.

    Parameters
    ----------
    features : mapping of label -> (name, weight)
    labels : sequence of str
        All labels of the model.
    most : int
        For each label: those of the largest absolute weights.

    Examples
    --------
    >>> made = top_features({"LOC": [("word[0]=York", 2.0), ("bias", -0.5)], "PER": []})
    >>> "−0.50" in made, made.count("<details")
    (True, 1)
    """
    colors = color_classes([*labels, *features])
    largest = max((abs(w) for pairs in features.values() for _, w in pairs), default=0.0) or 1.0
    parts: list[Markup] = []
    shown = {label: pairs for label, pairs in features.items() if pairs}
    for label, pairs in list(shown.items())[:_LABELS]:
        kept = sorted(sorted(pairs, key=lambda one: -abs(one[1]))[:most], key=lambda one: -one[1])
        rows = [_feature(name, weight, largest) for name, weight in kept]
        heads = [tag("th", "feature", scope="col", class_="l"), tag("th", "weight", scope="col"), tag("td")]
        name = tag("summary", tag("span", tag("bdi", label), class_=f"label {colors[label]}"))
        table = _rows(heads, rows, f"features of {label}")
        parts.append(tag("details", name, table, open="open" if len(parts) < _OPEN else None))
    if len(shown) > _LABELS:
        note = f"{note}{'; ' if note else ''}{_LABELS} of {len(shown)} labels"
    body = tag("div", *parts, class_="folds") if parts else tag("p", "There are none.", class_="soft")
    return framed(body, title, note)


def alignment(
    counts: Mapping[str, int],
    examples: Sequence[tuple[str, str]] = (),
    *,
    title: str = "Alignment",
    note: str = "",
) -> Markup:
    """Return what became of spans that were made to fit tokens: how many of each kind, and examples.

    Examples
    --------
    >>> made = alignment({"exact": 3, "expanded": 1}, [("expanded", "'Yo' to 'York' (LOC)")])
    >>> "75.0 %" in made, "&#x27;Yo&#x27;" in made
    (True, True)
    """
    total = sum(counts.values()) or 1
    rows = []
    for kind, times in counts.items():
        listed = [tag("div", tag("bdi", what)) for one, what in examples if one == kind]
        good = kind in ("exact", "trimmed")
        cells = [
            tag("td", f"{times:,}"),
            tag("td", f"{100 * times / total:.1f} %"),
            tag("td", _bar(times / total), class_=None if good else "n"),
            tag("td", join(listed), class_="l"),
        ]
        rows.append(tag("tr", tag("th", kind.replace("_", " "), scope="row"), *cells))
    heads = [tag("td"), *(tag("th", one, scope="col") for one in ("spans", "share")), tag("td")]
    heads.append(tag("th", "for example", scope="col", class_="l"))
    return framed(_rows(heads, rows, title or "alignment"), title, note)


def facts(rows: Mapping[str, object], *, title: str = "", note: str = "") -> Markup:
    """Return names and what there is to say of each.

    Examples
    --------
    >>> "488,821" in facts({"weights": 488821})
    True
    """
    made = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            tag("td", tag("bdi", f"{value:,}" if isinstance(value, int) else value), class_="l"),
        )
        for name, value in rows.items()
    ]
    table = scrolled(tag("table", tag("tbody", *made), class_="rows"), title or "facts") if made else Markup()
    return framed(table, title, note)


def _feature(name: str, weight: float, largest: float) -> Markup:
    value, template = split(name)
    where = tag("span", " ", cut(template, 60), class_="soft") if template else None
    return tag(
        "tr",
        tag("td", tag("code", tag("bdi", cut(value, 60))), where, class_="l", title=name),
        tag("td", signed(weight)),
        tag("td", _bar(abs(weight) / largest), class_="n" if weight < 0 else None),
    )


def _bar(part: float) -> Markup:
    return tag("span", class_="bar", style=f"--p:{min(max(part, 0.0), 1.0):.3f}")


def _value(value: float | int | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return "1.0000" if value == 1 else f"{value:.4f}".removeprefix("0")


def _rows(heads: Sequence[Markup], rows: Sequence[Markup], name: str) -> Markup:
    return scrolled(tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="rows"), name)
