"""``crfkit forecast``: what training would take, without training."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from crfkit.cli import learning, recipes, structures
from crfkit.cli.options import AsJson, Threads, say
from crfkit.cli.reads import LabeledReading, with_reading


@with_reading
def forecast(
    data: Annotated[list[str], typer.Argument(help="Labeled data; - for standard input.")],
    template: learning.Template = None,
    dictionary: recipes.DictionaryFiles = None,
    internal_dictionary: recipes.Internal = False,
    *,
    reading: LabeledReading,
    structure: structures.StructureName = "chain",
    order: structures.Order = 1,
    max_length: structures.MaxLength = None,
    outside: structures.OutsideName = None,
    train_scheme: structures.TrainScheme = None,
    l1: learning.L1 = None,
    l2: learning.L2 = None,
    objective: learning.ObjectiveName = None,
    optimizer: learning.Optimizer = "auto",
    min_count: learning.MinCount = 0.0,
    features: learning.Features = "observed",
    transitions: learning.Transitions = None,
    scheme: structures.Scheme = None,
    threads: Threads = None,
    max_iter: learning.MaxIter = None,
    max_seconds: learning.MaxSeconds = None,
    as_json: AsJson = False,
) -> None:
    """Print what training would take: weights, memory, time.

    The data are read and attributes made as train does it; a few sequences are evaluated to see how long
    that takes. Options are those of train. Memory is right to about a third, time is a rough guess.

    For example:

      crfkit forecast train.txt --template template
      crfkit forecast train.txt --features all --json | jq .peak
      crfkit forecast morphology.txt --transitions observed
    """
    from crfkit.training.forecast import forecast as expected
    from crfkit.training.stop import Stop

    asked = structures.structure_of(structure, order, scheme, max_length, outside, train_scheme)
    kept = learning.features_of(features, min_count)
    learning.check_transitions(transitions)
    goal = learning.objective_of(objective, optimizer, l1, l2, asked.structure.objective)
    learn = learning.prepare(
        data,
        reading.keywords,
        asked,
        label=reading.label_column,
        template=template,
        dictionaries=dictionary,
        internal=internal_dictionary,
        threads=threads,
        say=say,
    )
    found = expected(
        learn.data,
        structure=learn.structure,
        selection=replace(kept, transitions=learning.transitions_for(transitions, learn.extractor)),
        objective=goal,
        optimizer=optimizer,
        stop=Stop(max_seconds=max_seconds, max_iterations=max_iter),
        threads=threads,
    )
    if not as_json:
        print(found)
        return
    told: dict[str, Any] = asdict(found) | {"growth": found.growth, "peak": found.peak, "fits": found.fits}
    told["seconds"] = found.seconds if math.isfinite(found.seconds) else None
    print(json.dumps(told))
