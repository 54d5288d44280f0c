"""Which format a text is in, guessed from its beginning.

The order of the questions: JSON lines begin with an object. Ten fields between TABs, with a number in the
first and in the seventh, are CoNLL-U. Where all but a few lines have the same number of fields, it is columns
(the few are mistakes, which the reader names), unless nearly all fields behind the first TAB look like
``name=...`` or ``name:...``. What is left is ragged: CRFsuite's text if there are TABs, MALLET's if there are
blank lines and the last fields repeat as labels do.

Columns are split at TABs alone where every line has one and nearly all have the same number of them, so that
``New York<TAB>B-LOC`` has two fields; else at blanks and TABs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SAMPLE", "Guess", "guess", "separator_of"]

SAMPLE = 1 << 16  #: bytes that are looked at
_MOST = 0.9
_CONLLU = re.compile(r"\d+([-.]\d+)?\t([^\t]*\t){5}(\d+|_)\t([^\t]*\t){2}[^\t]*")


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


def guess(sample: bytes, whole: bool = True, comment: str | None = None) -> Guess | None:
    """Guess the format of a text from its first bytes, or return None.

    `whole` tells that there are no more bytes. Lines that begin with `comment` do not count.
    """
    if sample.startswith(b"PAR1"):
        return Guess("parquet", "it begins with PAR1")
    lines, blank = _lines(sample, whole, comment)
    if not lines or b"\0" in sample:
        return None
    if lines[0].lstrip().startswith("{") and all(line.lstrip().startswith("{") for line in lines):
        return Guess("jsonl", "every line is a JSON object")

    told = [line for line in lines if not line.startswith("#")]
    if told and all(map(_CONLLU.fullmatch, told)):
        return Guess("conllu", "lines have 10 fields between TABs and are numbered", "\t")
    fields = [line.rstrip("\t").split("\t") for line in lines]
    tabs = [line for line in fields if len(line) > 1]
    if tabs:
        behind = [field for line in tabs for field in line[1:] if field]
        named = sum("=" in field[1:] or ":" in field[1:] for field in behind)
        if behind and named >= _MOST * len(behind) and len(tabs) >= _MOST * len(lines):
            return Guess("crfsuite", "nearly all fields behind the first TAB are names with = or :")
    if width := _tabs(lines):
        return Guess("columns", f"lines have {width} fields between TABs", "\t")
    if width := _common([len(line.split()) for line in lines]):
        return Guess("columns", f"lines have {width} field{'s' if width > 1 else ''} between blanks")
    if len(tabs) >= _MOST * len(lines):
        return Guess("crfsuite", "lines have fields between TABs, and not the same number")
    ends = Counter(line.split()[-1] for line in lines)
    labels = len(ends) <= (len(lines) + 1) // 2
    if blank and labels and not tabs and all(" " in line.strip() for line in lines):
        why = "lines have fields between spaces, not the same number, and the last ones repeat"
        return Guess("mallet", why)
    return None


def separator_of(sample: bytes, whole: bool = True, comment: str | None = None) -> str | None:
    r"""Return what separates the columns of a text: a TAB, or None for blanks and TABs.

    Examples
    --------
    >>> separator_of(b"New York\tB-LOC\nis\tO\n"), separator_of(b"New York\n")
    ('\t', None)
    """
    return "\t" if _tabs(_lines(sample, whole, comment)[0]) else None


def _lines(sample: bytes, whole: bool, comment: str | None) -> tuple[list[str], bool]:
    """Return the lines that hold something, and whether there are blank ones."""
    text = sample.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
    lines = text.split("\n")
    if not whole and len(lines) > 1:
        lines.pop()
    blank = any(not line.strip() for line in lines[:-1])
    return [x for x in lines if x.strip() and not (comment and x.startswith(comment))], blank


def _tabs(lines: Sequence[str]) -> int:
    """Return how many fields nearly all lines have between TABs, 0 if some lack a TAB or all end in one."""
    told = [line for line in lines if not line.startswith("-DOCSTART-")]
    if not told or not all("\t" in line for line in told) or all(line.endswith("\t") for line in told):
        return 0
    return _common([line.count("\t") + 1 for line in told])


def _common(widths: Sequence[int]) -> int:
    """Return the width that nearly all lines have, or 0."""
    width, times = Counter(widths).most_common(1)[0]
    return width if times >= _MOST * len(widths) else 0
