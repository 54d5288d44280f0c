"""Mean field: the closest distribution in which variables, or trees of them, are independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.checks import check_choice, check_number
from crfkit.inference.methods.blocks import FOUND, NONE, blocks_of, by_clique, first_labelings, notes_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method, Summed
from crfkit.native import kernels
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class MeanField(Method):
    """Mean field: a lower bound on log Z, and the marginals of the distribution that attains it.

    F(q) = <q, scores> + H(q) is at most log Z; q is made better block by block until it no longer changes.
    With ``structure="forest"`` blocks are trees that are summed exactly, which starts from the answer of
    "naive" and is never below it. How good the answer is depends on where q starts: the best local labels,
    then equal probabilities, then random labels.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import MeanField
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[1.0, 0.0], [0.0, 0.5]])])
    >>> log_z = inference.log_partition(scores, method=MeanField())
    >>> bool(log_z < inference.log_partition(scores)), bool(log_z.info.exact[0])
    (True, False)
    >>> inference.log_partition(scores, method=MeanField("forest")).info.exact
    array([ True])
    """

    name: ClassVar[str] = "mean-field"
    convex: ClassVar[bool] = False
    structure: str = "naive"  #: "naive": every variable is a block; "forest": trees are
    tol: float = 1e-6  #: converged when no probability changes by more
    sweeps: int = 1000  #: over all variables, at the most
    restarts: int = 2  #: how often q starts anew; the best bound counts
    seed: int = 0  #: of random labels to start from
    budget: int = 2**24  #: cells that are looked at to find an allowed labeling

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("structure", self.structure, ("naive", "forest"))
        check_number("tol", self.tol)
        check_number("sweeps", self.sweeps, 1, whole=True)
        check_number("restarts", self.restarts, 1, whole=True)
        check_number("seed", self.seed, whole=True)
        check_number("budget", self.budget, 1, whole=True)

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return the marginals of the best q that was found; its bound is the value."""
        batch = potentials.batch
        searches = max(1, self.restarts - 1)
        label, end = first_labelings(potentials, searches, self.seed, self.budget)
        starts = [_points(potentials, row) for row in label]
        if self.restarts > 1:
            starts.insert(1, np.repeat(1.0 / batch.width, batch.width))
        best: dict[str, Any] | None = None
        for q in starts:
            found = self._climb(potentials, q, cliques, threads)
            if best is None:
                best = found
                continue
            better = found["bound"] > best["bound"]
            if better.any():
                best = _joined(potentials, better, found, best)
        assert best is not None
        value = np.where(end == FOUND, best["bound"], -np.inf)
        exact = (best["exact"] != 0) & (best["converged"] != 0) | (end == NONE)
        how = How.of(
            self.name,
            batch.graphs,
            exact=exact,
            converged=(best["converged"] != 0) | exact,
            sweeps=best["sweeps"],
            lower=value,
            upper=np.where(exact, value, np.inf),
            notes=notes_of(end),
        )
        return Summed(value, best["node"], best["clique"], how)

    def _climb(self, potentials: GraphPotentials, q: Floats, cliques: bool, threads: int) -> dict[str, Any]:
        found: dict[str, Any] = {"node": q, "sweeps": 0}
        for trees in (False, True) if self.structure == "forest" else (False,):
            made = _native.mean_field(
                kernels,
                potentials.problem,
                blocks_of(potentials, trees),
                found["node"],
                self.tol,
                self.sweeps,
                cliques and trees == (self.structure == "forest"),
                threads,
            )
            made["sweeps"] = made["sweeps"] + found["sweeps"]
            found = made
        found["clique"] = by_clique(potentials, found["clique"]) if cliques else {}
        return found


def _points(potentials: GraphPotentials, label: Any) -> Floats:
    """Return q [labels] with all mass on one labeling."""
    q = np.zeros(int(potentials.batch.label_ptr[-1]))
    q[potentials.batch.label_ptr[:-1] + np.maximum(label, 0)] = 1.0
    return q


def _joined(
    potentials: GraphPotentials, first: Any, one: dict[str, Any], other: dict[str, Any]
) -> dict[str, Any]:
    """Return the answers of the graphs `first` [N] of one and those of the other graphs of the other."""
    batch = potentials.batch
    made = {key: np.where(first, one[key], other[key]) for key in ("bound", "sweeps", "converged", "exact")}
    made["node"] = np.where(first[np.repeat(batch.graph_of, batch.width)], one["node"], other["node"])
    made["clique"] = {}
    for name, p in one["clique"].items():
        mine = first[batch.graph_of[batch.scopes[name][:, 0]]].reshape(-1, *[1] * (p.ndim - 1))
        made["clique"][name] = np.where(mine, p, other["clique"][name])
    return made
