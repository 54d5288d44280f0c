"""A loss of graphs in parts that are visited one by one: made once, each with its own Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.optimize.sequential.minibatch import Parts

if TYPE_CHECKING:
    from crfkit.linear.graphs.loss import GraphLoss

__all__ = ["GraphMiniBatches", "GraphVisit"]

#: Parts of the data, and the most graphs of a part, where the user does not say.
_PARTS, _MOST = 32, 64


class GraphVisit:
    """Some graphs of a loss; `labels` [chains, V] is where their Markov chains are."""

    def __init__(self, loss: GraphLoss) -> None:
        self.loss = loss
        self.labels: Ids | None = None

    def visit(self, w: Floats, gradient: Floats, seed: Sequence[int]) -> float:
        """Return the loss at w [F], or an estimate, and write its gradient to `gradient` [F]."""
        loss = self.loss
        if not loss.objective.drawn:
            return loss.value_and_grad(w, gradient)
        value, by_score, self.labels = loss.objective.draw(
            loss.potentials(w), loss.gold, loss.weight, self.labels, seed, threads=loss.threads
        )
        loss.scores.scatter(by_score, gradient, threads=loss.threads)
        return value

    def restore(self, state: Fields, name: str) -> None:
        """Set `labels` to a field of a state, which must be labels of these graphs, or None."""
        self.labels = None
        if state.has(name):
            width = self.loss.batch.width  # [V]
            self.labels = state.ids(
                name, self.loss.objective.labelings, len(width), below=int(width.max(initial=0))
            )
            if (self.labels >= width).any():
                state.refuse(name, "labels that some variables do not have")


class GraphMiniBatches:
    """The view `crfkit.optimize.sequential.minibatch.MiniBatches` of a loss of graphs."""

    def __init__(self, loss: GraphLoss) -> None:
        self.loss = loss

    def parts(self, size: int | None, seed: int) -> Parts:
        """Return the graphs in parts of about `size`, drawn at random and then fixed."""
        loss, N = self.loss, self.loss.batch.graphs
        each = min(-(-N // _PARTS), _MOST) if size is None else size
        count = max(-(-N // max(each, 1)), 1)
        order = np.random.default_rng([seed, 0]).permutation(N)
        chosen = [np.sort(some) for some in np.array_split(order, count)]
        visits = [GraphVisit(loss if count == 1 else loss.part(some)) for some in chosen]
        return Parts(visits, loss.batch.variables, loss.objective.drawn)
