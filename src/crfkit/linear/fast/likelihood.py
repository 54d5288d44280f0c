"""The likelihood of a chain in one native pass, with rows that positions share added up once.

Where every position with attribute b also has attribute a, the row of b can be read as row(b) + row(a) and
the occurrence of a dropped (`cpp/engine/likelihood/shared_rows.hpp`): words imply their parts of speech,
trigrams their bigrams.
Scores, sums and marginals are then made group by group of sequences while they are in the cache, in rounds of
sequences whose rows of scores take turns in the same memory (`ROW_BYTES`).

Edge attributes change some of the steps into a position: the sweep corrects the result of the shared table,
on the way forward and again on the way back (`cpp/kernels/linear/edge_factors.hpp`), so that scores and
gradients of all steps of all positions never exist at once.

Where few steps have weights, sums over steps visit only those (`pairs.py`).

What it covers: chains of order 1 and more, edge attributes (order 1), every kind of gold, sequence weights,
constraints on transitions. Limits on segment lengths and real-valued columns are left to the general path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Floats, dot
from crfkit.checks import NotFiniteError
from crfkit.errors import InfeasibleError
from crfkit.linear.fast.steps import gold_edges, pairs_of
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Family
from crfkit.linear.score import checked_out, checked_weights, explain, is_scored
from crfkit.native import kernels, threads_or_all
from crfkit.structures.chains.chain import Chain, is_chain
from crfkit.structures.chains.potentials import cumulated, shared_out
from crfkit.structures.gold import Gold, Path, Sets, Soft, forbid

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

#: Bytes of the rows of scores that exist at once, about; where all take more, blocks of sequences take turns.
#: A round of 500 labels then has 16 blocks of 4,000 positions: work for threads, and attributes that repeat.
ROW_BYTES: Final = 1 << 28


class NativeLikelihood:
    """Loss and gradient of one batch; made once, evaluated many times.

    Parameters
    ----------
    loss : LinearLoss
        What is evaluated.
    kept : mapping, optional
        The result of `packed` for the same loss in this process, so that it need not be made again.
    """

    @staticmethod
    def covers(loss: LinearLoss) -> str:
        """Return why this loss cannot be evaluated here; empty where it can."""
        structure, layout, batch = loss.structure, loss.layout, loss.batch
        if loss.objective.family is not Family.LIKELIHOOD:
            return f"the objective {loss.objective.name}"
        if not (is_chain(structure) and structure.order >= 1):
            return structure.describe()
        reasons = {
            "limits on segment lengths": structure.resolved is not None
            and bool(structure.resolved.expansion),
            "real-valued columns": bool(layout.dense)
            or (batch.dense is not None and batch.dense.shape[1] > 0),
            "2^31 label tuples or more": layout.labels**structure.order >= 1 << 31,
            "more than 2^31 weights or positions": max(layout.weights, batch.positions) >= 1 << 31,
        }
        return next((what for what, holds in reasons.items() if holds), "")

    def __init__(self, loss: LinearLoss, kept: Mapping[str, NDArray[Any]] | None = None) -> None:
        assert is_chain(loss.structure)
        self.layout, self.chain, self.batch = loss.layout, loss.structure, loss.batch
        self.threads = loss.threads
        layout, batch, weight, gold = loss.layout, loss.batch, loss.weight, loss.gold
        L, edges = layout.labels, is_scored(layout, batch, "edge")
        soft = gold.share if isinstance(gold, Soft) else None
        allowed = gold.mask if isinstance(gold, Sets) else None
        self._start, self._stop = np.empty(L), np.empty(L)
        self._ngrams = np.empty(layout.slots["transition"].cells)
        self._transition_at: NDArray[np.intp] | None = (
            None  # of weights in `_ngrams`; None: in several tables
        )
        if loss.structure.order == 1:
            self._transition_at = layout.transition_cell.astype(np.intp)
        pairs = None if edges or loss.structure.order > 1 else pairs_of(layout, loss.structure)
        if pairs is not None:
            cell = pairs[2]
            by_cell = np.argsort(cell)
            self._ngrams = np.empty(len(cell))
            self._transition_at = by_cell[np.searchsorted(cell[by_cell], layout.transition_cell)]
        if kept is not None:
            self._evaluator = _native.Evaluator.unpack(
                kernels,
                self.chain.order,
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
            self.chain.order,
            layout.rows(),
            batch.seq_ptr,
            batch.attr_ptr,
            batch.attr,
            batch.value,
            weight,
            gold.label if isinstance(gold, Path) else None,
            soft,
            allowed,
            layout.rows("edge") if edges else None,
            batch.edge_ptr if edges else None,
            batch.edge_attr if edges else None,
            batch.edge_value if edges else None,
            0,
            False,
            False,
            None,
            None if pairs is None else pairs[0],
            None if pairs is None else pairs[1],
            layout.table_bytes,
            ROW_BYTES,
        )
        counts = _gold_counts(self.chain, gold, weight)
        self._gold_transitions = counts["transition"][layout.transition_cell]
        self._gold_ends = counts["start"], counts["stop"]
        self._edge_weights, self._gold_edges = np.zeros(0, dtype=np.int64), np.zeros(0)
        if not isinstance(gold, Sets):
            found, self._gold_edges = gold_edges(self.chain, layout, batch, gold, weight)
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
    def rounds(self) -> int:
        """How many times the rows of scores are used in an evaluation."""
        return self._evaluator.rounds

    @property
    def rows_left(self) -> int:
        """How many rows are added up at positions; the other occurrences are part of them."""
        return self._evaluator.rows_left

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        layout = self.layout
        weights = checked_weights(layout, w)
        out = checked_out(gradient, (layout.weights,))
        parts = layout.parts
        if not np.isfinite(weights[parts["transition"].start :]).all():
            explain(layout, weights)
        out[parts["edge"]] = 0.0
        ngrams, start, stop = self._potentials(weights)
        found = self._evaluator.evaluate(
            weights,
            ngrams,
            start,
            stop,
            out,
            self._start,
            self._stop,
            self._ngrams,
            None,
            None,
            threads_or_all(self.threads),
        )
        value = checked_value(layout, weights, found)
        out[self._edge_weights] -= self._gold_edges
        value -= dot(self._gold_edges, weights[self._edge_weights])
        credits = (
            layout.transition_weights(shared_out(layout.slots["transition"].split(self._ngrams)))
            if self._transition_at is None
            else self._ngrams[self._transition_at]
        )
        out[parts["transition"]] = credits - self._gold_transitions
        value -= dot(self._gold_transitions, weights[parts["transition"]])
        for name, grad, gold in zip(
            ("start", "stop"), (self._start, self._stop), self._gold_ends, strict=True
        ):
            if getattr(layout, name):
                out[parts[name]] = grad
                value -= dot(gold, weights[parts[name]])
        return value

    def _potentials(self, weights: Floats) -> tuple[Floats, Floats | None, Floats | None]:
        """Return transitions of all orders in a row, start and stop [L] under the constraints."""
        layout, rules, L = self.layout, self.chain.resolved, self.layout.labels
        tables = list(layout.transition_tables(weights))
        start = weights[layout.parts["start"]] if layout.start else None
        stop = weights[layout.parts["stop"]] if layout.stop else None
        if rules is not None:
            tables[0] = forbid(tables[0], rules.transition)
        ngrams = np.concatenate([table.ravel() for table in cumulated(tables)])
        if rules is None:
            return ngrams, start, stop
        return (
            ngrams,
            forbid(np.zeros(L) if start is None else start, rules.start),
            forbid(np.zeros(L) if stop is None else stop, rules.stop),
        )


def checked_value(layout: Layout, weights: Floats, found: tuple[float, bool, int]) -> float:
    """Return the value of an evaluation: found are it, whether all scores are finite, and who has none."""
    value, finite, impossible = found
    if not finite:
        explain(layout, weights)
        raise NotFiniteError(
            "the scores of a position overflow; scale the values of attributes, or lower the weights"
        )
    if impossible >= 0:
        raise InfeasibleError(impossible)
    return value


def _gold_counts(chain: Chain, gold: Gold, weight: Floats) -> dict[str, Floats]:
    """Return how often the gold takes each step, and each label first and last; 0 for sets of labels."""
    slots = chain.slots()
    counts = {name: np.zeros(slots[name].cells) for name in ("transition", "start", "stop")}
    if not isinstance(gold, Sets):
        chain.add_counts(gold, weight, counts)
    return counts
