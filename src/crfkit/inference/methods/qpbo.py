"""Partial labelings of binary variables that are sure: roof duality, also called QPBO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.inference.methods.cuts import allowed, refuse
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class QPBO(Method):
    """Roof duality: labels of binary variables that some best labeling is certain to have.

    Any factors of up to three binary variables will do. The cut decides some of the labels, and there is a
    best labeling that has all of them (`partial`). The others are filled in by iterated conditional modes.
    ``info.upper`` is the roof dual, which no labeling exceeds; ``info.exact`` is true where all labels were
    decided, or the labeling reaches the bound.

    Boros & Hammer (2002), Kolmogorov & Rother (2007).

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import QPBO
    >>> differ = [[0.0, 1.0], [1.0, 0.0]]
    >>> factors = [([0, 1], differ), ([1, 2], differ), ([2, 0], differ)]  # they cannot all differ
    >>> factors += [([2, 3], differ), ([3], [5.0, 0.0])]
    >>> scores = Graph.from_factors([2, 2, 2, 2], factors)
    >>> QPBO().partial(scores)["variable"].tolist()
    [-1, -1, -1, 0]
    >>> best = inference.decode(scores, method=QPBO())
    >>> best.score, best.info.upper.tolist(), bool(best.info.exact[0])
    (8.0, [8.5], False)
    """

    name: ClassVar[str] = "qpbo"

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return a labeling with all labels that are sure."""
        partial, label, upper = self._solve(potentials)
        batch = potentials.batch
        score = potentials.labeling_score(label)
        open_ = np.bincount(batch.graph_of[partial < 0], minlength=batch.graphs)
        exact = (open_ == 0) | (score >= upper - 1e-12 * np.maximum(1.0, np.abs(upper))) | np.isneginf(upper)
        missing = int((~exact & np.isneginf(score)).sum())
        notes = [f"{int(open_.sum())} of {batch.variables} labels were not decided"] if open_.any() else []
        if missing:
            notes.append(f"no allowed labeling was found for {missing} graphs, which may have some")
        how = How.of(
            self.name,
            batch.graphs,
            exact=exact,
            converged=~np.isneginf(score) | exact,
            lower=score,
            upper=np.where(exact, score, upper),
            notes=tuple(notes),
        )
        return Labeled(allowed(potentials, label, score)[None], score[None], how)

    def partial(self, potentials: GraphPotentials) -> dict[str, Ids]:
        """Return the labels that a best labeling has, by kind; -1 where that is not known."""
        reduced = without_observed(potentials)
        partial, _, _ = self._solve(reduced.potentials)
        return potentials.batch.by_kind(reduced.label(partial[None])[0])

    def _solve(self, potentials: GraphPotentials) -> tuple[Ids, Ids, Floats]:
        partial, label, bound, refused = _native.roof_dual(potentials.problem)
        refuse(self.name, potentials, refused)
        constant = 0.0 if potentials.constant is None else potentials.constant
        return partial, label, np.asarray(constant - bound)
