r"""CRFsuite's text: ``label TAB attribute TAB attribute:value ...``, an empty line after each sequence.

Fields lie between TABs (runs count once); blanks are ordinary characters. ``\:`` is a colon, ``\\`` a
backslash, and a backslash before anything else is itself. A value that is not given is 1, and the same
attribute twice at one position adds up into one entry. ``a:1:2`` is the attribute ``a`` with value 1 and the
attribute with the empty name with value 2. A line ``@weight:NUMBER`` anywhere in a sequence is the weight of
that sequence.

Unlike the original: CRLF is a line end; text must be valid UTF-8; a value must be a finite number from its
first to its last character, as C writes numbers (the original reads 0 where it fails); a label with a value,
a line that begins with a TAB and an ``@weight`` without a sequence are errors.

A written name cannot hold TAB, line feed or NUL nor end in CR; a label cannot be empty, unknown or begin with
``@``. Beware: ``crfsuite learn`` knows ``@weight`` lines, ``crfsuite tag`` takes them for items.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import spell
from crfkit.data.formats.rows import RowReader
from crfkit.data.source import Input


def parts(source: Input) -> Iterator[Dataset]:
    """Read attributes, and yield finished sequences as soon as there are any."""
    return RowReader(source, "crfsuite").parts()


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def render(data: Dataset, *, first: bool = True) -> str:
    """Return a dataset as text; refuse what could not be read back."""
    batch = data.batch
    check_plain(data, "CRFsuite's text")
    if batch.label is None or (batch.label < 0).any():
        raise ValueError("CRFsuite's text has no way to write an unknown label; label every position")
    label_used, label_places = np.unique(batch.label, return_inverse=True)
    labels: list[str] = spell(data.labels, label_used).tolist()
    attr_used, attr_places = np.unique(batch.attr, return_inverse=True)
    names: list[str] = spell(data.attributes, attr_used).tolist()
    for kind, strings in (("label", labels), ("attribute", names)):
        for string in strings:
            if any(c in string for c in "\t\n\0") or string.endswith("\r"):
                raise ValueError(
                    f"{kind} {quoted(string)} holds TAB, line feed or NUL or ends in CR; rename it"
                )
    for label in labels:
        if not label or label.startswith("@"):
            raise ValueError(f"label {quoted(label)} is empty or begins with @; rename it")
    if first and batch.positions and labels[label_places[0]].startswith("\ufeff"):
        raise ValueError(
            "the first label begins with U+FEFF, which at the start of a file is a byte order mark"
        )
    heads = np.array([_escape(label) for label in labels], dtype=object)[label_places].tolist()
    fields = np.empty(len(names), dtype=object)
    fields[:] = [_escape(name) or ":1" for name in names]
    cells: list[str] = fields[attr_places].tolist()
    if batch.value is not None:
        cells = [
            cell if v == 1 else f"{'' if cell == ':1' else cell}:{v!r}"
            for cell, v in zip(cells, batch.value.tolist(), strict=True)
        ]
    ends = batch.attr_ptr.tolist()
    rows = ["\t".join([head, *cells[a:b]]) for head, a, b in zip(heads, ends, ends[1:], strict=False)]
    lines: list[str] = []
    for n, (a, b) in enumerate(zip(batch.seq_ptr[:-1].tolist(), batch.seq_ptr[1:].tolist(), strict=True)):
        if batch.weight is not None and batch.weight[n] != 1:
            lines.append(f"@weight:{float(batch.weight[n])!r}")
        lines += rows[a:b]
        lines.append("")
    return "".join([line + "\n" for line in lines])


def check_plain(data: Dataset, format: str, empty: bool = False) -> None:
    """Refuse what no text format can hold."""
    batch = data.batch
    if batch.edge_attr is not None and len(batch.edge_attr):
        raise ValueError(f"{format} has no way to write edge attributes; write the columns they came from")
    if batch.dense is not None:
        raise ValueError(f"{format} has no way to write dense features; name them as attributes with values")
    lengths = np.diff(batch.seq_ptr)
    if not empty and (lengths == 0).any():
        raise ValueError(f"sequence {int(np.argmin(lengths))} is empty; {format} cannot hold it")
