"""``crfkit forecast``: what training would take, without training."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from crfkit.cli import learning
from crfkit.cli.groups.compose import composed
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
    *,
    reading: LabeledData,
    features: InternalFeatures,
    model: RecodedModel,
    training: Training,
    limits: Limits,
    running: Running,
) -> None:
    """Print what training would take: weights, memory, time.

    The data are read and attributes made as train does it; a few sequences are evaluated to see how long
    that takes. Options are those of train. Memory is right to about a third, time is a rough guess.

    For example:

      crfkit forecast train.txt -t template
      crfkit forecast train.txt --selection all --json | jq .peak
      crfkit forecast morphology.txt --transitions observed
    """
    from crfkit.training.forecast import forecast as expected

    training.check_settings("objective", "optimizer")
    asked = model.asked
    _ = model.kept  # wrong words come before files
    goal = training.goal(asked.structure.objective)
    learn = learning.prepare(
        data, reading, features, asked, threads=running.jobs, say=lambda text: say(text, running.quiet)
    )
    found = expected(
        learn.data,
        structure=learn.structure,
        selection=model.weights(learn.extractor),
        objective=goal,
        optimizer=training.solver(running.jobs, None),
        stop=limits.stop(),
        n_jobs=running.jobs,
    )
    if not running.as_json:
        print(found)
        return
    told: dict[str, Any] = asdict(found) | {"growth": found.growth, "peak": found.peak, "fits": found.fits}
    told["seconds"] = found.seconds if math.isfinite(found.seconds) else None
    print(json.dumps(told))
