r"""Strings between quotation marks in recipes; any string that is written is read back unchanged.

A backslash is an escape only before one of ``\ " ' n r t x u U``, as in Python: ``\"`` is a quotation mark,
``\\`` a backslash, ``\x0b`` and ``\u2028`` characters by their number. Before anything else it stands for
itself, so that regular expressions need no doubling: ``"\w+\.\d"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crfkit._safe.printable import quoted

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*'
_OPEN = rf'{_TEXT}(?P<closed>"?)'  # also without its end, so that nothing is read twice
_PLAIN = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"""\\(?:([\\"'nrt])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))""")
_ARGUMENT = re.compile(
    rf"""\s*(?:([+-]?\d{{1,40}}(?:\.\d{{1,40}})?(?:[eE][+-]?\d{{1,9}})?)
    |({_TEXT}"|'[^'\\]*(?:\\.[^'\\]*)*'))\s*(?:,|$)""",
    re.DOTALL | re.VERBOSE,
)


def quote(text: str) -> str:
    r"""Return a string in quotation marks, on one line.

    Examples
    --------
    >>> print(quote(r"\w+\n"), quote('say "a"'), quote("\x0b"))
    "\w+\\n" "say \"a\"" "\x0b"
    """
    written = []
    for i, character in enumerate(text):
        if character == "\\":
            escapes = text[i + 1 : i + 2] in ("", *_PLAIN, *"xuU") or not text[i + 1].isprintable()
            written.append("\\\\" if escapes else "\\")
        elif character == '"':
            written.append('\\"')
        elif character.isprintable():
            written.append(character)
        else:
            written.append(_numbered(ord(character)))
    return f'"{"".join(written)}"'


def pieces(text: str, marks: str) -> Iterator[str]:
    """Cut a text at each of some marks that is not within quotation marks; marks are pieces, too.

    Examples
    --------
    >>> [*pieces('a; "b;c" # d', ";#")]
    ['a', ';', ' "b;c" ', '#', ' d']
    """
    signs, held = re.escape(marks), []
    for found in re.finditer(rf'(?P<string>{_OPEN})|[{signs}]|[^"{signs}]+', text):
        if found["string"] and not found["closed"]:
            raise ValueError("a quotation mark is not closed")
        if found[0] not in marks:
            held.append(found[0])
            continue
        if held:
            yield "".join(held)
            held.clear()
        yield found[0]
    if held:
        yield "".join(held)


def arguments_of(text: str) -> tuple[int | float | str, ...]:
    """Read numbers and quoted strings between commas.

    Examples
    --------
    >>> arguments_of('2, "a, b"')
    (2, 'a, b')
    """
    found: list[int | float | str] = []
    at = 0
    while at < len(text):
        matched = _ARGUMENT.match(text, at)
        if not matched:
            raise ValueError(f"the arguments {quoted(text.strip())} are not numbers or quoted strings")
        number, string = matched.groups()
        found.append(_number(number) if string is None else _ESCAPE.sub(_character, string[1:-1]))
        at = matched.end()
    return tuple(found)


def _number(text: str) -> int | float:
    return float(text) if set(text) & set(".eE") else int(text)


def _numbered(point: int) -> str:
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return _PLAIN[escape[1]]
    point = int(escape[2] or escape[3] or escape[4], 16)
    if point > 0x10FFFF:
        raise ValueError(f"{escape[0]} is not the number of a character; the last is \\U0010ffff")
    return chr(point)
