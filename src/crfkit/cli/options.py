"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "ColumnNames",
    "DataFormat",
    "LabelColumn",
    "Quiet",
    "Threads",
    "check_choice",
    "column_names",
    "label_column",
    "say",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ColumnNames = Annotated[
    str | None, typer.Option("--columns", help="Names of the columns, separated by commas.")
]
DataFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="columns, crfpp, wapiti, csv, parquet, jsonl, crfsuite or mallet; default: guessed.",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", help="Column of the label, by name or number from 0; -1 is the last."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and mistakes.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads; default: all cores.", min=1)]


def say(text: str, quiet: bool = False) -> None:
    """Tell the user something that is no result: on standard error."""
    if not quiet:
        print(text, file=sys.stderr)


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


def check_choice(option: str, given: str, choices: tuple[str, ...]) -> str:
    """Return what was given if it is one of the choices; else say what they are."""
    if given.lower() not in choices:
        raise ValueError(f"{option} is {given!r}, expected one of {', '.join(choices)}")
    return given.lower()
