"""``crfkit tag``: label data with a model, block by block."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.groups.answers import Answers
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.output import Showing
from crfkit.cli.messages import check_output, say
from crfkit.cli.streams import json_line
from crfkit.cli.tag_texts import (
    check_columns_of_graphs,
    check_text_answers,
    hinting,
    tagged_documents,
    tagged_file,
    tagged_lines,
    text_docs,
    text_model,
    text_page,
)

if TYPE_CHECKING:
    from crfkit.arrays import Bools
    from crfkit.cli.graph_commands import GraphTagger
    from crfkit.cli.tagging import Tagger
    from crfkit.data.batch import Batch
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.structures.gold import Sets
    from crfkit.text.formats.reading import Docs
    from crfkit.text.offsets import Unit


@composed
def tag(
    model: Annotated[str, typer.Argument(help="A model of crfkit, CRFsuite, CRF++, Wapiti or MALLET.")],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    output: Annotated[
        str, option("Output", "--output", "-o", help="The file to write; compressed if the name ends in .gz.")
    ] = "-",
    text: Annotated[
        bool, option("Data", "--text", help="INPUT is raw text, one text per line; print its spans.")
    ] = False,
    whole: Annotated[
        bool, option("Data", "--whole", help="INPUT is a single raw text, of any size.")
    ] = False,
    offsets: Annotated[
        str, option("Answers", "--offsets", help="Unit of offsets in raw text: codepoint, utf16 or byte.")
    ] = "codepoint",
    dask: Annotated[
        str | None,
        option(
            "Data",
            "--dask",
            metavar="ADDRESS",
            help="Label Parquet files on a Dask cluster: tcp://HOST:PORT of its scheduler, or local. "
            "--output is a folder that all machines mount; --columns names the column of texts (text).",
        ),
    ] = None,
    *,
    reading: LabeledData,
    answers: Answers,
    running: Showing,
) -> None:
    """Label data, and print it with the labels in an extra column.

    The output has the lines of the input, with tabs between columns, as crf_test writes them. -DOCSTART-
    lines are kept. Comments, a header, the column that numbers sequences, and lines of CoNLL-U that are not
    words (1-2, 1.1) are left out. For data with attributes (CRFsuite's text) only labels are printed. With
    --kbest, a line "# rank probability" precedes each label sequence; ranks begin at 1. A segment model
    prints tags if it was trained on tags. A graph model prints an extra column for each kind.

    With --constraint, labels are the best ones that satisfy it. A label is an exact name; if labels are
    tags of segments, PER counts segments of this type, and B-PER counts positions.

    If the model knows fewer than 2 % of the attributes, the data are probably not of the kind that it was
    trained on. The command then refuses them; --force labels them with a warning.

    --print spans prints segments: those of the tags, or runs of equal plain labels. The columns are
    sequence (from 1), start (from 0), end (one past the last position), label and words; spans,proba adds
    the probability of exactly this segment. With --json, each line is a sequence with its segments as
    [start, end, label].

    Raw text is one text per line (--text), a single text (--whole), or documents as annotation tools write
    them. The columns are text (from 1), start and end in characters (from 0; see --offsets), label,
    probability and the span itself. --json prints documents; for a single text, one object per span.

    With --dask, INPUT is a Parquet file or a pattern of such files, with a text in each row. Each file gets a
    column spans and goes to the folder --output. Files that exist are left alone, so the same command
    resumes an interrupted run.

    On a terminal, segments are shown in color with their probabilities, and a question mark if these are
    below 0.7. Pipes and files get columns.

    For example:

      crfkit tag ner.crf notes.txt --text --json --offsets utf16
      echo "221B Baker St" | crfkit tag addresses.crf --text
      crfkit tag chunks.crf test.txt -o tagged.txt.gz
      gzip -dc test.gz | crfkit tag chunks.crf --print labels
      crfkit tag places.crf cities.tsv --separator tab
      crfkit tag usaddr.crfsuite items.jsonl --kbest 3 --json
      crfkit tag names.crf test.txt --print spans,proba --json
      crfkit tag usaddr.crf lines.txt --constraint at-most:ZipCode:1
      crfkit tag names.crf test.txt --print spans
      crfkit tag names.crf test.txt --html -o test.html
      crfkit tag names.crf 'part-*.parquet' --dask tcp://head:8786 -o spans
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.models.files import GraphFileError

    answers.check(running.as_json)
    running.check()
    if dask is not None:
        from crfkit.cli.cluster import tag_on

        tag_on(dask, model, data, output, reading, running)
        return
    check_output(output, read=[model, data])
    threads, quiet = running.jobs, running.quiet
    if data == "-" and sys.stdin.isatty():
        say("reading standard input; Ctrl-D ends it", quiet)
    try:
        tagger = Tagger(model, reading.label, threads, answers)
    except GraphFileError as error:
        from crfkit.cli.graph_commands import GraphTagger

        with _refusing(answers.force):
            check_columns_of_graphs(model, text or whole)
            _tag_graphs(GraphTagger(model, error.model, threads), data, output, reading, answers, running)
        return
    source = "standard input" if data == "-" else data
    docs = None if text or whole else reading.documents(data)
    if text or whole or docs is not None:
        given = _Texts(data, docs, whole, check_text_answers(answers, offsets))
        if running.as_html:
            answers.check_page()
        with _refusing(answers.force):
            if not _write(output, _of_texts(tagger, given, reading, running)):
                if running.as_html:
                    raise ValueError(f"{source} holds no text; give text")
                say(f"crfkit: {source} holds no span that the model finds", quiet)
        return
    answers.check_model(tagger.model)
    asked = TagRequest(answers, running.as_json)
    if running.as_html:
        answers.check_page()
    if not asked.labels_alone or running.as_html:
        tagger.check_sums("leave --html, --json, --kbest and --print proba or spans out")
    # The sequences of the answer are those of the input, also where they are marks of documents.
    blocks = reading.blocks(data, attributes=tagger.attributes, docstart="keep", threads=threads)
    with _refusing(answers.force), hinting(tagger.model):
        if asked.on_screen(output, tagger, running):
            from crfkit.cli.terminal import show

            written = show(tagger, blocks)
        else:
            lines = _page(tagger, blocks) if running.as_html else _answers(tagger, blocks, asked, source)
            written = _write(output, lines)
    if not written:
        raise ValueError(f"{source} holds no sequence; give data")
    tagger.tell(quiet)


@dataclass(frozen=True)
class _Texts:
    """Raw text to tag."""

    path: str
    docs: Docs | None  #: documents; None: text
    whole: bool  #: one text, not one in each line
    unit: Unit


def _of_texts(tagger: Tagger, given: _Texts, reading: LabeledData, running: Showing) -> Iterator[bytes]:
    """Yield the answers for raw text."""
    model = text_model(tagger, reading)
    if running.as_html:
        if given.whole:
            raise ValueError(
                "--whole is for texts of any size, and a page has none; leave --whole or --html out"
            )
        docs = text_docs(given.path, reading.encoding) if given.docs is None else given.docs
        return text_page(model, docs, tagger.source, threads=running.jobs)
    asked: Any = {"as_json": running.as_json, "threads": running.jobs}
    if given.docs is not None:
        return tagged_documents(model, given.docs, given.unit, **asked)
    if given.whole:
        return tagged_file(model, given.path, given.unit, **asked)
    return tagged_lines(model, given.path, reading.encoding, given.unit, **asked)


def _page(tagger: Tagger, blocks: Iterator[Columns | Dataset]) -> Iterator[bytes]:
    """Yield a page with the sequences in color."""
    from crfkit.cli.pictures import tagged
    from crfkit.view import page

    if made := list(tagged(tagger, blocks)):
        yield page(*made, title=tagger.source).encode()


@contextmanager
def _refusing(force: bool) -> Iterator[None]:
    """Refuse data of which the model knows next to no attribute, unless they are labeled by force."""
    from crfkit.models.known import UnknownAttributesWarning

    with warnings.catch_warnings():
        if not force:
            warnings.simplefilter("error", UnknownAttributesWarning)
        try:
            yield
        except UnknownAttributesWarning as error:
            raise ValueError(f"{error}, or label these all the same with --force") from None


def _tag_graphs(
    tagger: GraphTagger, data: str, output: str, reading: LabeledData, answers: Answers, running: Showing
) -> None:
    """Tag with a model of graphs: a further column for each kind."""
    for name, given in (
        ("--html", running.as_html),
        ("--kbest", answers.kbest),
        ("--print spans", answers.spans),
        ("--given", answers.given),
        ("--constraint", answers.constraints),
        ("--label-column", reading.label is not None),
    ):
        if given:
            raise ValueError(f"{name}: not for models of graphs, and {tagger.source} is one; leave it out")
    lines = (
        tagger.tagged(
            block, marginals=answers.proba, labels_only=answers.labels_only, as_json=running.as_json
        )
        for block in tagger.blocks(reading, data, docstart="keep")
    )
    if not _write(output, lines):
        raise ValueError(f"{'standard input' if data == '-' else data} holds no sequence; give data")


@dataclass(frozen=True)
class TagRequest:
    """What to print of each sequence, and how."""

    answers: Answers
    as_json: bool

    def on_screen(self, output: str, tagger: Tagger, running: Showing) -> bool:
        """Whether people look at it, who asked for no form and read words: then it is shown in color."""
        plain = self.answers.plain and not (running.as_json or running.as_html or tagger.model.constraints)
        readable = tagger.model.recipe is not None and hasattr(tagger.model, "predict_proba")
        return plain and readable and output == "-" and sys.stdout.isatty()

    @property
    def lines(self) -> bool:
        """Whether each segment is a line."""
        return self.answers.spans and not self.as_json

    @property
    def labels_alone(self) -> bool:
        """Whether the best labels are all that is asked for."""
        return not (self.answers.proba or self.answers.kbest or self.as_json or self.answers.spans)


def _write(output: str, answers: Iterator[bytes]) -> bool:
    """Write answers as they come; return whether there were any."""
    seen = False

    def pieces() -> Iterator[bytes]:
        nonlocal seen
        for piece in answers:
            seen = True
            yield piece

    if output == "-":
        terminal = sys.stdout.isatty()
        for piece in pieces():
            if terminal:
                sys.stdout.write(piece.decode("utf-8", "surrogateescape"))
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()  # the reader of the pipe need not wait for the next block
    else:
        from crfkit.data.sink import write_bytes

        write_bytes(output, pieces())
    return seen


def _spans_of(tagger: Tagger, block: Columns | Dataset, asked: TagRequest, seen: int) -> bytes:
    """Return the segments of a block, one in each line; `seen` sequences came before."""
    from crfkit.cli.tag_output import span_rows

    forced = tagger.forced(block) if asked.answers.given else None
    rows = span_rows(tagger, block, forced, seen, confidence=asked.answers.proba)
    return "".join("\t".join(row) + "\n" for row in rows).encode("utf-8", "surrogateescape")


def _answers(
    tagger: Tagger, blocks: Iterator[Columns | Dataset], asked: TagRequest, source: str
) -> Iterator[bytes]:
    """Yield the answer for each block; errors count sequences from the beginning of the input."""
    from crfkit.cli.origins import located

    seen = 0
    for block in blocks:
        with located(block, seen, source):
            lines = _spans_of(tagger, block, asked, seen) if asked.lines else _of_block(tagger, block, asked)
        seen += len(block)
        yield lines


def _of_block(tagger: Tagger, block: Columns | Dataset, asked: TagRequest) -> bytes:
    """Return the answer for a block, sequence by sequence."""
    from crfkit._native import render_lines
    from crfkit.data.formats.columns import Columns

    batch = tagger.batch(block)
    forced = tagger.forced(block) if asked.answers.given else None
    columns = block if isinstance(block, Columns) and not asked.answers.labels_only else None
    if asked.labels_alone:
        best = tagger.path(batch, forced)
        spelling = tagger.model.spelling
        alphabets = [*(() if columns is None else columns.alphabets), spelling.alphabet]
        ids = [*(() if columns is None else columns.ids), spelling.ids(best)]
        return render_lines([alphabet._native for alphabet in alphabets], ids, batch.seq_ptr)
    from crfkit.cli.tag_output import sequence_lines

    fields: list[list[str]] = []  # of every column [P]
    names: tuple[str, ...] = ()
    if columns is not None:
        fields, names = [column.tolist() for column in columns.strings()], columns.names
    ptr = batch.seq_ptr.tolist()
    lines: list[str] = []
    for n, answer in enumerate(_of_sequences(tagger, batch, forced, asked)):
        mine = [column[ptr[n] : ptr[n + 1]] for column in fields]
        if asked.as_json:
            given = dict(zip(names, mine, strict=True))
            lines.append(json_line({**given, **answer}))
        else:
            lines += sequence_lines(mine, answer, ptr[n + 1] - ptr[n])
    return "".join(lines).encode("utf-8", "surrogateescape")


def _of_sequences(
    tagger: Tagger, batch: Batch, forced: Bools | Sets | None, asked: TagRequest
) -> Iterator[dict[str, Any]]:
    """Yield the answer for each sequence as plain data."""
    import numpy as np

    from crfkit import inference
    from crfkit.cli.tag_output import LabelAnswers, SegmentAnswers
    from crfkit.errors import InfeasibleError
    from crfkit.inference.results import counted_from
    from crfkit.models.alternatives import kbest_of
    from crfkit.models.scores import decoded

    model, threads, begin = tagger.model, tagger.threads, 0
    answer = SegmentAnswers(model) if asked.answers.spans else LabelAnswers(model)
    if asked.answers.kbest is not None:
        answer.check_kbest()
    for part, potentials in model.parts(
        batch, allowed=forced, threads=threads, cells=answer.cells(asked.answers.proba)
    ):
        with counted_from(begin):
            total = np.atleast_1d(inference.log_partition(potentials, threads=threads))  # [N]
            found: list[list[inference.Labeling]]
            if model.constraints:
                found = [[one] for one in tagger.constrained(potentials)]
            elif asked.answers.kbest is None:
                found = [[one] for one in decoded(potentials, threads, model.states, model.decision)]
            else:
                found = kbest_of(model, potentials, asked.answers.kbest, threads)
                if not all(found):
                    raise InfeasibleError([bool(several) for several in found].index(False))
            best = [several[0] for several in found]
            more = answer.marginals(potentials, best, threads) if asked.answers.proba else [{}] * len(best)
        begin += part.sequences
        for n, several in enumerate(found):
            plain = [
                {**answer.one(labeling), "probability": float(np.exp(min(labeling.score - total[n], 0.0)))}
                for labeling in several
            ]
            yield {"kbest": plain} if asked.answers.kbest is not None else plain[0] | more[n]
