"""``crfkit train --structure graph``: learn a graph over columns, which a text form describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.cli.groups.settings import with_settings
from crfkit.cli.learning import joined_columns
from crfkit.cli.saving import Saver, kept_safe

if TYPE_CHECKING:
    from crfkit.cli.training_request import TrainingRequest
    from crfkit.data.formats.columns import Columns
    from crfkit.graphs.text_form import GraphForm
    from crfkit.models.graph_model import GraphModel
    from crfkit.structures.graphs.batch import GraphBatch


class FormKeeper(Saver):
    """Saves models of graphs with their text form."""

    form: GraphForm

    def save(self, model: Any) -> None:
        """Write the model with its text form."""
        super().save(replace(model, form=self.form))


def form_of(path: str) -> GraphForm:
    """Return the text form in a file."""
    from crfkit.features.limits import text_bytes
    from crfkit.graphs.text_form import GraphForm

    try:
        return GraphForm.parse(text_bytes(path).decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; give the text form of a graph") from None


def columns_of(paths: Sequence[str], job: TrainingRequest) -> Columns:
    """Return the columns of several files, one after the other."""
    from crfkit.data.formats.columns import Columns
    from crfkit.data.reading import read

    found = [read(path, say=job.say, **job.reading.keywords) for path in paths]
    for path, one in zip(paths, found, strict=True):
        if not isinstance(one, Columns):
            raise ValueError(f"{path} has attributes already; graphs are learned from columns of text")
    return joined_columns([one for one in found if isinstance(one, Columns)])


def dev_graphs(dev: str, form: GraphForm, batch: GraphBatch, job: TrainingRequest) -> GraphBatch:
    """Return the graphs of a dev set, whose labels are those of the training data."""
    from crfkit.graphs.text_columns import column_graphs, gold_columns
    from crfkit.metrics.default_metric import check_known

    columns = columns_of([dev], job)
    for kind, labels in gold_columns(form, columns).items():
        names = batch.graph.kinds[kind]
        assert isinstance(names, tuple)
        check_known(
            [[y for y in labels if y is not None]],
            names,
            source=f"--dev {dev}, kind {kind}",
            who="the training data",
            then="do not count",
        )
    judged = column_graphs(form, columns, batch.graph, gold=True, threads=job.running.jobs)
    if judged.label is None or (judged.label < 0).all():
        raise ValueError(f"{dev} has no label that the training data have, so it cannot be scored")
    return judged


def train_graphs(job: TrainingRequest) -> None:
    """Learn a model of graphs and save it."""
    from crfkit.graphs.text_columns import training_graphs
    from crfkit.inference.methods.registry import method_of
    from crfkit.training.train import train

    _refuse(job)
    training, threads, (solver, stop) = job.training, job.running.jobs, job.ending
    method: Any = job.model.inference_method
    made, settings = method_of(method), training.settings["method"]
    if settings:
        method = with_settings(made, "method", settings, f"the method {method or 'auto'}")
    if job.model.graph is None:
        raise ValueError(
            "--structure graph needs --graph FILE, a text with kinds and cliques: docs/how-to/graphs-files.md"
        )
    goal, selection, dev, form = training.goal(), job.model.kept, job.stopping.dev, form_of(job.model.graph)
    with kept_safe(training.checkpoints) as (caught, keep):
        batch = training_graphs(form, columns_of(job.data, job), threads=threads)
        judged = None if dev is None else dev_graphs(dev, form, batch, job)
        keeper = FormKeeper(job.output, training.checkpoint, job.saving.keywords, job.say)
        keeper.form = form
        model = train(
            batch,
            judged,
            objective=goal,
            optimizer=solver,
            method=method,
            selection=selection,
            stop=stop,
            metric=job.stopping.metric or "auto",
            checkpoint=keep,
            random_state=training.seed,
            n_jobs=threads,
            listeners=[keeper],
            progress=not job.running.quiet,
        )
        job.say(f"how graphs were answered: {model.info}")
        job.finish(model, keeper, caught, summary)


def _refuse(job: TrainingRequest) -> None:
    """Refuse options that graphs do not have."""
    model, features, training = job.model, job.features, job.training
    if features.features is not None or job.reading.label is not None:
        option = "--label-column" if features.features is None else "--features"
        raise ValueError(f"{option} is not for --structure graph; the file of --graph decides it")
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
        "--induce": training.induce or None,
    }
    job.refuse(options, "--structure graph")


def summary(model: GraphModel) -> dict[str, Any]:
    """Return sizes and the history of training as plain data."""
    from crfkit.cli.summaries import training_of

    graph = model.graph
    return {
        "kinds": {kind: graph.width(kind) for kind in graph.kinds},
        "cliques": {name: part.stop - part.start for name, part in model.layout.parts.items()},
        "weights": model.layout.weights,
        **training_of(model.training),
    }
