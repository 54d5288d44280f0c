"""``crfkit train --structure graph``: learn a graph over columns, which a text form describes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crfkit.cli.keeping import Keeper, signals
from crfkit.cli.learning import joined_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from crfkit.cli.groups.data import LabeledData
    from crfkit.data.formats.columns import Columns
    from crfkit.graphs.text_form import GraphForm
    from crfkit.models.graph_model import GraphModel
    from crfkit.structures.graphs.batch import GraphBatch
    from crfkit.training.stop import Stop

__all__ = ["train_graphs"]


class FormKeeper(Keeper):
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


def columns_of(paths: Sequence[str], reading: LabeledData, say: Callable[[str], None]) -> Columns:
    """Return the columns of several files, one after the other."""
    from crfkit.data.formats.columns import Columns
    from crfkit.data.reading import read

    found = [read(path, say=say, **reading.keywords) for path in paths]
    for path, one in zip(paths, found, strict=True):
        if not isinstance(one, Columns):
            raise ValueError(f"{path} has attributes already; graphs are learned from columns of text")
    return joined_columns([one for one in found if isinstance(one, Columns)])


def dev_graphs(
    dev: str,
    form: GraphForm,
    batch: GraphBatch,
    reading: LabeledData,
    say: Callable[[str], None],
    threads: int | None,
) -> GraphBatch:
    """Return the graphs of a dev set, whose labels are those of the training data."""
    from crfkit.graphs.text_columns import column_graphs, gold_columns
    from crfkit.metrics.rule import check_known

    columns = columns_of([dev], reading, say)
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
    judged = column_graphs(form, columns, batch.graph, gold=True, threads=threads)
    if judged.label is None or (judged.label < 0).all():
        raise ValueError(f"{dev} has no label that the training data have, so it cannot be scored")
    return judged


def train_graphs(
    paths: Sequence[str],
    output: str,
    graph: str | None,
    *,
    reading: LabeledData,
    options: dict[str, Any],
    stop: Stop,
    dev: str | None,
    checkpoint: str | None,
    checkpoint_every: float,
    texts: dict[str, str],
    metric: str | None,
    threads: int | None,
    as_json: bool,
    quiet: bool,
    say: Callable[[str], None],
    told: Callable[[Any], None],
) -> None:
    """Learn a model of graphs and save it; `options` are those of `crfkit.train`."""
    from crfkit._safe.interrupts import interrupts
    from crfkit.graphs.text_columns import training_graphs
    from crfkit.inference.methods.registry import method_of
    from crfkit.training import Checkpoints
    from crfkit.training.runs.checkpoint import held_checkpoints
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings
    from crfkit.training.runs.progress import Lenient
    from crfkit.training.train import train

    if graph is None:
        raise ValueError(
            "--structure graph needs --graph FILE, a text with kinds and cliques: docs/graphs.md"
        )
    method_of(options["method"])  # wrong names come before files
    form = form_of(graph)
    with ExitStack() as stack:
        log: Any = Lenient(sys.stderr)  # a log that nobody reads must not lose a model
        stack.enter_context(redirect_stderr(log))
        stack.enter_context(plain_warnings())
        caught = stack.enter_context(signals())
        stack.enter_context(WarnedLast())
        keep = stack.enter_context(
            held_checkpoints(None if checkpoint is None else Checkpoints(checkpoint, checkpoint_every))
        )
        batch = training_graphs(form, columns_of(paths, reading, say), threads=threads)
        judged = None if dev is None else dev_graphs(dev, form, batch, reading, say, threads)
        keeper = FormKeeper(output, checkpoint, texts, say)
        keeper.form = form
        model = train(
            batch,
            judged,
            stop=stop,
            metric=metric or "auto",
            checkpoint=keep,
            n_jobs=threads,
            listeners=[keeper],
            progress=not quiet,
            **options,
        )
        if caught.asked and not (model.training and model.training.iterations):
            raise KeyboardInterrupt  # nothing was learned that could take the place of a file
        with interrupts():
            keeper.save(model)
            say(f"how graphs were answered: {model.info}")
            told(model)
            if as_json:
                print(json.dumps({"model": output, **summary(model)}, ensure_ascii=False))


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
