"""The options of reading data, which several commands have in common, as one object."""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from crfkit.cli.options import (
    ColumnNames,
    Comment,
    DataFormat,
    Encoding,
    Header,
    LabelColumn,
    Separator,
    SequenceColumn,
    column_names,
    label_column,
)

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns

__all__ = ["LabeledReading", "Reading", "with_reading"]


@dataclass(frozen=True)
class Reading:
    """How to read data, as it was given on the command line; its fields are the options.

    Examples
    --------
    >>> Reading(columns="word,tag").keywords["columns"]
    ['word', 'tag']
    """

    format: DataFormat = None
    columns: ColumnNames = None
    separator: Separator = None
    comment: Comment = None
    header: Header = None
    sequence_column: SequenceColumn = None
    encoding: Encoding = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `crfkit.data.read` and `crfkit.data.stream`, checked."""
        between = "\t" if self.separator in ("tab", "TAB", r"\t") else self.separator
        if between not in (None, "blanks") and (len(between) != 1 or not between.isascii()):
            raise ValueError(
                f"--separator is {self.separator!r}, expected tab, blanks or one character such as ','"
            )
        if self.comment == "":
            raise ValueError("--comment is empty; give what such lines begin with, or leave it out")
        names = column_names(self.columns)
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
            As in `crfkit.data.read`.
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
class LabeledReading(Reading):
    """How to read data that may have labels.

    Examples
    --------
    >>> LabeledReading(label="-1").label_column
    -1
    """

    label: LabelColumn = None

    @property
    def label_column(self) -> str | int | None:
        """The column of the label by number or name, where it is given."""
        return None if self.label is None else label_column(self.label)


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a `Reading`, or of any dataclass, where it has a parameter of that type.

    Examples
    --------
    >>> @with_reading
    ... def show(path: str, *, given: Reading) -> None:
    ...     print(path, given.comment)
    >>> show(path="a.txt", comment="#")
    a.txt #
    >>> list(inspect.signature(show).parameters)
    ['path', 'format', 'columns', 'separator', 'comment', 'header', 'sequence_column', 'encoding']
    """
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, one in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(one.replace(kind=one.KEYWORD_ONLY, annotation=hints[name]))
            continue
        options = typing.get_type_hints(groups[name], include_extras=True)
        for f in fields(groups[name]):
            hint = options[f.name]
            parameters.append(inspect.Parameter(f.name, one.KEYWORD_ONLY, default=f.default, annotation=hint))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            place: kind(**{f.name: given.pop(f.name) for f in fields(kind) if f.name in given})
            for place, kind in groups.items()
        }
        command(**given, **made)

    made: Any = run
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return run
