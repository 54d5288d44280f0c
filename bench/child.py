"""What the children of `bench.train` and `bench.grid` share: task, events, the exact objective."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench.corpora import Corpus
from crfkit import Chain
from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.models.model import Model, Names
from crfkit.optimize.problem import Penalty


@dataclass(frozen=True)
class Task:
    """What to run."""

    kind: Literal["optimizer", "peer", "evaluation", "user"]
    corpus: str
    optimizer: str = ""
    seconds: float = math.inf  # of training, after which an optimizer gets no further step
    iterations: int | None = None  # of CRFsuite
    threads: int | None = None
    gap: float | None = None  # at which an optimizer ends that knows its gap
    repetitions: int = 9  # of an evaluation
    l2: float | None = None  # another one than that of the corpus
    l1: float = 0.0
    dicts: bool = False  # features are the dicts of `tutorial`, and their reading is on the clock
    most: int | None = None  # sequences that are taken of the corpus, see `Corpus.most`
    target: float | None = None  # objective; when it was reached is looked for after training
    early: float | None = None  # the same for where CRFsuite stands after a hundred iterations


def say(event: str, **fields: Any) -> None:
    """Tell the parent; numbers that JSON does not have become null."""
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}
    print(json.dumps({"event": event, **clean}), flush=True)


# ---- what all have in common ----------------------------------------------------------------------------


def model_of(dataset: Dataset, layout: Layout, w: Floats) -> Model:
    labels, attributes = dataset.labels.freeze(), dataset.attributes.freeze()
    chain = Chain(labels.strings())
    return Model(chain, layout, Names(labels, attributes, dataset.edge_attributes), w)


def objective_at(dataset: Dataset, layout: Layout, penalty: Penalty, w: Floats) -> float:
    """Return the exact objective, without a gradient and in blocks: another way than any optimizer's."""
    return objective_of(model_of(dataset, layout, w), dataset, penalty)


def objective_of(model: Model, dataset: Dataset, penalty: Penalty) -> float:
    """Return the exact objective of a model on the data that it was trained on."""
    if not np.isfinite(model.w).all():
        return math.inf
    return penalty.value(model.w) - float(model.log_prob(dataset.batch).sum())


def scored(corpus: Corpus, test: Callable[[], Dataset], model: Model) -> float:
    """Return the metric on the test data; nan where there are none, or where weights are not finite."""
    if not corpus.test or not np.isfinite(model.w).all():
        return math.nan
    return corpus.score(model.predict(test().batch))


def sizes(dataset: Dataset, layout: Layout) -> dict[str, int]:
    return {
        "sequences": dataset.batch.sequences,
        "positions": dataset.batch.positions,
        "labels": len(dataset.labels),
        "occurrences": len(dataset.batch.attr),
        "weights": layout.weights,
    }
