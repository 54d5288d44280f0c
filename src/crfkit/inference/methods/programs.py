"""The best labeling by linear and integer programs, after TRW-S has left little to decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.checks import check_number
from crfkit.errors import MethodError
from crfkit.inference.methods.ascent import Ascent, ascend, same_score, visits_of
from crfkit.inference.methods.losses import Losses, losses_of
from crfkit.inference.methods.method import Labeled, Method
from crfkit.inference.methods.polytope import Row, solve_part
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class Linear:
    """A linear constraint on labels: ``low <= sum of weights of the labels that are chosen <= high``.

    Examples
    --------
    At most one of two variables may have label 1:

    >>> from crfkit.inference.methods import Linear
    >>> Linear({("variable", 0, 1): 1.0, ("variable", 1, 1): 1.0}, high=1.0)
    Linear(terms={('variable', 0, 1): 1.0, ('variable', 1, 1): 1.0}, low=-inf, high=1.0)
    """

    terms: Mapping[tuple[str, int, int], float] = field(hash=False)  #: (kind, variable, label id) -> weight
    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        """Check that there is something to add up, and room for it."""
        if not self.terms:
            raise ValueError("a linear constraint needs terms: {(kind, variable, label): weight}")
        if not all(np.isfinite(weight) for weight in self.terms.values()):
            raise ValueError("the weights of a linear constraint must be finite numbers")
        if not self.low <= self.high:
            raise ValueError(f"low is {self.low}, above high, which is {self.high}")


class Search:
    """What is known of the best labelings of a batch: TRW-S, its losses, labels and bounds so far."""

    def __init__(
        self, potentials: GraphPotentials, sweeps: int, tol: float, threads: int, until: float = np.inf
    ) -> None:
        self.potentials, self.threads = potentials, threads
        self.visits: _native.Visits = visits_of(potentials, both=True)
        self.ascent: Ascent = ascend(self.visits, potentials, sweeps, tol, threads, until)
        self.label, self.score = self.ascent.label.copy(), self.ascent.score.copy()
        self.bound = self.ascent.bound.copy()
        self.losses: Losses = losses_of(self.visits, potentials)
        self.bound = np.minimum(self.bound, self.losses.bound)
        self.converged = np.ones(len(self.score), dtype=np.bool_)
        self.notes: list[str] = []

    def open(self) -> Pointers:
        """Return the graphs whose best labeling is not known yet."""
        return np.flatnonzero(~same_score(self.score, self.bound))

    def reach(self, graph: int) -> float:
        """Return what the best labeling loses at most."""
        gap = float(self.losses.bound[graph] - self.score[graph])
        return gap + 1e-9 * (1.0 + abs(float(self.losses.bound[graph])))

    def offer(self, graph: int, label: Ids, *, improve: bool) -> None:
        """Keep the labels [V] of a graph if they are better."""
        mine = self.potentials.batch.graph_of == graph
        whole = np.where(mine, label, 0).astype(np.int32)
        self.visits.set_label(whole)
        if improve:
            active = np.zeros(len(self.score), dtype=np.uint8)
            active[graph] = 1
            self.visits.improve(active, 100, self.threads)
        score = float(self.visits.score()[graph])
        if score > self.score[graph]:
            self.score[graph] = score
            self.label[mine] = self.visits.label()[mine]

    def prove(self, graph: int, loss: float) -> None:
        """Say that every labeling of a graph that is better than ours loses at least so much."""
        bound = max(float(self.losses.bound[graph]) - loss, float(self.score[graph]))
        self.bound[graph] = min(float(self.bound[graph]), bound)

    def labeled(self, name: str) -> Labeled:
        """Return the answer of a method; an error where no labels were found."""
        return Ascent(
            self.label, self.score, self.bound, self.ascent.sweeps, self.converged, tuple(self.notes)
        ).labeled(name)


@dataclass(frozen=True)
class LinearProgram(Method):
    """The linear program over the local polytope: a bound, and the best labeling if it has no fractions.

    TRW-S comes first: the program has only the labels and cells that a better labeling could use.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import LinearProgram
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], differ), ([1, 2], differ), ([0, 2], differ)])
    >>> found = inference.decode(scores, method=LinearProgram())
    >>> found.score, found.info.upper.round(6).tolist(), found.info.exact.tolist()
    (2.0, [3.0], [False])
    """

    name: ClassVar[str] = "lp"
    columns: int = 100_000  #: of a program; more are refused
    sweeps: int = 200  #: of TRW-S before

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("columns", self.columns, 1, whole=True)
        check_number("sweeps", self.sweeps, 1, whole=True)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the labels of the program, rounded and improved where it has fractions, and its bound."""
        search = Search(potentials, self.sweeps, 1e-6, threads)
        for n in search.open():
            part = solve_part(
                search.losses,
                potentials.batch.graph_of == n,
                search.reach(n),
                integral=False,
                most=self.columns,
            )
            if part is None:
                search.prove(n, np.inf)
                continue
            search.offer(n, part.label, improve=not part.whole)
            search.prove(n, part.loss if part.whole else part.least)
        return search.labeled(self.name)


