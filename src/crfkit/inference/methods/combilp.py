"""CombiLP: TRW-S where it decides, an integer program where it leaves doubt (Savchynskyy et al. 2013).

After TRW-S a labeling loses nothing in most factors. The variables of the others are solved as an integer
program of their own. If its labels and those of the rest lose nothing in the factors between them, the whole
is the best labeling: no labeling loses less in the program's part, and none less than nothing elsewhere.
Otherwise the variables of those factors join the program. Before, variables that are cheap to maximize out
are (`shrink.py`): linkage_14 of UAI 2014 is proved in a sixth of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

import numpy as np

from crfkit.arrays import Bools, Ids
from crfkit.checks import check_number
from crfkit.inference.methods.method import Labeled, Method
from crfkit.inference.methods.polytope import TooLargeError, solve_part
from crfkit.inference.methods.programs import Search
from crfkit.inference.methods.shrink import shrunk
from crfkit.structures.graphs.parts import part_of
from crfkit.structures.graphs.potentials import GraphPotentials

_MOST = 20_000  # variables of a graph of which the cheap ones are maximized out, one by one in Python


@dataclass(frozen=True)
class CombiLP(Method):
    """TRW-S, then an integer program for the part where it leaves doubt: the best labeling, with a proof.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import CombiLP
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> scores = Graph.from_factors([2, 2, 2], [([0, 1], differ), ([1, 2], differ), ([0, 2], differ)])
    >>> found = inference.decode(scores, method=CombiLP())
    >>> found.score, found.info.exact.tolist()
    (2.0, [True])
    """

    name: ClassVar[str] = "combilp"
    sweeps: int = 1000  #: of TRW-S, at most
    tol: float = 1e-7  #: of TRW-S: a sweep that lowers the bound by less, relative to it, is the last
    seconds: float | None = 60.0  #: after which the search stops, proved or not; None: never, which repeats
    columns: int = 100_000  #: of a program; where it would need more, the answer is that of TRW-S
    shrink: int = 128  #: cells of the table of a variable that is maximized out before; 0: none is

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("tol", self.tol)
        check_number("columns", self.columns, 1, whole=True)
        check_number("shrink", self.shrink, 0, whole=True)
        if self.seconds is not None:
            check_number("seconds", self.seconds)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling; what was found until then where the time is over."""
        seconds = np.inf if self.seconds is None else self.seconds
        begin = monotonic()
        search = Search(potentials, self.sweeps, self.tol, threads, begin + 0.5 * seconds)
        for n in search.open():
            try:
                self._shrink(search, int(n), begin, seconds)
            except TooLargeError as error:
                search.converged[n] = False
                search.notes.append(f"graph {n} is not proved: {error}")
        return search.labeled(self.name)

    def _shrink(self, search: Search, n: int, begin: float, seconds: float) -> None:
        """Solve what is left of a graph without its cheap variables."""
        part = part_of(search.potentials.batch, [n])
        if self.shrink == 0 or part.batch.variables > _MOST:
            self._solve(search, n, begin + seconds)
            return
        small = shrunk(part.potentials(search.potentials), self.shrink)
        until = begin + 0.5 * seconds
        inner = Search(small.potentials, self.sweeps, self.tol, search.threads, until)
        if inner.open().size:
            self._solve(inner, 0, begin + seconds)
        if inner.score[0] > -np.inf:
            label = np.zeros(search.potentials.batch.variables, dtype=np.int32)
            label[part.variables] = small.label(inner.label)
            search.offer(n, label, improve=False)
        search.prove(n, float(search.losses.bound[n] - inner.bound[0]))
        search.converged[n] = inner.converged[0]

    def _solve(self, search: Search, n: int, until: float) -> None:
        mine = search.potentials.batch.graph_of == n
        label = np.where(mine, search.label, 0).astype(np.int32)
        everything = bool((label < 0).any())  # without a labeling to build on
        inside = mine.copy() if everything else mine & _doubtful(search, np.maximum(label, 0), mine)
        while True:
            part = solve_part(
                search.losses, inside, search.reach(n), integral=True, most=self.columns, until=until
            )
            if part is None:  # all that is left loses more than the labels that we have
                search.prove(n, np.inf)
                return
            if part.loss < np.inf:
                label = np.where(inside, part.label, label).astype(np.int32)
                search.offer(n, label, improve=not inside[mine].all())
            search.prove(n, part.least)
            if not part.solved:
                search.converged[n] = False
                return
            joined = inside | (_doubtful(search, label, mine & ~inside) & mine)
            if (joined == inside).all():
                search.prove(n, np.inf)
                return
            if n not in search.open():
                return
            inside = joined


def _doubtful(search: Search, label: Ids, where: Bools) -> Bools:
    """Return the variables of factors that touch `where` and lose something with a labeling, [V]."""
    batch, losses = search.potentials.batch, search.losses
    least = 1e-9 * (1.0 + np.abs(np.where(np.isfinite(losses.bound), losses.bound, 0.0)))[batch.graph_of]
    out: Bools = (losses.node[batch.label_ptr[:-1] + label] > least) & where
    for name in losses.given:
        scope = batch.scopes[name]
        lost = (losses.of(name, label) > least[scope[:, 0]]) & where[scope].any(axis=1)
        out[scope[lost]] = True
    return out
