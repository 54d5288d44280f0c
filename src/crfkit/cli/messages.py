"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from crfkit._safe.printable import safe
from crfkit.cli.streams import hush_unwritten
from crfkit.data.formats.registry import names
from crfkit.data.sink import try_to_write

__all__ = [
    "AsJson",
    "ColumnNames",
    "Comment",
    "DataFormat",
    "Encoding",
    "Header",
    "LabelColumn",
    "Quiet",
    "Separator",
    "SequenceColumn",
    "Threads",
    "check_choice",
    "check_output",
    "column_names",
    "label_column",
    "say",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ColumnNames = Annotated[
    str | None, typer.Option("--columns", help="Names of the columns, separated by commas.")
]
Comment = Annotated[
    str | None, typer.Option("--comment", help="Skip lines of columns that begin with this, such as '#'.")
]
DataFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help=f"One of {', '.join(names())}; default: guessed.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Of the text: utf-8 (the default), utf-16, latin-1, cp1252 or any that Python knows.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; default: of CSV it does, else where that is clear.",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", help="Column of the label, by name or number from 0; -1 is the last."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="What lies between columns: tab, blanks or any one character; default: tab where every line has "
        "one, else blanks.",
    ),
]
SequenceColumn = Annotated[
    str | None,
    typer.Option(
        "--sequence-column",
        help="Column that numbers the sequences, by name or number from 0; default: blank lines are between "
        "them, or a column named sequence, sentence_id, ...",
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads; default: all cores.", min=1)]


def say(text: str, quiet: bool = False) -> None:
    """Print something that is not a result to standard error."""
    if quiet:
        return
    if sys.stderr.isatty():  # the terminal itself would break lines inside words
        import shutil
        import textwrap

        width = max(shutil.get_terminal_size().columns, 1)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    try:
        print(safe(text), file=sys.stderr)
    except OSError:  # nobody reads it
        hush_unwritten(sys.stderr)


def column_names(given: str | None) -> list[str] | None:
    """Return the names of --columns.

    Examples
    --------
    >>> column_names("word, pos,chunk")
    ['word', 'pos', 'chunk']
    """
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise ValueError(f"--columns is {given!r}, expected names between commas, such as word,pos,chunk")
    return names


def label_column(given: str) -> str | int:
    """Return a column by number where the text is one, else by name.

    Examples
    --------
    >>> label_column("-1"), label_column("tag")
    (-1, 'tag')
    """
    return int(given) if given.removeprefix("-").isdigit() else given


def check_output(path: str, name: str = "--output", read: Iterable[str | None] = ()) -> None:
    """Refuse a place that cannot be written to, or that is read, before hours of work."""
    if os.path.isdir(path):
        raise ValueError(f"{name} is {path}, which is a folder; give the name of a file")
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return  # standard output, a pipe or a device
    for given in read:
        if given and os.path.isfile(given) and os.path.isfile(path) and os.path.samefile(given, path):
            raise ValueError(f"{name} is {path}, which is read too; give the name of another file")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"{name} is {path}, but there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name} is {path}, but nothing may be written to {folder}; choose another folder")
    try_to_write(path)


def check_choice(option: str, given: str, choices: tuple[str, ...]) -> str:
    """Return the given value if it is one of the choices; else raise an error that lists them."""
    if given.lower() not in choices:
        raise ValueError(f"{option} is {given!r}, expected one of {', '.join(choices)}")
    return given.lower()
