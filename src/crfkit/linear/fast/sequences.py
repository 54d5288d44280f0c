"""Labelled sequences as the native trainers visit them, and what these do not cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.linear.objective import Family
from crfkit.optimise.sequential.sequences import OneBlock, PerceptronSequences, Sequences
from crfkit.structures.chain import Chain, is_chain
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

S = TypeVar("S", bound=Sequences)

__all__ = ["blocks_of", "perceptron_lack", "perceptron_of", "sequences_lack", "sequences_of"]


def sequences_lack(loss: LinearLoss) -> str:
    """Return why native trainers cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    return _lack(loss)


def perceptron_lack(loss: LinearLoss) -> str:
    """Return why the native perceptrons cannot take a loss; empty where they can."""
    if loss.objective.family is not Family.MISTAKES:
        return f"the objective {loss.objective.name}, only the perceptron"
    if (loss.weight != 1.0).any():
        return "weights of sequences other than 1"
    return _lack(loss)


def _lack(loss: LinearLoss) -> str:
    structure, layout = loss.structure, loss.layout
    if not (is_chain(structure) and structure.order == 1):
        return f"{structure.describe()}, only chains of order 1"
    reasons = {
        "partial labels": loss.kind == "set",
        "soft labels": loss.kind == "soft",
        "edge attributes": layout.edge_attributes > 0,
        "real-valued columns": layout.dense > 0,
        "limits on segment lengths": structure.resolved is not None
        and structure.resolved.expansion is not None,
        "negative weights of sequences": bool((loss.weight < 0.0).any()),
    }
    return next((what for what, holds in reasons.items() if holds), "")


def sequences_of(loss: LinearLoss) -> Sequences:
    """Return the flat arrays of a loss that native trainers take."""
    return _made(loss, Sequences)


def perceptron_of(loss: LinearLoss) -> PerceptronSequences:
    """Return the flat arrays of a loss that the native perceptrons take."""
    return _made(loss, PerceptronSequences)


def blocks_of(loss: LinearLoss) -> OneBlock:
    """Return the sequences as the only block of data in memory."""
    return OneBlock(sequences_of(loss))


def _made(loss: LinearLoss, kind: type[S]) -> S:
    batch, layout, weight, chain = loss.batch, loss.layout, loss.weight, loss.structure
    assert isinstance(loss.gold, Path)
    assert is_chain(chain)
    return kind(
        seq_ptr=batch.seq_ptr,
        attr_ptr=batch.attr_ptr,
        attr=batch.attr,
        value=batch.value,
        label=loss.gold.label,
        labels=layout.labels,
        row_ptr=layout.node_ptr,
        column=layout.node_label,
        transition_cell=layout.transition_cell,
        start=layout.start,
        stop=layout.stop,
        weight=None if (weight == 1.0).all() else np.ascontiguousarray(weight, dtype=np.float64),
        forbidden=_forbidden(chain),
    )


def _forbidden(chain: Chain) -> Floats | None:
    """Return 0 where a transition, a first or a last label is allowed, else -inf: [(L + 2) * L]."""
    rules = chain.resolved
    if rules is None:
        return None
    allowed = np.concatenate([rules.transition.ravel(), rules.start, rules.stop])
    return np.where(allowed, 0.0, -np.inf)
