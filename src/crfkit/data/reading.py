r"""Reading data: which format it is, by name or by content, and the reader of that format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

from crfkit.data.assemble import concatenate, cut
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns, comment_hint
from crfkit.data.formats.guess import Guess, guess_of
from crfkit.data.formats.header import header_in
from crfkit.data.formats.record import SAMPLE, FormatOptions, Sample
from crfkit.data.formats.registry import DEFAULTS, by_name, find, names
from crfkit.data.source import BINARY, Input, Place, open_input
from crfkit.data.suspicions import watched
from crfkit.errors import DataError

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ReadOptions(TypedDict, total=False):
    """The options of `read`, which explains them, and of `stream`."""

    columns: Sequence[str] | None
    separator: str | None
    comment: str | None
    docstart: str | None
    label: str | bool | None
    sequence: str | None
    header: bool | None
    encoding: str | None
    needs: str | None
    say: Callable[[str], object] | None


@dataclass(frozen=True)
class Options:
    """The format and options that a reader is given; a format refuses options that it does not have."""

    format: str | None
    given: FormatOptions
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
        lacking = self._lacks(format)
        if lacking is not None:
            with_it = [one for one in names() if lacking in find(one).takes]
            raise ValueError(f"format {format} has no option {lacking!r}; {', '.join(with_it)} have it")

    def _lacks(self, format: str) -> str | None:
        """Return an option that is given and that a format does not have."""
        has = find(format).takes | ({"docstart"} if self.given.docstart == "keep" else set())
        given = (f.name for f in fields(FormatOptions) if getattr(self.given, f.name) is not None)
        return next((name for name in given if name not in has), None)

    def choose(self, source: Input, waiting: bool = True) -> Guess:
        """Return the format, guessed from the content where it is not given.

        Without `waiting` a guess looks at no more than what has come with the first line.
        """
        if self.format is not None:
            return Guess(self.format, "as given")
        given = self.given
        if any(one is not None for one in (given.separator, given.comment, given.header, given.sequence)):
            return self._choose_separated(source, waiting)
        if given.label is not None:
            return Guess("mallet", "only SimpleTagger's text is with or without labels")
        named = by_name(source.name)
        found: Guess | None
        if named is not None and named.guess is None:
            found = Guess(named.name, f"its name ends in {named.endings[0]}")
        else:
            sample = self._sample(source, waiting)
            if not sample.data.strip():
                return Guess("columns", "it is empty")  # the reader says so, in more detail
            found = guess_of(sample)
            self._check_json(source, sample, found)
            if found is None and b"\0" in sample.data:
                raise source.error(None, f"{BINARY}, or its encoding: encoding='utf-16' (--encoding utf-16)")
            holds = None if found is None else find(found.format).holds
            if self.needs is not None and holds not in (self.needs, "either"):
                looks = "" if found is None else found.format
                return Guess(DEFAULTS[self.needs], f"{self.needs} are needed", sample, looks)
            if found is None:
                what = f"its format could not be guessed; give it, one of {', '.join(names())}"
                raise source.error(None, what + comment_hint(sample.data))
        self.check(found.format)
        if self.say is not None:
            self.say(f"{source.name} is taken for format {found.format!r}: {found.why}.")
        return found

    def _choose_separated(self, source: Input, waiting: bool) -> Guess:
        """Return the format of what has a separator, comments, a header or a column of sequences."""
        given, named, sample = self.given, by_name(source.name), self._sample(source, waiting)
        if named is not None and named.guess is None and self._lacks(named.name) is None:
            between = None if given.separator == "blanks" else given.separator
            if given.separator is None or header_in(sample.lines, between, given):
                return Guess(named.name, f"its name ends in {named.endings[0]}")
        found = guess_of(sample)
        if found is not None and found.format in ("conllu", "parquet"):
            own = "separator" if found.format == "conllu" and given.separator == "\t" else None
            if self._lacks(found.format) in (None, own):
                return found
        return Guess("columns", "as given", sample)

    def _check_json(self, source: Input, sample: Sample, found: Guess | None) -> None:
        """Refuse JSON by its name that is not what JSON lines can be."""
        named = source.name.removesuffix(".gz").endswith((".json", ".jsonl"))
        if named and (found is None or found.format != "jsonl") and sample.data.lstrip()[:1] in (b"{", b"["):
            what = (
                "is neither JSON lines nor an array of objects; write one object in each line (format jsonl)"
            )
            raise source.error(None, f'{what}: {{"tokens": [...], "labels": [...]}}')

    def _sample(self, source: Input, waiting: bool) -> Sample:
        if source.peek(1) == b"[":  # perhaps JSON, which may be one line of any length
            source.has_lines, waiting = False, True
        found = source.peek(SAMPLE + 1) if waiting else source.peek_line()
        return Sample(found[:SAMPLE], waiting and len(found) <= SAMPLE, self.given.comment)

    @contextmanager
    def opened(self, path: Place) -> Iterator[Input]:
        """Open an input: text in its encoding, or what begins as files do that are no text."""
        with open_input(path) as source:
            source.say = self.say
            records = [find(name) for name in (names() if self.format is None else [self.format])]
            source.as_text(self.given.encoding, [one.magic for one in records if one.magic])
            yield source

    def parts(self, source: Input) -> Iterator[Columns | Dataset]:
        """Read the input, and yield finished sequences as soon as there are any."""
        found = False
        chosen = self.choose(source)
        record = find(chosen.format)
        source = record.lined(source)
        with doubted(chosen, source):
            for part in watched(record.parts(source, self.given), record, self.given, source.name):
                found = True
                yield part
        if not found:
            raise source.nothing()


@contextmanager
def doubted(chosen: Guess, source: Input) -> Iterator[None]:
    """Say of a mistake in what was read against its looks that the mistake may be the format."""
    try:
        yield
    except DataError as error:
        if not chosen.looks:
            raise
        what = (
            f"it looks like format {chosen.looks!r}, and was read as {chosen.format!r} because {chosen.why}"
        )
        remedy = "give data as in training, or their format (--format)"
        raise source.error(error.line, f"{error.what}; {what}: {remedy}") from None


def read(source: Any, format: str | None = None, **options: Unpack[ReadOptions]) -> Columns | Dataset:
    r"""Read labeled or unlabeled data: a file of any format, standard input, or a data frame.

    Parameters
    ----------
    source
        A path, "-" for standard input, or a file opened in binary mode; gzip is recognized by content. Or a
        data frame with a row for each token, of pandas, Polars, pyarrow, DuckDB or another Arrow library.
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
        The name of the column of labels. None: estimators take the one called "label", else the last. Of
        SimpleTagger's text: whether the last field is the label (default) or a feature.
    sequence
        The column of a table, or of columns that have names, that numbers the sequences: its name, or its
        number in digits. None: "sequence", or the one column of a header with such a name ("sentence_id").
    header
        Whether the first line of columns or CSV names them; `columns` then chooses among these. None: of CSV
        it does, of columns where it does beyond doubt (`crfkit.data.formats.header`); blanks between
        columns leave a doubt, which is warned of.
    encoding
        That of the text, such as "latin-1", "cp1252" or "utf-16". None: UTF-8, or UTF-16 by its mark.
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
    DataError
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
    >>> import pandas
    >>> frame = pandas.DataFrame({"id": [1, 1, 2], "tag": ["D", "N", "N"], "word": ["the", "dog", "dogs"]})
    >>> rows = read(frame, sequence="id", label="tag")
    >>> rows, rows.label
    (<Columns tag, word: 2 sequences, 3 tokens>, 'tag')
    """
    label = _label(options)
    if is_frame(source):
        return _labeled(_of_frame(source, format, **options), label)
    reader = _reader(format, **options)
    with reader.opened(source) as opened:
        return _labeled(concatenate(list(reader.parts(opened))), label)


def is_frame(source: Any) -> bool:
    """Return whether something is a data frame, of any library; one column of it, a Series, is not."""
    if hasattr(type(source), "columns"):
        return True
    return hasattr(source, "__arrow_c_stream__") and not hasattr(source, "to_list")


def _of_frame(
    frame: Any,
    format: str | None,
    columns: Sequence[str] | None = None,
    sequence: str | None = None,
    **others: Any,
) -> Columns:
    """Return a data frame as columns; options that are about text are refused."""
    from crfkit.data.formats.tables import from_table

    given = [name for name, value in {"format": format, **others}.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} is for text, but the data are a data frame: leave it out")
    return from_table(frame, sequence=sequence, columns=columns)


def _label(options: ReadOptions) -> str | None:
    """Take the name of the column of labels out of options."""
    label = options.get("label")
    if not isinstance(label, str):
        return None
    del options["label"]
    return label


def _labeled(data: Columns | Dataset, label: str | None) -> Columns | Dataset:
    """Return data that know which of their columns has the labels."""
    if label is None:
        return data
    if not isinstance(data, Columns):
        raise ValueError(f"label is {label!r}, but the data have no columns: leave it out")
    return replace(data, label=label)


def _reader(format: str | None, needs: str | None = None, say: Any = None, **given: Any) -> Options:
    return Options(format, FormatOptions(**given), needs, say)


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
    label = _label(options)
    reader = _reader(format, **options)
    if chunk_positions < 1:
        raise ValueError(f"chunk_positions is {chunk_positions}, expected 1 or more")
    if alphabets not in ("shared", "fresh"):
        raise ValueError(f'alphabets is {alphabets!r}, expected "shared" or "fresh"')

    def walk() -> Iterator[Columns | Dataset]:
        with reader.opened(path) as source:
            if alphabets == "fresh":
                from crfkit.data.blocks import blocks

                chunks = blocks(reader, source)
            else:
                chunks = cut(reader.parts(source), chunk_positions)
            yield from (_labeled(chunk, label) for chunk in chunks)

    return walk()
