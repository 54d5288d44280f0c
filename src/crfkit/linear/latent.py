"""The two sums of a likelihood whose gold is sets of labels, each on its own, as functions of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.linear.objective import Family
from crfkit.linear.score import scatter
from crfkit.structures.gold import Sets

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["LatentSums", "latent_lacks"]


def latent_lacks(loss: LinearLoss) -> str:
    """Return why a loss has no such sums; empty where it has them."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    if loss.kind == "soft":
        return "soft labels, in which nothing is hidden"
    return "" if loss.kind == "set" else "data in which nothing is hidden: every position has one label"


class LatentSums:
    """Both sums of a loss; see `crfkit.optimise.batch.em`."""

    def __init__(self, loss: LinearLoss) -> None:
        self.loss = loss

    def free(self, w: Floats, gradient: Floats) -> float:
        """Return the weighted sum of log Z over the sequences at w [F], and its gradient."""
        return self._sum(w, gradient, within=False)

    def within(self, w: Floats, gradient: Floats) -> float:
        """Return the same over the labellings that agree with the gold."""
        return self._sum(w, gradient, within=True)

    def _sum(self, w: Floats, gradient: Floats, *, within: bool) -> float:
        gradient[:] = 0.0
        found, total = np.empty_like(gradient), 0.0
        for part in self.loss.parts():
            scores = part.potentials(w)
            if within:
                assert isinstance(part.gold, Sets)
                scores = part.gold.clamped(scores)
            log_z, by_score = inference.expected(scores, part.weight, threads=part.threads)
            scatter(part.layout, part.batch, by_score, index=part.index, threads=part.threads, out=found)
            gradient += found
            total += float(part.weight @ log_z)
        return total
