"""Scores of graphs: a table, or several, for each clique; shared by factors, and scaled factor by factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Floats, Ids, as_finite_scores, as_scores, sealed
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.gold import GraphGold, add_graph_counts, with_hamming
from crfkit.structures.pieces import Pieces, pieces_of_graphs
from crfkit.structures.potentials import KeptScores, weighted_sum

if TYPE_CHECKING:
    from crfkit.inference.estimates import Estimate
    from crfkit.structures.graphs.batch import GraphBatch
    from crfkit.structures.graphs.graph import Graph

#: Scores of factors that are looked up at once.
_TERMS = 2**16


@dataclass(frozen=True, eq=False)
class Table:
    """Scores of the factors of a clique: factor m scores ``scale[m] * scores[which[m]]``.

    Parameters
    ----------
    scores : array [L1, ..., La] or [K, L1, ..., La]
        One table for all factors, or K tables.
    which : integer array [M], optional
        The table of each factor. Without it there is one table for all factors, or one for each.
    scale : array [M], optional
        Factor of the scores, so that one table serves factors of different strengths. Refused below 0 (negate
        the scores instead), at 0 where they forbid, and for cliques with `fixed` scores.

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.structures import Table
    >>> graph = Graph({"pixel": 2}, look=["pixel"], near=["pixel", "pixel"])
    >>> batch = graph.batch(sizes={"pixel": 3}, scopes={"near": [[0, 1], [1, 2]]})
    >>> near = Table([[1.0, 0.0], [0.0, 1.0]], scale=[5.0, 0.1])
    >>> scores = batch.potentials(look=[[1.0, 0], [0, 0], [0, 0.5]], near=near)
    >>> inference.decode(scores)["pixel"].tolist()
    [0, 0, 1]
    """

    scores: Any
    which: Any = None
    scale: Any = None


@dataclass(frozen=True, eq=False)
class GraphPotentials(KeptScores):
    """Scores of the cliques of one graph, or of a batch; made by `GraphBatch.potentials`."""

    engine: ClassVar[str] = "factors"  #: what answers queries: `crfkit.inference.graphs`

    batch: GraphBatch
    tables: Mapping[str, Table]  #: clique -> scores [K, L1, ..., La], which [M], scale [M], checked
    constant: Floats | None = None  #: [N] score of every labeling of a graph
    observed: Ids | None = None  #: [V] given labels, -1 elsewhere
    method: Any = None  #: who answers where a query does not say; None: `crfkit.inference.methods.Auto`

    @property
    def structure(self) -> Graph:
        """The graph."""
        return self.batch.graph

    @property
    def single(self) -> bool:
        """Whether this is one graph, and not a batch of one."""
        return self.batch.single

    @once
    def problem(self) -> _native.Factors:
        """The arrays as the engines see them, checked; what was observed is not in them."""
        batch = self.batch
        constant = np.zeros(batch.graphs) if self.constant is None else self.constant
        made = _native.Factors(batch.width, batch.graph_of, constant)
        for name, table in self.tables.items():
            shape = list(table.scores.shape[1:])
            made.add(name, batch.scopes[name].ravel(), shape, table.scores.ravel(), table.which, table.scale)
        return made

    def given(self, labels: Mapping[str, Any]) -> GraphPotentials:
        """Return the same scores, given some labels: kind -> ids [V], -1 where unknown, or names.

        Observed variables are cut out of the graph before anything is summed: what is given makes
        inference cheaper.

        Examples
        --------
        >>> from crfkit import Graph, inference
        >>> graph = Graph({"token": 2}, step=["token", "token"])
        >>> batch = graph.batch(sizes={"token": 3}, scopes={"step": [[0, 1], [1, 2]]})
        >>> scores = batch.potentials(step=[[1.0, 0.0], [0.0, 1.0]])
        >>> inference.decode(scores.given({"token": [-1, -1, 1]}))["token"].tolist()
        [1, 1, 1]
        """
        from crfkit.structures.graphs.batch import _flat_labels

        sizes = {kind: last - first for kind, (first, last) in self.batch.kind_ptr.items()}
        if not isinstance(labels, Mapping):
            raise TypeError(f"given is {labels!r:.80}, expected labels by kind, as in {{'token': [0, -1]}}")
        for kind in labels:
            if kind not in sizes:
                raise ValueError(f"{kind!r} is not a kind of the graph: {', '.join(map(repr, sizes))}")
        flat = _flat_labels(self.structure, labels, sizes)
        if self.observed is not None:
            flat = np.where(flat >= 0, flat, self.observed)
        return replace(self, observed=flat)

    def select(self, graphs: ArrayLike) -> GraphPotentials:
        """Return the scores of some of the graphs, given their numbers or a mask.

        Examples
        --------
        >>> from crfkit import Graph, inference
        >>> batch = Graph({"token": 2}, word=["token"]).batch(graph_ptr=[0, 2, 3])
        >>> scores = batch.potentials(word=[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
        >>> inference.decode(scores.select([1]))["token"].tolist()
        [0]
        """
        from crfkit.structures.graphs.parts import part_of

        return part_of(self.batch, graphs).potentials(self)

    def estimate(self) -> Estimate:
        """Return what each method would need, given what is forbidden or observed; see `GraphBatch`."""
        from crfkit.inference.estimates import estimate

        return estimate(self)

    def labeling_score(self, label: Ids) -> Floats:
        """Score labelings [..., V] of all graphs, [..., N]."""
        rows = int(np.prod(label.shape[:-1]))
        flat = np.ascontiguousarray(label, dtype=np.int32).ravel()
        scores = self.problem.labeling_scores(flat, rows)
        return scores.reshape(*label.shape[:-1], self.batch.graphs)

    def path_score(self, labels: Ids, begin: None = None) -> Floats:
        """Score one labeling [V] of all graphs, [N]; as the potentials of sequences do."""
        return self.labeling_score(labels)

    # ---- what training learns from -----------------------------------------------------------

    def with_cost(self, gold: GraphGold) -> GraphPotentials:
        """Return the scores plus the Hamming cost: 1 for each variable with a wrong label."""
        return with_hamming(self, gold)

    def zeros(self) -> dict[str, Floats]:
        """Return arrays of 0 for a gradient by the scores of tables."""
        return {name: np.zeros_like(table.scores) for name, table in self.tables.items()}

    def gold_score(self, gold: GraphGold, weight: Floats) -> float:
        """Add up weight[n] times the score of the gold of graph n, all of whose labels are known."""
        return weighted_sum(weight, self.labeling_score(gold.label))

    def add_counts(self, gold: GraphGold, weight: Floats, counts: Mapping[str, Floats]) -> None:
        """Add to `counts` how often the gold takes each cell, each graph times its weight [N]."""
        add_graph_counts(self, gold, weight, counts)

    def pieces(self, gold: GraphGold, weight: Floats) -> Pieces:
        """Return the factors with their gold labels, for losses that are sums of softmaxes."""
        return pieces_of_graphs(self, gold, weight)

    def expected_score(self, clique: Mapping[str, Floats]) -> Floats:
        """Return the mean score of each graph under marginals of its factors, [N]; 0 * -inf is 0."""
        total = np.zeros(self.batch.graphs)
        if self.constant is not None:
            total += self.constant
        for name, table in self.tables.items():
            scope, cells = self.batch.scopes[name], prod(table.scores.shape[1:])
            p = clique[name].reshape(-1, cells)  # [M, cells]; there may be no factors
            scores = table.scores.reshape(-1, cells)  # [K, cells]
            if table.which is not None:
                scores = scores[table.which]
            if np.isneginf(scores).any():
                scores = np.where(p > 0.0, scores, 0.0)
            terms = np.einsum("mc,mc->m", p, np.broadcast_to(scores, p.shape))  # [M]
            if table.scale is not None:
                terms = terms * table.scale
            total += np.bincount(self.batch.graph_of[scope[:, 0]], terms, minlength=self.batch.graphs)
        return total


def table_numbers(table: Table, factors: int) -> Any:
    """Return the number of the table of each factor, [M]."""
    if table.which is not None:
        return table.which
    return np.zeros(factors, dtype=np.int32) if len(table.scores) == 1 else np.arange(factors, dtype=np.int32)


def as_table(
    name: str, given: Table | ArrayLike, shape: tuple[int, ...] | None, factors: int, clique: Clique
) -> Table:
    """Return scores [K, L1, ..., La] of a clique, with its fixed scores; shapes are checked."""
    table = given if isinstance(given, Table) else Table(given)
    scores = as_finite_scores(table.scores, f"the table of clique {name!r}")
    arity = len(clique.kinds)
    if scores.ndim == arity:
        scores = scores[None]
    if scores.ndim != arity + 1 or (shape is not None and scores.shape[1:] != shape):
        wanted = ", ".join(map(str, shape)) if shape else ", ".join(f"L{i + 1}" for i in range(arity))
        raise ValueError(
            f"the table of clique {name!r} has shape {np.shape(table.scores)}; expected ({wanted}), or "
            f"(tables, {wanted})"
        )
    which = scale = None
    if table.which is not None:
        which = np.asarray(table.which)
        if which.shape != (factors,) or which.dtype.kind not in "iu":
            raise ValueError(f"clique {name!r}: which must be {factors} integers, one for each factor")
        if which.size and not 0 <= int(which.min()) <= int(which.max()) < len(scores):
            raise ValueError(f"clique {name!r}: which must be 0 to {len(scores) - 1}, one of the tables")
        which = sealed(np.ascontiguousarray(which, dtype=np.int32))
    elif len(scores) not in (1, factors):
        raise ValueError(
            f"clique {name!r} has {len(scores)} tables for {factors} factors: give one for all, one for "
            "each, or Table(scores, which=...)"
        )
    if table.scale is not None:
        scale = as_scores(table.scale, f"the scale of clique {name!r}")
        if scale.shape != (factors,):
            raise ValueError(f"clique {name!r}: scale has shape {scale.shape}, expected ({factors},)")
        wrong = np.flatnonzero(~(np.isfinite(scale) & (scale >= 0.0)))
        if wrong.size:
            raise ValueError(
                f"clique {name!r}: scale[{wrong[0]}] is {scale[wrong[0]]}, expected a finite "
                "number of 0 or more"
            )
        if not scale.all() and np.isneginf(scores).any():
            raise ValueError(
                f"clique {name!r}: scale[{np.argmin(scale)}] is 0 and the table forbids labels; leave the "
                "factor out, or give it a table of its own"
            )
    if clique.fixed is not None:
        if scale is not None:
            raise ValueError(f"clique {name!r} has fixed scores and can have no scale")
        scores = scores + clique.fixed
    return Table(scores, which, scale)
