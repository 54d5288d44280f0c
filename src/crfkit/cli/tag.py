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
from crfkit.cli.groups.output import Running
from crfkit.cli.messages import check_output, say
from crfkit.cli.streams import json_line

if TYPE_CHECKING:
    from crfkit.arrays import Bools
    from crfkit.cli.graph_answers import GraphTagger
    from crfkit.cli.tagging import Tagger
    from crfkit.data.batch import Batch
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.structures.gold import Sets


@composed
def tag(
    model: Annotated[
        str, typer.Argument(help="A model of crfkit, or of a program that crfkit convert reads.")
    ],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    output: Annotated[
        str, option("Output", "--output", "-o", help="Where to; gzip if it ends in .gz.")
    ] = "-",
    *,
    reading: LabeledData,
    answers: Answers,
    running: Running,
) -> None:
    """Print data with the best labels in a further column.

    As crf_test does: lines of the answer are lines of the input, with TABs between columns. -DOCSTART- lines,
    which train and evaluate skip, are kept; comments, a header and the column that numbers sequences are left
    out, and of CoNLL-U what is not a word (1-2, 1.1). Data with attributes (CRFsuite's text) have no columns
    to repeat: only labels are printed. With --kbest, every labeling comes after a line "# rank probability",
    ranks from 1. A model of segments prints tags, where it was trained on tags. A model of graphs has a
    further column for each kind, and reads labels of no column.

    With --constraint labels are the best that keep it on whole sequences. A label is an exact name;
    where labels spell segments, PER counts segments of this type and B-PER positions.

    Data of another kind than the model was trained on are refused: of their first 200 attributes or more it
    knows less than 2 %. With --force they are labeled, and there is a warning.

    --print spans prints the segments that labels spell, or, where they are plain, runs of equal labels, with
    TABs between sequence (counted from 1), start (counted from 0), end (one past the last position), label,
    words of the first column and, with --print spans,proba, the probability of exactly this segment: both
    ends and the label. With --json, each line is a sequence with its segments as [start, end, label].

    For example:

      crfkit tag chunks.crf test.txt -o tagged.txt.gz
      gzip -dc test.gz | crfkit tag chunks.crf --print labels
      crfkit tag places.crf cities.tsv --separator tab
      crfkit tag usaddr.crfsuite items.jsonl --kbest 3 --json
      crfkit tag names.crf test.txt --print spans,proba --json
      crfkit tag usaddr.crf lines.txt --constraint at-most:ZipCode:1
      crfkit tag names.crf test.txt --print spans
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.models.files import GraphFileError

    answers.check(running.as_json)
    check_output(output, read=[model, data])
    threads, quiet = running.jobs, running.quiet
    if data == "-" and sys.stdin.isatty():
        say("reading standard input; Ctrl-D ends it", quiet)
    try:
        tagger = Tagger(model, reading.label, threads, answers)
    except GraphFileError as error:
        from crfkit.cli.graph_answers import GraphTagger

        with _refusing(answers.force):
            _tag_graphs(GraphTagger(model, error.model, threads), data, output, reading, answers, running)
        return
    answers.check_model(tagger.model)
    asked = Asked(answers, running.as_json)
    # The sequences of the answer are those of the input, also where they are marks of documents.
    blocks = reading.blocks(data, attributes=tagger.attributes, docstart="keep", threads=threads)
    source = "standard input" if data == "-" else data
    with _refusing(answers.force):
        written = _write(output, _answers(tagger, blocks, asked, source))
    if not written:
        raise ValueError(f"{source} holds no sequence; give data")
    tagger.tell(quiet)


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
    tagger: GraphTagger, data: str, output: str, reading: LabeledData, answers: Answers, running: Running
) -> None:
    """Tag with a model of graphs: a further column for each kind."""
    for name, given in (
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
class Asked:
    """What to print of each sequence, and how."""

    answers: Answers
    as_json: bool

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


def _spans_of(tagger: Tagger, block: Columns | Dataset, asked: Asked, seen: int) -> bytes:
    """Return the segments of a block, one in each line; `seen` sequences came before."""
    from crfkit.cli.answers import span_rows

    forced = tagger.forced(block) if asked.answers.given else None
    rows = span_rows(tagger, block, forced, seen, confidence=asked.answers.proba)
    return "".join("\t".join(row) + "\n" for row in rows).encode("utf-8", "surrogateescape")


def _answers(
    tagger: Tagger, blocks: Iterator[Columns | Dataset], asked: Asked, source: str
) -> Iterator[bytes]:
    """Yield the answer for each block; errors count sequences from the beginning of the input."""
    from crfkit.cli.places import located

    seen = 0
    for block in blocks:
        with located(block, seen, source):
            lines = _spans_of(tagger, block, asked, seen) if asked.lines else _of_block(tagger, block, asked)
        seen += len(block)
        yield lines


def _of_block(tagger: Tagger, block: Columns | Dataset, asked: Asked) -> bytes:
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
                {
                    **answer.one(labeling),
                    "probability": float(np.exp(min(labeling.score - total[n], 0.0))),
                }
                for labeling in several
            ]
            yield {"kbest": plain} if asked.answers.kbest is not None else plain[0] | more[n]
