"""The loss of graphs as a function of the weights: score, potentials, the objective, scatter.

Graphs are taken in blocks whose marginals take bounded memory; blocks depend on the data only, are made once,
and keep the orders, forests and programs of their graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from crfkit._safe.cached import once
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.errors import MethodError, NotCoveredError
from crfkit.inference.methods.method import Method
from crfkit.inference.methods.registry import METHODS, method_of
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.graphs.margins import GraphMargins, graph_margin_lacks
from crfkit.linear.graphs.mistakes import DecodedGraphs, graph_perceptron_lacks
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.graphs.watch import CountedMethod, MethodStats
from crfkit.linear.latent import LatentSums, latent_lacks
from crfkit.linear.layout import Layout
from crfkit.linear.loss import Joined
from crfkit.linear.objective import Objective, View, ViewedLoss
from crfkit.optimize.margin.view import MarginSequences
from crfkit.optimize.problem import Latent
from crfkit.optimize.sequential.minibatch import MiniBatches, Parts
from crfkit.optimize.sequential.sequences import PerceptronSequences
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import GraphGold, gold_of_graphs
from crfkit.structures.graphs.parts import part_of
from crfkit.structures.graphs.potentials import GraphPotentials
from crfkit.structures.structure import Scores

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


class GraphLoss(ViewedLoss):
    """The loss of the graphs of a batch as a function of the weights; without the penalty.

    Parameters
    ----------
    objective : Objective
    layout : Layout
        Of `crfkit.linear.graphs.layout.graph_layout`.
    batch : GraphBatch
        With labels; -1 where they are hidden.
    method : Method
        The inference method: see `crfkit.inference.methods`.
    weight : array [N], optional
        Weight of each graph.
    gold : GraphGold, optional
        The gold of a part of another loss, whose weights include those of labels. Default: that of the
        batch.
    threads : int, optional
        Default: one for each core. Results are the same bits for any number.
    """

    _one: ClassVar[str] = "graphs"

    def __init__(
        self,
        objective: Objective,
        layout: Layout,
        batch: GraphBatch,
        method: Method,
        *,
        weight: Floats | None = None,
        gold: GraphGold | None = None,
        threads: int | None = None,
    ) -> None:
        if weight is not None and weight.shape != (batch.graphs,):
            raise ValueError(
                f"weight has shape {weight.shape}, expected ({batch.graphs},): one for each graph"
            )
        if gold is None:
            gold, weight = objective.graph_weights(batch, gold_of_graphs(batch), weight)
        self.gold = gold
        against = objective.covers(batch.graph, [self.gold.kind])
        if against:
            raise NotCoveredError(against)
        check_answers(objective, method)
        self.objective, self.layout, self.batch, self.threads = objective, layout, batch, threads
        self.method, self.tally = method, MethodStats()
        self.weight = np.ones(batch.graphs) if weight is None else weight  # [N]
        self.scores = GraphScores(layout, batch)
        self._alone: dict[int, GraphLoss] = {}

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    @property
    def kind(self) -> str:
        """What the gold is: "path", or "set" where labels are hidden."""
        return self.gold.kind

    @once
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        if not self.objective.convex or self.objective.asks == "nothing":
            return self.objective.convex
        if self.kind != "path":
            return False
        return not self.rough

    @once
    def rough(self) -> bool:
        """Whether its sums are those of messages on cycles, or of mean field, which searches cannot trust."""
        zero = np.zeros(self.size)
        return self.objective.asks == "sums" and not all(
            self.method.convex_on(part.scores.potentials(zero)) for part in self.blocks
        )

    @property
    def minimizes(self) -> bool:
        """Whether minimizing it trains a model."""
        return self.objective.minimizes

    @property
    def drawn(self) -> bool:
        """Whether gradients are drawn at random, for optimizers that visit mini-batches."""
        return self.objective.drawn

    # ---- values and gradients

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        if len(self.blocks) == 1:
            self.tally.block(first=True)
            return self._evaluate(w, gradient)
        found, so_far = np.empty_like(gradient), Joined(gradient, self.objective)
        for part in self.parts():
            so_far.scale(part._evaluate(w, found), float(part.weight.sum()), found)
            gradient += found
        return so_far.value

    def parts(self) -> Iterator[GraphLoss]:
        """Yield the blocks, for one evaluation."""
        for number, block in enumerate(self.blocks):
            self.tally.block(first=number == 0)
            yield block

    def _evaluate(self, w: Floats, gradient: Floats) -> float:
        value, by_score = self.objective.loss(
            self.potentials(w), self.gold, self.weight, threads=self.threads
        )
        self.scatter(by_score, gradient)
        return value

    def scatter(self, by_score: Scores, out: Floats) -> None:
        """Write the gradient by weights [F] that follows from one by the scores of tables."""
        self.scores.scatter(by_score, out, threads=self.threads)

    def potentials(self, w: Floats) -> GraphPotentials:
        """Return the scores at w [F], which `method` answers for."""
        made = self.scores.potentials(w, threads=self.threads)
        return replace(made, method=CountedMethod(self.method, self.tally))

    # ---- parts

    @once
    def blocks(self) -> list[GraphLoss]:
        """The loss in parts whose marginals take bounded memory; one part where all are added up at once."""
        batch = self.batch
        cells = np.zeros(batch.graphs)
        for name, scope in batch.scopes.items():
            each = float(np.prod(batch.graph.shape(name)))
            cells += each * np.bincount(batch.graph_of[scope[:, 0]], minlength=batch.graphs)
        cells[self.method.pools(self.scores.outline())] = 0.0
        ends = np.cumsum(cells) // max(BLOCK_BYTES // 8, 1)
        cuts = np.flatnonzero(np.diff(ends)) + 1
        if not len(cuts):
            return [self]
        return [self.part(chosen) for chosen in np.split(np.arange(batch.graphs), cuts)]

    def part(self, graphs: Pointers) -> GraphLoss:
        """Return the loss of some of the graphs, with the weights that they have here."""
        part = part_of(self.batch, graphs)
        made = GraphLoss(
            self.objective,
            self.layout,
            part.batch,
            self.method,
            weight=self.weight[graphs],
            gold=self.gold.take(part.variables),
            threads=self.threads,
        )
        made.tally = self.tally
        return made

    def alone(self, n: int) -> GraphLoss:
        """Return the loss of one graph, which is kept with the plans of its queries."""
        if n not in self._alone:
            self._alone[n] = self.part(np.array([n]))
        return self._alone[n]

    def prepare(self) -> None:
        """Prepare what the first evaluation needs."""
        _ = self.blocks


def check_answers(objective: Objective, method: Method) -> None:
    """Refuse a method that cannot answer what an objective asks, before any work is done."""
    against = method.lacks(objective.asks)
    if against:
        able = ", ".join(name for name in METHODS if not method_of(name).lacks(objective.asks))
        raise MethodError(f"{against}, which the objective {objective.name} needs; use one of {able}")


def _without_optimum(loss: GraphLoss) -> str:
    if type(loss.objective).joined is not Objective.joined:
        return f"the objective {loss.objective.name}, whose loss is not a sum over graphs"
    if loss.minimizes or loss.drawn:
        return ""
    return f"the objective {loss.objective.name}, whose loss is least where all weights are 0"


# A new view is a line here.
GraphLoss.VIEWS = {
    Latent: View(latent_lacks, LatentSums),
    MiniBatches: View(_without_optimum, GraphMiniBatches),
    MarginSequences: View(graph_margin_lacks, GraphMargins),
    PerceptronSequences: View(graph_perceptron_lacks, DecodedGraphs),
}
