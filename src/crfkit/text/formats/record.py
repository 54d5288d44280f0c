"""The record by which crfkit knows a format of documents; it stands at the end of the format's file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from crfkit._safe.printable import counted, quoted, shown
from crfkit.checks import check_choice
from crfkit.data.encodings import check_encoding
from crfkit.data.source import Input
from crfkit.errors import DataError
from crfkit.text.doc import Doc
from crfkit.text.offsets import UNITS, Unit

if TYPE_CHECKING:
    from crfkit.data.formats.record import Sample

__all__ = ["NO_TEXT", "PARTS", "Options", "Remarks", "TextFormat", "encoded", "needs_tokens", "placed"]

NO_TEXT: Final = "document without text"
#: What a document may have beside its text and spans that lie apart; unseen: whether nobody has looked at it.
PARTS: Final = (
    *("probabilities", "overlaps", "tokens", "sentences", "labels", "id", "meta", "known", "unseen"),
)


@dataclass(frozen=True)
class Options:
    """The options of readers and writers; None where an option is not given."""

    unit: Unit | None = None
    text: str | None = None
    names: Sequence[str] | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.unit is not None:
            check_choice("unit", self.unit, UNITS)
        if self.encoding is not None:
            check_encoding(self.encoding)
        if isinstance(self.names, str):
            raise ValueError(f"names is the string {self.names!r}, expected a list of names of tags")

    def given(self) -> list[str]:
        """Return the names of those that are given."""
        return [one.name for one in fields(self) if getattr(self, one.name) is not None]


class Remarks:
    """What of a file is not in the documents, or looks wrong: how often, and where first.

    Examples
    --------
    >>> remarks = Remarks()
    >>> remarks.add("event", "a.ann, line 6")
    >>> remarks.add("event", "a.ann, line 7", times=2)
    >>> print(remarks)
    3 events (first in a.ann, line 6)
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, str] = {}  #: where

    def add(self, what: str, where: str, times: int = 1) -> None:
        """Count something, named in the singular."""
        self.counts[what] = self.counts.get(what, 0) + times
        self.first.setdefault(what, where)

    def told(self, source: str) -> str:
        """Return what there is to say of a file, whose name goes without saying."""
        return str(self).replace(f"(first in {shown(source)}, ", "(first in ")

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        return "; ".join(
            f"{counted(times, what, _many(what))} (first in {shown(self.first[what])})"
            for what, times in self.counts.items()
        )


def _many(what: str) -> str:
    """Return the plural of a noun that other words may follow."""
    noun, space, rest = what.partition(" without ")
    for link in (" of ", " that ", " whose ", " with "):
        if link in noun:
            noun, space, rest = what.partition(link)
    return f"{noun}s{space}{rest}"


@dataclass(frozen=True)
class TextFormat:
    """A format: how it is recognized, read and written, and what it holds."""

    name: str
    what: str  #: one line for people
    #: An example of a file, which tests read and the documentation shows; of several, by their endings.
    example: str | Mapping[str, str]
    #: Yields documents whose offsets are code points.
    read: Callable[[Input, Options, Remarks], Iterator[Doc]]
    #: Yields the file of documents in the unit of the file. A string says what to write instead.
    write: Callable[[Iterable[Doc], Options, Remarks], Iterator[bytes]] | str
    keeps: frozenset[str]  #: of `PARTS`
    unit: Unit = "codepoint"  #: what its offsets count
    options: frozenset[str] = frozenset()  #: the fields of `Options` that it takes
    #: Returns why a sample is of this format, "" where it is not. None: only the ending of a name decides.
    guess: Callable[[Sample], str] | None = None
    endings: tuple[str, ...] = ()  #: of the names of its files
    beside: str = ""  #: the ending of a second file that each of them needs
    #: Where each document is a file, or several: returns their bytes by the endings of their names.
    files: Callable[[Doc, Options, Remarks], Mapping[str, bytes]] | None = None
    magic: bytes = b""  #: how files begin that are no text
    #: Whether labels of tokens are written as spans are, where a document has no spans.
    labels_for_spans: bool = False
    needs: str = ""  #: the optional package that reads and writes it
    #: Yields documents of rows in memory, mappings as Hugging Face data sets have them.
    rows: Callable[[Any, Options, Remarks], Iterator[Doc]] | None = None

    def claims(self, path: str) -> bool:
        """Return whether the name of a file says that it is of this format."""
        stem = path.removesuffix(self.beside) if self.beside else path
        return path.endswith(self.endings) or (stem != path and os.path.exists(stem + self.endings[0]))

    def check(self, options: Options) -> None:
        """Refuse options that the format does not have."""
        for name in options.given():
            if name not in self.options:
                raise ValueError(f"format {self.name} has no option {name!r}")


def encoded(text: str) -> bytes:
    """Return text as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half of a surrogate pair, which UTF-8 cannot; write JSON") from None


@contextmanager
def placed(source: Input, line: int | None) -> Iterator[None]:
    """Make an error of this line of what is raised within."""
    try:
        yield
    except DataError:
        raise
    except RecursionError:
        raise source.error(line, "is nested too deeply") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise source.error(line, str(error)) from None


def needs_tokens(doc: Doc, number: int, format: str) -> Any:
    """Return the offsets of the tokens of a document; refuse one that has none."""
    if doc.tokens is None:
        name = f"document {number}" if doc.id is None else f"document {quoted(doc.id, 40)}"
        raise ValueError(
            f"{name} has no tokens, and {format} holds text cut into tokens: give --tokenizer words, or in "
            "Python call crfkit.text.align first"
        )
    return doc.tokens
