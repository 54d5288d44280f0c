"""Guessing the format of a text from its beginning, by asking the records of the formats in turn.

JSON lines begin with an object. Ten fields between TABs, with a number in the first and in the seventh, are
CoNLL-U. Where all but a few lines have the same number of fields, it is columns (the reader reports
the few as errors), unless nearly all fields behind the first TAB look like ``name=...`` or ``name:...``. What
is left is ragged: CRFsuite's text if there are TABs, MALLET's if there are blank lines and the last fields
repeat as labels do.

Columns are split at TABs only where every line has one and nearly all have the same number of them, so that
``New York<TAB>B-LOC`` has two fields; else at blanks and TABs.
"""

from __future__ import annotations

from dataclasses import dataclass

from crfkit.data.formats.record import Sample
from crfkit.data.formats.registry import records


@dataclass(frozen=True)
class Guess:
    r"""A format, and why it was guessed.

    Examples
    --------
    >>> guess(b"the D\ndog N\n").format
    'columns'
    """

    format: str
    why: str
    sample: Sample | None = None  #: what was looked at
    looks: str = ""  #: the format that it looks like, where another one is needed


def guess(sample: bytes, whole: bool = True, comment: str | None = None) -> Guess | None:
    """Guess the format of a text from its first bytes, or return None.

    `whole` says that these are all bytes of the input. Lines that begin with `comment` do not count.
    """
    return guess_of(Sample(sample, whole, comment))


def guess_of(sample: Sample) -> Guess | None:
    """Guess the format of a text from its beginning, or return None."""
    for one in records():
        if one.guess is not None and (why := one.guess(sample)):
            return Guess(one.name, why, sample)
    return None
