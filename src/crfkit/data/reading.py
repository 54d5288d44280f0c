r"""Reading data: which format it is, by name or by content, and the reader of that format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crfkit.data.assemble import concatenate, cut
from crfkit.data.dataset import Dataset
from crfkit.data.formats import columns as _columns
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.guess import SAMPLE, Guess, guess, separator_of
from crfkit.data.source import BINARY, Input, Place, open_input

__all__ = ["COLUMNS", "FORMATS", "TABLES", "Options", "read", "stream"]

COLUMNS = ("columns", "conllu", "crfpp", "wapiti")
TABLES = ("csv", "parquet")
FORMATS = (*COLUMNS, *TABLES, "jsonl", "crfsuite", "mallet")

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
class Options:
    """What a reader is told; what a format does not have is refused."""

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

    def choose(self, source: Input) -> Guess:
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

    def parts(self, source: Input) -> Iterator[Columns | Dataset]:
        """Read, as many finished sequences at a time as there are."""
        chosen = self.choose(source)
        format, found = chosen.format, False
        parts: Iterator[Columns | Dataset]
        if format in COLUMNS:
            skip = self.docstart == "skip" or (self.docstart is None and format in ("columns", "conllu"))
            parts = _columns.parts(
                source,
                format,
                names=self.columns,
                separator=chosen.separator,
                comment=self.comment or "",
                skip_docstart=skip,
            )
        elif format in TABLES:
            from crfkit.data.formats import tables

            one = tables.read_csv if format == "csv" else tables.read_parquet
            parts = iter([one(source, sequence=self.sequence or "sequence", columns=self.columns)])
        elif format == "jsonl":
            from crfkit.data.formats import jsonlines

            parts = jsonlines.parts(source, names=self.columns)
        elif format == "crfsuite":
            from crfkit.data.formats import crfsuite_text

            parts = crfsuite_text.parts(source)
        else:
            from crfkit.data.formats import mallet

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
        See the table in `crfkit.data`. `Columns` know their `source` and `format`.

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
    options = Options(format, columns, separator, comment, docstart, label, sequence, say)
    with open_input(path) as source:
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
    options = Options(format, columns, separator, comment, docstart, label, sequence, say)
    if chunk_positions < 1:
        raise ValueError(f"chunk_positions is {chunk_positions}, expected 1 or more")

    def chunks() -> Iterator[Columns | Dataset]:
        with open_input(path) as source:
            yield from cut(options.parts(source), chunk_positions)

    return chunks()
