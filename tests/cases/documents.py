"""Documents that a small model learns by heart, and sentences of which some of their spans are made."""

from __future__ import annotations

import re

from crfkit import Doc

#: Spans in brackets, as `made` reads them.
MARKED = (
    "[Ana Ruiz PER] lives in [New York LOC]. [Leo PER] ran.",
    "In [Oslo LOC], [Ana PER] saw [Leo Diaz PER] and [Eva PER].",
    "([Eva Diaz PER]) left for [San Juan LOC].",
    "The [Oslo LOC] office of [New York LOC] is closed.",
    "Nobody was there.",
)


def made(marked: str, id: str | None = None) -> Doc:
    """Return the document of a text with brackets around its spans.

    Examples
    --------
    >>> made("in [New York LOC]").spans
    (Span(3, 11, 'LOC', text='New York'),)
    """
    text, spans = "", []
    for part in re.split(r"(\[[^\]]+\])", marked):
        if part.startswith("["):
            inside, label = part[1:-1].rsplit(" ", 1)
            spans.append((len(text), len(text) + len(inside), label))
            text += inside
        else:
            text += part
    return Doc(text, spans=spans, id=id)


DOCS = [made(one, str(n)) for n, one in enumerate(MARKED * 3)]
