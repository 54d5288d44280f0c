"""The two sums of a likelihood in which labels are hidden, each on its own, as functions of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, dot
from crfkit.linear.objective import Family
from crfkit.structures.gold import Path, Soft

if TYPE_CHECKING:
    from crfkit.linear.graphs.loss import GraphLoss
    from crfkit.linear.loss import LinearLoss


def latent_lacks(loss: LinearLoss | GraphLoss) -> str:
    """Return why a loss has no such sums; empty where it has them."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    if loss.kind == "soft":
        return "soft labels, in which nothing is hidden"
    return "" if loss.kind == "set" else "data in which nothing is hidden: all labels are known"


class LatentSums:
    """Both sums of a loss; see `crfkit.optimize.batch.em`."""

    def __init__(self, loss: LinearLoss | GraphLoss) -> None:
        self.loss = loss

    def free(self, w: Floats, gradient: Floats) -> float:
        """Return the weighted sum of log Z over all sequences or graphs at w [F], and its gradient."""
        return self._sum(w, gradient, within=False)

    def within(self, w: Floats, gradient: Floats) -> float:
        """Return the same over the labelings that agree with the gold."""
        return self._sum(w, gradient, within=True)

    def _sum(self, w: Floats, gradient: Floats, *, within: bool) -> float:
        gradient[:] = 0.0
        found, total = np.empty_like(gradient), 0.0
        for part in self.loss.parts():
            scores = part.potentials(w)
            if within:
                assert not isinstance(part.gold, Path | Soft)
                scores = part.gold.clamped(scores)
            log_z, by_score = inference.expected(scores, part.weight, threads=part.threads)
            part.scatter(by_score, found)
            gradient += found
            total += dot(part.weight, log_z)
        return total
