"""``crfkit train``: learn a model from labeled data."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr
from dataclasses import replace
from typing import Annotated, Any

import typer

from crfkit._safe.printable import counted
from crfkit.cli import graph_training, learning, recipes, structures
from crfkit.cli.keeping import Keeper, signals
from crfkit.cli.options import AsJson, Quiet, Threads, check_output, say
from crfkit.cli.reads import LabeledReading, with_reading
from crfkit.cli.streamed import BlockPositions, prepare_blocks
from crfkit.data.scratch import scratch_folder


@with_reading
def train(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The model file to write.")],
    template: learning.Template = None,
    dictionary: recipes.DictionaryFiles = None,
    internal_dictionary: recipes.Internal = False,
    *,
    reading: LabeledReading,
    structure: structures.StructureName = "chain",
    graph: graph_training.GraphFile = None,
    method: graph_training.MethodName = None,
    order: structures.Order = 1,
    max_length: structures.MaxLength = None,
    outside: structures.OutsideName = None,
    train_scheme: structures.TrainScheme = None,
    l1: learning.L1 = None,
    l2: learning.L2 = None,
    objective: learning.ObjectiveName = None,
    optimizer: learning.Optimizer = "auto",
    unlabeled: learning.Unlabeled = None,
    gamma: learning.Gamma = None,
    min_count: learning.MinCount = 0.0,
    features: learning.Features = "observed",
    transitions: learning.Transitions = None,
    scheme: structures.Scheme = None,
    dev: Annotated[
        str | None,
        typer.Option("--dev", "-d", help="Data that decide when to stop; the best weights are kept."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help=f"The score of --dev: {learning.METRICS}.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            "--patience",
            help="Stop when the dev score has not risen for so many passes over the data, and the objective "
            "has settled; 0: never.",
            min=0.0,
        ),
    ] = 10.0,
    threads: Threads = None,
    seed: learning.Seed = 0,
    max_iter: learning.MaxIter = None,
    max_seconds: learning.MaxSeconds = None,
    tolerance: learning.Tolerance = None,
    init: Annotated[
        str | None, typer.Option("--init", help="Start from this model (of any kind), or from: memm.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", help="Folder: write checkpoints, go on from the last one.")
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option("--checkpoint-every", help="Seconds between checkpoints.", min=0.0)
    ] = 60.0,
    block_positions: BlockPositions = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Leave weights of zero out of the file.")
    ] = False,
    notes: Annotated[str, typer.Option("--notes", help="Free text that goes with the model.")] = "",
    license: Annotated[
        str, typer.Option("--license", "--license", help="Terms of the model: CC-BY-4.0, or any text.")
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from labeled data and save it.

    Columns become attributes by a template (CRF++'s, Wapiti's or a crfkit recipe); without one, words, their
    shapes and affixes in a window, and of CoNLL-U only the forms, to learn upos. CRFsuite's text, MALLET's
    and items in JSON lines have attributes already. The file is written as a whole or not at all; of
    several runs that write it, that of the last one stays. A folder of checkpoints is for one run at a time.

    Ctrl-C, SIGTERM or SIGHUP (the terminal is closed) ends training and saves the model so far; the exit
    status is then 130, 143 or 129. A warning says when training ended before it converged, and what to
    change.

    For example:

      crfkit train train.txt -o chunks.crf --template template --dev dev.txt
      crfkit train a.txt b.txt.gz -o chunks.crf --columns word,pos,chunk
      crfkit train en.conllu -o pos.crf --label upos
      crfkit train items.jsonl -o m.crf --l1 0.1 --l2 0 --json | jq .loss
      crfkit train huge.txt.gz -o m.crf --block-positions 100000 -a adagrad
      crfkit train train.txt -o quick.crf -a perceptron --max-iter 10
      crfkit train train.txt -o names.crf --structure semi --max-length 4
      crfkit train a.txt -o names.crf --structure semi --dictionary city=c.txt
      crfkit train train.txt -o names.crf --train-scheme bioes --order 2
      crfkit train train.txt -o both.crf --structure graph --graph pos-chunk.txt
    """
    check_output(output, read=[*data, dev, unlabeled, template, graph])
    given = reading.keywords

    def tell(text: str) -> None:
        say(text, quiet)

    from crfkit._safe.interrupts import interrupts
    from crfkit.training import Checkpoints
    from crfkit.training.choose import check_blockwise
    from crfkit.training.runs.checkpoint import held_checkpoints
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings
    from crfkit.training.runs.progress import Lenient
    from crfkit.training.stop import Stop
    from crfkit.training.train import train as fit

    if structure == "graph":
        _refuse_for_graphs(
            {
                "--template": template,
                "--dictionary": dictionary,
                "--internal-dictionary": internal_dictionary or None,
                "--label": reading.label_column,
                "--order": None if order == 1 else order,
                "--max-length": max_length,
                "--outside": outside,
                "--train-scheme": train_scheme,
                "--scheme": scheme,
                "--unlabeled": unlabeled,
                "--init": init,
                "--block-positions": block_positions,
                "--transitions": transitions,
                "--compact": compact or None,
            }
        )
        graph_training.train_graphs(
            data,
            output,
            graph,
            reading=reading,
            options={
                "objective": learning.objective_of(objective, optimizer, l1, l2, gamma=gamma),
                "optimizer": optimizer,
                "method": method,
                "selection": learning.features_of(features, min_count),
                "random_state": seed,
            },
            stop=Stop(patience or None, None, tolerance, max_seconds, max_iter),
            dev=dev,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            texts={"notes": notes, "license": license},
            metric=metric,
            threads=threads,
            as_json=as_json,
            quiet=quiet,
            say=tell,
        )
        return
    if graph is not None or method is not None:
        raise ValueError("--graph and --method are for --structure graph; give it, or leave them out")
    asked = structures.structure_of(structure, order, scheme, max_length, outside, train_scheme)
    kept = learning.features_of(features, min_count)
    learning.check_transitions(transitions)
    stop = Stop(patience or None, None, tolerance, max_seconds, max_iter)
    goal = learning.objective_of(objective, optimizer, l1, l2, asked.structure.objective, gamma=gamma)
    if unlabeled is not None and (block_positions is not None or not goal.open):
        raise ValueError(
            "--unlabeled is for --objective entropy and posterior, without --block-positions; give one of "
            "these, or leave it out"
        )
    if block_positions is not None:
        check_blockwise(optimizer, goal)
        if asked.segmental:
            raise ValueError("--block-positions is for chains; segments are learned from data in memory")
        if asked.encoding is not None:
            raise ValueError("--block-positions keeps labels as they are; leave --train-scheme out")
    if metric is not None and dev is None:
        raise ValueError("--metric is for a dev set; give one with --dev FILE")
    if patience != 10.0 and dev is None:
        raise ValueError("--patience is for a dev set; give one with --dev FILE")
    start = _start(init)
    making: dict[str, Any] = {
        "label": reading.label_column,
        "template": template,
        "dictionaries": dictionary,
        "internal": internal_dictionary,
        "threads": threads,
        "say": tell,
    }
    with ExitStack() as stack:
        log: Any = Lenient(sys.stderr)  # a log that nobody reads must not lose a model
        stack.enter_context(redirect_stderr(log))
        stack.enter_context(plain_warnings())
        caught = stack.enter_context(signals())
        stack.enter_context(WarnedLast())
        keep = stack.enter_context(
            held_checkpoints(None if checkpoint is None else Checkpoints(checkpoint, checkpoint_every))
        )
        learn: learning.Learning[Any]
        if block_positions is None:
            learn = learning.prepare(data, given, asked, **making)
        else:
            # Beside the model there is room on a disk; the system's folder may lie in memory.
            beside = None if output == "-" else os.path.dirname(os.path.abspath(output))
            folder = stack.enter_context(scratch_folder("crfkit-blocks-", beside))
            learn = prepare_blocks(data, folder, block_positions, given, asked, **making)
        judged = None if dev is None else dev_set(dev, learn, asked, given, threads)
        more = None if unlabeled is None else learning.unlabeled_set(unlabeled, learn, given, threads)
        keeper = Keeper(
            output, checkpoint, {"notes": notes, "license": license, "compact": compact}, say=tell
        )
        stack.enter_context(learn.places.located())
        model = fit(
            learn.data,
            judged,
            structure=learn.structure,
            selection=replace(kept, transitions=learning.transitions_for(transitions, learn.extractor)),
            objective=goal,
            optimizer=optimizer,
            init=start,
            metric=metric or "auto",
            stop=stop,
            checkpoint=keep,
            unlabeled=more,
            seed=seed,
            threads=threads,
            listeners=[keeper],
            progress=not quiet,
        )
        if caught.asked and not (model.training and model.training.iterations):
            raise KeyboardInterrupt  # nothing was learned that could take the place of a file
        with interrupts():
            keeper.save(model)
            if output != "-":
                tell(f"{output}: {os.path.getsize(output):,} bytes")
            if as_json:
                print(json.dumps({"model": output, **summary_of(model)}, ensure_ascii=False))


