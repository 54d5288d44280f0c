"""All formats of documents, by name: a format is one file that ends with its record, and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crfkit.text.formats.record import TextFormat

__all__ = ["FORMATS", "find", "records"]

#: The module of each record. Guesses ask the last one first; the first takes any object with a text.
FORMATS: dict[str, str] = {
    "jsonl": "jsonl",
    "conllu": "conllu",
    "brat": "brat",
    "webanno": "webanno",
    "parserator": "parserator",
    "spacy": "docbin",
    "doccano": "doccano",
    "rows": "rows",
    "prodigy": "prodigy",
    "label-studio": "label_studio",
}


def find(name: str) -> TextFormat:
    """Return the record of a format.

    Examples
    --------
    >>> find("jsonl").unit
    'codepoint'
    >>> find("word")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: there is no format 'word' of texts; the formats are jsonl, conllu, ...
    """
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r} of texts; the formats are {', '.join(FORMATS)}")
    found: TextFormat = import_module(f"crfkit.text.formats.{FORMATS[name]}").FORMAT
    return found


def records() -> list[TextFormat]:
    """Return all records, in the order in which they are asked for a guess."""
    return [find(name) for name in reversed(FORMATS)]
