"""Queries of semi-Markov chains in plain torch: in log space, on any device, differentiable at will.

The oracle of the kernels, and what answers where there is none. Every function takes the arguments of
`crfkit.torch.segment_ops`. With s(b, d, y) the whole score of a segment, Sarawagi & Cohen (2004) eq. 5 in two
half steps: enter[t] = log sum of leave[t - 1] + edge, and leave[t] = log sum over d of enter[t - d + 1] +
s(t - d + 1, d). The scores of all segments are in memory, [B, T, D, L].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch.reference import leaves_of, logsumexp, with_graphs
from crfkit.torch.rows import padded_rows

__all__ = [
    "Rows",
    "clamped",
    "ended",
    "forward",
    "hvp",
    "log_partition",
    "loss",
    "marginals",
    "rows_like",
    "total_dtype",
    "whole_scores",
]


def rows_like(node: Tensor | None, segment: Tensor | None) -> Tensor:
    """Return the tensor whose leading axes say where rows lie."""
    like = segment if node is None else node
    assert like is not None
    return like


def total_dtype(*scores: Tensor | None) -> torch.dtype:
    """Return the type of a total over sequences: float64 if some scores are, else float32."""
    wide = any(x is not None and x.dtype == torch.float64 for x in scores)
    return torch.float64 if wide else torch.float32


def whole_scores(
    node: Tensor | None,
    segment: Tensor | None,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    duration: Tensor,
) -> Tensor:
    """Return the score of every segment without its edges, [B, T, D, L] float64, by place and length."""
    D, L = duration.shape
    like = rows_like(node, segment)
    total = duration.double().expand(*padded_rows(like, length, first, index).shape[:2], D, L)
    if segment is not None:
        total = total + padded_rows(segment, length, first, index).double()
    if node is None:
        return total
    rows = padded_rows(node, length, first, index).double()  # [B, T, L]
    sums = [rows]
    for d in range(1, D):  # no differences of prefix sums, which lose digits
        later = torch.nn.functional.pad(rows[:, d:], (0, 0, 0, min(d, rows.shape[1])))
        sums.append(sums[-1] + later)
    return total + torch.stack(sums, 2)


class Rows(NamedTuple):
    """Forward scores of each place."""

    enter: list[Tensor]  # [B, L] of what begins there, without the segment
    leave: list[Tensor]  # [B, L] of what ends there
    scores: Tensor  # [B, T, D, L]

    def ending(self, t: int) -> Tensor:
        """Return the scores [B, d, L] of what ends at t, by length."""
        D = min(t + 1, self.scores.shape[2])
        return torch.stack([self.enter[t - d] + self.scores[:, t - d, d] for d in range(D)], 1)


def forward(scores: Tensor, start: Tensor, edge: Tensor, total: Callable[[Tensor, int], Tensor]) -> Rows:
    """Sweep over whole scores; `total` adds up or takes the largest."""
    made = Rows([], [], scores)
    for t in range(scores.shape[1]):
        if t == 0:
            made.enter.append(start.double().expand(len(scores), -1))
        else:
            made.enter.append(total(made.leave[-1].unsqueeze(-1) + edge.double(), 1))
        made.leave.append(total(made.ending(t), 1))
    return made


def ended(made: Rows, length: Tensor, stop: Tensor, total: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Return the value [B] at the end of each sequence."""
    value = torch.zeros(length.shape, dtype=torch.float64, device=length.device)
    for t, leave in enumerate(made.leave):
        value = torch.where(length == t + 1, total(leave + stop.double(), 1), value)
    return torch.where(value == torch.inf, torch.nan, value)


def _sum(scores: Tensor, length: Tensor, start: Tensor, edge: Tensor, stop: Tensor) -> Tensor:
    return ended(forward(scores, start, edge, logsumexp), length, stop, logsumexp)


def log_partition(
    node: Tensor | None,
    segment: Tensor | None,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    duration: Tensor,
) -> Tensor:
    """Return log Z [B]: 0 for an empty sequence, -inf where nothing is allowed."""
    return _sum(whole_scores(node, segment, length, first, index, duration), length, start, edge, stop)


