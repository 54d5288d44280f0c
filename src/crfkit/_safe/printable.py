r"""Strangers' text as people see it: what would steer a terminal is spelled out.

Tokens, labels, names of attributes and files, notes and licenses come from anywhere. An escape sequence in
them could clear a screen, write to the clipboard or hide what is printed. Each such letter becomes ``\u``
and four digits, which JSON reads as the same letter again.
"""

from __future__ import annotations

import re

#: Control characters but tab and line feed, marks that reverse the direction of writing or end a line, and
#: halves of surrogate pairs.
_STEERS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_STEERING = re.compile(f"[{_STEERS}]")
_NOT_ONE_LINE = re.compile(f"[\t\n{_STEERS}]")
_CUT = " ... "


def shown(text: object) -> str:
    r"""Return a name as it goes into a line: in one piece, and harmless.

    Examples
    --------
    >>> print(shown("a\x1b[31mb\nc"))
    a\u001b[31mb\u000ac
    """
    return _NOT_ONE_LINE.sub(_spelled, str(text))


def safe(text: str) -> str:
    r"""Return lines as they go to a terminal: only tabs and line ends are left of what steers it.

    Examples
    --------
    >>> print(safe("a\x9b31m\tb"))
    a\u009b31m	b
    """
    return _STEERING.sub(_spelled, text)


def counted(number: int, what: str, many: str = "") -> str:
    """Return a number with what it counts.

    Examples
    --------
    >>> counted(1, "sequence"), counted(1200, "sequence"), counted(0, "pass", "passes")
    ('1 sequence', '1,200 sequences', '0 passes')
    """
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def quoted(text: str | bytes, most: int = 80) -> str:
    r"""Return a text as errors quote it: in quotation marks, harmless, and cut off where it is long.

    Examples
    --------
    >>> print(quoted("a\x1b[31mb"), quoted("word" * 100, 8))
    'a\x1b[31mb' 'wordword'...
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}..."


def cut(text: str, most: int) -> str:
    """Return a text without its middle where it has more letters than that.

    Examples
    --------
    >>> cut("a long, long text", 12)
    'a lo ... ext'
    """
    if len(text) <= most:
        return text
    kept = most - len(_CUT)
    return text[: kept - kept // 2] + _CUT + text[len(text) - kept // 2 :]


def _spelled(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
