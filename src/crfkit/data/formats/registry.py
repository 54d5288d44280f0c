"""All foreign formats, by name: a format is one file that ends with its record, and one line here.

A guess loads all records. A long reader is a module of its own, which the record loads when it is used.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.data.formats.record import Format

#: A record, or the module and name of one that is loaded when it is needed. Guesses ask the last one first;
#: the first one takes any text with the same number of fields in nearly all lines.
FORMATS: dict[str, Format | str] = {
    "columns": "conll.COLUMNS",
    "crfpp": "conll.CRFPP",
    "wapiti": "conll.WAPITI",
    "segmented": "segmented.FORMAT",
    "csv": "table_files.CSV",
    "mallet": "mallet.FORMAT",
    "crfsuite": "crfsuite.FORMAT",
    "conllu": "conll.CONLLU",
    "parquet": "table_files.PARQUET",
    "jsonl": "jsonl.FORMAT",
}

#: The format that is written by default, by what the data hold.
DEFAULTS = {"columns": "columns", "attributes": "crfsuite"}


def names() -> tuple[str, ...]:
    """Return the names of all formats.

    Examples
    --------
    >>> names()[:2]
    ('columns', 'crfpp')
    """
    return tuple(FORMATS)


def find(name: str) -> Format:
    """Return the record of a format.

    Examples
    --------
    >>> find("crfsuite").holds
    'attributes'
    """
    home = FORMATS.get(name)
    if home is None:
        raise ValueError(f"there is no format {name!r}; the formats are {', '.join(FORMATS)}")
    if isinstance(home, str):
        module, _, record = home.partition(".")
        found: Format = getattr(import_module(f"crfkit.data.formats.{module}"), record)
        return found
    return home


def records() -> list[Format]:
    """Return all records, in the order in which they are asked for a guess."""
    return [find(name) for name in reversed(FORMATS)]


def by_name(path: Any) -> Format | None:
    """Return the format that the ending of a file's name stands for, ``.gz`` aside.

    Examples
    --------
    >>> by_name("x.csv.gz").name, by_name("x.txt")
    ('csv', None)
    """
    return next((one for one in records() if one.endings and ends_in(path, *one.endings)), None)


def ends_in(path: Any, *endings: str) -> bool:
    """Return whether a file is named and its name has one of these endings, ``.gz`` aside.

    Examples
    --------
    >>> ends_in("x.tsv.gz", ".tsv"), ends_in("x.txt", ".tsv"), ends_in(None, ".tsv")
    (True, False, False)
    """
    return isinstance(path, str | os.PathLike) and os.fspath(path).removesuffix(".gz").endswith(endings)
