"""The method that is used where none is named: exact where that is cheap, component by component.

What fits the budget of cells is eliminated, so that its answers are exact. What does not fit is answered by
belief propagation (sums), Gibbs sampling (draws), or cuts, TRW-S, expansion moves and CombiLP (the best
labeling), and `.info` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from crfkit.arrays import Bools, Floats
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.belief import BeliefPropagation
from crfkit.inference.methods.cuts import MinCut
from crfkit.inference.methods.elimination import Elimination, TooWideError
from crfkit.inference.methods.gibbs import Gibbs
from crfkit.inference.methods.how import How
from crfkit.inference.methods.lanes import lanes_of
from crfkit.inference.methods.method import Expected, Labeled, Method, Summed
from crfkit.inference.methods.pieces import counted_together, labeled_together, summed_together
from crfkit.inference.methods.portfolio import cut_graphs, search_labels
from crfkit.inference.methods.trws import TRWS
from crfkit.structures.graphs.parts import Components, Part, components, part_of
from crfkit.structures.graphs.potentials import GraphPotentials

Answer = TypeVar("Answer", Summed, Labeled, Expected)

#: Variables of a graph for which a cut and a few passes of TRW-S are tried before elimination: they are
#: faster where they prove their answer.
_LARGE = 32
_PASSES = 8
#: What sets the random numbers of Markov chains apart from those of exact draws with the same seed.
_APART = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Auto(Method):
    """The default: exact if elimination fits the budget, else the best approximation for the graph.

    Components of a graph are answered one by one. ``info`` says which methods answered for each graph,
    whether all of them were exact, and ``info.notes`` what was too wide.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Auto
    >>> same = [[1.0, 0.0], [0.0, 1.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], same), ([1, 2], same), ([0, 2], same)])
    >>> str(inference.log_partition(scores).info)
    '1 graph by elimination: exact'
    >>> inference.log_partition(scores, method=Auto(budget=4)).info.notes
    ('1 component has more than the 4 cells of the budget: not eliminated',)
    """

    name: ClassVar[str] = "auto"
    budget: int = 2**27  #: cells of the tables of a component that is eliminated; one takes 8 bytes
    seconds: float = 10.0  #: after which an integer program, the last resort of `decode`, is given up
    messages: BeliefPropagation | None = None  #: for sums of wide components; None: with its defaults

    def __post_init__(self) -> None:
        """Check the options."""
        Elimination(self.budget)
        if not isinstance(self.messages, BeliefPropagation | None):
            raise MethodError(f"messages is {self.messages!r}, expected BeliefPropagation(...)")
        check_number("seconds", self.seconds)

    def convex_on(self, potentials: GraphPotentials) -> bool:
        """Return whether all components are eliminated: sums of belief propagation are not convex."""
        return bool(_within(Elimination(self.budget), potentials).all())

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z, or Bethe's approximation of it where a component is too wide."""
        try:
            return Elimination(self.budget).log_partition(potentials, threads)
        except TooWideError:
            return super().log_partition(potentials, threads)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return marginals, exact but for components that are too wide."""
        exact = Elimination(self.budget)
        return self._answer(
            potentials,
            exact,
            lambda some: exact.marginals(some, cliques, threads),
            lambda some: self._noted(
                (self.messages or BeliefPropagation()).marginals(some, cliques, threads)
            ),
            summed_together,
        )

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts, exact but for components that are too wide."""
        exact, messages = Elimination(self.budget), self.messages or BeliefPropagation()
        try:
            return exact.expected(potentials, weight, threads)
        except TooWideError:
            split = components(potentials.batch)
        each = weight[split.graph]  # [C]
        pieces: list[tuple[Part, Expected]] = []
        for part, some, narrow in self._parts(potentials, split, exact):
            method = exact if narrow else messages
            found = method.expected(some, each[part.graphs], threads)
            pieces.append((part, found if narrow else self._noted(found)))
        return counted_together(potentials, split, pieces)

    def pools(self, potentials: GraphPotentials) -> Bools:
        """Return which graphs are sequences of equal slices, [N]."""
        return Elimination(self.budget).pools(potentials)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling, or the best that was found and a bound."""
        large = potentials.batch.variables > _LARGE * potentials.batch.graphs
        quick = _quickly(potentials, threads) if large and not lanes_of(potentials, threads).all else None
        if quick is not None:
            return quick
        exact = Elimination(self.budget)
        return self._answer(
            potentials,
            exact,
            lambda some: exact.best(some, threads),
            lambda some: self._wide_best(some, threads),
            labeled_together,
        )

    def _wide_best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labelings of graphs that are too wide to be eliminated, or good ones."""
        every = Components(potentials.batch, np.arange(potentials.batch.graphs, dtype=np.int32))
        left = np.ones(potentials.batch.graphs, dtype=np.bool_)
        pieces = list(cut_graphs(potentials, threads))
        for part, _ in pieces:
            left[part.graphs] = False
        if left.any():
            part = _part(every, left)
            found = search_labels(part.potentials(potentials), self.seconds, threads)
            pieces.append((part, self._noted(found)))
        return labeled_together(potentials, every, pieces)

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labeled:
        """Return the k best labelings; graphs that are too wide are refused."""
        return Elimination(self.budget).kbest(potentials, k, threads)

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return n independent draws; those of components that are too wide are of Markov chains."""
        exact, other = Elimination(self.budget), (seed + _APART) % 2**64
        return self._answer(
            potentials,
            exact,
            lambda some: exact.sample(some, n, seed, threads),
            lambda some: self._noted(Gibbs(block=True).sample(some, n, other, threads)),
            labeled_together,
        )

    def count(self, potentials: GraphPotentials, threads: int) -> tuple[list[int], How]:
        """Return how many labelings are allowed; graphs that are too wide are refused."""
        return Elimination(self.budget).count(potentials, threads)

    def _answer(
        self,
        potentials: GraphPotentials,
        exact: Elimination,
        exactly: Callable[[GraphPotentials], Answer],
        roughly: Callable[[GraphPotentials], Answer],
        together: Callable[[GraphPotentials, Components, Sequence[tuple[Part, Answer]]], Answer],
    ) -> Answer:
        """Return exact answers where components are not too wide for `exact`, and rough ones elsewhere."""
        try:
            return exactly(potentials)
        except TooWideError:
            split = components(potentials.batch)
        pieces = [
            (part, exactly(some) if narrow else roughly(some))
            for part, some, narrow in self._parts(potentials, split, exact)
        ]
        return together(potentials, split, pieces)

    def _parts(
        self, potentials: GraphPotentials, split: Components, exact: Elimination
    ) -> Iterator[tuple[Part, GraphPotentials, bool]]:
        """Yield the components that are not too wide for `exact`, and those that are."""
        apart = split.potentials(potentials)
        connected = np.bincount(split.graph).max(initial=0) <= 1
        if connected and (potentials.constant is None or np.isfinite(potentials.constant).all()):
            narrow = _within(exact, potentials)[split.graph]
        else:
            narrow = _within(exact, apart)
        for chosen in (narrow, ~narrow):
            if chosen.any():
                part = _part(split, chosen)
                yield part, part.potentials(apart), chosen is narrow

    def _noted(self, answer: Answer) -> Answer:
        """Return the answer about components that are too wide, with a note that says so."""
        wide = len(answer.info.method)
        many = "components have" if wide > 1 else "component has"
        note = f"{wide} {many} more than the {self.budget} cells of the budget: not eliminated"
        return replace(answer, info=replace(answer.info, notes=(note, *answer.info.notes)))


def _quickly(potentials: GraphPotentials, threads: int) -> Labeled | None:
    """Return the best labelings of all graphs, where a cut or a few passes of TRW-S prove them."""
    for method in (MinCut(), TRWS(sweeps=_PASSES)):
        try:
            found = method.best(potentials, threads)
        except MethodError:  # not binary or not submodular; nothing found
            continue
        if found.info.exact.all():
            return found
    return None


def _within(exact: Elimination, potentials: GraphPotentials) -> Bools:
    """Return which graphs fit the budget, [N]."""
    cells: Floats = exact.estimate(potentials)["cells"]
    return cells <= exact.budget


def _part(split: Components, chosen: Bools) -> Part:
    """Return some components; they are kept, and with them what methods prepare for them."""
    if chosen.all():
        batch = split.batch
        factors = {name: np.arange(len(scope)) for name, scope in batch.scopes.items()}
        return Part(batch, np.arange(batch.graphs), np.arange(batch.variables), factors)
    return split.batch.prepared(("part", chosen.tobytes()), lambda: part_of(split.batch, chosen))
