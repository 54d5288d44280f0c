r"""Reading data: which format it is, by name or by content, and the reader of that format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict

from crfkit.data.assemble import concatenate, cut
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns, comment_hint
from crfkit.data.formats.guess import Guess, guess
from crfkit.data.formats.record import SAMPLE, Given
from crfkit.data.formats.registry import DEFAULTS, by_name, find, names
from crfkit.data.source import BINARY, Input, Place, open_input

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Options", "ReadOptions", "read", "stream"]


class ReadOptions(TypedDict, total=False):
    """The options of `read`, which explains them, and of `stream`."""

    columns: Sequence[str] | None
    separator: str | None
    comment: str | None
    docstart: str | None
    label: bool | None
    sequence: str | None
    needs: str | None
    say: Callable[[str], object] | None


@dataclass(frozen=True)
class Options:
    """The format and options that a reader is given; a format refuses options that it does not have."""

    format: str | None
    given: Given
    needs: str | None = None
    say: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        if self.needs not in (None, *DEFAULTS):
            raise ValueError(f"needs is {self.needs!r}, expected one of {', '.join(DEFAULTS)}")
        if self.format is not None:
            self.check(self.format)

    def check(self, format: str) -> None:
        """Refuse an unknown format, and options that the format does not have.

        All formats keep marks of documents, those that have none too: only skipping them is an option.
        """
        has = find(format).options | ({"docstart"} if self.given.docstart == "keep" else set())
        for name in (f.name for f in fields(Given)):
            if getattr(self.given, name) is not None and name not in has:
                with_it = [one for one in names() if name in find(one).options]
                raise ValueError(f"format {format} has no option {name!r}; {', '.join(with_it)} have it")

    def choose(self, source: Input, waiting: bool = True) -> Guess:
        """Return the format, guessed from the content where it is not given.

        Without `waiting` a guess looks at no more than what has come with the first line.
        """
        if self.format is not None:
            return Guess(self.format, "as given")
        given = self.given
        if (given.separator, given.comment) != (None, None):  # then it is columns
            found = self._guess(source, waiting)[0] if given.separator in (None, "\t") else None
            return found if found is not None and found.format == "conllu" else Guess("columns", "as given")
        if given.label is not None:
            return Guess("mallet", "only SimpleTagger's text is with or without labels")
        named = by_name(source.name)
        if named is not None and named.guess is None:
            found = Guess(named.name, f"its name ends in {named.endings[0]}")
        else:
            found, sample = self._guess(source, waiting)
            if not sample.strip():
                return Guess("columns", "it is empty")  # the reader says so, in more detail
            if found is None and b"\0" in sample:
                raise source.error(None, BINARY)
            holds = None if found is None else find(found.format).holds
            if self.needs is not None and holds not in (self.needs, "either"):
                return Guess(DEFAULTS[self.needs], f"{self.needs} are needed")
        if found is None:
            what = f"its format could not be guessed; give it, one of {', '.join(names())}"
            raise source.error(None, what + comment_hint(sample))
        self.check(found.format)
        if self.say is not None:
            self.say(f"{source.name} is taken for format {found.format!r}: {found.why}.")
        return found

    def _guess(self, source: Input, waiting: bool) -> tuple[Guess | None, bytes]:
        sample = source.peek(SAMPLE + 1) if waiting else source.peek_line()
        whole = waiting and len(sample) <= SAMPLE
        return guess(sample[:SAMPLE], whole, self.given.comment), sample

    def parts(self, source: Input) -> Iterator[Columns | Dataset]:
        """Read the input, and yield finished sequences as soon as there are any."""
        found = False
        record = find(self.choose(source).format)
        for part in record.parts(source, self.given):
            found = True
            yield part
        if not found:
            raise source.nothing()


def read(path: Place, format: str | None = None, **options: Unpack[ReadOptions]) -> Columns | Dataset:
    r"""Read a whole input.

    Parameters
    ----------
    path
        A path, "-" for standard input, or a file opened in binary mode; gzip is recognised by content. Text
        is UTF-8.
    format
        One of `crfkit.data.FORMATS`; None guesses.
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
        programs do. So do all commands, save ``crfkit tag``, which keeps every sequence of its input. Formats
        that have no such marks keep all their sequences, and refuse "skip".
    label
        Whether the last field of SimpleTagger's text is the label (default) or a feature.
    sequence
        The column of a table that numbers the sequences, by default "sequence".
    needs
        "columns" or "attributes" (CRFsuite's text): what to take a text for where a guess gives the other.
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
    reader = _reader(format, **options)
    with open_input(path) as source:
        return concatenate(list(reader.parts(source)))


def _reader(format: str | None, needs: str | None = None, say: Any = None, **given: Any) -> Options:
    return Options(format, Given(**given), needs, say)


def stream(
    path: Place,
    format: str | None = None,
    *,
    chunk_positions: int = 100_000,
    alphabets: str = "shared",
    **options: Unpack[ReadOptions],
) -> Iterator[Columns | Dataset]:
    r"""Read an input in chunks of whole sequences, in constant memory.

    A chunk holds as few sequences as have `chunk_positions` positions, the last one perhaps fewer. The chunks
    share alphabets, which grow as they are read; joined by `concatenate` they are what `read`
    returns. CSV and Parquet are read whole before they are cut. The other parameters are those of `read`.

    With ``alphabets="fresh"`` every chunk has alphabets of its own, so that memory stays bounded on endless
    input, and is what has come so far, whatever `chunk_positions`: nobody waits for more (see `data.blocks`).

    Examples
    --------
    >>> import io
    >>> text = b"the D\ndog N\n\ndogs N\n\ncats N\n"
    >>> [chunk.positions for chunk in stream(io.BytesIO(text), "columns", chunk_positions=2)]
    [2, 2]
    """
    reader = _reader(format, **options)
    if chunk_positions < 1:
        raise ValueError(f"chunk_positions is {chunk_positions}, expected 1 or more")
    if alphabets not in ("shared", "fresh"):
        raise ValueError(f'alphabets is {alphabets!r}, expected "shared" or "fresh"')

    def chunks() -> Iterator[Columns | Dataset]:
        with open_input(path) as source:
            if alphabets == "fresh":
                from crfkit.data.blocks import blocks

                yield from blocks(reader, source)
            else:
                yield from cut(reader.parts(source), chunk_positions)

    return chunks()
