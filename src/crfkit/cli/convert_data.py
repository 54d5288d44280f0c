"""``crfkit convert-data``: data in another format, documents of raw text as columns, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.output import Running
from crfkit.cli.messages import check_output, say

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.text.alignment import Alignment
    from crfkit.text.doc import Doc
    from crfkit.text.formats.reading import Docs


@composed
def convert_data(
    source: Annotated[str, typer.Argument(help="Data to read; - for standard input.")],
    target: Annotated[str, typer.Argument(help="The file to write; compressed if the name ends in .gz.")],
    to: Annotated[
        str | None,
        option(
            "Data",
            "--to",
            help="Format: {formats} for tokens, {text_formats} for documents. Default: by the ending of "
            "the name.",
        ),
    ] = None,
    scheme: Annotated[
        str, option("Data", "--scheme", help="Scheme of the tags that spans become: BIO, BIOES, ...")
    ] = "BIO",
    *,
    reading: LabeledData,
    running: Running,
) -> None:
    """Write data in another format.

    Documents of raw text with spans become columns of tokens and tags: --tokenizer cuts them, and
    --alignment says what to do with spans that cut a token, which are counted; so it is for formats of
    documents that hold tokens, such as webanno. Columns become documents:
    words with blanks between them, and the spans of their tags. Whatever cannot be kept is reported.

    For example:

      crfkit convert-data export.jsonl train.txt --tokenizer words
      crfkit convert-data export.json pre.jsonl --to prodigy
      crfkit convert-data export.json folder --to webanno --tokenizer words
      crfkit convert-data train.txt docs.jsonl --to doccano
      crfkit convert-data train.txt train.csv
    """
    check_output(target, "TARGET", read=[source])
    docs = reading.documents(source)
    wanted = to or _by_name(target, documents=docs is not None)
    texts = _is_text(wanted, documents=docs is not None or to is None)
    name = None if wanted is None else wanted
    if docs is not None:
        count = _of_documents(docs, source, target, name, texts, scheme, reading, running)
    else:
        count = _of_columns(source, target, name, texts, reading)
    say(f"{source} to {target}: {count}", running.quiet)


def _by_name(target: str, *, documents: bool) -> str | None:
    """Return the format that the ending of a name says; of documents, where they are converted."""
    from crfkit.data.formats.registry import by_name
    from crfkit.text.formats.registry import records

    plain = target.removesuffix(".gz")
    if documents:
        for record in reversed(records()):
            if record.endings and plain.endswith(record.endings) and record.name != "webanno":
                return record.name
    found = by_name(plain)
    return None if found is None else found.name


def _is_text(format: str | None, *, documents: bool) -> bool:
    """Return whether a format is one of documents; jsonl is both, and follows what is given."""
    from crfkit.data.formats.registry import names
    from crfkit.text.formats.registry import FORMATS

    if format is None:
        return False
    if format not in FORMATS and format not in names():
        raise ValueError(
            f"--to is {format!r}, expected one of {', '.join(names())} for data, or "
            f"{', '.join(FORMATS)} for documents"
        )
    return format in FORMATS and (format not in names() or documents)


def _of_documents(
    docs: Docs,
    source: str,
    target: str,
    format: str | None,
    texts: bool,
    scheme: str,
    reading: LabeledData,
    running: Running,
) -> str:
    """Write documents, as they are or as columns; return what was written."""
    from crfkit._safe.printable import counted
    from crfkit.cli.texts import columns_of
    from crfkit.data.writing import write as write_data
    from crfkit.tags.schemes import canonical
    from crfkit.text.alignment import Aligner
    from crfkit.text.formats.writing import write

    seen = 0

    def walk() -> Iterator[Doc]:
        nonlocal seen
        for doc in docs:
            seen += 1
            yield doc

    if texts:
        if reading.tokenizer is None and reading.sentences is None and reading.alignment is None:
            write(walk(), target, format)
            return counted(seen, "document")
        given = walk()
        first = [*islice(given, 1)]
        own = "given" if first and first[0].tokens is not None else "words"
        rule: Any = reading.sentences or "none"
        cut = Aligner(reading.cutter or own, alignment=reading.how, sentences=rule)
        write(map(cut, chain(first, given)), target, format)
        return str(cut.report)
    aligned: list[Alignment] = []
    parts = columns_of(
        docs, None, canonical(scheme), reading, lambda alignment, _: aligned.append(alignment), source
    )
    write_data(target, parts, format)
    total = aligned[0]
    for one in aligned[1:]:
        total += one
    return str(total)


def _of_columns(source: str, target: str, format: str | None, texts: bool, reading: LabeledData) -> str:
    """Write data in columns or with attributes, as they are or as documents; return what was written."""
    from crfkit._safe.printable import counted
    from crfkit.data.reading import stream
    from crfkit.data.writing import write as write_data
    from crfkit.text.formats.writing import write

    seen = 0

    def walk() -> Iterator[Columns | Dataset]:
        nonlocal seen
        for part in stream(source, **reading.keywords):
            seen += len(part)
            yield part

    if texts:
        write(_documents(walk(), reading), target, format)
        return counted(seen, "document")
    write_data(target, walk(), format)
    return counted(seen, "sequence")


def _documents(parts: Iterable[Columns | Dataset], reading: LabeledData) -> Iterator[Doc]:
    """Yield the sequences of columns as documents: words with blanks between them, and what tags spell."""
    from crfkit.data.formats.columns import Columns
    from crfkit.features.stock_recipes import label_of
    from crfkit.tags.detection import follow_scheme

    spells: Callable[[Iterable[str]], bool] = follow_scheme
    for part in parts:
        if not isinstance(part, Columns):
            raise ValueError("the data have attributes and no words, so that there is no text; give columns")
        label = part.place(label_of(part, reading.label))
        words = next((c for c in range(len(part.names)) if c != label), label)
        tags = {tag for tag in part.alphabets[label].strings() if tag}
        scheme = spells(tags)
        for n in range(len(part)):
            rows = part.sequence(n)
            yield _document([row[words] for row in rows], [row[label] for row in rows], scheme)


def _document(words: list[str], tags: list[str], spelled: bool) -> Doc:
    """Return the document of a sentence; tags that are plain are the labels of its tokens."""
    from crfkit.tags.segments import runs_of, spans
    from crfkit.text.doc import Doc

    offsets: list[tuple[int, int]] = []
    at = 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    known = [offsets[t] for t, tag in enumerate(tags) if tag]
    read = [tag or "O" for tag in tags]
    found: Any = spans(read) if spelled else [one for one in runs_of(read) if one[2] != "O"]
    return Doc(
        " ".join(words),
        offsets,
        spans=[(offsets[a][0], offsets[b - 1][1], label) for a, b, label in found],
        labels=None if spelled else [tag or None for tag in tags],
        known=None if len(known) == len(tags) else known,
    )
