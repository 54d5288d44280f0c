"""``crfkit cv``: how good a model would be on new data, by cross-validation, with an interval."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted
from crfkit.cli import learning
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import Features
from crfkit.cli.groups.judging import Folds, Metrics
from crfkit.cli.groups.model import Model
from crfkit.cli.groups.output import Running
from crfkit.cli.groups.stopping import Stopping
from crfkit.cli.groups.training import Training
from crfkit.cli.messages import say

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset


@composed
def cross_validate(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    folds: Folds = 5,
    metric: Metrics = None,
    *,
    reading: LabeledData,
    features: Features,
    model: Model,
    training: Training,
    stopping: Stopping,
    running: Running,
) -> None:
    """Score a model by cross-validation, with an interval.

    Each part in turn is scored by a model that was trained on the others. Sequences are assigned to parts
    at random, in the same way for the same seed. The interval is the 95 % interval of the mean by
    Student's t; because parts share training data, it is a guide only.

    For example:

      crfkit cv train.txt -t template --folds 10
      crfkit cv train.txt --l2 0.5 --metric span_f1 --max-seconds 60 --json
      crfkit cv train.txt --structure semi
    """
    from crfkit import metrics
    from crfkit.metrics.default_metric import metric_for

    training.check_settings()
    target, quiet = model.target, running.quiet
    _ = model.kept  # wrong words come before files
    for name in metric or ():
        if name != "auto":
            metrics.metric(name)
    goal, stop = training.goal(target.structure.objective), stopping.stop()
    solver = training.solver(running.jobs, stop.tolerance)
    learn = learning.prepare(
        data, reading, features, target, threads=running.jobs, say=lambda text: say(text, quiet)
    )
    N = len(learn.data)
    if folds > N:
        raise ValueError(
            f"--folds is {folds}, but {', '.join(data)} has only {counted(N, 'sequence')}; give fewer parts"
        )
    fits = metric_for(learn.data.labels.strings(), segments=target.segmental or model.scheme is not None)
    chosen = [fits if name == "auto" else name for name in metric or ("auto", "accuracy")]
    options: dict[str, Any] = {
        "structure": learn.structure,
        "selection": model.weights(learn.extractor),
        "objective": goal,
        "optimizer": solver,
        "stop": stop,
        "random_state": training.seed,
        "n_jobs": running.jobs,
    }
    scores: dict[str, list[float]] = {name: [] for name in dict.fromkeys(chosen)}
    for k, held in enumerate(deal(N, folds, training.seed)):
        for name, value in _judged(learn, held, list(scores), options).items():
            scores[name].append(value)
        scored = ", ".join(f"{name} {values[-1]:.4f}" for name, values in scores.items())
        say(f"part {k + 1} of {folds}: {counted(len(held), 'sequence')}, {scored}", quiet)
    made: dict[str, Any] = {"sequences": N, "folds": folds, "seed": training.seed}
    made["metrics"] = {name: {"scores": values, **interval(values)} for name, values in scores.items()}
    _print(made, running.as_json)


def _judged(
    learn: learning.Learning[Dataset], held: list[int], metrics: Sequence[str], options: dict[str, Any]
) -> dict[str, float]:
    """Return how good a model is on the sequences that it was not trained on."""
    from crfkit.training.runs.convergence import pass_on, plain_warnings
    from crfkit.training.train import train as fit

    whole = learn.data
    rest = sorted(set(range(len(whole))) - set(held))
    with plain_warnings(), learn.origins.located(rest):
        model = fit(whole[rest], progress=False, **options)
    pass_on(model.training)
    judged = whole[held]
    return {name: float(model.evaluate(judged, metric=name, threads=options["n_jobs"])) for name in metrics}


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
