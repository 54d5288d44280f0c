"""Raw text for ``crfkit tag`` and ``explain``: a text in each line, a file as a whole, or documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, groupby
from typing import TYPE_CHECKING, Final

from crfkit.cli.streams import json_line
from crfkit.errors import DataError

if TYPE_CHECKING:
    from crfkit.cli.groups.answers import Answers
    from crfkit.cli.groups.data import LabeledData
    from crfkit.cli.tagging import Tagger
    from crfkit.models.model import SequenceModel
    from crfkit.text.doc import Doc
    from crfkit.text.formats.reading import Docs
    from crfkit.text.offsets import Unit
    from crfkit.text.spans import Span

_LONG: Final = 1 << 20  #: characters of a line from which on it is labeled piece by piece
LONGEST_ANSWER: Final = 1 << 22  #: characters of a text whose answer is held: up to 1 GB
_BLANK: Final = str.maketrans("\t\r\n\v\f\x85\u2028\u2029", " " * 8)  # what would end a field or a line


def check_text_answers(answers: Answers, offsets: str) -> Unit:
    """Refuse answers that raw text does not have; return the unit of offsets."""
    from crfkit.cli.messages import check_choice
    from crfkit.text.offsets import UNITS

    if answers.kbest is not None or answers.given or answers.labels_only:
        given = "--kbest" if answers.kbest else "--given" if answers.given else "--print labels"
        raise ValueError(
            f"{given} is for sequences of tokens, and of raw text spans are printed; leave it out"
        )
    if answers.fallback == "free":
        raise ValueError("--infeasible free is for sequences of tokens; leave it out for raw text")
    found: Unit = check_choice("--offsets", offsets, tuple(UNITS))  # type: ignore[assignment]
    return found


def check_columns_of_graphs(source: str, text: bool) -> None:
    """Refuse raw text where the model is one of graphs."""
    if text:
        raise ValueError(f"--text: not for models of graphs, and {source} is one; leave it out")


def text_model(tagger: Tagger, reading: LabeledData) -> SequenceModel:
    """Return the model with the tokenizer that is given, else with its own."""
    from crfkit.cli.texts import spec_for_model
    from crfkit.data.dataset import ExtractorSpec

    model = tagger.model
    spec = spec_for_model(model, reading, tagger.source)
    if spec is model.text:
        return model
    return replace(model, extractor=replace(model.extractor or ExtractorSpec(), text=spec))


def tagged_lines(
    model: SequenceModel, path: str, encoding: str | None, unit: Unit, *, as_json: bool, threads: int | None
) -> Iterator[bytes]:
    """Yield the answers for texts that are lines, as they come; a text has the number of its line."""
    for first, lines in _lines(path, encoding):
        some: list[int] = []  # that are labeled together
        for number, line in enumerate(lines, first):
            if len(line) > _LONG and not as_json:
                yield from _answers(_piped(model, lines, some, first, threads), unit, as_json)
                some = []
                yield from _streamed(model, number, line, unit, threads)
            elif line.strip():
                _check_length(line, f"{path}, line {number}")
                some.append(number)
        yield from _answers(_piped(model, lines, some, first, threads), unit, as_json)


def text_docs(path: str, encoding: str | None) -> Iterator[Doc]:
    """Yield texts that are lines as documents of which nobody knows a label."""
    from crfkit.text.doc import Doc

    for _, lines in _lines(path, encoding):
        yield from (Doc(line, known=[]) for line in lines if line.strip())


def text_page(
    model: SequenceModel, docs: Iterable[Doc], title: str, *, threads: int | None
) -> Iterator[bytes]:
    """Yield a page with the documents in color."""
    from crfkit.view import entities, page

    labels = list(model.structure.labels)
    made = [
        entities(doc.text, doc.spans, labels=labels, title=doc.id or "")
        for doc in model.pipe(docs, threads=threads)
    ]
    if made:
        yield page(*made, title=title).encode("utf-8", "backslashreplace")


@contextmanager
def hinting(model: SequenceModel) -> Iterator[None]:
    """Name --text where data cannot be read as columns, and the model reads raw text, or could."""
    try:
        yield
    except DataError as error:
        if not isinstance(error.line, int) or model.recipe is None or len(model.recipe.columns) > 1:
            raise
        cut = "" if model.text is not None else " --tokenizer words"
        raise ValueError(f"{error}; give --text{cut} where it is raw text") from None


def _lines(path: str, encoding: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file, some at a time, and the number of the first of them."""
    from crfkit.data.source import open_input

    with open_input(path) as source:
        source.as_text(encoding)
        for first, block in source.blocks():
            yield first, block.split("\n")[:-1]


