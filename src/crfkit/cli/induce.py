"""``crfkit induce``: find features and conjunctions that correct errors, and learn a model with them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from crfkit.cli import learning, recipes, structures
from crfkit.cli.keeping import Keeper
from crfkit.cli.options import AsJson, Quiet, Threads, check_choice, check_output, say
from crfkit.cli.reads import LabeledReading, with_reading
from crfkit.cli.train import dev_set, summary_of

if TYPE_CHECKING:
    from crfkit.training.learners.induction.report import InducedFeature, Round


@with_reading
def induce(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The model file to write.")],
    template: learning.Template = None,
    dictionary: recipes.DictionaryFiles = None,
    *,
    reading: LabeledReading,
    rounds: Annotated[int, typer.Option("--rounds", help="Most rounds.", min=1)] = 10,
    per_round: Annotated[int, typer.Option("--per-round", help="Features that a round adds.", min=1)] = 1000,
    beam: Annotated[
        int, typer.Option("--beam", help="Attributes of high gain that a round makes conjunctions of.", min=1)
    ] = 1000,
    longest: Annotated[
        int,
        typer.Option("--longest", help="Attributes in a conjunction at most; 1: none.", min=1, max=8),
    ] = 3,
    margin: Annotated[
        float,
        typer.Option(
            "--margin",
            help="Look at tokens whose gold label is not ahead by more than this probability: 0, those that "
            "are wrong; 1, all.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.8,
    iterations: Annotated[int, typer.Option("--iterations", help="Of L-BFGS in a round.", min=1)] = 10,
    min_gain: Annotated[float, typer.Option("--min-gain", help="A feature must gain more.", min=0.0)] = 0.0,
    overlap: Annotated[
        float,
        typer.Option(
            "--overlap",
            help="A feature waits where better ones of the round explain more than this part of its tokens.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.5,
    start: Annotated[
        str,
        typer.Option("--start", help="Begin with nothing, or with all observed attributes and labels."),
    ] = "nothing",
    report: Annotated[
        str | None,
        typer.Option("--report", help="Write all features of all rounds: .md, else JSON lines."),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Features of each round to print.", min=0)] = 5,
    order: structures.Order = 1,
    train_scheme: structures.TrainScheme = None,
    scheme: structures.Scheme = None,
    l2: learning.L2 = None,
    optimizer: learning.Optimizer = "auto",
    dev: Annotated[
        str | None,
        typer.Option("--dev", "-d", help="Data whose score ends the rounds; the best round is kept."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help=f"The score of --dev: {learning.METRICS}.")
    ] = None,
    patience: Annotated[
        int, typer.Option("--patience", help="Rounds without a better dev score that end it.", min=1)
    ] = 2,
    threads: Threads = None,
    seed: learning.Seed = 0,
    max_iter: learning.MaxIter = None,
    max_seconds: learning.MaxSeconds = None,
    tolerance: learning.Tolerance = None,
    notes: Annotated[str, typer.Option("--notes", help="Free text that goes with the model.")] = "",
    license: Annotated[
        str, typer.Option("--license", "--license", help="Terms of the model: CC-BY-4.0, or any text.")
    ] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find features and conjunctions that correct errors; learn a model with them.

    Each round trains a little, looks at the tokens that are wrong, and adds the features that would gain most
    there (McCallum 2003): attributes and conjunctions of them, each with a label. A conjunction A|B holds
    where A and B do; the model makes it from new data by itself. In the end a model is learned with the
    features of all rounds, and saved.

    For example:

      crfkit induce train.txt -o small.crf --dev dev.txt
      crfkit induce train.txt -o m.crf --per-round 300 --report features.md
      crfkit induce train.txt -o m.crf --start observed --margin 0.5
      crfkit induce items.jsonl -o m.crf --rounds 5 --longest 2 --json
    """
    check_output(output, read=[*data, dev, template])
    if report is not None:
        check_output(report, "--report", [*data, dev, template])
    check_choice("--start", start, ("nothing", "observed"))
    if metric is not None and dev is None:
        raise ValueError("--metric is for a dev set; give one with --dev FILE")
    if patience != 2 and dev is None:
        raise ValueError("--patience is for a dev set; give one with --dev FILE")

    from crfkit.linear.features import FeatureSelection
    from crfkit.training.learners.induction.induce import induce as find
    from crfkit.training.learners.induction.options import Induction
    from crfkit.training.learners.induction.report import write_report
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings
    from crfkit.training.stop import Stop

    options = Induction(
        rounds=rounds,
        per_round=per_round,
        beam=beam,
        longest=longest,
        margin=margin,
        iterations=iterations,
        min_gain=min_gain,
        overlap=overlap,
        patience=patience,
        start=cast('Literal["nothing", "observed"]', start),
    )
    asked = structures.structure_of("chain", order, scheme, None, None, train_scheme)
    goal: Any = learning.objective_of("likelihood", optimizer, None, l2)

    def tell(text: str) -> None:
        say(text, quiet)

    def told(one: Round) -> None:
        tell(str(one))
        for feature in one.features[:top]:
            tell(line_of(feature))

    with plain_warnings(), WarnedLast():
        learn = learning.prepare(
            data,
            reading.keywords,
            asked,
            label=reading.label_column,
            template=template,
            dictionaries=dictionary,
            threads=threads,
            say=tell,
        )
        judged = None if dev is None else dev_set(dev, learn, asked, reading.keywords, threads)
        structure: Any = learn.structure
        with learn.places.located():
            found = find(
                learn.data,
                judged,
                induction=options,
                structure=structure,
                selection=replace(FeatureSelection(), transitions=recipes.transitions_of(learn.extractor)),
                objective=goal,
                optimizer=optimizer,
                metric=metric or "auto",
                stop=Stop(tolerance=tolerance, max_seconds=max_seconds, max_iterations=max_iter),
                seed=seed,
                threads=threads,
                told=told,
                progress=not quiet,
            )
        Keeper(output, "", {"notes": notes, "license": license}, tell).save(found.model)
    tell(f"{found.reason}; the model has the features up to round {found.kept}")
    if report is not None:
        write_report(report, found.rounds)
        tell(f"{report}: {sum(len(one.features) for one in found.rounds):,} features")
    if output != "-":
        tell(f"{output}: {os.path.getsize(output):,} bytes")
    if as_json:
        per = [
            {"round": one.number, "wrong": one.wrong, "tokens": one.tokens, "weights": one.weights}
            for one in found.rounds
        ]
        made = {"model": output, "rounds": per, "kept": found.kept, "reason": found.reason}
        print(json.dumps({**summary_of(found.model), **made}, ensure_ascii=False))


def line_of(feature: InducedFeature) -> str:
    """Return a line about a feature; its examples are sequences from 1 and positions from 0.

    Examples
    --------
    >>> from crfkit.training.learners.induction.report import Example, InducedFeature
    >>> line_of(InducedFeature("a|b", "X", 2.5, 1.5, 3, 2, (Example(0, 4, "X", "Y"),)))
    '  gain 2.50  X +1.50  a|b  explains 2 of 3 tokens: 1:4 X, not Y'
    """
    some = "; ".join(str(replace(one, sequence=one.sequence + 1)) for one in feature.examples)
    return (
        f"  gain {feature.gain:.2f}  {feature.label} {feature.weight:+.2f}  {feature.name}  explains "
        f"{feature.explained} of {feature.tokens} tokens{': ' if some else ''}{some}"
    )
