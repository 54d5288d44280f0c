"""What offsets count, where a file says beside them which text they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from crfkit.text.formats.record import Remarks
from crfkit.text.offsets import Unit, from_unit

__all__ = ["Said", "fitting_unit", "misfits", "neat_unit"]

#: (start, end, the text that the file says is there)
Said: TypeAlias = "tuple[int, int, str]"
_UNITS: tuple[Unit, ...] = ("codepoint", "utf16", "byte")
# Tools write blanks for line ends, or the two letters \n.
_BLANK = re.compile(r"(?:\s|\\n)+")


def fitting_unit(text: str, said: Sequence[Said], unit: Unit, where: str, remarks: Remarks) -> Unit:
    r"""Return the unit in which most spans have the text that they should; count those that have not.

    Examples
    --------
    >>> remarks = Remarks()
    >>> fitting_unit("\U0001f680 in Oslo", [(6, 10, "Oslo")], "codepoint", "a.json", remarks), str(remarks)
    ('utf16', '')
    >>> fitting_unit("in Oslo", [(2, 6, "Oslo")], "codepoint", "a.json", remarks), str(remarks)
    ('codepoint', '1 span whose text is another (first in a.json)')
    """
    best, wrong = misfits(text, said, unit)
    if wrong:
        remarks.add("span whose text is another", where, wrong)
    return best


def misfits(text: str, said: Sequence[Said], unit: Unit) -> tuple[Unit, int]:
    """Return the unit in which most spans have the text that they should, and how many have not."""
    choices = (unit, *(one for one in _UNITS if one != unit))
    wrong = {one: _wrong(text, said, one) for one in (choices[:1] if text.isascii() else choices)}
    best = min(wrong, key=lambda one: wrong[one])
    return best, wrong[best]


def neat_unit(text: str, spans: Sequence[tuple[int, int]]) -> Unit | None:
    r"""Return the unit, UTF-16 or code points, in which spans end with words; None where both do or neither.

    Examples
    --------
    >>> neat_unit("\U0001f680 in Oslo", [(5, 9)]), neat_unit("\U0001f680 in Oslo", [(6, 10)])
    ('codepoint', 'utf16')
    """
    wide, plain = (_rough(text, spans, one) for one in _UNITS[1::-1])
    return None if wide == plain else "utf16" if wide < plain else "codepoint"


def _rough(text: str, spans: Sequence[tuple[int, int]], unit: Unit) -> int:
    """Return how many spans cut a word, begin or end with a blank, or leave the text."""
    try:
        found = from_unit(text, spans, unit).reshape(-1, 2).tolist()
    except ValueError:
        return len(spans)
    cut = [False, *(a.isalnum() and b.isalnum() for a, b in pairwise(text)), False]
    return sum(
        not 0 <= a < b <= len(text) or cut[a] or cut[b] or text[a].isspace() or text[b - 1].isspace()
        for a, b in found
    )


def _wrong(text: str, said: Sequence[Said], unit: Unit) -> int:
    try:
        found = from_unit(text, [one[:2] for one in said], unit).reshape(-1, 2).tolist()
    except ValueError:  # within a character
        return len(said)
    return sum(
        b - a > 4 * len(says) + 64 or _plain(text[max(a, 0) : max(b, 0)]) != _plain(says)
        for (a, b), (_, _, says) in zip(found, said, strict=True)
    )  # what is much longer is not cut out: a hostile file may have many such spans


def _plain(text: str) -> str:
    return _BLANK.sub(" ", text).strip()
