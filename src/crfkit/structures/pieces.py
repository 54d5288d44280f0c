"""The factors of a structure with its gold labels, for losses that are sums of softmaxes: nothing is swept.

=========  ======================================================================================
terms      what is summed
=========  ======================================================================================
labels     -log p(y_v | all other labels), of every label; Besag (1977)
factors    -log p_a(y_a), of every factor a for itself; Sutton & McCallum (2005)
each       -log p_a(y_v | the factor's other labels), of every label of every factor; (2007)
=========  ======================================================================================

A hidden label (-1, of graphs) has no term, and the factors that it is in are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.native import kernels, threads_or_all
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.structures.chains.potentials import ChainPotentials
    from crfkit.structures.graphs.gold import GraphGold
    from crfkit.structures.graphs.potentials import GraphPotentials

Terms: TypeAlias = Literal["labels", "factors", "each"]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Factors with labels, whose softmaxes can be summed.

    Examples
    --------
    >>> from crfkit import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [2.0, 3.0]], edge=[[4.0, 5.0], [6.0, 7.0]])
    >>> gold = Path(np.array([0, 2]), np.array([1, 0], dtype=np.int32))
    >>> value, by_score = pieces_of_chains(scores, gold, np.ones(1)).loss("labels")
    >>> round(value, 4), by_score["node"].round(4).tolist()  # log(1 + exp(-3)) + log(1 + exp(2))
    (2.1755, [[0.0474, -0.0474], [-0.8808, 0.8808]])
    """

    factors: _native.Factors
    label: Ids  #: [V], -1 where hidden
    weight: Floats  #: [V] of the term of each label; factors take that of their first one
    incidence: Callable[[], _native.Incidence]
    by_score: Callable[[Sequence[Floats]], dict[str, Floats]]  #: gradients of groups -> by slot or clique

    def loss(self, terms: Terms, threads: int | None = None) -> tuple[float, dict[str, Floats]]:
        """Return the weighted sum of the terms, and its gradient by scores."""
        incidence = self.incidence() if terms == "labels" else None
        value, gradients = _native.conditional_loss(
            kernels, self.factors, incidence, self.label, self.weight, terms, threads_or_all(threads)
        )
        return value, self.by_score(gradients)


def pieces_of_graphs(potentials: GraphPotentials, gold: GraphGold, weight: Floats) -> Pieces:
    """Return the factors of graphs, each graph times its weight [N]."""
    batch, tables, factors = potentials.batch, potentials.tables, potentials.problem
    each: Floats = weight[batch.graph_of]  # [V]
    each = each if gold.weight is None else each * gold.weight

    def by_score(gradients: Sequence[Floats]) -> dict[str, Floats]:
        pairs = zip(tables.items(), gradients, strict=True)
        return {name: flat.reshape(table.scores.shape) for (name, table), flat in pairs}

    def incidence() -> _native.Incidence:
        return batch.prepared(("incidence", *tables), lambda: _native.Incidence(factors))

    return Pieces(factors, gold.label, each, incidence, by_score)


def pieces_of_chains(potentials: ChainPotentials, gold: Path, weight: Floats) -> Pieces:
    """Return the factors of chains, each sequence times its weight [N]: nodes, ends, and label n-grams."""
    node, edge, seq_ptr = potentials.node, potentials.edge, gold.seq_ptr
    (P, L), T = node.shape, np.diff(seq_ptr)
    owner = np.repeat(np.arange(len(T), dtype=np.int32), T)  # [P]
    factors = _native.Factors(np.full(P, L, dtype=np.int32), owner, np.zeros(len(T)))
    factors.add("node", np.arange(P, dtype=np.int32), [L], node.ravel(), None, None)
    filled = T > 0
    ends = {"start": seq_ptr[:-1][filled], "stop": seq_ptr[1:][filled] - 1}
    given = [name for name in ends if getattr(potentials, name) is not None]
    for name in given:
        table: Floats = getattr(potentials, name)
        factors.add(name, ends[name].astype(np.int32), [L], table, None, None)
    within = np.arange(P) - np.repeat(seq_ptr[:-1], T)  # [P]
    steps = edge[: potentials.structure.order]
    for h, table in enumerate(steps, start=1):
        at = np.flatnonzero(within >= h).astype(np.int32)
        offsets: Ids = np.arange(-h, 1, dtype=np.int32)
        scope = np.add(at[:, None], offsets, dtype=np.int32)  # [M, h + 1]
        which = at if table.ndim > h + 1 else None
        factors.add(f"steps of order {h}", scope.ravel(), [L] * (h + 1), table.ravel(), which, None)

    def by_score(gradients: Sequence[Floats]) -> dict[str, Floats]:
        found = {"node": gradients[0].reshape(P, L), **dict(zip(given, gradients[1:], strict=False))}
        by_order = gradients[1 + len(given) :]
        if steps and steps[0].ndim == 3:
            found["edge"] = by_order[0].reshape(P, L * L)
        elif steps:
            found["transition"] = np.concatenate(by_order)
        return found

    each = np.repeat(weight, T)
    return Pieces(factors, gold.label, each, lambda: _native.Incidence(factors), by_score)
