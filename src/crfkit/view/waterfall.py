"""Why this label and not that one: what each weight adds to the difference of two scores, as steps."""

from __future__ import annotations

from collections.abc import Sequence

from crfkit._safe.printable import counted
from crfkit.view.frame import drawing, framed, scrolled
from crfkit.view.markup import Markup, tag
from crfkit.view.text import cut, share, signed, split, step, width

__all__ = ["waterfall"]

_ROW, _TOP = 23, 30
#: Wide and narrow: pixels for names, pixels for steps, letters of a name.
_WIDE, _NARROW = (330, 400, 40), (172, 112, 24)


def waterfall(
    what: str,
    label: str,
    probability: float,
    against: str | None,
    other: float,
    contributions: Sequence[tuple[str, str, float]],
    *,
    most: int = 14,
    narrow: bool = False,
) -> Markup:
    """Return contributions as steps from 0 to the difference of two scores.

    Parameters
    ----------
    what : str
        The token, or what to call it.
    label, against : str
        What won, and what it is compared with; None where nothing else is possible.
    probability, other : float
        Their probabilities.
    contributions : sequence of (name, where, amount)
        The largest first; where is empty at the token itself.
    most : int
        Those beyond are one step together.
    narrow : bool
        Whether it stands in a column beside other pictures.

    Examples
    --------
    >>> made = waterfall("York", "LOC", 0.9, "O", 0.1, [("word[0]=York", "", 2.0), ("bias", "", -0.5)])
    >>> made.count("<rect"), "+1.50" in made
    (3, True)
    """
    names, plot, letters = _NARROW if narrow else _WIDE
    head = f"“{what}” is {label}"
    if against is None:
        return framed(
            tag("p", "No other label is possible here.", class_="soft"), head, f"({share(probability)})"
        )
    steps = [*contributions[:most]]
    if rest := contributions[most:]:
        steps.append((counted(len(rest), "other"), "", sum(one[2] for one in rest)))
    walk, at = [], 0.0
    for name, where, amount in steps:
        walk.append((name, where, at, at + amount))
        at += amount
    low = min(0.0, *(min(a, b) for *_, a, b in walk), 0.0)
    high = max(0.0, *(max(a, b) for *_, a, b in walk), 0.0)
    scale = plot / ((high - low) or 1.0)

    def place(value: float) -> float:
        return names + (value - low) * scale

    across, bottom = names + plot + (54.0 if narrow else 78.0), _TOP + _ROW * (len(walk) + 1) + 14.0
    zero = place(0.0)
    # Where 0 is near an edge, both words go to its open side; none takes more than half of the width.
    sides = [f"for {cut(one, int((across - 24) / 2 / 7.4) - 4)}" for one in (against, label)]
    middle = min(max(zero, width(sides[0], 11.5) + 12), across - width(sides[1], 11.5) - 12)
    parts: list[Markup] = [
        tag("line", x1=zero, x2=zero, y1=_TOP - 6, y2=bottom - 6, class_="step"),
        tag("text", sides[0], x=middle - 8, y=_TOP - 12, text_anchor="end", class_="against small"),
        tag("text", sides[1], x=middle + 8, y=_TOP - 12, class_="for small"),
    ]
    for i, (name, where, a, b) in enumerate(walk):
        parts += _step(name, where, a, b, _TOP + i * _ROW, place, scale, (names, letters))
    y = _TOP + len(walk) * _ROW
    edge = place(max(0.0, at)) + 6
    parts += [
        tag("line", x1=20, x2=across - 18, y1=y + 1, y2=y + 1, class_="rule"),
        tag("text", "sum", x=names - 10, y=y + 18, text_anchor="end", class_="strong"),
        tag(
            "rect",
            x=place(min(0.0, at)),
            y=y + 6,
            width=max(1.0, abs(at) * scale),
            height=_ROW - 7,
            rx=2,
            class_="factor",
        ),
        tag("text", signed(at), x=edge, y=y + 18, class_="strong small over"),
    ]
    note = f"({share(probability)}), not {against} ({share(other)}): what each weight adds to the difference"
    name = f"{head}, not {against}: {len(contributions)} contributions, {signed(at)} in all"
    return framed(scrolled(drawing(parts, across, bottom, name), name), head, note)


def _step(
    name: str, where: str, a: float, b: float, y: float, place: object, scale: float, room: tuple[int, int]
) -> list[Markup]:
    at = place
    assert callable(at)
    tone = "for" if b >= a else "against"
    value, template = split(name)
    names, letters = room
    room_left = letters - (len(where) + 1 if where else 0)
    value = step(value, room_left - (8 if template else 0))
    words = [tag("title", name)]
    if template:
        left = max(room_left - len(value) - 1, 8 if letters > 30 else 4)
        words.append(tag("tspan", cut(template, left), " ", class_="soft"))
    words += [tag("tspan", value), *([tag("tspan", f" {where}", class_="soft")] if where else [])]
    small = None if letters > 30 else "small"
    return [
        tag("text", *words, x=names - 10, y=y + 15, text_anchor="end", class_=small),
        tag(
            "rect",
            x=at(min(a, b)),
            y=y + 4,
            width=max(1.0, abs(b - a) * scale),
            height=_ROW - 8,
            rx=2,
            class_=tone,
        ),
        tag("line", x1=at(b), x2=at(b), y1=y + 4, y2=y + _ROW + 4, class_="step", stroke_dasharray="2 2"),
        tag("text", signed(b - a), x=at(max(a, b)) + 6, y=y + 15, class_=f"{tone} small over"),
    ]
