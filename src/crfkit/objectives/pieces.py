"""What losses have in common that are sums of softmaxes of single labels or factors: nothing is swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Floats, Ids, dot
from crfkit.linear.objective import Asks
from crfkit.objectives.penalized import Penalized
from crfkit.structures.pieces import Terms
from crfkit.structures.structure import Trainable


@dataclass(frozen=True)
class SumOfPieces(Penalized):
    """A loss of chains of any order and of graphs that needs neither sums nor maxima over labelings."""

    asks: ClassVar[Asks] = "nothing"
    terms: ClassVar[Terms]

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains and graphs; those may have hidden labels."""
        if structure.graphical:
            return super().covers(structure, [kind for kind in kinds if kind != "set"])
        return why_no_chain(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the sum of the softmaxes' losses, and their distributions minus the gold."""
        found: tuple[float, Mapping[str, Floats]] = potentials.pieces(gold, weight).loss(self.terms, threads)
        return found


def softmax_loss(rows: Floats, label: Ids, weight: Floats) -> tuple[float, Floats]:
    """Return the loss of a softmax over each row [M, L], times its weight [M], and its gradient.

    The rows are written over.

    Examples
    --------
    >>> value, share = softmax_loss(np.zeros((1, 4)), np.array([2]), np.array([2.0]))
    >>> round(value, 4), share.tolist()  # 2 log 4
    (2.7726, [[0.5, 0.5, -1.5, 0.5]])
    """
    rows -= rows.max(axis=1, keepdims=True)
    share = np.exp(rows)
    total = share.sum(axis=1)
    at = (np.arange(len(rows)), label)
    value = dot(weight, np.log(total) - rows[at])
    share /= total[:, None]
    share[at] -= 1.0
    share *= weight[:, None]
    return value, share


def why_no_chain(name: str, structure: Trainable) -> str:
    """Return why an objective that is only for chains cannot take a structure; empty where it can."""
    return "" if structure.is_chain else f"the objective {name} is for chains, not for {structure.describe()}"


def why_no_limits(name: str, structure: Trainable) -> str:
    """Return the same for one that does not take limits on segment lengths either.

    Examples
    --------
    >>> from crfkit.structures import Chain
    >>> from crfkit.structures.constraints import Scheme, SegmentLength
    >>> rules = [Scheme("BIO"), SegmentLength("x", 1, 2)]
    >>> why_no_limits("pseudo-likelihood", Chain(["O", "B-x", "I-x"], constraints=rules))
    'the objective pseudo-likelihood does not take limits on the lengths of segments'
    """
    if structure.is_chain and structure.limits_lengths:
        return f"the objective {name} does not take limits on the lengths of segments"
    return why_no_chain(name, structure)
