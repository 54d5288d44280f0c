"""ICM, iterated conditional modes (Besag 1986): each variable takes its best label given the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.ascent import visits_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers


@dataclass(frozen=True)
class ICM(Method):
    """Iterated conditional modes: a fast local optimum.

    The answer is never below the start: labels that are given, or the best of each variable's own scores.
    Forbidden factors weigh more than all scores, so that it also looks for an allowed labeling.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import ICM
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0], [2.0, 0.0]), ([0, 1], same), ([1, 2], same)])
    >>> inference.decode(scores, method=ICM())["variable"].tolist()
    [0, 0, 0]
    """

    name: ClassVar[str] = "icm"
    start: Mapping[str, ArrayLike] | None = field(default=None, hash=False)  #: kind -> label ids [V]
    restarts: int = 0  #: further starts from random labels; the best of each graph is kept
    seed: int = 0  #: of the random labels
    sweeps: int = 1000  #: at most, for each start

    def __post_init__(self) -> None:
        """Check the options."""
        if self.start is not None and not isinstance(self.start, Mapping):
            raise TypeError(f"start is {self.start!r}, expected kind -> label ids")
        check_number("restarts", self.restarts, 0, whole=True)
        check_number("seed", self.seed, 0, whole=True)
        check_number("sweeps", self.sweeps, 1, whole=True)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling that was found."""
        climb = Climb(potentials, threads, self.sweeps)
        starts = (
            self._start(potentials) if number == 0 else self._random(potentials, number)
            for number in range(self.restarts + 1)
        )
        label = climb.best_of(*starts)
        lost = np.flatnonzero(climb.score == -np.inf)
        if lost.size:
            raise MethodError(
                f"icm found no allowed labeling of graph {lost[0]}, though there may be one; give "
                "restarts=, or use method=Elimination()"
            )
        score = climb.score
        how = How.of(self.name, len(score), exact=False, converged=climb.converged, lower=score)
        return Labeled(label[None], score[None], how)

    def without_observed(self, potentials: GraphPotentials) -> ICM:
        """Return the same with labels to start from of the variables that are not observed."""
        if self.start is None or potentials.observed is None:
            return self
        return replace(self, start={"variable": self._start(potentials)[potentials.observed < 0]})

    def _start(self, potentials: GraphPotentials) -> Ids:
        alone = best_alone(potentials)
        if self.start is None:
            return alone
        try:
            flat = replace(potentials, observed=None).given(self.start).observed
        except ValueError as error:
            raise MethodError(f"icm: start: {error}") from error
        assert flat is not None
        return np.where(flat < 0, alone, flat).astype(np.int32)

    def _random(self, potentials: GraphPotentials, number: int) -> Ids:
        rng = np.random.default_rng([self.seed, number])
        return rng.integers(0, potentials.batch.width).astype(np.int32)


class Climb:
    """Labels made better one variable at a time; the best of each graph is kept."""

    def __init__(self, potentials: GraphPotentials, threads: int, sweeps: int = 1000) -> None:
        batch = potentials.batch
        self._visits, self._graph_of = visits_of(potentials), batch.graph_of
        self._threads, self._sweeps = threads, sweeps
        self._label = np.full(batch.variables, -1, dtype=np.int32)
        self.score = np.full(batch.graphs, -np.inf)  #: [N] of the best labels so far
        self.converged = True  #: whether sweeps were always enough

    def best_of(self, *starts: Ids) -> Ids:
        """Return the best labels [V] of all starts so far, and of what they become; -1: none is allowed."""
        everywhere = np.ones(len(self.score), dtype=np.uint8)
        for start in starts:
            self._visits.set_label(start)
            begun = self._visits.score()
            self.converged &= self._visits.improve(everywhere, self._sweeps, self._threads)
            for found, labels in ((begun, start), (self._visits.score(), self._visits.label())):
                better = found > self.score
                self.score[better] = found[better]
                replaced = better[self._graph_of]
                self._label[replaced] = labels[replaced]
        return self._label.copy()


def best_alone(potentials: GraphPotentials) -> Ids:
    """Return the label of each variable that its own scores prefer, [V]."""
    batch = potentials.batch
    own: Floats = np.zeros(int(batch.label_ptr[-1]))
    for name, table in potentials.tables.items():
        scope = batch.scopes[name]
        if scope.shape[1] != 1 or not len(scope):
            continue
        rows = table.scores[table_numbers(table, len(scope))]
        if table.scale is not None:
            rows = rows * table.scale[:, None]
        np.add.at(own, batch.label_ptr[scope[:, 0], None] + np.arange(rows.shape[1]), rows)
    label = np.zeros(batch.variables, dtype=np.int32)
    for width in np.unique(batch.width).tolist():
        same = np.flatnonzero(batch.width == width)
        label[same] = own[batch.label_ptr[same, None] + np.arange(width)].argmax(axis=1)
    return label
