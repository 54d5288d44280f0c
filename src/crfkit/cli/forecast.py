"""``crfkit forecast``: what training would take, without training."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from crfkit.cli import learning
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import InternalFeatures
from crfkit.cli.groups.model import RecodedModel
from crfkit.cli.groups.output import Running
from crfkit.cli.groups.stopping import Limits
from crfkit.cli.groups.training import Training
from crfkit.cli.messages import say


@composed
def forecast(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    workers: Annotated[
        int | None,
        option(
            "Training",
            "--workers",
            metavar="K",
            help="Also what an evaluation takes on a cluster of K workers (crfkit train --dask).",
            min=1,
        ),
    ] = None,
    *,
    reading: LabeledData,
    features: InternalFeatures,
    model: RecodedModel,
    training: Training,
    limits: Limits,
    running: Running,
) -> None:
    """Print what training would take: weights, memory, time.

    It reads the data, makes attributes as train does, and times a few sequences. It takes the options of
    train. Memory is right to about a third; time is a rough guess.

    For example:

      crfkit forecast train.txt -t template
      crfkit forecast train.txt --selection all --json | jq .peak
      crfkit forecast morphology.txt --transitions observed
      crfkit forecast train.txt --workers 8
    """
    from crfkit.training.forecast import fit_of, forecast_of

    training.check_settings()
    target = model.target
    _ = model.kept  # wrong words come before files
    goal = training.goal(target.structure.objective)
    learn = learning.prepare(
        data, reading, features, target, threads=running.jobs, say=lambda text: say(text, running.quiet)
    )
    fit = fit_of(
        learn.data,
        learn.structure,
        goal,
        model.weights(learn.extractor),
        training.solver(running.jobs, None),
        limits.stop(),
        running.jobs,
    )
    found, spread = forecast_of(fit), None
    if workers is not None:
        from crfkit.distributed.forecast import cluster_forecast

        spread = cluster_forecast(fit, workers)
    if not running.as_json:
        print(*(one for one in (found, spread) if one is not None), sep="\n")
        return
    told: dict[str, Any] = asdict(found) | {"growth": found.growth, "peak": found.peak, "fits": found.fits}
    told["seconds"] = found.seconds if math.isfinite(found.seconds) else None
    if spread is not None:
        told["cluster"] = spread.to_dict()
    print(json.dumps(told))