def _refuse_for_graphs(given: dict[str, object]) -> None:
    """Refuse options that graphs do not have."""
    for option, value in given.items():
        if value is not None:
            where = "the file of --graph says it" if option in ("--template", "--label") else "leave it out"
            raise ValueError(f"{option} is not for --structure graph; {where}")


def summary_of(model: Any) -> dict[str, Any]:
    """Return sizes and the history of training as plain data; numbers that are not finite become None."""
    made: dict[str, Any] = {
        "labels": len(model.labels),
        "attributes": model.layout.attributes,
        "weights": model.layout.weights,
    }
    return made | training_of(model.training)


def training_of(summary: Any) -> dict[str, Any]:
    """Return the history of a training as plain data; none where there was none."""
    made: dict[str, Any] = {}
    if summary is None:
        return made
    for name in (
        *("objective", "optimizer", "why", "iterations", "kept", "evaluations"),
        *("reason", "end", "converged"),
    ):
        made[name] = getattr(summary, name)
    for name in ("seconds", "loss", "gap", "score"):
        value = float(getattr(summary, name))
        made[name] = value if math.isfinite(value) else None
    versions = dict(summary.versions)
    return made | {
        "metric": summary.metric or None,
        "certificate": summary.certificate,
        "seed": summary.seed,
        "notes": list(summary.notes),
        "versions": versions,
    }


