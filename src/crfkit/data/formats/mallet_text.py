r"""MALLET's SimpleTagger text: ``feature feature ... label``, lines of white space between sequences.

Fields are split at every single space, as Java does: two spaces give a feature with the empty name, a space
at the start too, and spaces at the end nothing; TAB does not split. All fields are names of features that are
there or not (twice is once), but for the last, which is the label in labeled data. Unlike the original, text
must be UTF-8.

A written name cannot hold a space, line feed, CR or NUL; values and weights other than 1 cannot be written,
nor some positions with a label and some without, nor (unlabeled) a last feature with the empty name.
"""

from __future__ import annotations

from collections.abc import Iterator

from crfkit._safe.printable import quoted
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import spell
from crfkit.data.formats.crfsuite_text import check_plain
from crfkit.data.formats.rows import RowReader
from crfkit.data.source import Input

_SPACE = " \t\v\f\r"  # \s of Java's regular expressions, within a line


def parts(source: Input, *, labeled: bool = True) -> Iterator[Dataset]:
    """Read features, and yield finished sequences as soon as there are any."""
    return RowReader(source, "mallet" if labeled else "mallet-without-labels").parts()


def render(data: Dataset, *, first: bool = True) -> str:
    """Return a dataset as text, without labels where none is known; refuse what could not be read back."""
    batch = data.batch
    check_plain(data, "SimpleTagger's text")
    for what, array in (("values", batch.value), ("weights", batch.weight)):
        if array is not None and (array != 1).any():
            raise ValueError(f"SimpleTagger's text has no way to write {what} other than 1")
    labeled = batch.label is not None and bool((batch.label >= 0).any())
    if labeled and batch.label is not None and (batch.label < 0).any():
        raise ValueError("some positions have no label; SimpleTagger's text has all labels or none")
    names = spell(data.attributes, batch.attr).tolist()
    labels = [""] * batch.positions
    if labeled and batch.label is not None:
        labels = spell(data.labels, batch.label).tolist()
    for string in {*names, *labels}:
        if any(c in string for c in " \n\r\0"):
            raise ValueError(f"the name {quoted(string)} holds a space, line end or NUL; rename it")
    ends = batch.attr_ptr.tolist()
    rows = []
    for p, label in enumerate(labels):
        fields = names[ends[p] : ends[p + 1]]
        if len(set(fields)) < len(fields):
            raise ValueError(f"position {p} has a feature twice; SimpleTagger's features are there or not")
        row = " ".join([*fields, label] if labeled else fields)
        if row.endswith(" ") or not row.strip(_SPACE):
            raise ValueError(
                f"position {p} ends in an empty name or is blank; SimpleTagger's text cannot hold it"
            )
        rows.append(row)
    if first and rows and rows[0].startswith("\ufeff"):
        raise ValueError(
            "the first name begins with U+FEFF, which at the start of a file is a byte order mark"
        )
    spans = zip(batch.seq_ptr[:-1].tolist(), batch.seq_ptr[1:].tolist(), strict=True)
    return "".join(["\n".join([*rows[a:b], "\n"]) for a, b in spans])
