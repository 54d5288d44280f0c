"""Corpora of given sizes, and the memory that a training on them takes: a program of its own.

python -m tests.cases.forecasts "many labels"
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

import crfkit
from bench.clocks import HighWater
from crfkit import FeatureSelection, Stop
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.training.memory import resident_bytes
from tests.cases.batches import random_batch


def generated(N: int, T: int, A: int, L: int, attributes: int) -> Dataset:
    """Return sequences of T positions, whose attributes say something about their labels."""
    rng = np.random.default_rng(0)
    batch = random_batch(rng, [T] * N, A, L, least=attributes, most=attributes, telling=0.6)
    names = [Alphabet(map(str, range(size))) for size in (L, A)]
    return Dataset(batch, names[0], names[1], Alphabet())


#: Sequences, positions of each, attributes, labels, attributes of a position; which weights.
CORPORA: dict[str, tuple[tuple[int, int, int, int, int], FeatureSelection]] = {
    "many positions": ((4000, 15, 60_000, 20, 10), FeatureSelection()),
    "many weights": ((1500, 10, 100_000, 12, 10), FeatureSelection("all")),
    "many labels": ((400, 20, 20_000, 80, 10), FeatureSelection(transitions="observed")),
}


def measured(name: str) -> dict[str, Any]:
    """Forecast and train; return both in MB. In a process of its own: a peak is never forgotten."""
    sizes, features = CORPORA[name]
    data = generated(*sizes)
    water, before = HighWater(), resident_bytes()
    water.resume()
    found = crfkit.forecast(data, selection=features, n_jobs=2)
    crfkit.train(data, selection=features, stop=Stop(tolerance=1e-4, max_iterations=60), n_jobs=2)
    taken = int(water.pause() * 2**20) - before
    return {"expected": found.peak - before, "taken": taken, "by": found.optimizer}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measured(sys.argv[1])))
