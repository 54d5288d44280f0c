"""Penalised conditional log-likelihood: the loss of a CRF, its gradient, and the options of both.

    loss(w) = sum_n weight_n * [log Z(x_n) - score of the gold of x_n]       Sutton & McCallum (2006) eq. 1.20
    d loss / d w = scatter(marginals) - scatter(gold)                        eq. 1.22

plus `l1` * |w|_1 + `l2`/2 * |w|_2^2 (sigma^2 of the paper is 1 / l2; CRFsuite's c2 is l2 / 2). What gold may
be is said in `gold.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit import _native, inference
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.diagonal import BLOCK_BYTES, approximate_diagonal
from crfkit.linear.fast.likelihood import SharedSums
from crfkit.linear.fast.sequences import online_arrays
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.linear.score import has_edges, scatter, score, score_edges, transpose
from crfkit.objectives.gold import (
    allowed_labels,
    balanced,
    by_label,
    check_gold_of_batch,
    kind_of_gold,
    label_counts,
    label_weighted,
)
from crfkit.optimise.problem import Penalty
from crfkit.optimise.sequential.online import OnlineArrays
from crfkit.structures import Chain, ChainPotentials

__all__ = ["Likelihood", "LikelihoodProblem"]


@dataclass(frozen=True)
class Likelihood:
    """Options of penalised likelihood.

    Parameters
    ----------
    l1, l2 : float
        Strengths of the penalty.
    transition_l1, transition_l2 : float, optional
        Strengths for transitions, edge attributes, start and stop where they differ.
    label_weights : dict or "balanced", optional
        Weight of each label (1 where not named): a sequence counts by the mean over its gold labels.
        "balanced" gives each label positions / (labels * positions of the label), as scikit-learn's
        ``class_weight`` does, counted over the labels that training data show.

    Examples
    --------
    >>> Likelihood(l2=0.5)
    Likelihood(l1=0.0, l2=0.5, transition_l1=None, transition_l2=None, label_weights=None)
    """

    l1: float = 0.0
    l2: float = 1.0
    transition_l1: float | None = None
    transition_l2: float | None = None
    label_weights: Mapping[str, float] | Literal["balanced"] | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "transition_l1", "transition_l2"):
            given = getattr(self, name)
            if not (isinstance(given, Real) or (given is None and name.startswith("transition"))):
                raise TypeError(
                    f"{name} is {given!r}, of type {type(given).__name__}, expected a number such as "
                    f"{name}=1.0"
                )
        weights: object = self.label_weights
        if not (weights is None or weights == "balanced" or isinstance(weights, Mapping)):
            wrong = ValueError if isinstance(weights, str) else TypeError
            raise wrong(f'label_weights is {weights!r}, expected "balanced" or a dict such as {{"O": 0.1}}')

    def settled(self, names: Sequence[str], counts: ArrayLike) -> Likelihood:
        """Return the same with numbers for "balanced", from the positions [L] of each label in all data.

        Examples
        --------
        >>> Likelihood(label_weights="balanced").settled(["A", "B", "C"], [3, 1, 0]).label_weights
        {'A': 0.6666666666666666, 'B': 2.0}
        """
        if self.label_weights != "balanced":
            return self
        return replace(self, label_weights=balanced(names, counts))

    def penalty(self, layout: Layout) -> Penalty:
        """Return the penalty of the weights of a layout."""
        return Penalty(
            self._strength(layout, self.l1, self.transition_l1),
            self._strength(layout, self.l2, self.transition_l2),
        )

    @staticmethod
    def _strength(layout: Layout, state: float, transition: float | None) -> float | Floats:
        if transition is None or transition == state:
            return state
        by_weight = np.full(layout.weights, float(state))  # [F]
        by_weight[layout.parts["edge"].start : layout.parts["dense"].start] = transition
        return by_weight

    def bind(
        self, layout: Layout, chain: Chain, batch: Batch, *, threads: int | None = None
    ) -> LikelihoodProblem:
        """Return the loss of this batch as a function of the weights."""
        check_gold_of_batch(batch, chain)
        weight = batch.weight
        if self.label_weights == "balanced":
            counts = label_counts(batch, len(chain.labels))
            return self.settled(chain.labels, counts).bind(layout, chain, batch, threads=threads)
        if self.label_weights is not None:
            weight = label_weighted(batch, by_label(self.label_weights, chain.labels))
        return LikelihoodProblem(layout, chain, batch, weight, threads)


class LikelihoodProblem:
    """The loss of one batch as a function of the weights; without the penalty."""

    def __init__(
        self, layout: Layout, chain: Chain, batch: Batch, weight: Floats | None, threads: int | None
    ) -> None:
        if len(chain.labels) != layout.labels:
            raise ValueError(f"the layout has {layout.labels} labels, the chain {len(chain.labels)}")
        if chain.order != layout.order:
            raise ValueError(f"the layout has order {layout.order}, the chain {chain.order}")
        self.layout, self.chain, self.batch, self.threads = layout, chain, batch, threads
        self.weight = np.ones(batch.sequences) if weight is None else weight  # [N]
        self.kind = kind_of_gold(batch)

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    def scores(self, w: Floats) -> tuple[Floats, Floats, Floats | None]:
        """Return node [P * L], edge [L * L] and start and stop scores [2 * L] (None without them), flat."""
        p = self.potentials(w)
        del self._node  # theirs now: whoever asks for scores once should not hold room for them for good
        ends = None
        if p.start is not None or p.stop is not None:
            zero = np.zeros(self.layout.labels)
            ends = np.concatenate([zero if p.start is None else p.start, zero if p.stop is None else p.stop])
        return p.node.ravel(), p.edge[0].ravel(), ends

    def online(self) -> OnlineArrays:
        """Return the flat arrays that online optimisers visit; a ValueError names what they do not cover."""
        return online_arrays(self.layout, self.chain, self.batch, self.weight, self.kind)

    @cached_property
    def shared_sums(self) -> SharedSums | None:
        """The native pass over the whole batch, where the structure allows it."""
        if not SharedSums.covers(self.layout, self.chain, self.batch):
            return None
        return SharedSums(self.layout, self.chain, self.batch, self.weight, self.kind)

    def prepare(self) -> None:
        """Make what the first evaluation would make; for a thread that has nothing else to do."""
        _ = self.shared_sums

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return what evaluations need beside layout and batch, for `unpack`; perhaps nothing."""
        return {} if self.shared_sums is None else self.shared_sums.packed()

    def unpack(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """Take what `packed` gave for the same layout and batch in this process, instead of making it."""
        self.__dict__["shared_sums"] = SharedSums(
            self.layout, self.chain, self.batch, self.weight, self.kind, kept
        )

    @cached_property
    def index(self) -> _native.Transpose:
        """The positions of each attribute."""
        return transpose(self.layout, self.batch)

    @cached_property
    def _node(self) -> Floats:
        return np.empty((self.batch.positions, self.layout.labels))  # [P, L]

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F]; its gradient goes to `gradient` [F]."""
        if self.shared_sums is not None:
            return self.shared_sums.value_and_grad(w, gradient, self.threads)
        return self.general_value_and_grad(w, gradient)

    def general_value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the same by scoring, inference and scattering in turn: for every structure.

        Edge attributes make scores and credits of all steps at all positions, so such batches are taken in
        blocks of sequences.
        """
        if len(self._blocks) > 1:
            return self._general_by_blocks(w, gradient)
        potentials = self.potentials(w)
        value = self._sweep(potentials, 1.0, gradient, add=False)
        if self.kind == "set":
            mask = allowed_labels(self.batch, self.layout.labels)
            return value + self._sweep(potentials.clamped(mask), -1.0, gradient, add=True)
        gradient -= self.observed
        return value - float(self.observed @ w)

    @cached_property
    def _blocks(self) -> list[slice]:
        if not has_edges(self.layout, self.batch):
            return [slice(0, self.batch.sequences)]
        return list(self.batch.cut(BLOCK_BYTES // (8 * self.layout.labels**2)))

    def _general_by_blocks(self, w: Floats, gradient: Floats) -> float:
        value, part = 0.0, np.empty_like(gradient)
        gradient[:] = 0.0
        for chosen in self._blocks:
            batch, weight = self.batch.select(chosen), self.weight[chosen]
            block = LikelihoodProblem(self.layout, self.chain, batch, weight, self.threads)
            try:
                value += block.general_value_and_grad(w, part)
            except ValueError as error:
                raise ValueError(f"counted from sequence {chosen.start}: {error}") from error
            gradient += part
        return value

    def diagonal(self, w: Floats) -> Floats:
        """Return the approximate diagonal of the Hessian at w, [F]: Sha & Pereira (2003) section 3, H_f.

        It is that of the sum over all labellings; with sets of labels as gold, their own variance is not
        taken off.
        """
        return approximate_diagonal(self.layout, self.chain, self.batch, self.weight, w, threads=self.threads)

    def potentials(self, w: Floats) -> ChainPotentials:
        """Return the scores of the batch at w [F]; the next call writes over them."""
        scores = score(self.layout, w, self.batch, threads=self.threads, out=self._node)
        edge = scores.edge
        if scores.per_position:
            edge = score_edges(self.layout, w, self.batch, 0, self.batch.positions, threads=self.threads)
        return self.chain.potentials(
            scores.node, edge, start=scores.start, stop=scores.stop, seq_ptr=self.batch.seq_ptr
        )

    def _sweep(self, potentials: ChainPotentials, sign: float, gradient: Floats, add: bool) -> float:
        value, node, edge = self._expected(potentials, sign * self.weight)
        begins, ends = self.batch.seq_ptr[:-1], self.batch.seq_ptr[1:] - 1
        filled = ends >= begins
        scatter(
            self.layout,
            self.batch,
            node,
            edge,
            node[begins[filled]].sum(axis=0),
            node[ends[filled]].sum(axis=0),
            index=self.index,
            threads=self.threads,
            out=gradient,
            add=add,
        )
        return value

    def _expected(
        self, potentials: ChainPotentials, weight: Floats
    ) -> tuple[float, Floats, Floats | tuple[Floats, ...]]:
        """Return log Z and the marginals of nodes and edges, times the weights [N] of the sequences."""
        differ = bool((weight != weight[0]).any())
        if differ and self.chain.order > 1:
            return self._expected_by_weight(potentials, weight)
        found = inference.marginals(potentials, edges_by_position=differ, threads=self.threads)
        each = np.repeat(weight, np.diff(self.batch.seq_ptr))  # [P]
        if isinstance(found.edge, tuple):
            edge: Floats | tuple[Floats, ...] = tuple(weight[0] * table for table in found.edge)
        else:
            edge = found.edge * (each[:, None, None] if found.edge.ndim == 3 else weight[0])
        return float(weight @ found.log_partition), found.node * each[:, None], edge

    def _expected_by_weight(
        self, potentials: ChainPotentials, weight: Floats
    ) -> tuple[float, Floats, tuple[Floats, ...]]:
        """Sweep the sequences of each weight on their own: runs have no marginals by position."""
        lengths = np.diff(self.batch.seq_ptr)  # [N]
        value, node = 0.0, np.empty_like(potentials.node)  # [P, L]
        edge = tuple(np.zeros_like(table) for table in potentials.edge)
        for common in np.unique(weight):
            rows = np.repeat(weight == common, lengths)  # [P]
            seq_ptr = np.concatenate([[0], np.cumsum(lengths[weight == common])])
            part = replace(potentials, node=potentials.node[rows], seq_ptr=seq_ptr)
            try:
                found = inference.marginals(part, threads=self.threads)
            except ValueError:
                inference.marginals(potentials, threads=self.threads)  # numbers sequences as the batch does
                raise
            value += common * float(np.sum(found.log_partition))
            node[rows] = common * found.node
            for total, table in zip(edge, found.edge, strict=True):
                total += common * table
        return value, node, edge

    @cached_property
    def observed(self) -> Floats:
        """Counts of the features in the gold, [F]: the empirical side of eq. 1.22."""
        return feature_counts(self.layout, self.batch, self.weight, index=self.index, threads=self.threads)
