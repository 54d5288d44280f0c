"""The score of the best labels minus that of the gold ones, for the perceptron and the margin losses."""

from __future__ import annotations

from typing import Any

from crfkit import inference
from crfkit.arrays import Floats, dot

__all__ = ["best_above_gold"]


def best_above_gold(
    potentials: Any, costly: Any, gold: Any, weight: Floats, threads: int | None
) -> tuple[float, dict[str, Floats]]:
    """Return weight * (the best score - the gold's), summed, and its subgradient by scores.

    The best labels are those of `costly`: the potentials themselves, or with a cost for wrong labels.
    """
    best, path = inference.best(costly, threads=threads)
    value = dot(weight, best) - potentials.gold_score(gold, weight)
    by_score = potentials.zeros()
    potentials.add_counts(path, weight, by_score)
    potentials.add_counts(gold, -weight, by_score)
    return value, by_score
