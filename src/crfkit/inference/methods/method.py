"""What a method for graphs is: options in a frozen dataclass, and the queries that it can answer.

A method gets potentials without observed variables, of any number of graphs, and answers in flat arrays:
labels by flat variable, marginals by the flat labels of `GraphBatch.label_ptr`. `crfkit.inference.graphs`
turns these into what users see. A method overrides the queries that it can answer; the others refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Bools, Floats, Ids
from crfkit.errors import MethodError
from crfkit.inference.methods.how import How
from crfkit.structures.graphs.gold import factor_weights, summed_by_table
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True, eq=False)
class Summed:
    """Sums over labelings, or estimates of them."""

    value: Floats  #: [N] log Z
    node: Floats  #: [label_ptr[V]] marginals of variables, flat
    clique: Mapping[str, Floats]  #: clique -> [M, L1, ..., La] of factors; empty if not asked for
    info: How


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected counts: what a likelihood needs."""

    value: Floats  #: [N] log Z
    by_score: dict[str, Floats]  #: clique -> gradient of sum_n weight_n log Z_n by the scores of its tables
    info: How


@dataclass(frozen=True, eq=False)
class Labeled:
    """Labelings of all graphs."""

    label: Ids  #: [k, V]; -1 where a graph has fewer than k labelings
    score: Floats  #: [k, N]; -inf there
    info: How


@dataclass(frozen=True)
class Method:
    """The base of all methods."""

    name: ClassVar[str] = ""  #: as the command line and `.info` call it
    convex: ClassVar[bool] = True  #: whether its log Z is convex in the scores, as the exact one is
    sums: ClassVar[bool] = True  #: whether marginals come with log Z or an estimate of it, or else with nan

    def lacks(self, asked: str) -> str:
        """Return why it cannot give what an objective asks for: "sums" with log Z, "best" or "nothing".

        Examples
        --------
        >>> from crfkit.inference.methods import Gibbs, MinCut
        >>> MinCut().lacks("best"), MinCut().lacks("sums")
        ('', 'min-cut does not sum over labelings')
        >>> Gibbs().lacks("sums")
        'gibbs gives marginals without log Z'
        """
        own = type(self)
        if asked == "best" and own.best is Method.best:
            return f"{self.name} does not look for the best labeling"
        if asked == "sums" and own.marginals is Method.marginals:
            return f"{self.name} does not sum over labelings"
        return f"{self.name} gives marginals without log Z" if asked == "sums" and not self.sums else ""

    def convex_on(self, potentials: GraphPotentials) -> bool:
        """Return whether its log Z of these graphs is convex in the scores, whatever those are."""
        return self.convex

    def without_observed(self, potentials: GraphPotentials) -> Method:
        """Return the method for what is left of the potentials once observed variables are cut out.

        A method whose options name variables has to number them anew; the others stay as they are.
        """
        return self

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z of each graph, [N]."""
        summed = self.marginals(potentials, False, threads)
        return summed.value, summed.info

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return marginals of variables, and of factors where `cliques`."""
        raise self.cannot("give marginals")

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return log Z, and the gradient of sum_n weight[n] log Z_n by the scores of tables."""
        summed = self.marginals(potentials, True, threads)
        by_score = {
            name: summed_by_table(
                table, factor_weights(potentials.batch, name, table, weight), summed.clique[name]
            )
            for name, table in potentials.tables.items()
        }
        return Expected(summed.value, by_score, summed.info)

    def pools(self, potentials: GraphPotentials) -> Bools:
        """Return for which graphs `expected` takes no memory for marginals of each factor, [N]."""
        return np.zeros(potentials.batch.graphs, dtype=np.bool_)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph, or the best that was found; k = 1."""
        raise self.cannot("look for the best labeling")

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labeled:
        """Return the k best labelings of each graph, best first."""
        raise self.cannot("list the k best labelings")

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return n draws from p(y) of each graph."""
        raise self.cannot("draw samples")

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labelings of each graph are allowed."""
        raise self.cannot("count labelings")

    def estimate(self, potentials: GraphPotentials) -> Mapping[str, Any]:
        """Return what an answer would cost, before anything is allocated: "cells", "bytes", "seconds"."""
        raise self.cannot("say beforehand what it costs")

    def cannot(self, what: str) -> MethodError:
        """Return an error that says what this method cannot do."""
        return MethodError(f"{self.name} cannot {what}; use method=Elimination(), or another that can")

    def __str__(self) -> str:
        """Return the name and the options that are not the defaults."""
        changed = [
            f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default
        ]
        return f"{self.name}({', '.join(changed)})" if changed else self.name