def clamped(
    scores: Tensor, labels: Tensor, begins: Tensor, length: Tensor, first: Tensor | None, index: Tensor | None
) -> Tensor:
    """Return whole scores, -inf for segments that do not agree with the gold (`crfkit.torch.segment_ops`)."""
    _, T, D, L = scores.shape
    label = padded_rows(labels, length, first, index)[:, :T]  # [B, T]
    begin = padded_rows(begins, length, first, index)[:, :T].clone()
    begin[:, :1] = True  # the first place always begins a segment
    inside = (label >= 0) & ~begin
    number = torch.arange(L, device=label.device)
    agrees = (label[..., None] < 0) | (label[..., None] == number)  # [B, T, L]
    fits = agrees & ~inside[..., None]
    after = torch.arange(T, device=label.device)[:, None] + 1  # [T, 1]
    every = []
    for d in range(D):
        if d:
            at = torch.nn.functional.pad(begin[:, d:], (0, min(d, T)))
            fits = fits & ~at[..., None]
            fits = fits & torch.nn.functional.pad(agrees[:, d:], (0, 0, 0, min(d, T)), value=True)
        goes_on = torch.nn.functional.pad(inside[:, d + 1 :], (0, min(d + 1, T)))
        goes_on = goes_on & (after[:, 0] + d < length[:, None])
        every.append(fits & ~goes_on[..., None])
    return scores.masked_fill(~torch.stack(every, 2), -torch.inf)


def loss(
    node: Tensor | None,
    segment: Tensor | None,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    duration: Tensor,
    labels: Tensor,
    begins: Tensor,
) -> Tensor:
    """Return log Z minus log Z over the segmentations that agree with the gold, [B]."""
    scores = whole_scores(node, segment, length, first, index, duration)
    free = _sum(scores, length, start, edge, stop)
    gold = _sum(clamped(scores, labels, begins, length, first, index), length, start, edge, stop)
    return torch.where((gold == -torch.inf) & ~free.isnan(), torch.inf, free - gold)


@with_graphs
def marginals(
    node: Tensor | None,
    segment: Tensor | None,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    duration: Tensor,
    weight: Tensor,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b] by all scores, and log Z.

    By node, segment, start, edge, stop and duration. That of scores which are not given is empty.
    """
    given = [x for x in (node, segment) if x is not None]
    with torch.enable_grad():
        leaves = leaves_of([*given, start, edge, stop, duration], create_graph)
        n = None if node is None else leaves[0]
        s = None if segment is None else leaves[len(given) - 1]
        logz = log_partition(n, s, length, first, index, *leaves[len(given) :])
        total = (torch.where(logz.isinf(), 0.0, logz) * weight).sum()
        grads = list(torch.autograd.grad(total, leaves, create_graph=create_graph, materialize_grads=True))
    for place, x in ((0, node), (1, segment)):
        if x is None:
            grads.insert(place, start.new_empty(0))
    return (*grads, logz if create_graph else logz.detach())


@with_graphs
def hvp(
    node: Tensor | None,
    segment: Tensor | None,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    edge: Tensor,
    stop: Tensor,
    duration: Tensor,
    weight: Tensor,
    *direction: Tensor | None,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """Return the Hessian of sum_b weight[b] log Z[b] times a direction, <marginals, direction>, and log Z."""
    with torch.enable_grad():
        given = [node, segment, start, edge, stop, duration, weight]
        leaves = leaves_of([None if x is None else x.double() for x in given], create_graph)
        *scores, weights = leaves
        n, s, *tables = scores
        *grads, logz = marginals(n, s, length, first, index, *tables, weights, create_graph=True)
        along = sum(
            (g * v).sum()
            for g, v, x in zip(grads, direction, scores, strict=True)
            if x is not None and v is not None
        )
        inputs = [x for x in leaves if x is not None]
        products = list(torch.autograd.grad(along, inputs, create_graph=create_graph, materialize_grads=True))
    for place, x in ((0, node), (1, segment)):
        if x is None:
            products.insert(place, start.new_empty(0))
    return (*products, logz if create_graph else logz.detach())