def training_lines(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what commands print of the history of a training (`training_of`): names and texts."""
    took = counted(training["iterations"], "iteration")
    if training["seconds"] is not None:  # files do not say
        took += f", {training['seconds']:.1f} s"
    made = [("trained by", f"{training['optimizer']}, {took}")]
    made.append(("objective", f"{training['objective']}: {training['loss']}"))
    if training["metric"]:
        score = "unknown" if training["score"] is None else f"{training['score']:.4f}"
        made.append(("dev", f"{training['metric']} {score}"))
    made += [("stopped", training["reason"]), ("certificate", training["certificate"])]
    return made + [("note", note) for note in training["notes"]]


def _start(init: str | None) -> Any:
    if init is None or init == "memm":
        return init
    from crfkit.models.files import read_model

    return read_model(init)


def dev_set(
    path: str,
    learn: learning.Learning[Any],
    asked: structures.Asked,
    given: dict[str, Any],
    threads: int | None,
) -> Any:
    """Return the dev set with the attributes of the training data, and labels that may be new."""
    from crfkit import data
    from crfkit.cli.tagging import check_gold
    from crfkit.data.dataset import Dataset
    from crfkit.models.reading import frozen_extractor
    from crfkit.models.width import check_width

    read = data.read(path, **given)
    if isinstance(read, Dataset) != (learn.extractor is None):
        kinds = ("columns", "attributes") if learn.extractor is None else ("attributes", "columns")
        raise ValueError(f"--dev {path} has {kinds[0]}, but the training data have {kinds[1]}")
    made: Any
    if isinstance(read, Dataset) or learn.extractor is None:
        made = read
    else:
        recipe, label = learn.extractor.recipe, learn.extractor.label
        check_gold(read, label, recipe, "the recipe")
        check_width(read, learn.data.extractor, "the training data", "have")
        longest = learn.extractor.longest
        made = frozen_extractor(recipe, learn.data, label=label, longest=longest)(read, threads)
    return asked.gold(made)
