"""Belief propagation: messages between factors and variables, exact without cycles.

Sums and maxima of products on factor graphs (Kschischang, Frey & Loeliger 2001; Sutton & McCallum 2006, 1.4).
On graphs with cycles the messages are repeated until they rest; log Z is then Bethe's approximation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Expected, Labeled, Method, Summed
from crfkit.native import kernels
from crfkit.structures.graphs.gold import factor_weights
from crfkit.structures.graphs.parts import components
from crfkit.structures.graphs.potentials import GraphPotentials

SCHEDULES = ("paths", "sequential", "residual")


@dataclass(frozen=True)
class MessagePassing(Method):
    """What belief propagation and its reweighted form have in common."""

    #: Which message is made next: "paths", "sequential", or "residual" (up to twice the time of a sweep).
    schedule: str = "paths"
    damping: float | None = None  #: share of the old message; None: 0, and 0.5 where messages stall
    tol: float = 1e-6  #: largest change of a message, as a probability, that counts as rest
    sweeps: int = 200  #: most passes over all messages

    def __post_init__(self) -> None:
        """Check the options."""
        if self.schedule not in SCHEDULES:
            raise MethodError(f"schedule is {self.schedule!r}, expected one of {', '.join(SCHEDULES)}")
        for name, given in (("damping", self.damping or 0.0), ("tol", self.tol)):
            check_number(name, given, None)
        check_number("sweeps", self.sweeps, None, whole=True)
        if self.damping is not None and not 0.0 <= self.damping < 1.0:
            raise MethodError(f"damping is {self.damping}, expected 0 or more and less than 1")
        if not 0.0 <= self.tol < 1.0:
            raise MethodError(f"tol is {self.tol}, expected 0 or more and less than 1")
        if self.sweeps < 1:
            raise MethodError(f"sweeps is {self.sweeps}, expected 1 or more")

    def run(
        self, potentials: GraphPotentials, threads: int, *, maxima: bool = False, seed: int | None = None
    ) -> tuple[_native.MessageRun, _native.MessagePlan]:
        """Return messages at rest; with a seed they are weighted by random spanning forests."""
        number = SCHEDULES.index(self.schedule)
        plan = potentials.batch.prepared(
            ("messages", number, *potentials.tables), lambda: _native.MessagePlan(potentials.problem, number)
        )
        damping = -1.0 if self.damping is None else self.damping
        run = _native.MessageRun(
            kernels, potentials.problem, plan, maxima, self.sweeps, self.tol, damping, seed, threads
        )
        return run, plan

    def summed(self, potentials: GraphPotentials, cliques: bool, threads: int, seed: int | None) -> Summed:
        """Return what messages of sums say."""
        run, plan = self.run(potentials, threads, seed=seed)
        value, node = run.marginals()
        clique = {}
        if cliques:
            for g, (name, table) in enumerate(potentials.tables.items()):
                clique[name] = run.clique(g, node).reshape(-1, *table.scores.shape[1:])
        how = self._how(potentials, run, plan)
        return Summed(value, node, clique, _bounded(how, run, value, node, seed))

    def counted(
        self, potentials: GraphPotentials, weight: Floats, threads: int, seed: int | None
    ) -> Expected:
        """Return expected counts; marginals of factors are added up as they are made."""
        run, plan = self.run(potentials, threads, seed=seed)
        value, node = run.marginals()
        by_score = {
            name: run.counts(g, node, factor_weights(potentials.batch, name, table, weight)).reshape(
                table.scores.shape
            )
            for g, (name, table) in enumerate(potentials.tables.items())
        }
        how = self._how(potentials, run, plan)
        return Expected(value, by_score, _bounded(how, run, value, node, seed))

    def pools(self, potentials: GraphPotentials) -> Bools:
        """Return that no graph needs memory for marginals of each factor, [N]."""
        return np.ones(potentials.batch.graphs, dtype=np.bool_)

    def _how(self, potentials: GraphPotentials, run: _native.MessageRun, plan: _native.MessagePlan) -> How:
        converged = run.converged.astype(bool)
        notes = []
        if SCHEDULES[plan.schedule] != self.schedule:
            notes.append("the graph is dense: its variables are visited one after the other, not on paths")
        if not converged.all():
            notes.append(
                f"messages of {int((~converged).sum())} graphs did not come to rest in {self.sweeps} sweeps"
            )
        exact = run.acyclic.astype(bool) & converged & (SCHEDULES[plan.schedule] == "paths")
        return How.of(
            self.name,
            potentials.batch.graphs,
            exact=exact,
            converged=converged,
            sweeps=run.sweeps,
            notes=tuple(notes),
        )


def _bounded(how: How, run: _native.MessageRun, value: Floats, node: Floats, seed: int | None) -> How:
    """Return how, with the bound on log Z that weighted messages give."""
    return how if seed is None else replace(how, upper=value + run.slack(node))


@dataclass(frozen=True)
class BeliefPropagation(MessagePassing):
    """Belief propagation: exact on graphs without cycles, Bethe's approximation on others.

    "paths" sweeps forests of the graph, each exactly: the rows of a grid and then its columns, a chain and
    then its skips (tree reparameterization; Wainwright, Jaakkola & Willsky 2003). "sequential" visits
    variables in their order, up and down. "residual" visits first what heard most since it spoke.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import BeliefPropagation
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0], [2.0, 0.0]), ([0, 1], same), ([1, 2], same)])
    >>> total = inference.log_partition(scores, method=BeliefPropagation())
    >>> round(total, 4), str(total.info)
    (4.7535, '1 graph by belief-propagation: exact, 1 sweeps')
    """

    name: ClassVar[str] = "belief-propagation"
    convex: ClassVar[bool] = False

    def convex_on(self, potentials: GraphPotentials) -> bool:
        """Return whether there are no cycles, so that sums are exact."""
        batch = potentials.batch
        joins = sum((scope.shape[1] - 1) * len(scope) for scope in batch.scopes.values())
        return self.schedule == "paths" and batch.variables - len(components(batch).graph) == joins

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return beliefs; log Z is Bethe's where there are cycles."""
        return self.summed(potentials, cliques, threads, None)

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts; log Z is Bethe's where there are cycles."""
        return self.counted(potentials, weight, threads, None)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return labels by max-product, each given those before it."""
        run, plan = self.run(potentials, threads, maxima=True)
        label = run.labels()
        graphs = potentials.batch.graphs
        none = np.zeros(graphs, dtype=np.bool_)
        none[potentials.batch.graph_of[label < 0]] = True
        score = potentials.labeling_score(np.maximum(label, 0))
        score[none] = -np.inf
        label[np.isneginf(score)[potentials.batch.graph_of]] = -1
        return Labeled(label[None], score[None], self._how(potentials, run, plan))
