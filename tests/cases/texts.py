"""Texts that break formats: what stands in them must come back letter by letter."""

from __future__ import annotations

import re

from crfkit.text import Doc

ROCKET = "\U0001f469\u200d\U0001f680"
TEXTS = {
    "plain": "Ana lives in New York",
    "joined emoji": f"{ROCKET} Jos\u00e9 {ROCKET}{ROCKET} Madrid",
    "beyond the basic plane": "\U0001f680 Oslo \U00010348 \U0001f1f3\U0001f1f4 x",
    "combining marks": "e\u0301te\u0301 a\u0308\u0323b \u0928\u092e\u0938\u094d\u0924\u0947 c",
    "right to left": "\u200f\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0627\u0644\u0642\u0627 x",
    "line ends": "one two\r\nthree\u0085four five\u2028six\u2029seven\reight\nnine\x0bten\x0celeven",
    "blanks": "  a \t b\u00a0c \u3000d\ufeffe  ",
    "marks of formats": 'a"b <c> &amp; x\\ny ;| _ * # \u007b"text": 1} [1] \\t -> T1 ]]> --',
    "one letter": "\U0001f680",
}


def document(text: str, id: str | None = None) -> Doc:
    """Return the text with tokens between blanks, and spans over some of them."""
    tokens = [found.span() for found in re.finditer(r"[^\s\x85\ufeff]+", text)]
    spans = [
        (tokens[first][0], tokens[min(first + 1, len(tokens) - 1)][1], label)
        for first, label in zip(range(0, len(tokens), 3), ["PER", "LOC"] * len(tokens), strict=False)
    ]
    return Doc(text, tokens, spans=spans, id=id)


DOCS = {name: document(text) for name, text in TEXTS.items()}
