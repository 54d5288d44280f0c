"""Numbers and names as pictures write them, and about how wide they are."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import combining, east_asian_width

__all__ = ["brief", "compact", "cut", "limit", "percent", "share", "signed", "split", "step", "width"]

_NARROW = frozenset("iljtfrI.,;:'|!()[]-`")


def share(p: float | None) -> str:
    """Return a probability in two digits, which never rounds to certainty.

    Examples
    --------
    >>> [share(p) for p in (0.5, 0.996, 0.994, 1.0, 0.004, 0.0, None)]
    ['.50', '>.99', '.99', '1', '<.01', '0', '']
    """
    if p is None:
        return ""
    if p != p:
        return "–"
    if p <= 0.0 or p >= 1.0:
        return "1" if p >= 1.0 else "0"
    return ">.99" if p >= 0.995 else "<.01" if p < 0.005 else f"{p:.2f}"[1:]


def limit(p: float) -> str:
    """Return a limit of probabilities as it was set.

    Examples
    --------
    >>> limit(0.7), limit(0.05)
    ('.7', '.05')
    """
    return f"{p:g}".removeprefix("0")


def signed(value: float, digits: int = 2) -> str:
    """Return a weight with its sign.

    Examples
    --------
    >>> signed(1.5), signed(-0.25, 1), signed(0.001)
    ('+1.50', '−0.2', '0.00')
    """
    told = f"{value:+.{digits}f}"
    return told[1:] if float(told) == 0.0 else told.replace("-", "−")


def compact(value: float) -> str:
    """Return a number in about four letters.

    Examples
    --------
    >>> [compact(v) for v in (26945.3, 3531.15, 12.5, 0.0312, 4e-7, 0.0)]
    ['26,945', '3,531', '12.5', '0.031', '4e-07', '0']
    """
    if value == 0.0:
        return "0"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        return f"{value:.2g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1.0 else f"{value:.2g}"


def cut(text: str, most: int) -> str:
    """Return a text without its middle where it has more letters than that.

    Examples
    --------
    >>> cut("a long, long text", 9)
    'a lo…text'
    """
    return text if len(text) <= most else text[: most // 2] + "…" + text[len(text) - (most - 1) // 2 :]


def brief(names: Iterable[str], most: int) -> dict[str, str]:
    """Return names without their middle, but for what keeps them apart, within twice the length.

    Examples
    --------
    >>> brief(["a long name", "a large name", "b"], 7)
    {'a long name': 'a lo…ame', 'a large name': 'a la…ame', 'b': 'b'}
    """
    given = dict.fromkeys(names)
    for size in range(most, 2 * most):
        made = {one: cut(one, size) for one in given}
        if len({*made.values()}) == len(made):
            return made
    return {one: cut(one, most) for one in given}


def step(name: str, most: int) -> str:
    """Return the name of a weight; of a step that is too long, the labels that are taken, each cut.

    Examples
    --------
    >>> step("B-PER → O, not B-LOC → O", 40)
    'B-PER → O, not B-LOC → O'
    >>> step("B-PER → O, not B-LOC → O", 20), step("street name → place name", 17), step("a long word", 9)
    ('B-PER → O', 'str…ame → pla…ame', 'a lo…word')
    """
    taken = name.partition(", not ")[0]
    if len(name) <= most or " → " not in taken:
        return cut(name, most)
    sides = taken.split(" → ")
    if len(taken) <= most:
        return taken
    return cut(" → ".join(cut(one, max((most + 3) // len(sides) - 3, 3)) for one in sides), most)


def percent(p: float) -> str:
    """Return a small probability in percent, of which nobody needs many zeros.

    Examples
    --------
    >>> percent(0.0042), percent(0.00034), percent(4e-9)
    ('0.42 %', '0.034 %', 'below 0.01 %')
    """
    return f"{100 * p:.2g} %" if p >= 1e-4 else "below 0.01 %"


def split(name: str) -> tuple[str, str]:
    """Return the value of an attribute and its template, which may be empty.

    Examples
    --------
    >>> split("lower(word)[-1]=el"), split("bias"), split("word[0]==")
    (('el', 'lower(word)[-1]'), ('bias', ''), ('=', 'word[0]'))
    """
    before, found, after = name.partition("=")
    return (after, before) if before and found and after else (name, "")


def width(text: str, size: float = 13.0) -> float:
    """Return about how wide a text is, in a wide font of that size.

    Examples
    --------
    >>> width("word"), width("字"), width("")
    (31.2, 13.0, 0.0)
    """
    letters = 0.0
    for one in text:
        if combining(one) or one in "\u200d\ufe0f":
            continue
        if one == "…" or east_asian_width(one) in "WF":
            letters += 1.0
        else:
            letters += 0.4 if one in _NARROW else 0.8 if one.isupper() or one in "mw@%&" else 0.6
    return round(letters * size, 1)
