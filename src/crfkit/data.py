r"""Reading and writing data in any format.

=============  ============================================================  =================
format         what it is                                                    gives
=============  ============================================================  =================
``columns``    one token to a line, columns between TABs or blanks (CoNLL)   `Columns`
``conllu``     CoNLL-U: ten named columns; comments and 1-2, 1.1 skipped     `Columns`
``crfpp``      columns as CRF++ reads them                                   `Columns`
``wapiti``     columns as Wapiti reads them                                  `Columns`
``csv``        comma-separated values, one row per token                     `Columns`
``parquet``    the same as a Parquet file                                    `Columns`
``jsonl``      one JSON object per sequence, with tokens or with items       either
``crfsuite``   CRFsuite's text: label and attributes between TABs            `Dataset`
``mallet``     SimpleTagger's text: features and label between spaces        `Dataset`
=============  ============================================================  =================

`Columns` become a `Dataset` by templates; a `Dataset` has attributes already. The modules in `crfkit.formats`
say exactly what each format can hold. Without a format, the content decides (CSV is told by its name); pass
``say=print`` to hear what was taken for what and why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from crfkit.batch import Dataset
from crfkit.formats import columns as _columns
from crfkit.formats.assemble import concatenate, cut
from crfkit.formats.columns import Columns
from crfkit.formats.guess import SAMPLE, Guess, guess, separator_of
from crfkit.formats.sink import write_bytes
from crfkit.formats.source import BINARY, FormatError, Place, Source, open_source

if TYPE_CHECKING:
    from crfkit.formats.tables import from_table, to_table

__all__ = [
    "FORMATS",
    "Columns",
    "Dataset",
    "FormatError",
    "Guess",
    "concatenate",
    "from_table",
    "guess",
    "read",
    "stream",
    "to_table",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in ("from_table", "to_table"):  # each format is loaded when it is used
        from crfkit.formats import tables

        return getattr(tables, name)
    raise AttributeError(f"module 'crfkit.data' has no attribute {name!r}")


_COLUMNS = ("columns", "conllu", "crfpp", "wapiti")
_TABLES = ("csv", "parquet")
FORMATS = (*_COLUMNS, *_TABLES, "jsonl", "crfsuite", "mallet")

#: Which options each format has.
_OPTIONS = {
    "columns": {"columns", "separator", "comment", "docstart"},
    "conllu": {"columns", "comment", "docstart"},
    "crfpp": {"columns", "comment", "docstart"},
    "wapiti": {"columns", "comment", "docstart"},
    "csv": {"columns", "sequence"},
    "parquet": {"columns", "sequence"},
    "jsonl": {"columns"},
    "crfsuite": set(),
    "mallet": {"label"},
}


@dataclass(frozen=True)
class _Options:
    format: str | None
    columns: Sequence[str] | None
    separator: str | None
    comment: str | None
    docstart: str | None
    label: bool | None
    sequence: str | None
    say: Callable[[str], object] | None

    def __post_init__(self) -> None:
        if self.format is not None:
            self.check(self.format)
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

    def check(self, format: str) -> None:
        """Refuse a format that is not there or has no such option."""
        if format not in FORMATS:
            raise ValueError(f"there is no format {format!r}; the formats are {', '.join(FORMATS)}")
        for name in ("columns", "separator", "comment", "docstart", "label", "sequence"):
            if getattr(self, name) is not None and name not in _OPTIONS[format]:
                with_it = [one for one in FORMATS if name in _OPTIONS[one]]
                raise ValueError(f"format {format} has no option {name!r}; {', '.join(with_it)} have it")

    def choose(self, source: Source) -> Guess:
        """Return the format, guessed from the content where it is not given."""
        if self.format is not None and self.format != "columns":
            return Guess(self.format, "as given", "\t" if self.format == "conllu" else None)
        if self.format is not None or (self.separator, self.comment, self.docstart) != (None, None, None):
            sample = source.peek(SAMPLE + 1)
            whole = len(sample) <= SAMPLE
            if self.format is None and self.separator in (None, "\t"):
                found = guess(sample[:SAMPLE], whole, self.comment)
                if found is not None and found.format == "conllu":
                    return found
            separator = self.separator or separator_of(sample[:SAMPLE], whole, self.comment)
            return Guess("columns", "as given", None if separator == "blanks" else separator)
        if self.label is not None:
            return Guess("mallet", "only SimpleTagger's text is with or without labels")
        if source.name.removesuffix(".gz").endswith(".csv"):
            found = Guess("csv", "its name ends in .csv")
        else:
            sample = source.peek(SAMPLE + 1)
            if not sample.strip():
                return Guess("columns", "it is empty")  # the reader says so, in more detail
            if b"\0" in sample and not sample.startswith(b"PAR1"):
                raise source.error(None, BINARY)
            found = guess(sample[:SAMPLE], whole=len(sample) <= SAMPLE)
        if found is None:
            what = f"its format could not be guessed; give it, one of {', '.join(FORMATS)}"
            what += _columns.comment_hint(sample)
            raise source.error(None, what)
        self.check(found.format)
        if self.say is not None:
            self.say(f"{source.name} is taken for format {found.format!r}: {found.why}.")
        return found

    def parts(self, source: Source) -> Iterator[Columns | Dataset]:
        """Read, as many finished sequences at a time as there are."""
        chosen = self.choose(source)
        format, found = chosen.format, False
        parts: Iterator[Columns | Dataset]
        if format in _COLUMNS:
            skip = self.docstart == "skip" or (self.docstart is None and format in ("columns", "conllu"))
            parts = _columns.parts(
                source,
                format,
                names=self.columns,
                separator=chosen.separator,
                comment=self.comment or "",
                skip_docstart=skip,
            )
        elif format in _TABLES:
            from crfkit.formats import tables

            one = tables.read_csv if format == "csv" else tables.read_parquet
            parts = iter([one(source, sequence=self.sequence or "sequence", columns=self.columns)])
        elif format == "jsonl":
            from crfkit.formats import jsonlines

            parts = jsonlines.parts(source, names=self.columns)
        elif format == "crfsuite":
            from crfkit.formats import crfsuite_text

            parts = crfsuite_text.parts(source)
        else:
            from crfkit.formats import mallet

            parts = mallet.parts(source, labelled=self.label is not False)
        for part in parts:
            found = True
            yield part
        if not found:
            raise source.nothing()


def read(
    path: Place,
    format: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str | None = None,
    docstart: str | None = None,
    label: bool | None = None,
    sequence: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Columns | Dataset:
    r"""Read a whole input.

    Parameters
    ----------
    path
        A path, "-" for standard input, or a file opened in binary mode; gzip is recognised by content. Text
        is UTF-8.
    format
        One of `FORMATS`; None guesses.
    columns
        Names for the columns; for jsonl and tables, the columns to take.
    separator
        The one character between columns, or "blanks" for blanks and TABs, where runs count once. None: TABs
        where every line has one, so that fields may hold blanks; else blanks.
    comment
        Lines of columns that begin with this are skipped. None: none are, save ``#`` in conllu.
    docstart
        "skip" leaves out sequences that are a single ``-DOCSTART-`` line, "keep" does not. None: skip for
        columns and conllu, as a document's mark is not a sentence; keep for crfpp and wapiti, as those
        programs do. So do all commands, save ``crfkit tag``, which keeps every sequence of its input.
    label
        Whether the last field of SimpleTagger's text is the label (default) or a feature.
    sequence
        The column of a table that numbers the sequences, by default "sequence".
    say
        Receives one sentence about a guessed format.

    Returns
    -------
    Columns or Dataset
        See the table above. `Columns` know their `source` and `format`.

    Raises
    ------
    FormatError
        The input is not what it should be; the error names the file and the line.

    Examples
    --------
    >>> import io
    >>> data = read(io.BytesIO(b"the D\ndog N\n\ndogs N\n"), columns=["word", "tag"], say=print)
    input is taken for format 'columns': lines have 2 fields between blanks.
    >>> list(data)
    [[('the', 'D'), ('dog', 'N')], [('dogs', 'N')]]
    >>> data = read(io.BytesIO(b"N\tw=dog\tlen:3\n"), "crfsuite")
    >>> data.attributes.strings(), data.batch.value.tolist()
    (['w=dog', 'len'], [1.0, 3.0])
    """
    options = _Options(format, columns, separator, comment, docstart, label, sequence, say)
    with open_source(path) as source:
        return concatenate(list(options.parts(source)))


def stream(
    path: Place,
    format: str | None = None,
    *,
    chunk_positions: int = 100_000,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str | None = None,
    docstart: str | None = None,
    label: bool | None = None,
    sequence: str | None = None,
    say: Callable[[str], object] | None = None,
) -> Iterator[Columns | Dataset]:
    r"""Read an input in chunks of whole sequences, in constant memory.

    A chunk holds as few sequences as have `chunk_positions` positions, the last one perhaps fewer. The chunks
    share alphabets, which grow as they are read; laid end to end by `concatenate` they are what `read`
    returns. CSV and Parquet are read whole before they are cut. The other parameters are those of `read`.

    Examples
    --------
    >>> import io
    >>> text = b"the D\ndog N\n\ndogs N\n\ncats N\n"
    >>> [chunk.positions for chunk in stream(io.BytesIO(text), "columns", chunk_positions=2)]
    [2, 2]
    """
    options = _Options(format, columns, separator, comment, docstart, label, sequence, say)
    if chunk_positions < 1:
        raise ValueError(f"chunk_positions is {chunk_positions}, expected 1 or more")

    def chunks() -> Iterator[Columns | Dataset]:
        with open_source(path) as source:
            yield from cut(options.parts(source), chunk_positions)

    return chunks()


def write(
    path: Place,
    data: Columns | Dataset | Iterable[Columns | Dataset],
    format: str | None = None,
    *,
    separator: str | None = None,
    sequence: str | None = None,
) -> None:
    r"""Write data, as a whole or not at all; gzip where the name ends in ``.gz``.

    The file is written under a temporary name beside its place and renamed when complete, so a failure leaves
    what was there before. What a format cannot hold is refused with an error, never changed. To standard
    output ("-"), an open file or a device, chunks go as they come.

    Parameters
    ----------
    path
        A path, "-" for standard output, or a file opened in binary mode.
    data
        What `read` returns, or chunks of it, such as `stream` yields.
    format
        One of `FORMATS`, save conllu; None goes by the name (``.jsonl``, ``.csv``, ``.parquet``), then by
        the data: columns or crfsuite.
    separator
        The one character between columns; None is a blank.
    sequence
        The column of a table that numbers the sequences, by default "sequence".

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> write(out, Columns.from_rows([[("the", "D")], [("dog", "N")]]))
    >>> out.getvalue()
    b'the D\n\ndog N\n\n'
    """
    if format == "conllu":
        raise ValueError('format conllu is read, not written; give format "columns" and separator "\\t"')
    options = _Options(format, None, separator, None, None, None, sequence, None)
    separator = None if separator == "blanks" else separator
    chunks = iter([data] if isinstance(data, Columns | Dataset) else data)
    head = next(chunks, None)
    if head is None:
        raise ValueError("there is nothing to write")
    format = format or _by_name(path) or ("columns" if isinstance(head, Columns) else "crfsuite")
    options.check(format)

    def pieces() -> Iterator[bytes]:
        rest: Iterable[Columns | Dataset] = chain([head], chunks)
        if format in _TABLES:
            rest = [concatenate(list(rest))]
        for i, chunk in enumerate(rest):
            yield _render(chunk, format, separator, sequence or "sequence", first=i == 0)

    write_bytes(path, pieces())


def _by_name(path: Place) -> str | None:
    if not isinstance(path, str | os.PathLike):
        return None
    ending = os.path.splitext(os.fspath(path).removesuffix(".gz"))[1]
    return {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}.get(ending)


def _render(data: Columns | Dataset, format: str, separator: str | None, sequence: str, first: bool) -> bytes:
    if format == "jsonl":
        from crfkit.formats import jsonlines

        return jsonlines.render(data).encode()
    if isinstance(data, Columns) != (format in _COLUMNS + _TABLES):
        given, other = ("columns", "attributes") if isinstance(data, Columns) else ("attributes", "columns")
        raise ValueError(f"the data are {given}, but format {format} holds {other}")
    if isinstance(data, Columns):
        if format in _COLUMNS:
            return _columns.render(data, format, separator=separator, first=first).encode()
        from crfkit.formats import tables

        render = tables.render_csv if format == "csv" else tables.render_parquet
        return render(data, sequence=sequence)
    if format == "crfsuite":
        from crfkit.formats import crfsuite_text

        return crfsuite_text.render(data, first=first).encode()
    from crfkit.formats import mallet

    return mallet.render(data, first=first).encode()
