"""Every query of inference with settled arguments, and its answer as a list of arrays and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit import inference

QUERIES: dict[str, Callable[..., Any]] = {
    "log_partition": inference.log_partition,
    "log_partition in logs": lambda p, **o: inference.log_partition(p, space="log", **o),
    "entropy": inference.entropy,
    "marginals": inference.marginals,
    "marginals in logs": lambda p, **o: inference.marginals(p, space="log", **o),
    "reachable": inference.reachable,
    "decode": inference.decode,
    "posterior": lambda p, **o: inference.decode(p, "posterior", **o),
    "kbest": lambda p, **o: inference.kbest(p, 3, **o),
    "sample": lambda p, **o: inference.sample(p, 2, seed=9, **o),
    "count": inference.count,
    "expected": lambda p, **o: _expected(p, **o),
    "best": lambda p, **o: [(found := inference.best(p, **o))[0], found[1].label, found[1].begin],
}


def _expected(p: inference.Potentials, **options: Any) -> list[Any]:
    """Ask with the same weight for all, and with two."""
    answers: list[Any] = []
    for pattern in ([1.0], [0.5, 2.0]):
        weight = np.resize(pattern, len(p.seq_ptr) - 1)
        values, slots = inference.expected(p, weight, **options)
        answers += [values, *slots.values()]
    return answers


def flat(answer: Any) -> list[Any]:
    """Turn any answer into a list of arrays and numbers."""
    if isinstance(answer, inference.Marginals):
        names = ("log_partition", "node", "edge", "start", "stop", "segment")
        return [part for name in names for part in flat(getattr(answer, name))]
    if isinstance(answer, inference.Labeling):
        return [answer.labels, answer.score, *flat(answer.begin)]
    if isinstance(answer, list | tuple):
        return [part for item in answer for part in flat(item)]
    return [] if answer is None else [answer]
