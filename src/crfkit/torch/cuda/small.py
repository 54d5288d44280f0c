"""Chains of up to 64 labels with one table of edges, on CUDA: a program for each sequence."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels import compact, logs, small
from crfkit.torch.cuda.launch import halves, launch

__all__ = ["log_partition", "loss", "marginals"]


@cache  # Triton's arithmetic wraps its arguments: a microsecond each
def _tiles(L: int, wide: bool) -> tuple[tuple[int, int, int, int, int], int]:
    """Return the sizes P, Q, R, S of the tiles of a table and of a block of places, and the warps."""
    padded = max(16, triton.next_power_of_2(L))
    warps = {16: 1, 32: 2 if wide else 1, 64: 8 if wide else 4}[padded]
    P, Q = {1: (8, 4), 2: (8, 8), 4: (16, 8), 8: (16, 16)}[warps]
    return (P, Q, padded // P, padded // Q, 1024 // padded), warps


def _where(chain: Chain, labels: Tensor | None) -> tuple[Any, ...]:
    """Return the arguments of a kernel that say where scores, places and labels lie."""
    node, length, first, index, start, edge, stop = chain
    packed = first is not None
    node_b, node_t = (0, node.stride(0)) if packed else node.stride()[:2]
    labels_b = labels_t = 0
    if labels is not None:
        labels_b, labels_t = (0, labels.stride(0)) if packed else labels.stride()
    return (
        node, node_b, node_t, length, first, index, 0 if index is None else index.stride(0),
        start, edge, *edge.stride(), stop, labels, labels_b, labels_t,
    )  # fmt: skip


def _gradients(
    chain: Chain, labels: Tensor | None, weight: Tensor | None, scale: float
) -> tuple[Tensor, ...]:
    """Return gradients, the weighted sum of values, values and flags."""
    node, length, first, index, start, edge, stop = chain
    L, B = node.shape[-1], length.shape[0]
    T = 0 if first is not None else node.shape[1]
    wide = torch.float64 in (node.dtype, edge.dtype)
    C = torch.float64 if wide else torch.float32
    dnode = (torch.empty if first is None else torch.zeros)(node.shape, dtype=node.dtype, device=node.device)
    direct = node.dtype == C and index is None
    size, width = node.numel(), L * L + 2 * L + 1
    # forward rows; rows of exp(node), where `dnode` cannot hold them; a row of sums for each sequence
    room = node.new_empty((1 if direct else 2) * size + B * width, dtype=C)
    rows, partial = dnode if direct else room[size:], room[-B * width :] if B else room
    value = node.new_empty(B, dtype=torch.float64)
    in_logs = node.new_empty(B, dtype=torch.uint8)
    if B:
        args = (
            *_where(chain, labels),
            weight, *halves(scale), T, L, rows, room, partial, value, in_logs,
            None if direct else dnode,
        )  # fmt: skip
        kind = tl.float64 if wide else tl.float32
        tiles, warps = _tiles(L, wide)
        launch(small.gradients, B, args, (*tiles, kind), warps)
        tiles, warps = _tiles(L, True)
        launch(logs.sums, B, args, (*tiles, kind), warps)
    total = node.new_empty((), dtype=C)
    dstart, dedge, dstop = torch.empty_like(start), edge.new_empty(edge.shape), torch.empty_like(stop)
    blocks = -(-width // 32)
    launch(compact.totals, blocks, (partial, B, L, dedge, dstart, dstop, total), (32, 32), 4)
    return dnode, dstart, dedge, dstop, total, value, in_logs


def _values(chain: Chain, labels: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return log Z or losses, and flags."""
    node, length, first = chain[:3]
    L, B = node.shape[-1], length.shape[0]
    T = 0 if first is not None else node.shape[1]
    rows = node.new_empty(node.numel(), dtype=torch.float64)
    value = node.new_empty(B, dtype=torch.float64)
    in_logs = node.new_empty(B, dtype=torch.uint8)
    if B:
        where = _where(chain, labels)
        tiles, warps = _tiles(L, True)
        launch(small.values, B, (*where, T, L, rows, value, in_logs), tiles, warps)
        rest = (None, 1.0, 0.0, T, L, None, None, None, value, in_logs, None)
        launch(logs.sums, B, (*where, *rest), (*tiles, tl.float64), warps)
    return value, in_logs


def log_partition(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    return _values(chain, None)


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    made = _gradients(chain, None, weight, 1.0)
    return (*made[:4], *made[5:])


def loss(chain: Chain, labels: Tensor, weight: Tensor | None, scale: float, grad: bool) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    if grad:
        *made, total, value, in_logs = _gradients(chain, labels, weight, scale)
        return (total, value, *made, in_logs)
    value, in_logs = _values(chain, labels)
    each = value if weight is None else value * weight
    return ((each.sum() * scale).to(chain.total_dtype), value, *chain.nothing(), in_logs)
