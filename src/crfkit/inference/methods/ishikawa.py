"""The best labeling for labels in an order, and scores that are convex in their difference: one cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crfkit import _native
from crfkit.inference.methods.cuts import exactly, refuse
from crfkit.inference.methods.method import Labeled, Method
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class Ishikawa(Method):
    """The exact best labeling for ordered labels with convex tables, by one maximum flow.

    Factors of two variables must have ``score[k, l] + score[k+1, l+1] >= score[k, l+1] + score[k+1, l]`` for
    all neighboring labels, such as ``-abs(y - y')`` or ``-(y - y')**2``; factors of one variable are free.
    There is a binary variable for each label and variable but one, and the cut takes accordingly longer.

    Ishikawa (2003), Schlesinger & Flach (2006).

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Ishikawa
    >>> near = [[0.0, -1.0, -2.0], [-1.0, 0.0, -1.0], [-2.0, -1.0, 0.0]]
    >>> factors = [([0], [3.0, 0.0, 0.0]), ([2], [0.0, 0.0, 1.5]), ([0, 1], near), ([1, 2], near)]
    >>> best = inference.decode(Graph.from_factors([3, 3, 3], factors), method=Ishikawa())
    >>> best["variable"].tolist(), best.score
    ([0, 0, 0], 3.0)
    """

    name: ClassVar[str] = "ishikawa"

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph."""
        label, refused = _native.ordered_cut(potentials.problem)
        refuse(self.name, potentials, refused)
        return exactly(self.name, potentials, label)
