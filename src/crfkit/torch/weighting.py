"""Losses of chains with a weight for each position or label, and smoothed ones.

Positions: -log p(y | x) is the sum of -log p(y_t | y_1, ..., y_{t-1}, x) over positions, and a weight is a
factor of its term: each term is 0 or more, and with weights of 1 the loss is as it was. In a chain of order 1
p(y_t | y_1, ..., y_{t-1}, x) = p(y_{t-1}, y_t | x) / p(y_{t-1} | x), of marginals of steps and labels.

Smoothing: the gold is (1 - s) times the labels and s times the uniform distribution u over all labelings
that are allowed, and the loss is the cross entropy, (1 - s) * loss + s * (log Z - E_u[score]): for sequences
of one position that of `torch.nn.functional.cross_entropy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from crfkit.checks import check_number
from crfkit.torch import derivatives
from crfkit.torch.inputs import Rows, check_scores, has_shape, visible
from crfkit.torch.rows import in_chain, padded_rows, scattered
from crfkit.torch.structures import flat

if TYPE_CHECKING:
    from crfkit.torch.queries import Chains

__all__ = ["by_position", "check_smoothing", "smoothed"]


def check_smoothing(amount: float) -> None:
    """Refuse amounts of smoothing that are no share."""
    check_number("label_smoothing", amount)
    if amount > 1:
        raise ValueError(f"label_smoothing is {amount}, expected 0 to 1")


def by_position(
    chains: Chains, labels: Tensor, label_weight: Tensor | None, position_weight: Rows | None
) -> tuple[Tensor, Tensor]:
    """Return losses [B] that can be differentiated, and the sums [B] of the weights of their positions.

    A sequence with a label that is not known is a ValueError on the CPU and NaN elsewhere.
    """
    rows, L = chains.rows, chains.rows.node.shape[-1]
    if chains.higher:
        raise ValueError("weights of labels and positions are for chains of order 0 and 1")
    weight = torch.ones_like(labels, dtype=torch.float64)
    if label_weight is not None:
        check_scores(label_weight, "label_weight", rows)
        if not has_shape(label_weight, (L,)):
            raise ValueError(f"label_weight has shape {tuple(label_weight.shape)}, expected ({L},)")
        weight = label_weight.double()[labels.clamp(0, L - 1)]
    if position_weight is not None:
        given = rows.like_node(position_weight, "position_weight")
        check_scores(given, "position_weight", rows)
        weight = weight * given.double()
    weight = padded_rows(weight, rows)  # [B, T], 0 behind the ends
    unknown = padded_rows((labels < 0).long(), rows).any(1)
    if visible(labels) and unknown.any():
        b = int(unknown.nonzero()[0])
        raise ValueError(
            f"sequence {b} has an unknown label: label_weight and position_weight need all labels"
        )
    term = _terms(chains, labels.clamp(min=0))
    each = (torch.where(weight == 0, 0.0, term) * weight).sum(1)
    return torch.where(unknown | chains.log_partition().isnan(), torch.nan, each), weight.sum(1)


def _terms(chains: Chains, labels: Tensor) -> Tensor:
    """Return -log p(y_t | labels before it, x) in the order of chains, [B, T] in float64."""
    rows, chain = chains.rows, chains.batch
    edge = chain.edge.double()
    if edge.ndim == 2:  # a table for each row, all of them the same memory
        edge = edge.expand(*chain.node.shape[:-1], *edge.shape)
    wide = chain._replace(
        node=chain.node.double(), start=chain.start.double(), edge=edge, stop=chain.stop.double()
    )
    ones = torch.ones_like(chain.length, dtype=torch.float64)
    single, _, steps, _ = derivatives.Marginals.apply("chain", ones, *wide)
    inside = in_chain(chain.length, padded_rows(labels, rows).shape[1])
    alone = padded_rows(single.gather(-1, labels[..., None])[..., 0], rows)
    together = padded_rows(_of_gold(chains, steps, labels), rows)
    first = torch.arange(inside.shape[1], device=inside.device) == 0
    impossible = (inside & ((alone == 0) | ((together == 0) & ~first))).any(1, keepdim=True)
    sound = inside & ~impossible

    def log(share: Tensor, where: Tensor) -> Tensor:
        return torch.where(where, share, 1.0).log()

    before = log(alone, sound).roll(1, 1)
    term = torch.where(first, -log(alone, sound), before - log(together, sound & ~first))
    return torch.where(inside, torch.where(impossible, torch.inf, term), 0.0)


def _of_gold(chains: Chains, steps: Tensor, labels: Tensor) -> Tensor:
    """Return the probability of the step into each row, shaped as labels; nothing of use at first rows."""
    rows, L = chains.rows, chains.rows.node.shape[-1]
    before = scattered(padded_rows(labels, rows).roll(1, 1), chains.rows.node, rows)
    cell = before * L + labels
    if not has_shape(steps, (*labels.shape, L, L)):  # [B, T - 1, L, L]: entry t leads from row t to row t + 1
        steps = torch.cat([steps.new_zeros(len(steps), 1, L, L), steps], 1)
    found: Tensor = steps.flatten(-2).gather(-1, cell[..., None])[..., 0]
    return found


def smoothed(chains: Chains, losses: Tensor, amount: float) -> Tensor:
    """Return losses [B] of gold that is smoothed by an amount from 0 to 1."""
    p = chains.widened()
    nothing = (torch.where(x == -torch.inf, -torch.inf, 0.0).to(x.dtype) for x in p.scores)
    uniform = p.with_scores([x.detach() for x in nothing])
    count = derivatives.LogPartition.apply(chains.structure, *flat(uniform))
    apart = derivatives.Divergence.apply(chains.structure, *flat(uniform), *p.scores)
    mixed = (1.0 - amount) * losses + amount * (apart + count)
    return torch.where(losses.isfinite(), mixed, losses)
