"""The likelihood of a chain of order 1 in one native pass, with rows that positions share added up once.

Where every position with attribute b also has attribute a, the row of b can be read as row(b) + row(a) and
the occurrence of a dropped (`cpp/engine/likelihood/shared_rows.hpp`): words imply their parts of speech,
trigrams their bigrams.
Scores, sums and marginals are then made group by group of sequences while they are in the cache.

Edge attributes change some of the steps into a position: the sweep mends what the shared table gives, on the
way forward and again on the way back (`cpp/kernels/linear/edge_factors.hpp`), so that there are never scores
or credits of all steps of all positions.

What it covers: chains of order 1, edge attributes, every kind of gold, sequence weights and constraints on
transitions. Limits on segment lengths and real-valued columns are left to the general path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Floats, Pointers
from crfkit.data.batch import Batch
from crfkit.linear import score as scoring
from crfkit.linear.layout import Layout
from crfkit.native import kernels, threads_or_all
from crfkit.objectives.gold import GoldKind, allowed_labels, before
from crfkit.objectives.gold_edges import gold_edges
from crfkit.structures import Chain
from crfkit.structures.labels import forbid

__all__ = ["SharedSums"]


class SharedSums:
    """Loss and gradient of one batch; made once, evaluated again and again.

    Parameters
    ----------
    layout, chain, batch, weight, kind
        What is evaluated; `weight` [N] of the sequences, `kind` of gold.
    kept : mapping, optional
        What `packed` gave for the same arguments in this process: it need not be made again.
    """

    @staticmethod
    def covers(layout: Layout, chain: Chain, batch: Batch) -> bool:
        """Tell whether this batch can be evaluated here."""
        expands = chain.resolved is not None and chain.resolved.expansion is not None
        columns = 0 if batch.dense is None else batch.dense.shape[1]
        small = layout.weights < 1 << 31 and batch.positions < 1 << 31
        return chain.order == 1 and small and not (expands or layout.dense or columns)

    def __init__(
        self,
        layout: Layout,
        chain: Chain,
        batch: Batch,
        weight: Floats,
        kind: GoldKind,
        kept: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.layout, self.chain, self.batch = layout, chain, batch
        L, edges = layout.labels, scoring.has_edges(layout, batch)
        soft = batch.soft if kind == "soft" else None
        allowed = allowed_labels(batch, L) if kind == "set" else None
        self._start, self._stop = np.empty(L), np.empty(L)
        self._edge = np.empty((L, L))
        if kept is not None:
            self._evaluator = _native.Evaluator.unpack(
                kernels,
                L,
                layout.node_ptr,
                layout.node_label,
                layout.edge_ptr if edges else None,
                layout.edge_cell if edges else None,
                soft,
                allowed,
                kept["evaluator"],
            )
            self._gold_transitions = kept["gold_transitions"]
            self._gold_ends = kept["gold_start"], kept["gold_stop"]
            self._edge_weights, self._gold_edges = kept["edge_weights"], kept["gold_edges"]
            return
        self._evaluator = _native.Evaluator.of(
            kernels,
            layout.rows,
            batch.seq_ptr,
            batch.attr_ptr,
            batch.attr,
            batch.value,
            weight,
            batch.label if kind == "path" else None,
            soft,
            allowed,
            layout.edge_rows if edges else None,
            batch.edge_ptr if edges else None,
            batch.edge_attr if edges else None,
            batch.edge_value if edges else None,
            layout.table_bytes,
        )
        steps, ends = _gold_counts(batch, weight, kind, L)
        self._gold_transitions = steps.ravel()[layout.transition_cell]
        self._gold_ends = ends
        self._edge_weights, self._gold_edges = np.zeros(0, dtype=np.int64), np.zeros(0)
        if kind != "set":
            each = np.repeat(weight, np.diff(batch.seq_ptr))  # [P]
            found, self._gold_edges = gold_edges(layout, batch, each)
            self._edge_weights = found + layout.parts["edge"].start

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return everything that was made of the batch, as arrays."""
        evaluator = np.empty(self._evaluator.packed_size, dtype=np.uint8)
        self._evaluator.pack(evaluator)
        start, stop = self._gold_ends
        return {
            "evaluator": evaluator,
            "gold_transitions": self._gold_transitions,
            "gold_start": start,
            "gold_stop": stop,
            "edge_weights": self._edge_weights,
            "gold_edges": self._gold_edges,
        }

    @property
    def rows_left(self) -> int:
        """How many rows are added up at positions; the other occurrences are part of them."""
        return self._evaluator.rows_left

    def value_and_grad(self, w: Floats, gradient: Floats, threads: int | None = None) -> float:
        """Return the loss at w [F]; its gradient goes to `gradient` [F]."""
        layout = self.layout
        weights = scoring.checked_weights(layout, w)
        out = scoring.checked_out(gradient, (layout.weights,))
        parts = layout.parts
        if not np.isfinite(weights[parts["transition"].start :]).all():
            scoring.explain(layout, weights)
        out[parts["edge"]] = 0.0
        edge, start, stop = self._potentials(weights)
        value, finite, impossible = self._evaluator.evaluate(
            weights,
            edge,
            start,
            stop,
            out,
            self._start,
            self._stop,
            self._edge,
            threads_or_all(threads),
        )
        if not finite:
            scoring.explain(layout, weights)
            raise ValueError("the scores of some position overflow")
        if impossible >= 0:
            raise ValueError(
                f"sequence {impossible} has no labelling above -inf: relax the constraints or the "
                "allowed labels"
            )
        out[self._edge_weights] -= self._gold_edges
        value -= float(self._gold_edges @ weights[self._edge_weights])
        out[parts["transition"]] = self._edge.ravel()[layout.transition_cell] - self._gold_transitions
        value -= float(self._gold_transitions @ weights[parts["transition"]])
        for name, credit, gold in zip(
            ("start", "stop"), (self._start, self._stop), self._gold_ends, strict=True
        ):
            if getattr(layout, name):
                out[parts[name]] = credit
                value -= float(gold @ weights[parts[name]])
        return value

    def _potentials(self, weights: Floats) -> tuple[Floats, Floats | None, Floats | None]:
        """Return transitions [L, L], start and stop [L] under the constraints."""
        layout, rules, L = self.layout, self.chain.resolved, self.layout.labels
        edge = layout.transition_tables(weights)[0]
        start = weights[layout.parts["start"]] if layout.start else None
        stop = weights[layout.parts["stop"]] if layout.stop else None
        if rules is None:
            return edge, start, stop
        return (
            forbid(edge, rules.transition),
            forbid(np.zeros(L) if start is None else start, rules.start),
            forbid(np.zeros(L) if stop is None else stop, rules.stop),
        )


def _gold_counts(
    batch: Batch, weight: Floats, kind: GoldKind, L: int
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return how often the gold takes each step [L, L], and each label first and last [L]."""
    if kind == "set":  # they depend on the weights
        return np.zeros((L, L)), (np.zeros(L), np.zeros(L))
    each = np.repeat(weight, np.diff(batch.seq_ptr))  # [P]
    filled = np.diff(batch.seq_ptr) > 0
    begins, ends = batch.seq_ptr[:-1][filled], batch.seq_ptr[1:][filled] - 1
    if batch.soft is not None:
        node = batch.soft * each[:, None]
        return before(batch.soft, batch).T @ node, (node[begins].sum(axis=0), node[ends].sum(axis=0))
    assert batch.label is not None
    label = batch.label.astype(np.int64)
    inside = np.ones(batch.positions, dtype=np.bool_)
    inside[begins] = False
    to = np.flatnonzero(inside)

    def summed(at: Pointers, positions: Pointers, size: int) -> Floats:
        return np.bincount(at, each[positions], minlength=size).astype(np.float64)

    ends_of = (summed(label[begins], begins, L), summed(label[ends], ends, L))
    return summed(label[to - 1] * L + label[to], to, L * L).reshape(L, L), ends_of
