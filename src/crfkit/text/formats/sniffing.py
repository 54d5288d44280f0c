"""Whether a file holds documents, raw text with spans, where other data may stand too."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from crfkit.data.formats.record import SAMPLE, Sample
from crfkit.data.formats.registry import names
from crfkit.data.source import open_input
from crfkit.text.formats.registry import FORMATS, records

if TYPE_CHECKING:
    from crfkit.text.formats.reading import Docs

__all__ = ["documents_at", "format_of"]

#: Fields of objects whose tokens are labeled one by one, which columns hold.
_COLUMNS: Final = frozenset({"tokens", "labels"})
#: Tokens that are places in a text, as documents of `crfkit.text` are written.
_PLACES: Final = re.compile(rb'"tokens": ?\[ ?\[')
#: Formats of files that are columns as well, and are taken for columns unless they are named.
_BOTH: Final = frozenset({"conllu", "rows"})
#: Endings of names that say more than the content: brat's, and those of files that are no text.
_NAMED: Final = (".ann", ".spacy")


def documents_at(place: Any, format: str | None = None, **options: Any) -> Docs | None:
    r"""Return the documents of a file or folder; None where it holds other data, or cannot be looked at.

    Parameters
    ----------
    place : path, or "-"
        Of "-" only what has come is looked at; a pipe by another name is not.
    format : str, optional
        One that is given: of documents, or of other data.
    options
        Of `crfkit.text.read`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.jsonl")
    ...     with open(path, "w") as file:
    ...         _ = file.write('{"text": "Ana ran", "spans": [[0, 3, "PER"]]}\n')
    ...     print(*documents_at(path))
    [Ana PER] ran
    """
    options = {name: value for name, value in options.items() if value is not None}
    if format is not None and format not in FORMATS:
        return None
    # Of the formats of both kinds, such as jsonl, the content decides.
    found = format if format not in (None, *names()) else _sniffed(place, options.get("encoding"))
    if found is None:
        return None
    from crfkit.text.formats.reading import read  # columns do without all that it loads

    return read(place, format or found, **options)


def format_of(sample: Sample) -> str | None:
    """Return the format of documents that a file begins like; None: it is other data.

    Examples
    --------
    >>> format_of(Sample(b'{"text": "Ana ran"}')), format_of(Sample(b'{"tokens": ["Ana"], "labels": ["D"]}'))
    ('jsonl', None)
    >>> format_of(Sample(b'{"text": "Ana", "spans": [], "tokens": [[0, 3]], "labels": ["D"]}'))
    'jsonl'
    """
    if not _perhaps(sample.data):
        return None
    from crfkit.text.formats.json_objects import top_keys

    keys = top_keys(sample)
    if keys >= _COLUMNS and not _PLACES.search(sample.data):
        return None
    known = ((one.name, one.guess) for one in records() if one.name not in _BOTH)
    return next((name for name, guess in known if guess is not None and guess(sample)), None)


def _perhaps(data: bytes) -> bool:
    """Return whether data may be documents: a mark of JSON, XML or a comment comes first, or no text."""
    first = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return first in (b"{", b"[", b"<", b"#") or (first != b"" and not first.decode("latin-1").isprintable())


def _sniffed(place: Any, encoding: str | None) -> str | None:
    if not isinstance(place, str | os.PathLike):
        return None
    name = os.fspath(place)
    if name == "-":
        return _of_standard_input()
    if os.path.isdir(name):
        return _of_folder(name)
    if not os.path.isfile(name):
        return None  # a pipe can be read only once
    with open_input(name) as source:
        if encoding is not None:
            source.as_text(encoding)
        source.has_lines = False
        data = source.peek(SAMPLE + 1)
    stem, ending = os.path.splitext(name)
    named = ending in _NAMED or (ending == ".txt" and os.path.exists(f"{stem}.ann"))
    if named or _perhaps(data):
        by_name = next((one.name for one in records() if one.guess is None and one.claims(name)), None)
        return by_name or format_of(Sample(data[:SAMPLE], len(data) <= SAMPLE))
    return None


def _of_standard_input() -> str | None:
    stream: Any = sys.stdin.buffer
    data = b""
    if hasattr(stream, "peek"):
        data = stream.peek(SAMPLE)
    elif stream.seekable():
        begin = stream.tell()
        data = stream.read(SAMPLE)
        stream.seek(begin)
    return format_of(Sample(data[:SAMPLE], False))


def _of_folder(folder: str) -> str | None:
    found = [name for _, _, files in os.walk(folder) for name in files]
    fitting = [one.name for one in records() if one.files and any(n.endswith(one.endings) for n in found)]
    return fitting[0] if fitting else None
