"""``crfkit train``: learn a model from labeled data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli import learning, recipes
from crfkit.cli.graph_training import train_graphs
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import InternalFeatures
from crfkit.cli.groups.lists import filled
from crfkit.cli.groups.model import AnyModel
from crfkit.cli.groups.output import ModelOutput, Report, Running, Saving
from crfkit.cli.groups.stopping import JudgedStopping
from crfkit.cli.groups.training import ModelTraining
from crfkit.cli.induce import induce
from crfkit.cli.saving import Saver, kept_safe
from crfkit.cli.summaries import summary_of
from crfkit.cli.training_request import TrainingRequest
from crfkit.data.scratch import scratch_folder

if TYPE_CHECKING:
    from crfkit._safe.interrupts import Interrupts
    from crfkit.cli.groups.data import LabeledData
    from crfkit.cli.groups.features import Features
    from crfkit.cli.groups.model import LearningTarget
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor
    from crfkit.linear.objective import Objective
    from crfkit.training import BlockedData, Checkpoints


@composed
def train(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    output: ModelOutput,
    report: Report = None,
    *,
    reading: LabeledData,
    features: InternalFeatures,
    model: AnyModel,
    training: ModelTraining,
    stopping: JudgedStopping,
    saving: Saving,
    running: Running,
) -> None:
    """Learn a model from labeled data and save it.

    Templates make attributes of the columns: CRF++ templates, Wapiti patterns or a crfkit recipe. Without
    any, the model sees words, their shapes and affixes in a window. CRFsuite's text, MALLET's text and
    items in JSON lines have attributes already. CoNLL-U: forms are read, and upos is learned. "crfkit
    help names" lists all objectives, optimizers, methods, metrics, schemes and formats. --set sets their
    options.

    Interrupting training (Ctrl-C, SIGTERM or SIGHUP) saves the model so far; the exit status is then 130,
    143 or 129. A warning says if training ended before it converged, and what to change. The model file
    is written as a whole or not at all. A folder of checkpoints belongs to one run at a time.

    With --induce, each round trains a little, looks at the tokens that are wrong, and adds the features
    that would gain most there (McCallum 2003): attributes and conjunctions of them. A conjunction A|B
    holds where A and B do, and the model applies it to new data by itself.

    For example:

      crfkit train train.txt -o chunks.crf -t template --dev dev.txt
      crfkit train a.txt b.txt.gz -o chunks.crf --columns word,pos,chunk
      crfkit train en.conllu -o pos.crf --label-column upos
      crfkit train items.jsonl -o m.crf --l1 0.1 --l2 0 --json | jq .loss
      crfkit train huge.txt.gz -o m.crf --block-positions 100000 -a adagrad
      crfkit train 'part-*.txt' -o m.crf --dask tcp://head:8786
      crfkit train train.txt -o quick.crf -a perceptron --max-iterations 10
      crfkit train train.txt -o names.crf --structure semi --max-length 4
      crfkit train a.txt -o names.crf --structure semi --dictionary city=c.txt
      crfkit train train.txt -o names.crf --train-scheme bioes --order 2
      crfkit train train.txt -o small.crf --induce --set induction.rounds=5
      crfkit train train.txt -o both.crf --structure graph --graph pos-chunk.txt
    """
    job = TrainingRequest(data, output, reading, features, model, training, stopping, saving, running, report)
    job.check()
    if model.structure == "graph":
        train_graphs(job)
        return
    model.check()
    if training.induce:
        induce(job)
        return
    target = model.target
    _ = model.kept  # wrong words come before files
    goal = training.goal(target.structure.objective)
    _check(job, target, goal)
    with kept_safe(training.checkpoints) as (caught, keep):
        _train_sequences(job, target, goal, caught, keep)


def _check(job: TrainingRequest, target: LearningTarget, goal: Objective) -> None:
    """Refuse what does not go together, before files are read."""
    from crfkit.training.choose import check_blockwise

    blocks, option = job.training.blocks, "--block-positions" if job.training.dask is None else "--dask"
    if job.training.unlabeled is not None and (blocks is not None or not goal.open):
        raise ValueError(
            filled("--unlabeled is for --objective {open}, without " + option + "; give one of these, or ")
            + "leave it out"
        )
    if blocks is not None:
        check_blockwise(job.training.optimizer, goal)
        if target.segmental:
            raise ValueError(f"{option} is for chains; segments are learned from data in memory")
        if target.encoding is not None:
            raise ValueError(f"{option} keeps labels as they are; leave --train-scheme out")
    job.stopping.check()


def _train_sequences(
    job: TrainingRequest,
    target: LearningTarget,
    goal: Objective,
    caught: Interrupts,
    keep: Checkpoints | None,
) -> None:
    """Learn a model of sequences and save it."""
    from crfkit.training.train import train as fit

    training, jobs = job.training, job.running.jobs
    start, (solver, stop) = training.start, job.ending
    with ExitStack() as stack:
        cluster = None if training.dask is None else stack.enter_context(_connected(training.dask))
        learn = _prepared(job, target, cluster, stack)
        dev, more, aligned = job.stopping.dev, training.unlabeled, learn.texts.alignment
        if aligned is not None:
            job.say(str(aligned))
        judged = None if dev is None else learning.dev_set(dev, learn, target, jobs)
        unlabeled = None if more is None else learning.unlabeled_set(more, learn, jobs)
        keeper = Saver(job.output, training.checkpoint, job.saving.keywords, say=job.say)
        stack.enter_context(learn.origins.located())
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
            cluster=cluster,
            listeners=[keeper],
            progress=not job.running.quiet,
        )
        job.finish(learn.texts.finished(model, aligned), keeper, caught, summary_of)


def _connected(address: str) -> AbstractContextManager[Any]:
    from crfkit.distributed import connected

    return connected(address)


def _prepared(
    job: TrainingRequest, target: LearningTarget, cluster: Any, stack: ExitStack
) -> learning.Learning[Any]:
    """Read the data, into memory or into blocks on disk."""
    positions, jobs = job.training.blocks, job.running.jobs
    if positions is None:
        return learning.prepare(job.data, job.reading, job.features, target, threads=jobs, say=job.say)
    # Beside the model there is room on a disk; the system's folder may lie in memory.
    beside = None if job.output == "-" else os.path.dirname(os.path.abspath(job.output))
    folder = stack.enter_context(scratch_folder("crfkit-blocks-", beside))
    if cluster is not None:
        from crfkit.cli.cluster import prepare_on

        return prepare_on(cluster, job.data, folder, positions, job.reading, job.features, target)
    return prepare_blocks(
        job.data, folder, positions, job.reading, job.features, target, threads=jobs, say=job.say
    )


def prepare_blocks(
    paths: Sequence[str],
    folder: Path,
    positions: int,
    reading: LabeledData,
    features: Features,
    target: LearningTarget,
    *,
    threads: int | None,
    say: Callable[[str], object] | None,
) -> learning.Learning[BlockedData]:
    """Read files in chunks and write their attributes to a folder; the rest is as in `learning.prepare`."""
    from crfkit import data
    from crfkit.cli.origins import Origins
    from crfkit.cli.texts import TrainingTexts
    from crfkit.data.dataset import Dataset
    from crfkit.training import BlockedData

    if features.internal:
        raise ValueError("--internal-dictionary needs the data in memory; leave --block-positions out")
    tables = features.tables
    recipe, given = features.recipe(tables), reading.keywords  # errors in them come first
    learning.check_paths(paths)
    made: list[Extractor] = []
    origins, texts = Origins(), TrainingTexts(reading)

    def parts() -> Iterator[Dataset]:
        first: data.Columns | Dataset | None = None
        for path in paths:
            for chunk in texts.stream(path, chunk_positions=positions, say=say, **given):
                first = chunk if first is None else first
                origins.add_data("standard input" if path == "-" else path, chunk)
                if isinstance(first, Dataset):
                    learning.check_attributes(paths, [first, chunk], reading, features)
                    assert isinstance(chunk, Dataset)
                    yield chunk.renamed(first)
                    continue
                learning.check_kinds(paths, [first, chunk])
                assert isinstance(chunk, data.Columns)
                learning.check_columns(chunk, first)
                if not made:
                    made.append(
                        recipes.extractor_for(chunk, recipe, given["columns"], reading.label, target, tables)
                    )
                yield made[0](chunk, threads)

    blocks = BlockedData.write(folder, parts())
    if not made:
        return learning.Learning(blocks, None, target.structure, origins, texts)
    return learning.Learning(blocks, made[0], target.structure, origins, texts)
