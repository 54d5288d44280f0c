"""``crfkit cv``: how good a model would be on new data, by cross-validation, with an interval."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted
from crfkit.cli import learning, recipes, structures
from crfkit.cli.options import AsJson, Quiet, Threads, say
from crfkit.cli.reads import LabeledReading, with_reading

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset


@with_reading
def cross_validate(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    folds: Annotated[int, typer.Option("--folds", "-k", help="Parts; each is held out once.", min=2)] = 5,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help=f"{learning.METRICS}; may be given again."),
    ] = None,
    template: learning.Template = None,
    dictionary: recipes.DictionaryFiles = None,
    *,
    reading: LabeledReading,
    structure: structures.StructureName = "chain",
    order: structures.Order = 1,
    max_length: structures.MaxLength = None,
    outside: structures.OutsideName = None,
    l1: learning.L1 = None,
    l2: learning.L2 = None,
    objective: learning.ObjectiveName = None,
    optimizer: learning.Optimizer = "auto",
    min_count: learning.MinCount = 0.0,
    features: learning.Features = "observed",
    scheme: structures.Scheme = None,
    max_iter: learning.MaxIter = None,
    max_seconds: learning.MaxSeconds = None,
    tolerance: learning.Tolerance = None,
    threads: Threads = None,
    seed: learning.Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a model by cross-validation, with an interval.

    Each part in turn is scored by a model that was trained on the others. Sequences are dealt to the parts by
    chance, the same way for the same seed. The interval holds the mean with 95 % by Student's t; parts share
    training data, so take it for a guide.

    For example:

      crfkit cv train.txt --template template --folds 10
      crfkit cv train.txt --l2 0.5 --metric segment_f1 --max-seconds 60 --json
      crfkit cv train.txt --structure semi
    """
    from crfkit import metrics
    from crfkit.metrics.rule import metric_for
    from crfkit.training.stop import Stop

    asked = structures.structure_of(structure, order, scheme, max_length, outside)
    kept = learning.features_of(features, min_count)
    stop = Stop(tolerance=tolerance, max_seconds=max_seconds, max_iterations=max_iter)
    for name in metric or ():
        if name != "auto":
            metrics.named(name)
    goal = learning.objective_of(objective, optimizer, l1, l2, asked.structure.objective)
    learn = learning.prepare(
        data,
        reading.keywords,
        asked,
        label=reading.label_column,
        template=template,
        dictionaries=dictionary,
        threads=threads,
        say=lambda text: say(text, quiet),
    )
    N = len(learn.data)
    if folds > N:
        raise ValueError(
            f"--folds is {folds}, but {', '.join(data)} has only {counted(N, 'sequence')}; give fewer parts"
        )
    fits = metric_for(learn.data.labels.strings(), segments=asked.segmental or scheme is not None)
    chosen = [fits if name == "auto" else name for name in metric or ("auto", "token_accuracy")]
    options: dict[str, Any] = {
        "structure": learn.structure,
        "selection": replace(kept, transitions=recipes.transitions_of(learn.extractor)),
        "objective": goal,
        "optimizer": optimizer,
        "stop": stop,
        "seed": seed,
        "threads": threads,
    }
    scores: dict[str, list[float]] = {name: [] for name in dict.fromkeys(chosen)}
    for k, held in enumerate(deal(N, folds, seed)):
        for name, value in _judged(learn, held, list(scores), options).items():
            scores[name].append(value)
        scored = ", ".join(f"{name} {values[-1]:.4f}" for name, values in scores.items())
        say(f"part {k + 1} of {folds}: {counted(len(held), 'sequence')}, {scored}", quiet)
    made: dict[str, Any] = {"sequences": N, "folds": folds, "seed": seed}
    made["metrics"] = {name: {"scores": values, **interval(values)} for name, values in scores.items()}
    _print(made, as_json)


def _judged(
    learn: learning.Learning[Dataset], held: list[int], metrics: Sequence[str], options: dict[str, Any]
) -> dict[str, float]:
    """Return how good a model is on the sequences that it was not trained on."""
    from crfkit.training.runs.convergence import plain_warnings
    from crfkit.training.runs.interrupt import pass_on
    from crfkit.training.train import train as fit

    whole = learn.data
    rest = sorted(set(range(len(whole))) - set(held))
    with plain_warnings(), learn.places.located(rest):
        model = fit(whole[rest], progress=False, **options)
    pass_on(model.training)
    judged = whole[held]
    return {name: model.evaluate(judged, name, threads=options["threads"]) for name in metrics}


def _print(made: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(made))
        return
    width = max(map(len, made["metrics"]))
    for name, scored in made["metrics"].items():
        print(
            f"{name:{width}}  mean {scored['mean']:.4f}  95 % {scored['low']:.4f} to {scored['high']:.4f}"
            f"  standard deviation {scored['deviation']:.4f}"
        )


def deal(N: int, folds: int, seed: int) -> list[list[int]]:
    """Deal N sequences to parts of like size by chance.

    Examples
    --------
    >>> sorted(map(len, deal(7, 3, seed=1)))
    [2, 2, 3]
    """
    import numpy as np

    order = np.random.default_rng(seed).permutation(N)
    return [sorted(part.tolist()) for part in np.array_split(order, folds)]


def interval(values: Sequence[float], level: float = 0.95) -> dict[str, float]:
    """Return the mean, the standard deviation, and the interval of the mean by Student's t.

    Examples
    --------
    >>> {name: round(value, 3) for name, value in interval([0.8, 0.9, 1.0]).items()}
    {'mean': 0.9, 'deviation': 0.1, 'low': 0.652, 'high': 1.148}
    """
    from scipy.special import stdtrit

    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * deviation / math.sqrt(n)
    return {"mean": mean, "deviation": deviation, "low": mean - reach, "high": mean + reach}
