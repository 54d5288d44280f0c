"""The two sums of a likelihood in which labels of graphs are hidden, each as a function of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.linear.objective import Family

if TYPE_CHECKING:
    from crfkit.linear.graphs.loss import GraphLoss

__all__ = ["GraphLatentSums", "graph_latent_lacks"]


def graph_latent_lacks(loss: GraphLoss) -> str:
    """Return why a loss has no such sums; empty where it has them."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return "" if loss.kind == "set" else "data in which nothing is hidden: every variable has a label"


class GraphLatentSums:
    """Both sums of a loss; see `crfkit.optimise.batch.em`."""

    def __init__(self, loss: GraphLoss) -> None:
        self.loss = loss

    def free(self, w: Floats, gradient: Floats) -> float:
        """Return the weighted sum of log Z over the graphs at w [F], and its gradient."""
        return self._sum(w, gradient, within=False)

    def within(self, w: Floats, gradient: Floats) -> float:
        """Return the same over the labellings that agree with the gold."""
        return self._sum(w, gradient, within=True)

    def _sum(self, w: Floats, gradient: Floats, *, within: bool) -> float:
        gradient[:] = 0.0
        found, total = np.empty_like(gradient), 0.0
        for number, part in enumerate(self.loss.blocks):
            self.loss.tally.block(first=number == 0)
            scores = part.potentials(w)
            if within:
                scores = part.gold.clamped(scores)
            log_z, by_score = inference.expected(scores, part.weight, threads=part.threads)
            part.scores.scatter(by_score, found, threads=part.threads)
            gradient += found
            total += float(part.weight @ log_z)
        return total
