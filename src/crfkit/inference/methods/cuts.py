"""The best labeling of binary variables by a minimum cut: exact where pairs do not contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.errors import MethodError
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.potentials import GraphPotentials

#: why native code refuses a factor -> what the method needs, and what to do
REASONS = {
    "labels": "has a variable of more than two labels; use method=Expansion() or TRWS()",
    "arity": "joins too many variables; use method=Elimination() or TRWS()",
    "forbids": "forbids labels of three variables together, which a cut cannot; use method=Elimination()",
    "sign": (
        "pulls its variables against what other factors pull them to (the scores are not submodular, "
        "whatever variables are flipped); use method=QPBO() or TRWS()"
    ),
    "order": (
        "is not convex in the order of the labels: some score[k, l] + score[k+1, l+1] is below "
        "score[k, l+1] + score[k+1, l], or it forbids labels; use method=Expansion() or TRWS()"
    ),
}


@dataclass(frozen=True)
class MinCut(Method):
    """The exact best labeling of binary variables with attracting pairs, by one maximum flow.

    Factors of two variables must be submodular, ``score[0, 0] + score[1, 1] >= score[0, 1] + score[1, 0]``,
    or become so when some variables are flipped, which is found out; factors of three variables likewise.
    A million variables take seconds, and all graphs of a batch are cut at once.

    Kolmogorov & Zabih (2004); the flow is that of Goldberg, Hed, Kaplan, Tarjan & Werneck (2011).

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import MinCut
    >>> agree = [[1.0, 0.0], [0.0, 1.0]]
    >>> factors = [([0], [2.0, 0.0]), ([2], [0.0, 0.5]), ([0, 1], agree), ([1, 2], agree)]
    >>> best = inference.decode(Graph.from_factors([2, 2, 2], factors), method=MinCut())
    >>> best["variable"].tolist(), best.score, str(best.info)
    ([0, 0, 0], 4.0, '1 graph by min-cut: exact')
    """

    name: ClassVar[str] = "min-cut"

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph."""
        label, refused = _native.min_cut(potentials.problem)
        refuse(self.name, potentials, refused)
        return exactly(self.name, potentials, label)


def refuse(method: str, potentials: GraphPotentials, refused: tuple[str, int, int], **other: str) -> None:
    """Raise if a factor was refused; `other` reasons replace those of `REASONS`."""
    why, group, factor = refused
    if why:
        clique = list(potentials.tables)[group]
        where = (
            f"clique {clique!r}" if why in ("labels", "arity") else f"factor {factor} of clique {clique!r}"
        )
        raise MethodError(f"{method}: {where} {(REASONS | other)[why]}")


def exactly(method: str, potentials: GraphPotentials, label: Ids) -> Labeled:
    """Return best labelings, -1 for graphs that have none."""
    score = potentials.labeling_score(label)
    how = How.of(method, len(score), exact=True, lower=score, upper=score)
    return Labeled(allowed(potentials, label, score)[None], score[None], how)


def allowed(potentials: GraphPotentials, label: Ids, score: Floats) -> Ids:
    """Return labels [V], -1 where a graph's score is -inf."""
    return np.where(np.isneginf(score)[potentials.batch.graph_of], np.int32(-1), label)
