"""Data: how to read what commands are given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from crfkit.cli.groups.compose import option

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns

__all__ = ["Data", "Encoding", "LabeledData"]

_option = partial(option, "Data")

Encoding = Annotated[
    str | None,
    _option(
        "--encoding",
        help="Of the text: utf-8 (the default), utf-16, latin-1, cp1252 or any that Python knows.",
    ),
]


@dataclass(frozen=True)
class Data:
    """How to read data, as it was given on the command line; its fields are the options.

    Examples
    --------
    >>> Data(columns="word,tag").keywords["columns"]
    ['word', 'tag']
    """

    format: Annotated[str | None, _option("--format", "-f", help="One of {formats}; default: guessed.")] = (
        None
    )
    columns: Annotated[
        str | None, _option("--columns", help="Names of the columns, separated by commas.")
    ] = None
    separator: Annotated[
        str | None,
        _option(
            "--separator",
            help="What lies between columns: tab, blanks or any one character; default: tab where every line "
            "has one, else blanks.",
        ),
    ] = None
    comment: Annotated[
        str | None, _option("--comment", help="Skip lines of columns that begin with this, such as '#'.")
    ] = None
    header: Annotated[
        bool | None,
        _option(
            "--header/--no-header",
            help="Whether the first line names the columns; default: of CSV it does, else where that is "
            "clear.",
        ),
    ] = None
    sequence_column: Annotated[
        str | None,
        _option(
            "--sequence-column",
            help="Column that numbers the sequences, by name or number from 0; default: blank lines are "
            "between them, or a column named sequence, sentence_id, ...",
        ),
    ] = None
    encoding: Encoding = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `crfkit.read` and `crfkit.data.stream`, checked."""
        between = "\t" if self.separator in ("tab", "TAB", r"\t") else self.separator
        if between not in (None, "blanks") and (len(between) != 1 or not between.isascii()):
            raise ValueError(
                f"--separator is {self.separator!r}, expected tab, blanks or one character such as ','"
            )
        if self.comment == "":
            raise ValueError("--comment is empty; give what such lines begin with, or leave it out")
        names = _names(self.columns)
        return {
            "format": self.format,
            "columns": names,
            "separator": between,
            "comment": self.comment,
            "header": self.header,
            "sequence": self.sequence_column,
            "encoding": self.encoding,
        }

    def blocks(
        self,
        path: str,
        *,
        attributes: bool | None = None,
        docstart: str | None = None,
        threads: int | None = 1,
    ) -> Iterator[Columns | Dataset]:
        """Read data in blocks of whole sequences, as they come; an empty input has none.

        Parameters
        ----------
        path : str
            A path, or "-" for standard input.
        attributes : bool, optional
            Whether data with attributes are needed (True) or columns (False): decides where guesses differ.
        docstart : str, optional
            As in `crfkit.read`.
        threads : int, optional
            With more than one (None: one for each core) a file is read on a thread, a block ahead.
        """
        from crfkit import data
        from crfkit._safe.background import ahead
        from crfkit.data.source import EmptyInputError
        from crfkit.native import threads_or_all

        needs = None if attributes is None else "attributes" if attributes else "columns"
        given = {**self.keywords, "needs": needs, "docstart": docstart}
        parts = data.stream(path, alphabets="fresh", **given)
        if threads_or_all(threads) > 1 and path != "-" and os.path.isfile(path):  # a pipe would be waited for
            parts = ahead(parts)
        try:
            yield from parts
        except EmptyInputError:
            return


@dataclass(frozen=True)
class LabeledData(Data):
    """How to read data that may have labels.

    Examples
    --------
    >>> LabeledData(label_column="-1").label
    -1
    """

    label_column: Annotated[
        str | None,
        _option("--label-column", help="Column of the label, by name or number from 0; -1 is the last."),
    ] = None

    @property
    def label(self) -> str | int | None:
        """The column of the label by number or name, where it is given."""
        given = self.label_column
        return int(given) if given is not None and given.removeprefix("-").isdigit() else given


def _names(given: str | None) -> list[str] | None:
    """Return the names of --columns.

    Examples
    --------
    >>> _names("word, pos,chunk")
    ['word', 'pos', 'chunk']
    """
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise ValueError(f"--columns is {given!r}, expected names between commas, such as word,pos,chunk")
    return names
