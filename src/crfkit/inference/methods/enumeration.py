"""All labelings, one by one: the oracle of the other methods, for graphs of a few variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit.arrays import Floats, Ids, checked_later
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method, Summed
from crfkit.structures.graphs.potentials import GraphPotentials

_MOST_VARIABLES = 64  # of `most` labelings; of fewer labelings, more


@dataclass(frozen=True)
class Enumeration(Method):
    """Score every labeling: exact, and possible for some twenty binary variables at most.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Enumeration
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[0.0, 0.0], [0.0, 0.0]])])
    >>> inference.count(scores, method=Enumeration())
    4
    """

    name: ClassVar[str] = "enumeration"
    max_labelings: int = 2**20  #: labelings of a graph; more are refused

    def __post_init__(self) -> None:
        """Check the option."""
        check_number("max_labelings", self.max_labelings, 1, whole=True)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return exact marginals."""
        batch = potentials.batch
        value, node = np.full(batch.graphs, -np.inf), np.zeros(int(batch.label_ptr[-1]))
        clique = {
            name: np.zeros((len(batch.scopes[name]), *table.scores.shape[1:]))
            for name, table in potentials.tables.items()
        }
        for n in range(batch.graphs):
            variables, label, score = self._all(potentials, n)
            most = score.max(initial=-np.inf)
            if most == -np.inf:
                continue
            p = np.exp(score - most)
            value[n] = most + np.log(p.sum())
            p /= p.sum()
            for v, column in zip(variables, label.T, strict=True):
                np.add.at(node, batch.label_ptr[v] + column, p)
            place = {int(v): i for i, v in enumerate(variables)}
            for name, out in clique.items():
                scope = batch.scopes[name]
                for m in np.flatnonzero(batch.graph_of[scope[:, 0]] == n):
                    np.add.at(out[m], tuple(label[:, place[int(v)]] for v in scope[m]), p)
        return Summed(value, node, clique, How.of(self.name, batch.graphs, exact=True))

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph."""
        return self.kbest(potentials, 1, threads)

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labeled:
        """Return the k best labelings of each graph; ties go to lower labels of earlier variables."""
        batch = potentials.batch
        out = np.full((k, batch.variables), -1, dtype=np.int32)
        scores = np.full((k, batch.graphs), -np.inf)
        for n in range(batch.graphs):
            variables, label, score = self._all(potentials, n)
            first = np.argsort(-score, kind="stable")[:k]
            first = first[score[first] > -np.inf]
            out[: len(first), variables] = label[first]
            scores[: len(first), n] = score[first]
        return Labeled(out, scores, How.of(self.name, batch.graphs, exact=True))

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return n draws of each graph."""
        batch = potentials.batch
        out = np.full((n, batch.variables), -1, dtype=np.int32)
        scores = np.full((n, batch.graphs), -np.inf)
        for g in range(batch.graphs):
            variables, label, score = self._all(potentials, g)
            if score.max(initial=-np.inf) == -np.inf:
                continue
            p = np.exp(score - score.max())
            drawn = np.random.default_rng([seed, g]).choice(len(p), size=n, p=p / p.sum())
            out[:, variables] = label[drawn]
            scores[:, g] = score[drawn]
        return Labeled(out, scores, How.of(self.name, batch.graphs, exact=True))

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labelings have a score above -inf."""
        graphs = potentials.batch.graphs
        totals = [int((self._all(potentials, n)[2] > -np.inf).sum()) for n in range(graphs)]
        return totals, How.of(self.name, graphs, exact=True)

    def _all(self, potentials: GraphPotentials, graph: int) -> tuple[Ids, Ids, Floats]:
        """Return the variables [v] of a graph, all its labelings [Y, v] and their scores [Y]."""
        batch = potentials.batch
        variables = np.flatnonzero(batch.graph_of == graph).astype(np.int32)
        width = batch.width[variables].tolist()
        with checked_later():
            many = float(np.prod(np.asarray(width, dtype=np.float64)))
        if many > self.max_labelings or many * len(width) > _MOST_VARIABLES * self.max_labelings:
            raise MethodError(
                f"graph {graph} has {many:.3g} labelings, more than the {self.max_labelings} of up to "
                f"{_MOST_VARIABLES} variables that are enumerated; use method=Elimination()"
            )
        total = int(many)
        label = np.empty((total, len(width)), dtype=np.int32)  # [Y, v]
        number = np.arange(total)
        for v in reversed(range(len(width))):  # the last variable changes first
            number, label[:, v] = np.divmod(number, width[v])
        place = np.zeros(batch.variables, dtype=np.int64)
        place[variables] = np.arange(len(variables))
        score = np.zeros(total)
        if potentials.constant is not None:
            score += potentials.constant[graph]
        for name, table in potentials.tables.items():
            scope = batch.scopes[name]
            for m in np.flatnonzero(batch.graph_of[scope[:, 0]] == graph):
                k = m if table.which is None and len(table.scores) > 1 else 0
                scores = table.scores[k if table.which is None else table.which[m]]
                terms = scores[tuple(label[:, place[scope[m]]].T)]
                score += terms if table.scale is None else terms * table.scale[m]
        return variables, label, score
