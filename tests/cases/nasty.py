"""Text of strangers that would steer a terminal, a page or a table, for tests of what is shown."""

from __future__ import annotations

import re

NASTY = {
    "closing markup": "[/]",
    "unknown closing markup": "[/nothing]",
    "style": "[red]x[/red]",
    "link": "[link=file:///etc/passwd]x[/link]",
    "emoji code": ":smile:",
    "colors": "\x1b[31mx",
    "clear screen": "\x1b[2J\x1b[H",
    "link of terminals": "\x1b]8;;http://example.org\x1b\\x\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;AAAA\x07",
    "bell": "\x07",
    "backspace": "right\x08\x08\x08\x08\x08wrong",
    "NUL": "\x00x",
    "delete": "\x7f",
    "CSI of one byte": "\x9b31m",
    "next line": "x\x85y",
    "direction": "\u202egnp.exe",
    "isolates": "\u2066x\u2069",
    "paragraph": "x\u2029y",
    "script": "<script>alert(1)</script>&amp;\"'",
    "formula": "$\\frac{1}{$",
    "percent": "%s%n{0}{x}",
    "long": "x" * 3000,
}
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_safe(text: str) -> bool:
    """Say whether a text holds nothing that steers a terminal."""
    return STEERING.search(text) is None