@dataclass(frozen=True)
class IntegerProgram(Method):
    """An integer program, solved by HiGHS: the best labeling, also under linear constraints.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import IntegerProgram, Linear
    >>> scores = Graph.from_factors([2, 2], [([0], [0.0, 1.0]), ([1], [0.0, 2.0])])
    >>> one = Linear({("variable", 0, 1): 1.0, ("variable", 1, 1): 1.0}, high=1.0)
    >>> inference.decode(scores, method=IntegerProgram(constraints=(one,)))["variable"].tolist()
    [0, 1]
    """

    name: ClassVar[str] = "ilp"
    constraints: Sequence[Linear] = ()  #: each about variables of one graph
    seconds: float | None = None  #: after which the search stops, converged or not
    columns: int = 100_000  #: of a program; more are refused
    sweeps: int = 200  #: of TRW-S before

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("columns", self.columns, 1, whole=True)
        check_number("sweeps", self.sweeps, 1, whole=True)
        if self.seconds is not None:
            check_number("seconds", self.seconds)
        if isinstance(self.constraints, Linear) or not isinstance(self.constraints, Iterable):
            raise TypeError(
                f"constraints is {self.constraints!r}, expected a list of crfkit.inference.methods.Linear"
            )
        for given in self.constraints:
            if not isinstance(given, Linear):
                raise TypeError(
                    f"constraints has {given!r}, expected objects of crfkit.inference.methods.Linear"
                )
        object.__setattr__(self, "constraints", tuple(self.constraints))

    def without_observed(self, potentials: GraphPotentials) -> IntegerProgram:
        """Return the same with constraints on the variables that are not observed."""
        observed = potentials.observed
        if not self.constraints or observed is None:
            return self
        number = np.cumsum(observed < 0) - 1
        made = []
        for given in self.constraints:
            terms: dict[tuple[str, int, int], float] = {}
            sure = 0.0
            for (kind, variable, label), weight in given.terms.items():
                v, _ = _place(potentials, kind, variable, label)
                if observed[v] < 0:
                    terms["variable", int(number[v]), label] = weight
                elif observed[v] == label:
                    sure += weight
            if terms:
                made.append(Linear(terms, given.low - sure, given.high - sure))
            elif not given.low <= sure <= given.high:
                raise MethodError(f"the observed labels break the constraint {given}")
        return replace(self, constraints=tuple(made))

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling; what was found until then where the time is over."""
        until = np.inf if self.seconds is None else monotonic() + self.seconds
        rows = self._rows(potentials)
        search = Search(potentials, self.sweeps, 1e-6, threads)
        for n, mine in rows.items():
            if search.score[n] > -np.inf and not _holds(mine, potentials, search.label):
                search.score[n] = -np.inf
                search.label[potentials.batch.graph_of == n] = -1
        for n in search.open():
            self._solve(search, int(n), rows.get(int(n), []), until)
        return search.labeled(self.name)

    def _solve(self, search: Search, n: int, rows: Sequence[Row], until: float) -> None:
        inside = search.potentials.batch.graph_of == n
        reach = search.reach(n)
        if rows and reach == np.inf:  # constraints cost little, as a rule
            reach = max(1e-2 * abs(float(search.losses.bound[n])), 1.0)
        while True:
            part = solve_part(
                search.losses, inside, reach, integral=True, most=self.columns, until=until, rows=rows
            )
            if part is not None and part.loss < np.inf:
                search.offer(n, part.label, improve=False)
            if part is not None and not part.solved:
                search.converged[n] = False
                if reach >= search.reach(n):
                    search.prove(n, part.least)
                return
            if not reach < search.reach(n):  # nor if it is nan
                search.prove(n, np.inf)
                return
            reach = min(search.reach(n), 16.0 * reach if reach < 1e12 else np.inf)

    def _rows(self, potentials: GraphPotentials) -> dict[int, list[Row]]:
        """Return the constraints of each graph, in flat labels."""
        batch = potentials.batch
        made: dict[int, list[Row]] = {}
        for given in self.constraints:
            places = [_place(potentials, *term) for term in given.terms]
            variables = np.array([v for v, _ in places])
            graph = np.unique(batch.graph_of[variables])
            if len(graph) > 1:
                raise MethodError(f"a constraint joins graphs {graph[0]} and {graph[1]}: {given}")
            labels = np.array([x for _, x in places], dtype=np.int64)
            weight = np.array(list(given.terms.values()), dtype=np.float64)
            made.setdefault(int(graph[0]), []).append(
                Row(batch.label_ptr[variables] + labels, weight, float(given.low), float(given.high))
            )
        return made


def _place(potentials: GraphPotentials, kind: str, variable: int, label: int) -> tuple[int, int]:
    """Return the flat variable and the label of a term, checked."""
    batch = potentials.batch
    if kind not in batch.kind_ptr:
        raise MethodError(f"a constraint names kind {kind!r}; the kinds are {', '.join(batch.kind_ptr)}")
    first, last = batch.kind_ptr[kind]
    if not 0 <= variable < last - first:
        raise MethodError(
            f"a constraint names variable {variable} of kind {kind!r}, expected 0 to {last - first - 1}"
        )
    width = int(batch.width[first + variable])
    if not 0 <= label < width:
        raise MethodError(
            f"a constraint names label {label} of variable {variable} of kind {kind!r}, expected 0 to "
            f"{width - 1}"
        )
    return first + variable, label


def _holds(rows: Sequence[Row], potentials: GraphPotentials, label: Ids) -> bool:
    """Return whether a labeling keeps all constraints."""
    chosen: Floats = np.zeros(int(potentials.batch.label_ptr[-1]))
    chosen[potentials.batch.label_ptr[:-1] + np.maximum(label, 0)] = 1.0
    sums = [float(row.weight @ chosen[row.label]) for row in rows]
    return all(row.low - 1e-9 <= sum_ <= row.high + 1e-9 for row, sum_ in zip(rows, sums, strict=True))
