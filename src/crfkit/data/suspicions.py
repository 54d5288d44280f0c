"""Data that look different from what was meant: one giant sequence, a header or comments read as tokens.

What comes is handed on as it is; a `DataWarning` names the option that mends it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.header import are_names
from crfkit.data.formats.record import Format, FormatOptions
from crfkit.errors import DataWarning

_LONG = 1000  # positions of a sequence that is suspicious where it is the only one
_FEW = 20  # positions: in less, a label may occur once
_RARE = 100  # labels; if only the first one of this many occurs just once, that is hardly by chance
_TAG = re.compile(r"O|[A-Z]-.*", re.DOTALL)  # which no header is


def watched(
    parts: Iterator[Columns | Dataset], record: Format, given: FormatOptions, name: str
) -> Iterator[Columns | Dataset]:
    """Yield the parts of one input, and warn of what is suspicious in them.

    Parameters
    ----------
    parts : iterator of Columns or Dataset
    record : Format
        Their format.
    given : FormatOptions
        What the user said of it.
    name : str
        That of the input.
    """
    first: Columns | Dataset | None = None
    sequences = 0
    commented = given.comment is None and "comment" in record.takes and record.name != "conllu"
    for part in parts:
        if first is None:
            first = part
            if isinstance(part, Columns) and given.header is None and "header" in record.takes:
                _warn_of_header(part)
        sequences += len(part)
        commented = commented and isinstance(part, Columns) and _begin_with_marks(part)
        yield part
    blank_lines = not (record.whole or record.line_by_line or given.sequence is not None)
    if first is not None and sequences == 1 and blank_lines:
        _warn_of_one(first, name)
    if isinstance(first, Columns) and sequences > 1 and commented:
        _warn_of_comments(first)


def _warn_of_one(part: Columns | Dataset, name: str) -> None:
    positions = part.positions if isinstance(part, Columns) else part.batch.positions
    if positions > _LONG:
        warnings.warn(
            f"{name} is one sequence of {positions:,} positions: it has no blank line; put one between "
            "sequences, or name the column that numbers them with sequence (--sequence-column NAME)",
            DataWarning,
            stacklevel=3,
        )


def _warn_of_header(part: Columns) -> None:
    """Warn where the first label occurs only there, of words that name columns or as hardly a label does."""
    if part.headed or len(part.names) < 2 or not part.positions:
        return
    first = [alphabet[int(ids[0])] for alphabet, ids in zip(part.alphabets, part.ids, strict=True)]
    counts = np.bincount(part.ids[-1])
    rare = (counts == 1).sum() <= max(1, part.positions // _RARE)
    alone = part.positions >= _FEW and rare and not _TAG.fullmatch(first[-1])
    if counts[part.ids[-1][0]] > 1 or not (are_names(first) or alone):
        return
    line = 1 if part.lines is None else part.lines.of(0)
    warnings.warn(
        f"{part.source}, line {line}: is read as a token, but {quoted(first[-1])} occurs nowhere else in the "
        "last column, as if the line named the columns; give header=True (--header) if it does, header=False "
        "(--no-header) if not",
        DataWarning,
        stacklevel=3,
    )


def _begin_with_marks(part: Columns) -> bool:
    """Return whether every sequence begins with a line that begins with #, as comments do."""
    names, begins = part.alphabets[0], part.seq_ptr[:-1][np.diff(part.seq_ptr) > 0]
    return all(names[i].startswith("#") for i in part.ids[0][begins].tolist())


def _warn_of_comments(first: Columns) -> None:
    line = 1 if first.lines is None else first.lines.of(0)
    warnings.warn(
        f"{first.source}, line {line}: is read as a token, but every sequence begins with a line that begins "
        "with #; if these are comments, give comment='#' (--comment '#')",
        DataWarning,
        stacklevel=3,
    )
