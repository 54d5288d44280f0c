"""The method that is used where none is named: exact where that is cheap, component by component.

What fits the budget of cells is eliminated, so that its answers are exact. What does not fit is answered by
belief propagation (sums), Gibbs sampling (draws), or cuts, TRW-S, expansion moves and CombiLP (the best
labelling), and `.how` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from crfkit.arrays import Bools, Floats
from crfkit.checks import check_number
from crfkit.inference.methods.belief import BeliefPropagation
from crfkit.inference.methods.elimination import Elimination
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labelled, Method, Summed
from crfkit.inference.methods.pieces import labelled_together, summed_together
from crfkit.inference.methods.portfolio import cut_graphs, search_labels
from crfkit.structures.graph_potentials import GraphPotentials
from crfkit.structures.parts import Components, Part, components, part_of

__all__ = ["Auto"]

Answer = TypeVar("Answer", Summed, Labelled)

#: Cells of a component whose best labelling is found by elimination, although a cut might be faster.
_QUICK = 2**22


@dataclass(frozen=True)
class Auto(Method):
    """Exact where the tables of elimination fit the budget, else the best that is known for the graph.

    Components of a graph are answered one by one. ``how`` says which methods answered for each graph,
    whether all of them were exact, and ``how.notes`` what was too wide.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.methods import Auto
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], same), ([1, 2], same), ([0, 2], same)])
    >>> str(inference.log_partition(scores).how)
    '1 graph by elimination: exact'
    >>> inference.log_partition(scores, method=Auto(budget=4)).how.notes
    ('1 component has more than the 4 cells of the budget: not eliminated',)
    """

    name: ClassVar[str] = "auto"
    budget: int = 2**27  #: cells of the tables of a component that is eliminated; one takes 8 bytes
    seconds: float = 60.0  #: after which an integer program, the last resort of `decode`, is given up

    def __post_init__(self) -> None:
        """Check the options."""
        Elimination(self.budget)
        check_number("seconds", self.seconds)

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z, or Bethe's approximation of it where a component is too wide."""
        if (self._cells(potentials, threads) <= self.budget).all():
            return Elimination(self.budget).log_partition(potentials, threads)
        return super().log_partition(potentials, threads)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return marginals, exact but for components that are too wide."""

        def exactly(some: GraphPotentials) -> Summed:
            return Elimination(self.budget).marginals(some, cliques, threads)

        def roughly(some: GraphPotentials) -> Summed:
            wide = np.ones(some.batch.graphs, dtype=np.bool_)
            return _with_note(BeliefPropagation().marginals(some, cliques, threads), self._note(wide))

        return self._answer(potentials, threads, exactly, roughly, summed_together, self.budget)

    def best(self, potentials: GraphPotentials, threads: int) -> Labelled:
        """Return the best labelling, or the best that was found and a bound."""

        def exactly(some: GraphPotentials) -> Labelled:
            return Elimination(self.budget).best(some, threads)

        def roughly(some: GraphPotentials) -> Labelled:
            return self._wide_best(some, threads)

        most = min(self.budget, _QUICK)
        return self._answer(potentials, threads, exactly, roughly, labelled_together, most)

    def _wide_best(self, potentials: GraphPotentials, threads: int) -> Labelled:
        """Return the best labellings of graphs whose elimination takes long, or too much."""
        every = Components(potentials.batch, np.arange(potentials.batch.graphs, dtype=np.int32))
        left = np.ones(potentials.batch.graphs, dtype=np.bool_)
        pieces = list(cut_graphs(potentials, threads))
        for part, _ in pieces:
            left[part.graphs] = False
        narrow = left & (self._cells(potentials, threads) <= self.budget)
        wide = left & ~narrow
        if narrow.any():
            part = _part(every, narrow)
            pieces.append((part, Elimination(self.budget).best(part.potentials(potentials), threads)))
        if wide.any():
            part = _part(every, wide)
            found = search_labels(part.potentials(potentials), self.seconds, threads)
            pieces.append((part, _with_note(found, self._note(wide))))
        return labelled_together(potentials, every, pieces)

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labelled:
        """Return the k best labellings; graphs that are too wide are refused."""
        return Elimination(self.budget).kbest(potentials, k, threads)

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labelled:
        """Return n draws; graphs that are too wide are refused."""
        return Elimination(self.budget).sample(potentials, n, seed, threads)

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labellings are allowed; graphs that are too wide are refused."""
        return Elimination(self.budget).count(potentials, threads)

    def _cells(self, potentials: GraphPotentials, threads: int) -> Floats:
        """Return the cells that elimination of each graph needs, [N]."""
        cells: Floats = Elimination(self.budget).estimate(potentials, threads)["cells"]
        return cells

    def _answer(
        self,
        potentials: GraphPotentials,
        threads: int,
        exactly: Callable[[GraphPotentials], Answer],
        roughly: Callable[[GraphPotentials], Answer],
        together: Callable[[GraphPotentials, Components, Sequence[tuple[Part, Answer]]], Answer],
        most: int,
    ) -> Answer:
        """Return the answers of components of up to `most` cells by one method, of wide ones by another."""
        narrow = self._cells(potentials, threads) <= most
        if narrow.all():
            return exactly(potentials)
        split = components(potentials.batch)
        apart = split.potentials(potentials)
        if split.batch.graphs > potentials.batch.graphs:
            narrow = self._cells(apart, threads) <= most
        pieces: list[tuple[Part, Answer]] = []
        for chosen, method in ((narrow, exactly), (~narrow, roughly)):
            if chosen.any():
                part = _part(split, chosen)
                pieces.append((part, method(part.potentials(apart))))
        return together(potentials, split, pieces)

    def _note(self, wide: Bools) -> str:
        many = "components have" if wide.sum() > 1 else "component has"
        return f"{wide.sum()} {many} more than the {self.budget} cells of the budget: not eliminated"


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, how=replace(answer.how, notes=(note, *answer.how.notes)))


def _part(split: Components, chosen: Bools) -> Part:
    """Return some components; they are kept, and with them what methods prepare for them."""
    if chosen.all():
        batch = split.batch
        factors = {name: np.arange(len(scope)) for name, scope in batch.scopes.items()}
        return Part(batch, np.arange(batch.graphs), np.arange(batch.variables), factors)
    return split.batch.prepared(("part", chosen.tobytes()), lambda: part_of(split.batch, chosen))
