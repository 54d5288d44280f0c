"""The loss of graphs as a function of the weights: score, potentials, the objective, scatter.

Graphs are taken in blocks whose marginals take bounded memory; blocks depend on the data only, are made once,
and keep the orders, forests and programs of their graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.inference.methods.method import Method, MethodError
from crfkit.inference.methods.registry import METHODS, method_of
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.graphs.latent import GraphLatentSums, graph_latent_lacks
from crfkit.linear.graphs.margins import GraphMargins, graph_margin_lacks
from crfkit.linear.graphs.minibatches import GraphMiniBatches
from crfkit.linear.graphs.mistakes import DecodedGraphs, graph_perceptron_lacks
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.graphs.watch import Tally, Watched
from crfkit.linear.layout import Layout
from crfkit.linear.loss import Joined
from crfkit.linear.objective import Objective
from crfkit.optimise.margin.view import MarginSequences
from crfkit.optimise.problem import Convex, Differentiable, Latent, NotCoveredError
from crfkit.optimise.sequential.minibatch import MiniBatches
from crfkit.optimise.sequential.sequences import PerceptronSequences, Prepared
from crfkit.structures.graph_batch import GraphBatch
from crfkit.structures.graph_gold import GraphGold, gold_of_graphs
from crfkit.structures.graph_potentials import GraphPotentials
from crfkit.structures.parts import part_of

__all__ = ["GraphLoss", "check_answers"]

V = TypeVar("V")


class GraphLoss:
    """The loss of the graphs of a batch as a function of the weights; without the penalty.

    Parameters
    ----------
    objective : Objective
    layout : Layout
        Of `crfkit.linear.graphs.layout.graph_layout`.
    batch : GraphBatch
        With labels; -1 where they are hidden.
    method : Method
        Who answers queries: `crfkit.methods`.
    weight : array [N], optional
        Of each graph.
    gold : GraphGold, optional
        Of part of another loss, with weights that take those of labels in. Default: the labels of the batch.
    threads : int, optional
        Default: one for each core. Results are the same bits for any number.
    """

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
        self.method, self.tally = method, Tally()
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

    @cached_property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        if not self.objective.convex or self.objective.asks == "nothing":
            return self.objective.convex
        if self.kind != "path" or not self.method.convex:
            return False
        zero = np.zeros(self.size)
        return all(self.method.convex_on(part.scores.potentials(zero)) for part in self.blocks)

    @property
    def minimises(self) -> bool:
        """Whether minimising it trains a model."""
        return self.objective.minimises

    @property
    def drawn(self) -> bool:
        """Whether gradients are drawn at random, for optimisers that visit mini-batches."""
        return self.objective.drawn

    # ---- values and gradients

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        if len(self.blocks) == 1:
            self.tally.block(first=True)
            return self._evaluate(w, gradient)
        found, so_far = np.empty_like(gradient), Joined(gradient)
        for number, block in enumerate(self.blocks):
            self.tally.block(first=number == 0)
            so_far.scale(block, block._evaluate(w, found), found)
            gradient += found
        return so_far.value

    def _evaluate(self, w: Floats, gradient: Floats) -> float:
        value, by_score = self.objective.loss(
            self.potentials(w), self.gold, self.weight, threads=self.threads
        )
        self.scores.scatter(by_score, gradient, threads=self.threads)
        return value

    def potentials(self, w: Floats) -> GraphPotentials:
        """Return the scores at w [F], which `method` answers for."""
        made = self.scores.potentials(w, threads=self.threads)
        return replace(made, method=Watched(self.method, self.tally))

    # ---- parts

    @cached_property
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

    # ---- views

    def lacks(self, kind: type) -> str:
        """Return why this loss has no such view; empty where it has one."""
        if kind not in VIEWS:
            return "graphs"
        return VIEWS[kind].lacks(self)

    def view(self, kind: type[V]) -> V:
        """Return this loss as an optimiser wants to see it, or raise `NotCoveredError`."""
        against = self.lacks(kind)
        if against:
            raise NotCoveredError(against)
        made: V = VIEWS[kind].make(self)
        return made

    def prepare(self) -> None:
        """Prepare what the first evaluation needs."""
        _ = self.blocks


def check_answers(objective: Objective, method: Method) -> None:
    """Refuse a method that cannot answer what an objective asks, before any work is done."""
    against = method.lacks(objective.asks)
    if against:
        able = ", ".join(name for name in METHODS if not method_of(name).lacks(objective.asks))
        raise MethodError(f"{against}, which the objective {objective.name} needs; use one of {able}")


class View(NamedTuple):
    """What an optimiser may ask a loss for beside values and gradients."""

    lacks: Callable[[GraphLoss], str]
    make: Callable[[GraphLoss], Any]


def _itself(loss: GraphLoss) -> GraphLoss:
    return loss


def _not_convex(loss: GraphLoss) -> str:
    if (loss.weight < 0.0).any():
        return "negative weights of graphs"
    return "" if loss.convex else "a loss that is not convex"


def _without_optimum(loss: GraphLoss) -> str:
    if type(loss.objective).joined is not Objective.joined:
        return f"the objective {loss.objective.name}, whose loss is not a sum over graphs"
    if loss.minimises or loss.drawn:
        return ""
    return f"the objective {loss.objective.name}, whose loss is least where all weights are 0"


#: View -> when a loss of graphs has it. A new view is a line here.
VIEWS: dict[type, View] = {
    Differentiable: View(lambda loss: "" if loss.objective.smooth else "a loss with kinks", _itself),
    Convex: View(_not_convex, _itself),
    Latent: View(graph_latent_lacks, GraphLatentSums),
    MiniBatches: View(_without_optimum, GraphMiniBatches),
    Prepared: View(lambda loss: "", _itself),
    MarginSequences: View(graph_margin_lacks, GraphMargins),
    PerceptronSequences: View(graph_perceptron_lacks, DecodedGraphs),
}
