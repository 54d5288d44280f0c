"""Which format a text is in, guessed from its beginning.

The order of the questions: JSON lines begin with an object. Where all but a few lines have the same number of
fields, it is columns (the few are mistakes, which the reader names), unless nearly all fields behind the
first TAB look like ``name=...`` or ``name:...``. What is left is ragged: CRFsuite's text if there are TABs,
MALLET's if there are blank lines and the last fields repeat as labels do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SAMPLE", "Guess", "guess"]

SAMPLE = 1 << 16  #: bytes that are looked at
_MOST = 0.9


@dataclass(frozen=True)
class Guess:
    r"""A format and what speaks for it.

    Examples
    --------
    >>> guess(b"the D\ndog N\n").format
    'columns'
    """

    format: str
    why: str
    separator: str | None = None  #: of columns, where blanks would not do


def guess(sample: bytes, whole: bool = True) -> Guess | None:
    """Guess the format of a text from its first bytes, or return None; `whole` if there are no more."""
    if sample.startswith(b"PAR1"):
        return Guess("parquet", "it begins with PAR1")
    text = sample.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
    lines = text.split("\n")
    if not whole and len(lines) > 1:
        lines.pop()
    blank = any(not line.strip() for line in lines[:-1])
    lines = [line for line in lines if line.strip()]
    if not lines or "\0" in text:
        return None
    if lines[0].lstrip().startswith("{") and all(line.lstrip().startswith("{") for line in lines):
        return Guess("jsonl", "every line is a JSON object")

    fields = [line.rstrip("\t").split("\t") for line in lines]
    tabs = [line for line in fields if len(line) > 1]
    if tabs:
        behind = [field for line in tabs for field in line[1:] if field]
        named = sum("=" in field[1:] or ":" in field[1:] for field in behind)
        if behind and named >= _MOST * len(behind) and len(tabs) >= _MOST * len(lines):
            return Guess("crfsuite", "nearly all fields behind the first TAB are names with = or :")
    if width := _common([len(line.split()) for line in lines]):
        return Guess("columns", f"lines have {width} field{'s' if width > 1 else ''} between blanks")
    if len(tabs) >= _MOST * len(lines):
        if width := _common([len(line) for line in fields]):
            return Guess("columns", f"lines have {width} fields between TABs", "\t")
        return Guess("crfsuite", "lines have fields between TABs, and not the same number")
    ends = Counter(line.split()[-1] for line in lines)
    labels = len(ends) <= (len(lines) + 1) // 2
    if blank and labels and not tabs and all(" " in line.strip() for line in lines):
        why = "lines have fields between spaces, not the same number, and the last ones repeat"
        return Guess("mallet", why)
    return None


def _common(widths: Sequence[int]) -> int:
    """Return the width that nearly all lines have, or 0."""
    width, times = Counter(widths).most_common(1)[0]
    return width if times >= _MOST * len(widths) else 0
