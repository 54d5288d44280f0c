"""Labeled sequences as the native trainers visit them, and what these do not cover."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crfkit.arrays import Floats, pointers, ranges
from crfkit.data.batch import Batch
from crfkit.linear.fast.segments import places_of, weights_of_rows
from crfkit.linear.fast.steps import pairs_of
from crfkit.linear.layout import Layout
from crfkit.linear.margins import margin_lack
from crfkit.linear.mistakes import DecodedSequences
from crfkit.linear.objective import Family
from crfkit.optimize.margin.view import MarginChains
from crfkit.optimize.sequential.sequences import (
    DualSequences,
    EdgeRows,
    OneBlock,
    PerceptronSequences,
    SegmentRows,
    Sequences,
)
from crfkit.structures.chains.chain import Chain, is_chain
from crfkit.structures.gold import Path
from crfkit.structures.segments.semimarkov import SemiMarkov
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["rows_of_segments"]


def rows_of_segments(structure: SemiMarkov, layout: Layout, batch: Batch, gold: Path) -> dict[str, Any]:
    """Return the rows, their gold and their weights, by the names that `Sequences` has for them."""
    assert gold.begin is not None
    D, N = max(structure.max_length), batch.sequences
    places, (row_ptr, column) = places_of(layout, batch, D), weights_of_rows(layout)
    of = np.repeat(np.arange(N), np.diff(batch.seq_ptr))  # [P] the sequence of each position
    kinds = 1 + places.begins + places.ends
    sequence = np.concatenate([np.tile(of, kinds), of[places.segment // D]])  # [rows]
    made: dict[str, Any] = {
        "seq_ptr": pointers(np.bincount(sequence, minlength=N)),
        "attr_ptr": places.ptr,
        "attr": places.attr,
        "value": places.value,
        "label": places.labels(structure.gold_cells(batch)),
        "row_ptr": row_ptr,
        "column": column,
        "segments": SegmentRows(
            position_ptr=batch.seq_ptr,
            begin=gold.begin.astype(np.int32),
            place=(places.segment - batch.seq_ptr[of[places.segment // D]] * D).astype(np.int32),
            length_cell=layout.block["length"].cell,
            longest=D,
            begins=places.begins,
            ends=places.ends,
        ),
    }
    if len(sequence) == len(of):
        return made
    order = np.argsort(sequence, kind="stable")  # [rows]
    lengths = np.diff(places.ptr)[order]
    taken = ranges(places.ptr[:-1][order], lengths)  # [occurrences]
    value = None if places.value is None else places.value[taken]
    by_sequence = {"attr_ptr": pointers(lengths), "attr": places.attr[taken], "value": value}
    return {**made, **by_sequence, "label": made["label"][order]}


S = TypeVar("S", bound=Sequences)


def sequences_lack(loss: LinearLoss) -> str:
    """Return why trainers of plain chains cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return chains_lack(loss.structure) or _lack_of_data(loss) or _lack_of_edges(loss)


def online_lack(loss: LinearLoss) -> str:
    """Return why stochastic visits cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return _lack(loss)


def dual_lack(loss: LinearLoss) -> str:
    """Return why the dual cannot take a loss; empty where it can."""
    if not isinstance(loss.structure, SemiMarkov):
        against = online_lack(loss).replace("of order 1 and more", "of order 1 and more, and segments")
        return against or _lack_of_edges(loss)
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return _lack_of_data(loss) or _lack_of_edges(loss)


def perceptron_lack(loss: LinearLoss) -> str:
    """Return why the perceptrons cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.MISTAKES:
        return f"the objective {loss.objective.name}, only the perceptron"
    if (loss.weight != 1.0).any():
        return "weights of sequences other than 1"
    return _lack_of_data(loss)


def chains_lack(structure: Structure) -> str:
    """Return why a structure is not a plain chain of order 1; empty where it is one."""
    if not (is_chain(structure) and structure.order == 1):
        return f"{structure.describe()}, only chains of order 1"
    return _lack_of_lengths(structure)


def _lack(loss: LinearLoss) -> str:
    """Return why the visits of chains cannot take a loss: they know order 1 and more, and edge attributes."""
    if not (is_chain(loss.structure) and loss.structure.order >= 1):
        return f"{loss.structure.describe()}, only chains of order 1 and more"
    return _lack_of_lengths(loss.structure) or _lack_of_data(loss)


