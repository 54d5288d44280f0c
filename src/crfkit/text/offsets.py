r"""Where characters lie in three units: code points (as Python counts), UTF-16 units, and bytes of UTF-8.

Browsers, Java and C# count UTF-16 units: a character beyond U+FFFF, such as most emoji, counts twice. Rust,
Go and files count bytes. A *place* lies between two characters, from 0 to the length of the text; those
of all characters in a unit are a cumulative sum of their widths.

=============  ===========================================================
"codepoint"    1 each
"utf16"        1, or 2 beyond U+FFFF
"byte"         1, 2 from U+0080, 3 from U+0800, 4 from U+10000
=============  ===========================================================
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Pointers
from crfkit.checks import check_choice

__all__ = ["UNITS", "Unit", "code_points", "from_unit", "places", "to_unit"]

Unit: TypeAlias = Literal["codepoint", "utf16", "byte"]
UNITS: Final = ("codepoint", "utf16", "byte")


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, halves of surrogate pairs included.

    Examples
    --------
    >>> code_points("né").tolist()
    [110, 233]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def places(text: str, unit: Unit) -> Pointers:
    r"""Return where each character begins in a unit, and where the text ends, [characters + 1].

    Examples
    --------
    >>> places("a\u20ac\U0001f680", "byte").tolist(), places("a\u20ac\U0001f680", "utf16").tolist()
    ([0, 1, 4, 8], [0, 1, 2, 4])
    """
    made = np.arange(len(text) + 1)
    if _counts_one(text, unit):
        return made
    code = code_points(text)
    wider = (code > 0xFFFF).astype(np.int64)
    if unit == "byte":
        wider += code > 0x7F
        wider += code > 0x7FF
    np.cumsum(wider, out=wider)
    made[1:] += wider
    return made


def _counts_one(text: str, unit: Unit) -> bool:
    """Return whether each character of a text counts one."""
    check_choice("unit", unit, UNITS)
    return unit == "codepoint" or text.isascii()


def to_unit(text: str, offsets: Any, unit: Unit) -> Pointers:
    r"""Return offsets in code points as offsets in another unit, in the same shape.

    Offsets beyond an end of the text stay as far beyond it.

    Examples
    --------
    >>> to_unit("\U0001f680 Oslo", [[2, 6]], "utf16").tolist()
    [[3, 7]]
    """
    given: Pointers = np.asarray(offsets, np.int64)
    if _counts_one(text, unit):
        return given.copy()
    where = places(text, unit)
    inside = np.clip(given, 0, len(text))
    return where[inside] + (given - inside)


def from_unit(text: str, offsets: Any, unit: Unit) -> Pointers:
    r"""Return offsets in a unit as offsets in code points; refuse one that lies within a character.

    Offsets beyond an end of the text stay as far beyond it.

    Examples
    --------
    >>> from_unit("\U0001f680 Oslo", [[3, 7]], "utf16").tolist()
    [[2, 6]]
    >>> from_unit("\U0001f680 Oslo", [1, 7], "utf16")
    Traceback (most recent call last):
    ValueError: offset 1 lies within '🚀', character 0 of the text: the offsets do not count UTF-16 units
    """
    given: Pointers = np.asarray(offsets, np.int64)
    if _counts_one(text, unit):
        return given.copy()
    where = places(text, unit)
    inside = np.clip(given, 0, where[-1])
    found: Pointers = np.searchsorted(where, inside)
    cuts = where[found] != inside
    if cuts.any():
        at = int(inside[cuts].flat[0])
        place = int(np.searchsorted(where, at)) - 1
        names = {"utf16": "UTF-16 units", "byte": "bytes of UTF-8"}
        raise ValueError(
            f"offset {at} lies within {text[place]!r}, character {place} of the text: "
            f"the offsets do not count {names[unit]}"
        )
    return found + (given - inside)
