"""``crfkit tag``: label data with a model, block by block."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.globals import Keeping
from crfkit.cli.options import AsJson, Quiet, Threads, check_output, say
from crfkit.cli.reads import LabeledReading, with_reading
from crfkit.cli.streams import json_line
from crfkit.errors import UnknownAttributesWarning

if TYPE_CHECKING:
    from crfkit.arrays import Bools
    from crfkit.cli.tagging import Tagger
    from crfkit.data.batch import Batch
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.models.graph_model import GraphModel
    from crfkit.models.model import Model
    from crfkit.structures.gold import Sets


@with_reading
def tag(
    model: Annotated[
        str, typer.Argument(help="A model of crfkit, or of a program that crfkit convert reads.")
    ],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", help="Where to; gzip if it ends in .gz.")] = "-",
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the probability of every label: label/probability.")
    ] = False,
    kbest: Annotated[
        int | None, typer.Option("--kbest", "-k", help="The K best labelings of each sequence.", min=1)
    ] = None,
    labels_only: Annotated[
        bool, typer.Option("--labels-only", help="Print labels without the columns of the input.")
    ] = False,
    segments: Annotated[
        bool,
        typer.Option(
            "--segments",
            help="Print JSON lines with segments as [start, end, label]; with --marginals also their "
            "probabilities.",
        ),
    ] = False,
    spans: Annotated[
        bool,
        typer.Option("--spans", help="Print one segment a line: sequence, begin, end, label, text."),
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="With --spans: add the probability of each segment.")
    ] = False,
    given: Annotated[
        bool,
        typer.Option("--given", help="Keep the labels that the input has; other text there leaves it free."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Label data of which the model knows next to no attribute, too."),
    ] = False,
    *,
    keeping: Keeping,
    reading: LabeledReading,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print data with the best labels in a further column.

    As crf_test does: lines of the answer are lines of the input, with TABs between columns. -DOCSTART- lines,
    which train and eval skip, are kept; comments, a header and the column that numbers sequences are left
    out, and of CoNLL-U what is not a word (1-2, 1.1). Data with attributes (CRFsuite's text) have no columns
    to repeat: only labels are printed. With --kbest, every labeling comes after a line "# rank probability",
    ranks from 1. A model of segments prints tags, where it was trained on tags. A model of graphs has a
    further column for each kind, and reads labels of no column.

    With --once, --at-most, --at-least, --exactly, --before and --implies labels are the best that keep these
    constraints on whole sequences. A label is an exact name; where labels spell segments, PER counts segments
    of this type and B-PER positions.

    Data of another kind than the model was trained on are refused: of their first 200 attributes or more it
    knows less than 2 %. With --force they are labeled, and there is a warning.

    --spans prints the segments that labels spell, or, where they are plain, runs of equal labels, with TABs
    between sequence (counted from 1), begin (counted from 0), end (one past the last position), label, words
    of the first column and, with --confidence, the probability of exactly this segment: both ends and the
    label. With --json, each line is an object with these names.

    For example:

      crfkit tag chunks.crf test.txt -o tagged.txt.gz
      gzip -dc test.gz | crfkit tag chunks.crf --labels-only
      crfkit tag places.crf cities.tsv --separator tab
      crfkit tag usaddr.crfsuite items.jsonl --kbest 3 --json
      crfkit tag names.crf test.txt --segments --marginals
      crfkit tag usaddr.crf lines.txt --once all --at-most ZipCode=1
      crfkit tag names.crf test.txt --spans --confidence
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.models.files import GraphFileError

    asked = Asked(marginals, kbest, labels_only, given, as_json, segments, spans, confidence)
    check_output(output, read=[model, data])
    if data == "-" and sys.stdin.isatty():
        say("reading standard input; Ctrl-D ends it", quiet)
    try:
        tagger = Tagger(model, reading.label_column, threads, keeping)
    except GraphFileError as error:
        with _refusing(force):
            _tag_graphs(model, error.model, data, output, asked, reading, keeping, threads, quiet)
        return
    asked.check(tagger.model)
    # The sequences of the answer are those of the input, also where they are marks of documents.
    blocks = reading.blocks(data, attributes=tagger.attributes, docstart="keep", threads=threads)
    source = "standard input" if data == "-" else data
    with _refusing(force):
        written = _write(output, _answers(tagger, blocks, asked, source))
    if not written:
        raise ValueError(f"{source} holds no sequence; give data")
    tagger.tell(quiet)


@contextmanager
def _refusing(force: bool) -> Iterator[None]:
    """Refuse data of which the model knows next to no attribute, unless they are labeled by force."""
    with warnings.catch_warnings():
        if not force:
            warnings.simplefilter("error", UnknownAttributesWarning)
        try:
            yield
        except UnknownAttributesWarning as error:
            raise ValueError(f"{error}, or label these all the same with --force") from None


def _tag_graphs(
    model: str,
    found: GraphModel,
    data: str,
    output: str,
    asked: Asked,
    reading: LabeledReading,
    keeping: Keeping,
    threads: int | None,
    quiet: bool,
) -> None:
    """Tag with a model of graphs: a further column for each kind."""
    from crfkit.cli.graph_answers import GraphTagger

    for option, given in (
        ("--kbest", asked.kbest),
        ("--segments", asked.segments),
        ("--spans", asked.spans),
        ("--given", asked.given),
        ("--once and other constraints", keeping.constraints),
        ("--label", reading.label_column is not None),
    ):
        if given:
            raise ValueError(f"{option}: not for models of graphs, and {model} is one; leave it out")
    tagger = GraphTagger(model, found, threads)
    answers = (
        tagger.tagged(block, marginals=asked.marginals, labels_only=asked.labels_only, as_json=asked.as_json)
        for block in tagger.blocks(reading, data, docstart="keep")
    )
    if not _write(output, answers):
        raise ValueError(f"{'standard input' if data == '-' else data} holds no sequence; give data")


@dataclass(frozen=True)
class Asked:
    """What to print of each sequence."""

    marginals: bool
    kbest: int | None
    labels_only: bool
    given: bool
    as_json: bool
    segments: bool = False
    spans: bool = False
    confidence: bool = False

    def __post_init__(self) -> None:
        if self.confidence and not self.spans:
            raise ValueError("--confidence belongs to --spans; give both, or --marginals")
        if self.spans and (self.marginals or self.kbest is not None or self.labels_only or self.segments):
            raise ValueError(
                "--spans prints segments by themselves; leave out --marginals, --kbest, --labels-only and "
                "--segments"
            )
        if self.marginals and self.kbest is not None:
            raise ValueError(
                "--marginals belong to positions and --kbest to whole labelings; give one of them"
            )
        if self.labels_only and self.marginals and not self.as_json and not self.segments:
            raise ValueError("--labels-only prints only labels; leave it out to see --marginals")

    def check(self, model: Model) -> None:
        """Refuse what constraints on whole labelings do not go with."""
        if model.constraints and (self.kbest or self.marginals or self.confidence):
            given = "--kbest" if self.kbest else "--marginals" if self.marginals else "--confidence"
            raise ValueError(
                f"{given} does not know constraints on whole labelings (--once and others, or those of the "
                f"model): leave {given} or the constraints out"
            )

    @property
    def labels_alone(self) -> bool:
        """Whether the best labels are all that is asked for."""
        return not (self.marginals or self.kbest or self.as_json or self.segments or self.spans)


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


def _spans_of(tagger: Tagger, block: Columns | Dataset, asked: Asked, seen: int) -> bytes:
    """Return the segments of a block, one in each line; `seen` sequences came before."""
    from crfkit.cli.answers import span_rows

    forced = tagger.forced(block) if asked.given else None
    rows = span_rows(tagger, block, forced, seen, confidence=asked.confidence)
    if asked.as_json:
        return "".join(json_line(row) for row in rows).encode()
    cells = (
        [f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in row.values()] for row in rows
    )
    return "".join("\t".join(row) + "\n" for row in cells).encode("utf-8", "surrogateescape")


def _answers(
    tagger: Tagger, blocks: Iterator[Columns | Dataset], asked: Asked, source: str
) -> Iterator[bytes]:
    """Yield the answer for each block; errors count sequences from the beginning of the input."""
    from crfkit.cli.places import located

    seen = 0
    for block in blocks:
        with located(block, seen, source):
            lines = _spans_of(tagger, block, asked, seen) if asked.spans else _of_block(tagger, block, asked)
        seen += len(block)
        yield lines


def _of_block(tagger: Tagger, block: Columns | Dataset, asked: Asked) -> bytes:
    """Return the answer for a block, sequence by sequence."""
    from crfkit._native import render_lines
    from crfkit.data.formats.columns import Columns

    batch = tagger.batch(block)
    forced = tagger.forced(block) if asked.given else None
    columns = block if isinstance(block, Columns) and not asked.labels_only else None
    if asked.labels_alone:
        best = tagger.path(batch, forced)
        spelling = tagger.model.spelling
        alphabets = [*(() if columns is None else columns.alphabets), spelling.alphabet]
        ids = [*(() if columns is None else columns.ids), spelling.ids(best)]
        return render_lines([alphabet._native for alphabet in alphabets], ids, batch.seq_ptr)
    fields: list[list[str]] = []  # of every column [P]
    names: tuple[str, ...] = ()
    if columns is not None:
        fields, names = [column.tolist() for column in columns.strings()], columns.names
    ptr = batch.seq_ptr.tolist()
    lines: list[str] = []
    for n, answer in enumerate(_of_sequences(tagger, batch, forced, asked)):
        mine = [column[ptr[n] : ptr[n + 1]] for column in fields]
        if asked.as_json or asked.segments:
            given = dict(zip(names, mine, strict=True))
            lines.append(json_line({**given, **answer}))
        else:
            lines += _lines(mine, answer, ptr[n + 1] - ptr[n])
    return "".join(lines).encode("utf-8", "surrogateescape")


def _lines(columns: list[list[str]], answer: dict[str, Any], positions: int) -> Iterator[str]:
    """Yield the lines of a sequence: its columns, labels and probabilities."""
    for rank, one in enumerate(answer.get("kbest", [answer]), 1):
        if "kbest" in answer:
            yield f"# {rank} {one['probability']:.6f}\n"
        further = [
            "".join(f"\t{name}/{p:.6f}" for name, p in here.items()) for here in one.get("marginals", ())
        ] or [""] * positions
        rows = list(map("\t".join, zip(*columns, one["predicted"], strict=True)))
        yield "".join(f"{row}{more}\n" for row, more in zip(rows, further, strict=True)) + "\n"


def _of_sequences(
    tagger: Tagger, batch: Batch, forced: Bools | Sets | None, asked: Asked
) -> Iterator[dict[str, Any]]:
    """Yield the answer for each sequence as plain data."""
    import numpy as np

    from crfkit import inference
    from crfkit.cli.answers import LabelAnswers, SegmentAnswers
    from crfkit.inference.results import NoLabelingError, counted_from
    from crfkit.models.alternatives import kbest_of
    from crfkit.models.scores import decoded

    model, threads, begin = tagger.model, tagger.threads, 0
    answer = SegmentAnswers(model) if asked.segments else LabelAnswers(model)
    if asked.kbest is not None:
        answer.check_kbest()
    for part, potentials in model.parts(
        batch, allowed=forced, threads=threads, cells=answer.cells(asked.marginals)
    ):
        with counted_from(begin):
            total = np.atleast_1d(inference.log_partition(potentials, threads=threads))  # [N]
            found: list[list[inference.Labeling]]
            if model.constraints:
                found = [[one] for one in tagger.constrained(potentials)]
            elif asked.kbest is None:
                found = [[one] for one in decoded(potentials, threads, model.states, model.decision)]
            else:
                found = kbest_of(model, potentials, asked.kbest, threads)
                if not all(found):
                    raise NoLabelingError([bool(several) for several in found].index(False))
            best = [several[0] for several in found]
            more = answer.marginals(potentials, best, threads) if asked.marginals else [{}] * len(best)
        begin += part.sequences
        for n, several in enumerate(found):
            plain = [
                {
                    **answer.one(labeling),
                    "probability": float(np.exp(min(labeling.score - total[n], 0.0))),
                }
                for labeling in several
            ]
            yield {"kbest": plain} if asked.kbest is not None else plain[0] | more[n]
