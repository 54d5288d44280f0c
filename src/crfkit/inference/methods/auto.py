"""The method that is used where none is named: exact where that is cheap, component by component.

What fits the budget of cells is eliminated, so that its answers are exact. What does not fit is answered by
belief propagation (sums) or by TRW-S (the best labelling), and `.how` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from crfkit.arrays import Bools, Floats
from crfkit.inference.methods.belief import BeliefPropagation
from crfkit.inference.methods.elimination import Elimination
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labelled, Method, Summed
from crfkit.inference.methods.pieces import labelled_together, summed_together
from crfkit.inference.methods.trws import TRWS
from crfkit.structures.graph_potentials import GraphPotentials
from crfkit.structures.parts import Components, Part, components, part_of

__all__ = ["Auto"]

Answer = TypeVar("Answer", Summed, Labelled)


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

    def __post_init__(self) -> None:
        """Check the budget."""
        Elimination(self.budget)

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z, or Bethe's approximation of it where a component is too wide."""
        exact = Elimination(self.budget)
        if self._narrow(potentials, threads).all():
            return exact.log_partition(potentials, threads)
        return super().log_partition(potentials, threads)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return marginals, exact but for components that are too wide."""

        def exactly(some: GraphPotentials) -> Summed:
            return Elimination(self.budget).marginals(some, cliques, threads)

        def roughly(some: GraphPotentials) -> Summed:
            return BeliefPropagation().marginals(some, cliques, threads)

        return self._answer(potentials, threads, exactly, roughly, summed_together)

    def best(self, potentials: GraphPotentials, threads: int) -> Labelled:
        """Return the best labelling, or the best that TRW-S found and its bound."""

        def exactly(some: GraphPotentials) -> Labelled:
            return Elimination(self.budget).best(some, threads)

        def roughly(some: GraphPotentials) -> Labelled:
            return TRWS().best(some, threads)

        return self._answer(potentials, threads, exactly, roughly, labelled_together)

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labelled:
        """Return the k best labellings; graphs that are too wide are refused."""
        return Elimination(self.budget).kbest(potentials, k, threads)

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labelled:
        """Return n draws; graphs that are too wide are refused."""
        return Elimination(self.budget).sample(potentials, n, seed, threads)

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labellings are allowed; graphs that are too wide are refused."""
        return Elimination(self.budget).count(potentials, threads)

    def _narrow(self, potentials: GraphPotentials, threads: int) -> Bools:
        """Return which graphs fit the budget, [N]."""
        cells: Floats = Elimination(self.budget).estimate(potentials, threads)["cells"]
        return cells <= self.budget

    def _answer(
        self,
        potentials: GraphPotentials,
        threads: int,
        exactly: Callable[[GraphPotentials], Answer],
        roughly: Callable[[GraphPotentials], Answer],
        together: Callable[[GraphPotentials, Components, Sequence[tuple[Part, Answer]]], Answer],
    ) -> Answer:
        """Return the answers of narrow components by one method, of wide ones by another."""
        narrow = self._narrow(potentials, threads)
        if narrow.all():
            return exactly(potentials)
        split = components(potentials.batch)
        apart = split.potentials(potentials)
        if split.batch.graphs > potentials.batch.graphs:
            narrow = self._narrow(apart, threads)
        if not narrow.any():
            return _with_note(roughly(potentials), self._note(narrow))
        pieces: list[tuple[Part, Answer]] = []
        for chosen, method in ((narrow, exactly), (~narrow, roughly)):
            part = _part(split, chosen)
            pieces.append((part, method(part.potentials(apart))))
        return _with_note(together(potentials, split, pieces), self._note(narrow))

    def _note(self, narrow: Bools) -> str:
        wide = int((~narrow).sum())
        many = "components have" if wide > 1 else "component has"
        return f"{wide} {many} more than the {self.budget} cells of the budget: not eliminated"


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, how=replace(answer.how, notes=(note, *answer.how.notes)))


def _part(split: Components, chosen: Bools) -> Part:
    """Return some components; they are kept, and with them what methods prepare for them."""
    return split.batch.prepared(("part", chosen.tobytes()), lambda: part_of(split.batch, chosen))
