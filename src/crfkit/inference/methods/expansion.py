"""Good labelings of many labels by cuts: expansion and swap moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.cuts import allowed, refuse
from crfkit.inference.methods.how import How
from crfkit.inference.methods.icm import Climb, best_alone
from crfkit.inference.methods.method import Labeled, Method
from crfkit.inference.methods.registry import method_of
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class _Moves(Method):
    """What both kinds of moves have in common."""

    needs: ClassVar[str] = ""  #: what tables must be for moves to be cuts
    start: Method | str | None = None  #: whose labels to begin with; None: each variable's best
    cycles: int = 100  #: at most so many rounds of moves; it mostly takes three to six

    def __post_init__(self) -> None:
        check_number("cycles", self.cycles, None, whole=True)
        if self.cycles < 1:
            raise MethodError(f"cycles is {self.cycles}, expected 1 or more")

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return a labeling that no move improves."""
        graphs, first = potentials.batch.graphs, None
        if self.start is not None:
            first = np.maximum(method_of(self.start).best(potentials, threads).label[0], 0)
        label, cycles, done, fused = self._moved(potentials, first)
        climb, stuck = Climb(potentials, threads), potentials.labeling_score(label)
        climbed = climb.best_of(best_alone(potentials), *([label] if fused else []))
        higher = climb.score > stuck
        if higher.any():  # mostly where tables are not metric, so that moves are no cuts
            begin = np.where(higher[potentials.batch.graph_of], climbed, label)
            label, more, done, again = self._moved(potentials, begin)
            cycles, fused = cycles + more, fused + again
        notes: tuple[str, ...] = ()
        if fused:
            notes = (
                f"{fused} moves by roof duality, for tables that are not {self.needs}: TRWS() may find "
                f"better labels; those of icm helped {higher.sum()} graphs",
            )
        score = potentials.labeling_score(label)
        none = np.isneginf(score)  # a variable has no label
        how = How.of(
            self.name, graphs, exact=none, converged=done != 0, sweeps=cycles, lower=score, notes=notes
        )
        return Labeled(allowed(potentials, label, score)[None], score[None], how)

    def _moved(self, potentials: GraphPotentials, first: Ids | None) -> tuple[Ids, Any, Any, int]:
        """Return labels [V], rounds [N], whether they were enough [N], and how many moves were no cuts."""
        label, cycles, done, fused, refused = _native.moves(
            potentials.problem, first, isinstance(self, Swap), self.cycles
        )
        refuse(
            self.name,
            potentials,
            refused,
            forbids="forbids the labels that moves begin with; give start=, a method that finds others",
        )
        return label, cycles, done, fused


@dataclass(frozen=True)
class Expansion(_Moves):
    """Alpha-expansion: no move that gives a label to any set of variables improves the labeling.

    Each move is a minimum cut, label after label, until none helps. If all tables are metric (`is_metric`;
    the more labels differ, the lower the score: "potts", truncated distances), the energy, -score, ends
    within a factor of two of the least where all labels that differ cost the same. Moves of other tables
    are made as far as roof duality decides them, as ``info.notes`` says; `TRWS` mostly finds better labels
    then. Where labels of `ICM` are better, moves begin again with those: no answer is below that of `ICM`.

    Boykov, Veksler & Zabih (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Expansion
    >>> graph = Graph({"pixel": 3}, look=["pixel"], near=["pixel", "pixel"])
    >>> batch = graph.batch(sizes={"pixel": 4}, scopes={"near": [[0, 1], [1, 2], [2, 3]]})
    >>> scores = batch.potentials(look=[[2.0, 0, 0], [0, 0.9, 0], [0, 0, 1], [0, 0, 3]], near=np.eye(3))
    >>> inference.decode(scores, method=Expansion())["pixel"].tolist()
    [0, 0, 2, 2]
    """

    name: ClassVar[str] = "expansion"
    needs: ClassVar[str] = "metric"


@dataclass(frozen=True)
class Swap(_Moves):
    """Alpha-beta swap: no exchange of two labels improves the labeling.

    Slower than `Expansion`, one move for each two labels; but the tables need not keep the triangle
    inequality, so that squared differences can be used. For other tables, see `Expansion`.

    Boykov, Veksler & Zabih (2001).

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Swap
    >>> squares = [[0.0, -1.0, -4.0], [-1.0, 0.0, -1.0], [-4.0, -1.0, 0.0]]
    >>> scores = Graph.from_factors([3, 3], [([0], [3.0, 0.0, 0.0]), ([1], [0, 0.0, 2.0]), ([0, 1], squares)])
    >>> inference.decode(scores, method=Swap())["variable"].tolist()
    [0, 0]
    """

    name: ClassVar[str] = "swap"
    needs: ClassVar[str] = "semi-metric"


def is_metric(scores: Floats) -> Bools:
    """Return whether tables [K, L, L] are metric: every expansion of theirs is a cut.

    That is ``score[a, a'] + score[b, b] >= score[a, b] + score[b, a']`` for all labels a, a', b.

    Examples
    --------
    >>> import numpy as np
    >>> distance = np.abs(np.subtract.outer(range(4), range(4)))
    >>> is_metric(-np.stack([distance, distance**2, np.minimum(distance, 2)])).tolist()
    [True, False, True]
    """
    tables = _square(scores)
    good = np.ones(len(tables), dtype=np.bool_)
    for b in range(tables.shape[1]):
        through = tables[:, :, b, None] + tables[:, b, None, :]
        good &= (tables + tables[:, b, b, None, None] >= through).all(axis=(1, 2))
    return good


def _square(scores: Floats) -> Floats:
    tables = np.asarray(scores, dtype=np.float64)
    if tables.ndim != 3 or tables.shape[1] != tables.shape[2]:
        raise ValueError(f"the tables have shape {tables.shape}, expected [K, L, L]")
    return tables
