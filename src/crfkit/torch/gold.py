"""What is known of labels: the labels, sets of them, distributions over them (`crfkit.structures.gold`)."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.inputs import Rows, Sequences, visible

__all__ = [
    "check_sets",
    "check_shares",
    "clamped",
    "expected_score",
    "has_infinity",
    "known_labels",
    "left_in",
    "weighted",
    "within",
]

UNKNOWN = (-1, -100)


def known_labels(labels: Tensor, rows: Sequences, look: bool | None = None) -> Tensor:
    """Return labels as int64; raise where one in a chain is out of range, if values may be looked at."""
    if labels.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        raise ValueError(f"labels has type {labels.dtype}, expected whole numbers")
    labels = labels.to(torch.int64)
    if (visible(labels) if look is None else look) and labels.numel():
        L = rows.node.shape[-1]
        low, high = torch.aminmax(labels)
        if low.item() < -1 or high.item() >= L:
            known = (labels >= 0) & (labels < L)
            for unknown in UNKNOWN:
                known |= labels == unknown
            wrong = (~known & rows.inside().to(labels.device)).flatten().nonzero()
            if wrong.numel():
                row = int(wrong[0])
                raise ValueError(
                    f"{rows.place(row)}: the label is {int(labels.flatten()[row])}, expected 0 to {L - 1}, "
                    "or -1 or -100 where it is unknown"
                )
    return labels


def check_sets(sets: Tensor, rows: Sequences) -> None:
    """Raise where a position in a chain may have no label at all, if values may be looked at."""
    if visible(sets):
        wrong = (~sets.any(-1) & rows.inside()).flatten().nonzero()
        if wrong.numel():
            place = rows.place(int(wrong[0]))
            raise ValueError(f"{place}: allowed is an empty set: give True to all labels that may be")


def within(rows: Sequences, allowed: Rows) -> Sequences:
    """Return rows whose scores forbid the labels that are not in these sets."""
    sets = rows.like_node(allowed, "allowed", (rows.node.shape[-1],))
    if sets.dtype != torch.bool:
        raise ValueError(f"allowed has type {sets.dtype}, expected torch.bool")
    check_sets(sets, rows)
    return rows._replace(node=clamped(rows.node, None, sets))


def check_shares(share: Tensor, rows: Sequences) -> None:
    """Raise where the labels of a position in a chain have no distribution, if values may be looked at."""
    if visible(share):
        wide = share.double()
        near = 0.02 if share.dtype in (torch.float16, torch.bfloat16) else 1e-4
        right = (wide >= 0).all(-1) & ((wide.sum(-1) - 1).abs() <= near)
        wrong = (~right & rows.inside()).flatten().nonzero()
        if wrong.numel():
            place = rows.place(int(wrong[0]))
            raise ValueError(f"{place}: allowed is not a distribution: it is negative or does not sum to 1")


def weighted(each: Tensor, weight: Tensor) -> Tensor:
    """Return losses times weights: a weight of 0 leaves a sequence out, though its loss is not finite."""
    return each.masked_fill((weight == 0) & ~each.isfinite(), 0.0) * weight


def has_infinity(losses: Tensor) -> bool:
    """Tell whether a loss may be infinite, from one or many of them, or from their sum."""
    return not isfinite(losses.detach().sum().item() if losses.ndim else losses.item())


def left_in(each: Tensor, weight: Tensor | None) -> Tensor:
    """Return losses [B] without a graph, 0 for sequences that a weight of 0 leaves out."""
    each = each.detach()
    return each if weight is None else each.masked_fill(weight == 0, 0.0)


def clamped(node: Tensor, labels: Tensor | None, allowed: Tensor | None) -> Tensor:
    """Return scores without the labelings that do not agree with labels (negative: any) and sets."""
    if labels is not None:
        other = torch.arange(node.shape[-1], device=node.device) != labels[..., None]
        node = node.masked_fill(other & (labels >= 0)[..., None], -torch.inf)
    return node if allowed is None else node.masked_fill(~allowed, -torch.inf)


def _finite(x: Tensor) -> Tensor:
    return x.masked_fill(x == -torch.inf, 0.0)  # steps that are forbidden do not count


def _back(x: Tensor, steps: int) -> Tensor:
    """Return rows [..., T, L] of which row t is that of place t - steps; zeros at first."""
    moved = x.roll(steps, -2)
    place = torch.arange(x.shape[-2], device=x.device)
    return moved.masked_fill((place < steps)[:, None], 0.0)


def expected_score(chain: Chain, offsets: Tensor | None, share: Tensor) -> Tensor:
    """Return the expected score [B] in float64 if the labels of positions are independent draws.

    sum_t <q_t, node_t> + sum_h sum_t <q_{t-h} (x) ... (x) q_t, edge_h>, and both ends (`gold.Soft`).
    """
    node, q = chain.node.double(), share.double()
    place, length = _places(chain, offsets)  # of each row: its place in its chain, and the length of that
    inside = (place >= 0) & (place < length)
    if chain.kept is not None:
        order = chain.kept.long()[..., None]
        node = node.gather(1, order.expand_as(node))
        q = q.gather(1, order.expand_as(q))
    q = torch.where(inside[..., None], q, 0.0)
    each = torch.where(q > 0, q * node, 0.0).sum(-1)  # [B, T] or [P]
    each = each + torch.where(place == 0, q @ _finite(chain.start.double()), 0.0)
    each = each + torch.where(place == length - 1, q @ _finite(chain.stop.double()), 0.0)
    for h, table in enumerate(chain.tables, 1):
        values = _finite(table.double())
        if values.ndim > h + 1:  # by position
            values = _into(values, chain)
            step = (_back(q, 1).unsqueeze(-2) @ values).squeeze(-2) * q
            each = each + torch.where(place > 0, step.sum(-1), 0.0)
            continue
        L = q.shape[-1]
        part = _back(q, h) @ values.flatten(1)  # [..., L^h]
        for d in range(h - 1, 0, -1):
            part = (part.unflatten(-1, (L, -1)) * _back(q, d).unsqueeze(-1)).sum(-2)
        each = each + torch.where(place >= h, (part * q).sum(-1), 0.0)
    each = torch.where(inside, each, 0.0)
    if chain.first is None:
        return each.sum(1)
    return torch.segment_reduce(each, "sum", lengths=chain.length.long(), unsafe=True)


def _places(chain: Chain, offsets: Tensor | None) -> tuple[Tensor, Tensor]:
    if chain.first is None:
        return torch.arange(chain.node.shape[1], device=chain.node.device), chain.length[:, None]
    assert offsets is not None
    number = torch.arange(chain.node.shape[0], device=chain.node.device)
    b = (torch.searchsorted(offsets, number, right=True) - 1).clamp(0, max(len(chain.length) - 1, 0))
    return number - offsets[b], chain.length[b]


def _into(edge: Tensor, chain: Chain) -> Tensor:
    """Return tables of the steps into the places of chains, in their order."""
    if chain.first is not None:
        return edge
    if edge.shape[1] < chain.node.shape[1]:
        edge = (
            torch.cat([torch.zeros_like(edge[:, :1]), edge], 1)
            if edge.shape[1]
            else edge.new_zeros(edge.shape[0], 1, *edge.shape[2:])
        )
    if chain.kept is None:
        return edge
    order = chain.kept.long().view(*chain.kept.shape, 1, 1)
    return edge.gather(1, order.expand(*chain.kept.shape, *edge.shape[2:]))
