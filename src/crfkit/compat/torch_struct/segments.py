"""Sums, best segmentations and draws for a score of every (begin, length, to, from).

edge [B, N - 1, K, C, C]: entry (n, k, to, from) leads from label `from` at boundary n to label `to` at
boundary n + k, 1 <= k < K; the first label is free. Sarawagi & Cohen (2004) eq. 4 with scores of label pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from crfkit.torch.autograd import logsumexp

__all__ = ["best_scores", "draw", "forward_sums", "log_partition"]


def _entering(edge: Tensor, m: int) -> list[tuple[int, int]]:
    """Return the (begin, length) of the segments that end at boundary m."""
    return [(m - k, k) for k in range(1, min(edge.shape[2] - 1, m) + 1)]


def forward_sums(edge: Tensor) -> list[Tensor]:
    """Return log sums [B, C] over what leads to each label at each boundary."""
    alphas = [edge.new_zeros(edge.shape[0], edge.shape[-1])]
    for m in range(1, edge.shape[1] + 1):
        parts = [edge[:, n, k] + alphas[n][:, None] for n, k in _entering(edge, m)]  # [B, to, from]
        empty = torch.full_like(alphas[0], -torch.inf)
        alphas.append(logsumexp(torch.cat(parts, -1), -1) if parts else empty)
    return alphas


def _at_end(rows: list[Tensor], length: Tensor) -> Tensor:
    stacked = torch.stack(rows, 1)  # [B, N, C]
    return stacked[torch.arange(len(length), device=length.device), length.long() - 1]


def log_partition(edge: Tensor, length: Tensor) -> Tensor:
    """Return log Z [B]; `length` counts boundaries, 1 to N."""
    return logsumexp(_at_end(forward_sums(edge), length), 1)


def best_scores(edge: Tensor, length: Tensor, k: int) -> Tensor:
    """Return the scores [B, k] of the k best segmentations, -inf beyond those that exist.

    The gradient of one of them by `edge` is the event of its segmentation.
    """
    B, N, C = edge.shape[0], edge.shape[1] + 1, edge.shape[-1]
    none = edge.new_full((B, C, k - 1), -torch.inf)
    rows = [torch.cat([edge.new_zeros(B, C, 1), none], -1)]  # [B, C, k]
    for m in range(1, N):
        parts = [
            edge[:, n, d][..., None] + rows[n][:, None] for n, d in _entering(edge, m)
        ]  # [B, to, from, k]
        if not parts:
            rows.append(edge.new_full((B, C, k), -torch.inf))
            continue
        rows.append(torch.cat(parts, 2).flatten(2).topk(k, -1).values)
    ends = torch.stack(rows, 1)[torch.arange(B, device=edge.device), length.long() - 1]
    return ends.flatten(1).topk(k, -1).values


def draw(edge: Tensor, length: Tensor, n: int, choose: Callable[[Tensor], Tensor]) -> Tensor:
    """Return n draws [n, B, N] as sequences: a label at each boundary that was chosen, -1 between."""
    B, N, C = edge.shape[0], edge.shape[1] + 1, edge.shape[-1]
    alphas = forward_sums(edge)
    rows = torch.arange(B, device=edge.device)
    out = torch.full((n, B, N), -1, dtype=torch.long, device=edge.device)
    for i in range(n):
        place = length.long() - 1
        label = choose(_at_end(alphas, length))
        for m in reversed(range(N)):
            here = place == m
            out[i, here, m] = label[here]
            entering = _entering(edge, m)
            if not entering:
                continue
            parts = [edge[rows, b, k, label] + alphas[b] for b, k in entering]  # [B, from]
            chosen = choose(torch.cat(parts, 1))
            place = torch.where(here, m - 1 - chosen // C, place)
            label = torch.where(here, chosen % C, label)
    return out
