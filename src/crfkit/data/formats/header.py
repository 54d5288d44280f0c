"""The first line of columns, where it names them; and the column that numbers the sequences.

A line is a header where the user says so, where names that the user gave stand in it, or where it is one
beyond doubt: fields between TABs or another given character, all of them words such as ``word`` and ``tag``,
the last of which is no value of the last column. Between blanks such a line is only warned of
(`crfkit.data.suspicions`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crfkit._safe.printable import quoted
from crfkit.data.formats.columns import Columns, check_columns
from crfkit.data.formats.record import fields_of
from crfkit.errors import DataWarning

if TYPE_CHECKING:
    from crfkit.data.formats.record import FormatOptions, Sample
    from crfkit.data.source import Input
    from crfkit.errors import DataError

# Names of columns without what is neither letter nor digit; the first ones number sequences.
_NUMBERS = """
sequence sequenceid sequenceno sequencenumber seq seqid sentence sentenceid sentenceno sentencenum
sentencenumber sentenceidx sentid sentno sentidx
"""
_OTHERS = """
id token tokens tokenid word words wordid form text lemma pos postag postags upos xpos chunk chunktag
chunktags tag tags label labels ner nertag nertags entity entities iob iobtag bio biotag doc docid document
documentid index position start end feats features head deprel deps misc gold shape character char target
class segment
"""
_SEQUENCE = frozenset(_NUMBERS.split())
_NAMES = _SEQUENCE | frozenset(_OTHERS.split())


@dataclass(frozen=True)
class Head:
    """What the columns of a text are called, which of them to take, and which numbers the sequences."""

    names: tuple[str, ...] | None = None  #: of all columns; None: their numbers
    chosen: tuple[str, ...] | None = None  #: to take, in order; None: all but that of the sequences
    sequence: str | None = None  #: name or number of the column that numbers sequences
    headed: bool = False  #: whether the names come from the text

    def shaped(self, part: Columns) -> Columns:
        """Return the columns to take, in order."""
        if self.chosen is None or self.chosen == part.names:
            return replace(part, headed=self.headed) if self.headed else part
        place = {name: c for c, name in enumerate(part.names)}
        places = [place[name] for name in self.chosen]
        return replace(
            part,
            ids=tuple(part.ids[place] for place in places),
            alphabets=tuple(part.alphabets[place] for place in places),
            names=self.chosen,
            headed=self.headed,
        )


def header_in(lines: Sequence[str], separator: str | None, given: FormatOptions) -> bool:
    """Return whether the first of some lines is a header: as given, by given names, or beyond doubt.

    Examples
    --------
    >>> from crfkit.data.formats.record import FormatOptions
    >>> (
    ...     header_in(["word;tag", "the;DET"], ";", FormatOptions()),
    ...     header_in(["the;DET", "dog;NOUN"], ";", FormatOptions()),
    ... )
    (True, False)
    """
    if given.header is not None:
        return given.header
    if not lines:
        return False
    first = fields_of(lines[0], separator)
    sequence = [] if given.sequence is None or given.sequence.isdecimal() else [given.sequence]
    wanted = [*(given.columns or ()), *sequence]
    if wanted:
        return set(wanted) <= set(first)
    if separator is None or not are_names(first):
        return False
    return len(lines) > 1 and all(fields_of(line, separator)[-1] != first[-1] for line in lines[1:])


def are_names(fields: Sequence[str]) -> bool:
    """Return whether all of several fields are words that name columns.

    Examples
    --------
    >>> are_names(["Sentence #", "Word", "POS"]), are_names(["the", "DET"])
    (True, False)
    """
    names = [_bare(name) for name in fields]
    return len(names) > 1 and len(set(names)) == len(names) and _NAMES.issuperset(names)


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def head_of(source: Input, given: FormatOptions, separator: str | None, sample: Sample) -> Head:
    """Return what the columns of a text are called; a header is taken out of the input.

    Parameters
    ----------
    source : Input
    given : FormatOptions
    separator : str, optional
        What lies between columns; None: blanks and TABs.
    sample : Sample
        The beginning of the input.
    """
    lines = sample.lines
    if not header_in(lines, separator, given):
        names = None if given.columns is None else tuple(given.columns)
        return _settled(source, None, Head(names, None, given.sequence), lines, separator)
    line, text = source.take_line(given.comment or "")
    names = tuple(fields_of(text, separator))
    try:
        check_columns(names)
    except ValueError as error:
        raise source.error(line, f"as the names of columns (header), it {error}") from None
    if not all(names):
        raise source.error(line, "names a column by nothing; name all, or give header=False (--no-header)")
    warn_of_values(source, line, names[-1], (fields_of(one, separator)[-1] for one in lines[1:]))
    sequence = given.sequence if given.sequence is not None else sequence_in(names)
    chosen = None if given.columns is None else tuple(given.columns)
    if given.header is None and source.say is not None:
        numbers = "" if sequence is None else f"; {sequence!r} numbers the sequences"
        source.say(f"{source.name}: the first line names the columns {', '.join(names)}{numbers}.")
    return _settled(source, line, Head(names, chosen, sequence, headed=True), lines, separator)


def sequence_in(names: Sequence[str]) -> str | None:
    """Return the one column whose name is that of numbers of sequences; None: there is none, or several.

    Examples
    --------
    >>> sequence_in(["Sentence #", "Word", "Tag"]), sequence_in(["word", "tag"])
    ('Sentence #', None)
    """
    if "sequence" in names:
        return "sequence"
    found = [name for name in names if _bare(name) in _SEQUENCE]
    return found[0] if len(found) == 1 else None


def place_in(names: Sequence[str], which: str) -> int | None:
    """Return the number of a column by its name, or by its number in digits; None: there is none.

    Examples
    --------
    >>> place_in(["word", "tag"], "tag"), place_in(["word", "tag"], "0"), place_in(["word"], "1")
    (1, 0, None)
    """
    if which in names:
        return list(names).index(which)
    return int(which) if which.isdecimal() and int(which) < len(names) else None


def _settled(
    source: Input, line: int | None, head: Head, lines: Sequence[str], separator: str | None
) -> Head:
    """Return the head with the columns to take; refuse names of columns that are not there."""
    if not lines or (head.sequence is None and head.chosen is None):
        return head
    names = head.names or tuple(map(str, range(len(fields_of(lines[0], separator)))))
    at = None if head.sequence is None else place_in(names, head.sequence)
    if head.sequence is not None and at is None:
        raise no_column(source, line, head.sequence, names, head.headed)
    known = set(names)
    for name in head.chosen or ():
        if name not in known:
            raise no_column(source, line, name, names, head.headed)
    chosen = head.chosen or tuple(name for place, name in enumerate(names) if place != at)
    if not chosen:
        raise source.error(line, f"{head.sequence!r} is the only column; give at least one more")
    return replace(head, chosen=chosen)


def no_column(
    source: Input, line: int | None, name: str, names: Sequence[str], headed: bool = True
) -> DataError:
    """Return the error of a column that is not there."""
    what = f"there is no column {name!r}; there are {', '.join(names[:20])}"
    if headed:
        return source.error(line, what)
    remedy = "give header=True (--header) if the first line names them, or their names as columns (--columns)"
    return source.error(line, f"{what}; {remedy}")


def warn_of_values(source: Input, line: int | None, last: str, values: Iterable[str]) -> None:
    """Warn where the last name is also a value of its column: the line may be no header."""
    if last in values:
        warnings.warn(
            f"{source.name}, line {line}: is taken for the names of columns, but {quoted(last)} is also a "
            "value of its column; give header=False (--no-header) if the first line is a token",
            DataWarning,
            stacklevel=2,
        )
