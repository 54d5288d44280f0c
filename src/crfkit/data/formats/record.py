"""The record by which crfkit knows a foreign format; it stands at the end of the format's file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crfkit._safe.cached import once
from crfkit.data.encodings import check_encoding

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.data.source import Input

SAMPLE = 1 << 16  #: bytes that guesses look at
NEARLY_ALL = 0.9
_FIELD = re.compile(r"[^ \t]+")


def fields_of(line: str, separator: str | None = None) -> list[str]:
    r"""Return the fields of a line; without a separator what lies between runs of blanks and TABs.

    Other white space, such as a no-break space, belongs to its field.

    Examples
    --------
    >>> fields_of("New\u00a0York \t LOC"), fields_of("New York\t", "\t")
    (['New\xa0York', 'LOC'], ['New York', ''])
    """
    return _FIELD.findall(line) if separator is None else line.split(separator)


@dataclass(frozen=True)
class FormatOptions:
    """The options of readers and writers; None where an option is not given."""

    columns: Sequence[str] | None = None
    separator: str | None = None
    comment: str | None = None
    docstart: str | None = None
    label: bool | None = None
    sequence: str | None = None
    header: bool | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.header not in (None, True, False):
            raise ValueError(f"header is {self.header!r}, expected True, False or None")
        if self.sequence == "":
            raise ValueError("sequence is empty, expected the name of the column that numbers the sequences")
        if self.docstart not in (None, "skip", "keep"):
            raise ValueError(f'docstart is {self.docstart!r}, expected "skip" or "keep"')
        if self.separator not in (None, "blanks") and (
            len(self.separator) != 1 or not self.separator.isascii() or self.separator in "\r\n\0"
        ):
            raise ValueError(
                f'separator is {self.separator!r}, expected one ASCII character, such as "\\t", or "blanks"'
            )
        if isinstance(self.columns, str):
            raise ValueError(f"columns is the string {self.columns!r}, expected a list of names")


class Sample:
    """The beginning of an input, for guesses.

    Parameters
    ----------
    data : bytes
    whole : bool
        Whether these are all bytes of the input.
    comment : str, optional
        Lines that begin with it do not count.
    """

    def __init__(self, data: bytes, whole: bool = True, comment: str | None = None) -> None:
        self.data = data  #: as they are
        self.whole = whole
        text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
        lines = [] if b"\0" in data else text.split("\n")
        if not whole and len(lines) > 1:
            lines.pop()
        full = [line for line in lines if line.strip(" \t\r\v\f")]
        last = bool(full) and full[-1] is lines[-1]
        self.blank = len(full) - last < len(lines) - 1  #: whether there are blank lines before the last
        self._split = str.split if text.isascii() else fields_of
        #: those that hold something; none where it is not text
        self.lines = [line for line in full if not line.startswith(comment)] if comment else full

    def without(self, comment: str) -> Sample:
        """Return the sample without the lines that begin with a mark of comments."""
        return Sample(self.data, self.whole, comment)

    @once
    def tabs(self) -> int:
        """How many fields nearly all lines have between TABs; 0 if some lack a TAB or all end in one."""
        if any("\t" not in line and not line.startswith("-DOCSTART-") for line in self.lines):
            return 0
        tokens = [line for line in self.lines if not line.startswith("-DOCSTART-")]
        if not tokens or all(line.endswith("\t") for line in tokens):
            return 0
        return _common([line.count("\t") + 1 for line in tokens])

    @once
    def blanks(self) -> int:
        """How many fields nearly all lines have between blanks and TABs, or 0."""
        return _common([len(self._split(line)) for line in self.lines])


def _common(widths: Sequence[int]) -> int:
    """Return the width that nearly all lines have, or 0."""
    if not widths:
        return 0
    width, times = Counter(widths).most_common(1)[0]
    return width if times >= NEARLY_ALL * len(widths) else 0


@dataclass(frozen=True)
class Format:
    """A foreign format: how it is recognized, read and written."""

    name: str
    holds: Literal["columns", "attributes", "either"]  #: whether it gives `Columns` or a `Dataset`
    #: Yields finished sequences as soon as there are any.
    parts: Callable[[Input, FormatOptions], Iterator[Columns | Dataset]]
    #: Returns a chunk as bytes; the last argument is whether it is the first chunk. A string says what to
    #: write instead of this format.
    render: Callable[[Columns | Dataset, FormatOptions, bool], bytes] | str
    options: frozenset[str] = (
        frozenset()
    )  #: the fields of `FormatOptions` that it takes, all text `encoding` too
    #: Returns why a sample is of this format, "" where it is not. None: only the ending of a name decides.
    guess: Callable[[Sample], str] | None = None
    endings: tuple[str, ...] = ()  #: of the names of its files
    whole: bool = False  #: read and written as a whole, never in chunks
    line_by_line: bool = False  #: every line is a sequence; else blank lines are between them
    names_columns: bool = False  #: its files say what their columns are called
    #: Returns an input of lines, made of one that may have others.
    lined: Callable[[Input], Input] = lambda source: source
    magic: bytes = b""  #: what its files begin with, where they are no text

    @property
    def takes(self) -> frozenset[str]:
        """The fields of `FormatOptions` that it takes."""
        return self.options if self.magic else self.options | {"encoding"}
