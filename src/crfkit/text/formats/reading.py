"""Reading documents: which format a file has, by name or by content, and the reader of that format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, runtime_checkable

from crfkit._safe.printable import shown
from crfkit.data.formats.record import SAMPLE, Sample
from crfkit.data.source import Input, Place, open_input
from crfkit.errors import DataError, DataWarning, warn_about
from crfkit.text.doc import Doc
from crfkit.text.formats.record import NO_TEXT, Options, Remarks, TextFormat
from crfkit.text.formats.registry import find, records
from crfkit.text.offsets import Unit

__all__ = ["Docs", "read"]

#: A path, a folder, "-", a file opened in binary mode, or rows as Hugging Face data sets have them.
Source: TypeAlias = "Place | Iterable[Mapping[str, Any]] | Table"


@runtime_checkable
class Table(Protocol):
    """A table of Arrow."""

    def to_pylist(self) -> list[Any]: ...


class Docs:
    """The documents of a file, read one at a time, and from the beginning in each loop.

    `remarks` says what the last reading could not take over; a `crfkit.errors.DataWarning` says the same.
    """

    def __init__(self, source: Source, format: str | None, options: Options) -> None:
        self._source, self._options = source, options
        self._record = None if format is None else find(format)
        self.format = format  #: its name; where it is guessed, known after the first document
        self.remarks = Remarks()
        if self._record is not None:
            self._record.check(options)
        if isinstance(source, str | os.PathLike) and os.fspath(source) != "-":
            os.stat(source)  # so that a wrong name is an error here

    def __repr__(self) -> str:
        return f"Docs({self._name()!r}, {self.format!r})"

    def __iter__(self) -> Iterator[Doc]:
        self.remarks = remarks = Remarks()
        found = 0
        for docs in self._parts():
            for doc in docs:
                found += 1
                yield doc
        if not found and NO_TEXT in remarks.counts:
            raise DataError(
                self._name(),
                None,
                f"no document has a text: {remarks.told(self._name())}; name its field, text='...'",
            )
        if remarks:
            warn_about(f"{shown(self._name())}: {remarks.told(self._name())}", DataWarning)

    def _name(self) -> str:
        place = self._source
        if isinstance(place, str | os.PathLike):
            return os.fspath(place)
        return str(getattr(place, "name", "input" if hasattr(place, "read") else "rows"))

    def _parts(self) -> Iterator[Iterator[Doc]]:
        """Yield the documents of each file, or those of rows."""
        place = self._source
        if isinstance(place, str | os.PathLike) or hasattr(place, "read"):
            for source, record in self._opened():
                self.format = record.name
                yield record.read(source, self._options, self.remarks)
            return
        record = find(self.format or "rows")
        if record.rows is None or isinstance(place, Iterator) or not isinstance(place, Iterable | Table):
            raise TypeError(f"expected a path, an open file or a list of rows, not {type(place).__name__}")
        self.format = record.name
        record.check(self._options)
        yield record.rows(place, self._options, self.remarks)

    def _opened(self) -> Iterator[tuple[Input, TextFormat]]:
        """Yield the files with their formats."""
        place = self._source
        if isinstance(place, str | os.PathLike) and os.path.isdir(place):
            yield from self._folder(os.fspath(place))
        else:
            with self._input(place) as source:
                yield source, self._chosen(source)

    def _folder(self, folder: str) -> Iterator[tuple[Input, TextFormat]]:
        paths = sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)
        known = [self._record] if self._record is not None else [one for one in records() if one.files]
        for record in known:
            fitting = [path for path in paths if path.endswith(record.endings)]
            if fitting:
                record.check(self._options)
                for path in paths if record.beside else []:
                    if path.endswith(record.beside) and not record.claims(path):
                        self.remarks.add(f"{record.beside} without {record.endings[0]}", path)
                for path in fitting:
                    with self._input(path) as source:
                        yield source, record
                return
        endings = ", ".join(ending for one in known for ending in one.endings)
        raise DataError(folder, None, f"is a folder without files of {endings}; give a file, or its format")

    @contextmanager
    def _input(self, place: Any) -> Iterator[Input]:
        with open_input(place) as source:
            choices = records() if self._record is None else [self._record]
            if self._options.encoding is not None:
                source.as_text(self._options.encoding, [one.magic for one in choices if one.magic])
            yield source

    def _chosen(self, source: Input) -> TextFormat:
        """Return the format, guessed from the name and the content where it is not given."""
        if self._record is not None:
            return self._record
        source.has_lines = source.peek(1)[:1] != b"["  # an array may be one line of any length
        data = source.peek(SAMPLE + 1)
        sample = Sample(data[:SAMPLE], len(data) <= SAMPLE)
        by_name = [one for one in records() if one.guess is None and one.claims(source.name)]
        found = [one for one in records() if one.guess is not None and one.guess(sample)]
        by_magic = [one for one in records() if len(one.magic) > 1 and data.startswith(one.magic)]
        for record in (*by_name, *found, *by_magic):
            record.check(self._options)
            return record
        if not data:
            raise source.error(None, "is empty; give a file that has documents")
        names = ", ".join(one.name for one in reversed(records()))
        raise source.error(None, f"its format could not be guessed; give it, one of {names}")


def read(
    path: Source,
    format: str | None = None,
    *,
    unit: Unit | None = None,
    text: str | None = None,
    names: Sequence[str] | None = None,
    encoding: str | None = None,
) -> Docs:
    r"""Read texts with labeled spans, as annotation tools write them; offsets become code points.

    Parameters
    ----------
    path : path, "-", file opened in binary mode, or rows
        A folder stands for all its files.
    format : str, optional
        One of `crfkit.text.FORMATS`; None: what the name and the content say.
    unit : str, optional
        What the offsets in the file count, "codepoint", "utf16" or "byte"; None: what the format says.
    text : str, optional
        The name of the field that holds the text, where it is not ``text``.
    names : sequence of str, optional
        The names of tags that are integers.
    encoding : str, optional
        That of the text; None: UTF-8.

    Returns
    -------
    Docs
        Iterable as often as needed; each time the file is read anew, a document at a time.

    Examples
    --------
    >>> import io
    >>> for doc in read(io.BytesIO(b'{"text": "Ana ran", "spans": [[0, 3, "PER"]]}\n')):
    ...     print(doc)
    [Ana PER] ran
    """
    return Docs(path, format, Options(unit, text, names, encoding))
