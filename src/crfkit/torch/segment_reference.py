"""Queries of semi-Markov chains in plain torch: in log space, on any device, differentiable at will.

The oracle of the kernels, and what answers where there is none; derivatives are made by
`crfkit.torch.reference`. With s(b, d, y) the whole score of a segment, Sarawagi & Cohen (2004) eq. 5 in two
half steps: enter[t] = log sum of leave[t - 1] + edge, and leave[t] = log sum over d of enter[t - d + 1] +
s(t - d + 1, d). The scores of all segments are in memory, [B, T, D, L].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from crfkit.torch.autograd import logsumexp
from crfkit.torch.batches import Segments
from crfkit.torch.rows import padded_rows

__all__ = ["Rows", "clamped", "ended", "forward", "log_partition", "loss", "whole_scores"]


def whole_scores(segments: Segments) -> Tensor:
    """Return the score of every segment without its edges, [B, T, D, L] float64, by place and length."""
    D, L = segments.duration.shape
    leading = padded_rows(segments.like, segments).shape[:2]
    total = segments.duration.double().expand(*leading, D, L)
    if segments.segment is not None:
        total = total + padded_rows(segments.segment, segments).double()
    if segments.node is None:
        return total
    rows = padded_rows(segments.node, segments).double()  # [B, T, L]
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


def forward(scores: Tensor, segments: Segments, total: Callable[[Tensor, int], Tensor]) -> Rows:
    """Sweep over whole scores; `total` adds up or takes the largest."""
    made, edge = Rows([], [], scores), segments.edge.double()
    for t in range(scores.shape[1]):
        if t == 0:
            made.enter.append(segments.start.double().expand(len(scores), -1))
        else:
            made.enter.append(total(made.leave[-1].unsqueeze(-1) + edge, 1))
        made.leave.append(total(made.ending(t), 1))
    return made


def ended(made: Rows, segments: Segments, total: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Return the value [B] at the end of each sequence."""
    length, stop = segments.length, segments.stop.double()
    value = torch.zeros(length.shape, dtype=torch.float64, device=length.device)
    for t, leave in enumerate(made.leave):
        value = torch.where(length == t + 1, total(leave + stop, 1), value)
    return torch.where(value == torch.inf, torch.nan, value)


def _sum(scores: Tensor, segments: Segments) -> Tensor:
    return ended(forward(scores, segments, logsumexp), segments, logsumexp)


def log_partition(segments: Segments) -> Tensor:
    """Return log Z [B]: 0 for an empty sequence, -inf where nothing is allowed."""
    return _sum(whole_scores(segments), segments)


def clamped(scores: Tensor, segments: Segments, labels: Tensor, begins: Tensor) -> Tensor:
    """Return whole scores, -inf for segments that do not agree with the gold (`crfkit.torch.ops`)."""
    _, T, D, L = scores.shape
    label = padded_rows(labels, segments)[:, :T]  # [B, T]
    begin = padded_rows(begins, segments)[:, :T].clone()
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
        goes_on = goes_on & (after[:, 0] + d < segments.length[:, None])
        every.append(fits & ~goes_on[..., None])
    return scores.masked_fill(~torch.stack(every, 2), -torch.inf)


def loss(segments: Segments, labels: Tensor, begins: Tensor) -> Tensor:
    """Return log Z minus log Z over the segmentations that agree with the gold, [B]."""
    scores = whole_scores(segments)
    free, gold = _sum(scores, segments), _sum(clamped(scores, segments, labels, begins), segments)
    return torch.where((gold == -torch.inf) & ~free.isnan(), torch.inf, free - gold)