def _piped(
    model: SequenceModel, lines: Sequence[str], some: Sequence[int], first: int, threads: int | None
) -> Iterator[tuple[int, Doc]]:
    """Yield the documents of some lines, with their numbers."""
    yield from zip(some, model.pipe((lines[n - first] for n in some), threads=threads), strict=True)


def tagged_documents(
    model: SequenceModel, docs: Docs, unit: Unit, *, as_json: bool, threads: int | None
) -> Iterator[bytes]:
    """Yield the answers for documents, numbered from 1."""
    numbers = count(1)
    for long, several in groupby(
        docs, lambda doc: not as_json and doc.tokens is None and len(doc.text) > _LONG
    ):
        if long:
            for doc in several:
                yield from _streamed(model, next(numbers), doc.text, unit, threads)
        else:
            short = map(_checked, several)
            made = zip(model.pipe(short, threads=threads), numbers, strict=False)
            yield from _answers(((number, doc) for doc, number in made), unit, as_json)


def _checked(doc: Doc) -> Doc:
    _check_length(doc.text, f"the document {doc.id!r:.60}" if doc.id else "a document")
    return doc


def _check_length(text: str, where: str) -> None:
    """Refuse a text whose answer would be held as a whole, and is too large for that."""
    if len(text) > LONGEST_ANSWER:
        raise ValueError(
            f"{where}: the text has {len(text):,} characters, expected at most {LONGEST_ANSWER:,} where an "
            "answer is one object of JSON; leave --json out, or give the text as a file with --whole"
        )


def _streamed(
    model: SequenceModel, number: int, text: str, unit: Unit, threads: int | None
) -> Iterator[bytes]:
    """Yield the spans of a long text, piece by piece."""
    for span in model.stream(_Opened(text), unit=unit, threads=threads):
        yield _row(number, span).encode("utf-8", "surrogateescape")


class _Opened:
    """A text as an open file, without the copy that StringIO makes, four bytes for each character."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, size: int) -> str:
        """Return the next characters."""
        begin, self._at = self._at, self._at + size
        return self._text[begin : self._at]


def tagged_file(
    model: SequenceModel, path: str, unit: Unit, *, as_json: bool, threads: int | None
) -> Iterator[bytes]:
    """Yield the spans of one text of any size."""
    for span in model.stream(path, unit=unit, threads=threads):
        if as_json:
            yield json_line({**span.to_dict(), "tokens": None}).encode()
        else:
            yield _row(1, span).encode()


def _answers(docs: Iterable[tuple[int, Doc]], unit: Unit, as_json: bool) -> Iterator[bytes]:
    for number, doc in docs:
        made = doc.in_unit(unit)
        if as_json:
            yield json_line(made.to_dict()).encode("utf-8", "backslashreplace")
        else:
            yield "".join(_row(number, span) for span in made.spans).encode("utf-8", "surrogateescape")


def _row(number: int, span: Span) -> str:
    """Return text, start, end, label, probability and the span itself, with TABs between."""
    sure = "" if span.probability is None else f"{span.probability:.6f}"
    text = getattr(span, "text", "").translate(_BLANK)
    return "\t".join([str(number), str(span.start), str(span.end), span.label, sure, text]) + "\n"