def _lack_of_lengths(chain: Chain) -> str:
    limited = chain.resolved is not None and chain.resolved.expansion is not None
    return "limits on segment lengths" if limited else ""


def _lack_of_edges(loss: LinearLoss) -> str:
    return "edge attributes" if loss.layout.edge_attributes else ""


def _lack_of_data(loss: LinearLoss) -> str:
    reasons = {
        "partial labels": loss.kind == "set",
        "soft labels": loss.kind == "soft",
        "real-valued columns": loss.layout.dense > 0,
        "negative weights of sequences": bool((loss.weight < 0.0).any()),
    }
    return next((what for what, holds in reasons.items() if holds), "")


def sequences_of(loss: LinearLoss) -> Sequences:
    """Return the flat arrays of a loss that native trainers take."""
    return _made(loss, Sequences)


def perceptron_of(loss: LinearLoss) -> PerceptronSequences | DecodedSequences:
    """Return the sequences of a loss: flat arrays for the native perceptrons where these cover it."""
    return DecodedSequences(loss) if _lack(loss) else _made(loss, PerceptronSequences)


def margin_chains_lack(loss: LinearLoss) -> str:
    """Return why native visits cannot take a margin loss; empty where they can."""
    return margin_lack(loss) or _lack(loss)


def margin_chains_of(loss: LinearLoss) -> MarginChains:
    """Return the flat arrays of a margin loss that native visits take."""
    return _made(loss, MarginChains)


def blocks_of(loss: LinearLoss) -> OneBlock:
    """Return the sequences as the only block of data in memory."""
    return OneBlock(sequences_of(loss))


def dual_of(loss: LinearLoss) -> DualSequences:
    """Return the flat arrays of a loss that the dual takes."""
    chain = loss.structure
    pairs = pairs_of(loss.layout, chain) if is_chain(chain) and chain.order == 1 else None
    return replace(_made(loss, DualSequences), pairs=None if pairs is None else pairs[:2])


def _made(loss: LinearLoss, kind: type[S]) -> S:
    batch, layout, weight = loss.batch, loss.layout, loss.weight
    assert isinstance(loss.gold, Path)
    if isinstance(loss.structure, SemiMarkov):
        rows = rows_of_segments(loss.structure, layout, batch, loss.gold)
    else:
        rows = {
            "seq_ptr": batch.seq_ptr,
            "attr_ptr": batch.attr_ptr,
            "attr": batch.attr,
            "value": batch.value,
            "label": loss.gold.label,
            "row_ptr": layout.node_ptr,
            "column": layout.node_label,
            "before": layout.order,
            "edges": _edges(layout, batch),
        }
    return kind(
        **rows,
        labels=layout.labels,
        transition_cell=layout.transition_cell,
        start=layout.start,
        stop=layout.stop,
        weight=None if (weight == 1.0).all() else np.ascontiguousarray(weight, dtype=np.float64),
        forbidden=_forbidden(loss.structure),
    )


def _edges(layout: Layout, batch: Batch) -> EdgeRows | None:
    """Return the edge attributes of a batch; None where none has a weight."""
    if not layout.edge_attributes:
        return None
    ptr = np.zeros(batch.positions + 1, np.int64) if batch.edge_ptr is None else batch.edge_ptr
    attr = np.zeros(0, np.int32) if batch.edge_attr is None else batch.edge_attr
    return EdgeRows(ptr, attr, batch.edge_value, layout.edge_ptr, layout.edge_cell)


def _forbidden(structure: Any) -> Floats | None:
    """Return 0 for what is allowed, else -inf: transitions, lengths, start, stop, [(tables + 2) * L]."""
    L, rules = len(structure.labels), structure.resolved
    longer = np.ones(sum(L**h for h in range(3, getattr(structure, "order", 1) + 2)), np.bool_)
    lengths = structure.allowed_lengths() if isinstance(structure, SemiMarkov) else np.ones((0, L), np.bool_)
    if rules is None and lengths.all():
        return None
    free = np.ones((L + 2, L), np.bool_)
    steps, start, stop = (
        (free[:L], free[L], free[L + 1]) if rules is None else (rules.transition, rules.start, rules.stop)
    )
    return np.where(np.concatenate([steps.ravel(), longer, lengths.ravel(), start, stop]), 0.0, -np.inf)
