"""``crfkit train``: learn a model from labeled data."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli import graph_training, learning
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import InternalFeatures
from crfkit.cli.groups.lists import filled
from crfkit.cli.groups.model import AnyModel
from crfkit.cli.groups.output import Kept, ModelOutput
from crfkit.cli.groups.settings import with_settings
from crfkit.cli.groups.stopping import JudgedStopping
from crfkit.cli.groups.training import ModelTraining
from crfkit.cli.induce import induce
from crfkit.cli.job import Job
from crfkit.cli.keeping import Keeper, signals
from crfkit.cli.streamed import prepare_blocks
from crfkit.cli.summaries import summary_of
from crfkit.data.scratch import scratch_folder

if TYPE_CHECKING:
    from crfkit._safe.interrupts import Interrupts
    from crfkit.cli.groups.model import Asked
    from crfkit.linear.objective import Objective
    from crfkit.models.model import Model
    from crfkit.training import Checkpoints


@composed
def train(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    output: ModelOutput,
    *,
    reading: LabeledData,
    features: InternalFeatures,
    model: AnyModel,
    training: ModelTraining,
    stopping: JudgedStopping,
    kept: Kept,
) -> None:
    """Learn a model from labeled data and save it.

    Columns become attributes by a template (CRF++'s, Wapiti's or a crfkit recipe); without one, words, their
    shapes and affixes in a window, and of CoNLL-U only the forms, to learn upos. CRFsuite's text, MALLET's
    and items in JSON lines have attributes already. The file is written as a whole or not at all; of
    several runs that write it, that of the last one stays. A folder of checkpoints is for one run at a time.

    Ctrl-C, SIGTERM or SIGHUP (the terminal is closed) ends training and saves the model so far; the exit
    status is then 130, 143 or 129. A warning says when training ended before it converged, and what to
    change. In the end it says what was learned, how near that is to the optimum, and what to do next.

    With --induce, each round trains a little, looks at the tokens that are wrong, and adds the features that
    would gain most there (McCallum 2003): attributes and conjunctions of them, each with a label. A
    conjunction A|B holds where A and B do; the model makes it from new data by itself.

    For example:

      crfkit train train.txt -o chunks.crf -t template --dev dev.txt
      crfkit train a.txt b.txt.gz -o chunks.crf --columns word,pos,chunk
      crfkit train en.conllu -o pos.crf --label-column upos
      crfkit train items.jsonl -o m.crf --l1 0.1 --l2 0 --json | jq .loss
      crfkit train huge.txt.gz -o m.crf --block-positions 100000 -a adagrad
      crfkit train train.txt -o quick.crf -a perceptron --max-iterations 10
      crfkit train train.txt -o names.crf --structure semi --max-length 4
      crfkit train a.txt -o names.crf --structure semi --dictionary city=c.txt
      crfkit train train.txt -o names.crf --train-scheme bioes --order 2
      crfkit train train.txt -o small.crf --induce --set induction.rounds=5
      crfkit train train.txt -o both.crf --structure graph --graph pos-chunk.txt
    """
    job = Job(data, output, reading, features, model, training, stopping, kept)
    job.check_output()
    _check_settings(job)
    if model.structure == "graph":
        _train_graphs(job)
        return
    model.check()
    if training.induce:
        induce(job)
        return
    asked = model.asked
    _ = model.kept  # wrong words come before files
    goal = training.goal(asked.structure.objective)
    _check(job, asked, goal)
    with _kept_safe(job) as (caught, keep):
        _train_sequences(job, asked, goal, caught, keep)


def _check_settings(job: Job) -> None:
    """Refuse settings of what is not asked for."""
    parts = {"checkpoint": job.training.checkpoint is not None, "method": job.model.structure == "graph"}
    parts["induction"] = job.training.induce
    job.training.check_settings("objective", "optimizer", *(part for part, given in parts.items() if given))


def _check(job: Job, asked: Asked, goal: Objective) -> None:
    """Refuse what does not go together, before files are read."""
    from crfkit.training.choose import check_blockwise

    blocks = job.training.block_positions
    if job.training.unlabeled is not None and (blocks is not None or not goal.open):
        raise ValueError(
            filled("--unlabeled is for --objective {open}, without --block-positions; give one of these, or ")
            + "leave it out"
        )
    if blocks is not None:
        check_blockwise(job.training.optimizer, goal)
        if asked.segmental:
            raise ValueError("--block-positions is for chains; segments are learned from data in memory")
        if asked.encoding is not None:
            raise ValueError("--block-positions keeps labels as they are; leave --train-scheme out")
    job.stopping.check()
    if job.training.report is not None:
        raise ValueError("--report is for --induce; give it, or leave it out")


@contextmanager
def _kept_safe(job: Job) -> Iterator[tuple[Interrupts, Checkpoints | None]]:
    """Hear signals, keep the log readable, hold the folder of checkpoints."""
    from crfkit.training.runs.checkpoint import held_checkpoints
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings
    from crfkit.training.runs.progress import Lenient

    log: Any = Lenient(sys.stderr)  # a log that nobody reads must not lose a model
    with (
        redirect_stderr(log),
        plain_warnings(),
        signals() as caught,
        WarnedLast(),
        held_checkpoints(job.training.checkpoints) as keep,
    ):
        yield caught, keep


def _train_sequences(
    job: Job, asked: Asked, goal: Objective, caught: Interrupts, keep: Checkpoints | None
) -> None:
    """Learn a model of sequences and save it."""
    from crfkit.training.train import train as fit

    training, jobs = job.training, job.kept.jobs
    start, (solver, stop) = training.start, job.ending
    with ExitStack() as stack:
        learn = _prepared(job, asked, stack)
        dev, more, given = job.stopping.dev, training.unlabeled, job.reading.keywords
        judged = None if dev is None else learning.dev_set(dev, learn, asked, given, jobs)
        unlabeled = None if more is None else learning.unlabeled_set(more, learn, given, jobs)
        saved = {**job.kept.texts, "compact": job.kept.compact}
        keeper = Keeper(job.output, training.checkpoint, saved, say=job.say)
        stack.enter_context(learn.places.located())
        model = fit(
            learn.data,
            judged,
            structure=learn.structure,
            selection=job.model.weights(learn.extractor),
            objective=goal,
            optimizer=solver,
            init=start,
            metric=job.stopping.metric or "auto",
            stop=stop,
            checkpoint=keep,
            unlabeled=unlabeled,
            random_state=training.seed,
            n_jobs=jobs,
            listeners=[keeper],
            progress=not job.kept.quiet,
        )
        if caught.asked and not (model.training and model.training.iterations):
            raise KeyboardInterrupt  # nothing was learned that could take the place of a file
        _save(job, keeper, model)


def _prepared(job: Job, asked: Asked, stack: ExitStack) -> learning.Learning[Any]:
    """Read the data, into memory or into blocks on disk."""
    positions, jobs = job.training.block_positions, job.kept.jobs
    if positions is None:
        return learning.prepare(job.data, job.reading, job.features, asked, threads=jobs, say=job.say)
    # Beside the model there is room on a disk; the system's folder may lie in memory.
    beside = None if job.output == "-" else os.path.dirname(os.path.abspath(job.output))
    folder = stack.enter_context(scratch_folder("crfkit-blocks-", beside))
    return prepare_blocks(
        job.data, folder, positions, job.reading, job.features, asked, threads=jobs, say=job.say
    )


def _save(job: Job, keeper: Keeper, model: Model) -> None:
    """Write a model, and say what it is."""
    from crfkit._safe.interrupts import interrupts

    with interrupts():
        keeper.save(model)
        job.tell_result(model)
        if job.kept.as_json:
            print(json.dumps({"model": job.output, **summary_of(model)}, ensure_ascii=False))


def _train_graphs(job: Job) -> None:
    """Learn a model of graphs and save it."""
    from crfkit.inference.methods.registry import method_of

    model, training, kept = job.model, job.training, job.kept
    _refuse_for_graphs(job)
    solver, stop = job.ending
    method: Any = model.inference_method
    settings = training.settings["method"]
    if settings:
        method = with_settings(method_of(method), "method", settings, f"the method {method or 'auto'}")
    keep = training.checkpoints
    graph_training.train_graphs(
        job.data,
        job.output,
        model.graph,
        reading=job.reading,
        options={
            "objective": training.goal(),
            "optimizer": solver,
            "method": method,
            "selection": model.kept,
            "random_state": training.seed,
        },
        stop=stop,
        dev=job.stopping.dev,
        checkpoint=training.checkpoint,
        checkpoint_every=60.0 if keep is None or keep.seconds is None else keep.seconds,
        texts=kept.texts,
        metric=job.stopping.metric,
        threads=kept.jobs,
        as_json=kept.as_json,
        quiet=kept.quiet,
        say=job.say,
        told=job.tell_result,
    )


def _refuse_for_graphs(job: Job) -> None:
    """Refuse options that graphs do not have."""
    model, features, training = job.model, job.features, job.training
    if features.features is not None or job.reading.label is not None:
        option = "--label-column" if features.features is None else "--features"
        raise ValueError(f"{option} is not for --structure graph; the file of --graph says it")
    options = {
        "--dictionary": features.dictionary,
        "--internal-dictionary": features.internal or None,
        "--order": None if model.order == 1 else model.order,
        "--max-length": model.max_length,
        "--outside": model.outside,
        "--train-scheme": model.train_scheme,
        "--scheme": model.scheme,
        "--unlabeled": training.unlabeled,
        "--init": training.init,
        "--block-positions": training.block_positions,
        "--transitions": model.transitions,
        "--compact": job.kept.compact or None,
        "--induce": training.induce or None,
        "--report": training.report,
    }
    job.refuse(options, "--structure graph")
