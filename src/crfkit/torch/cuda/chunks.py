"""Few long chains with L <= 64 on a GPU: a scan over chunks (`crfkit.torch.cuda.kernels.chunks`)."""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels import chunk_logs, chunk_sweep, chunks
from crfkit.torch.cuda.launch import halves

__all__ = ["chunk_length", "log_partition", "loss", "marginals"]


def chunk_length(B: int, T: int) -> int:
    """Return the positions S of a chunk, from sizes only.

    A chunk costs S steps and the fold T / S, which balance near the root of T; where there are many
    sequences, more chunks than the GPU runs at a time gain nothing.
    """
    return max(16, round(math.sqrt(0.5 * T)), -(-B * T // 2048))


def _warps(Lp: int) -> tuple[int, int, int]:
    """Return the warps of a program of each pass: measured on an H200."""
    return {16: (1, 1, 1), 32: (4, 4, 1), 64: (4, 4, 4)}[Lp]


def _run(
    chain: Chain,
    labels: Tensor | None,
    weight: Tensor | None,
    scale: float,
    grad: bool,
    S: int | None = None,
) -> tuple[Tensor, ...]:
    """Return the total, values, gradients and flags of the losses, or of log Z without labels."""
    node, length, first, index, start, edge, stop = chain
    B, L = length.shape[0], node.shape[-1]
    packed = first is not None
    T = -(-node.shape[0] // max(B, 1)) if packed else node.shape[1]
    S = S or chunk_length(B, T)
    K = max(-(-T // S), 1)
    slots = node.shape[0] // S + B if packed else B * K
    Lp = max(16, triton.next_power_of_2(L))
    warps = _warps(Lp)
    wide = torch.float64 in (node.dtype, edge.dtype)
    start, edge, stop = start.contiguous(), edge.contiguous(), stop.contiguous()

    values = node.new_empty(B, dtype=torch.float64)
    in_logs = node.new_empty(B, dtype=torch.uint8)
    total = node.new_empty((), dtype=torch.float64 if wide else torch.float32)
    half = node.dtype in (torch.float16, torch.bfloat16)
    made = chain.nothing()
    if grad:
        # gradients of two chains are added up: not in half precision
        by_node = torch.zeros_like(node, dtype=torch.float32 if half and labels is not None else node.dtype)
        made = [by_node, torch.empty_like(start), torch.empty_like(edge), torch.empty_like(stop)]
    record, per_sequence = Lp * Lp + 2 * Lp + 8, 2 * Lp + 4
    chains = 1 if labels is None else 2
    sizes = [chains * slots * record, B * per_sequence]
    work, sequences = node.new_empty(sum(sizes), dtype=torch.float64).split(sizes)
    # rows of weights; forward and backward values, or those of a chain in log space
    rows = node.new_empty(slots * (3 * S + 1) * Lp, dtype=torch.float64)
    alphas = rows[slots * S * Lp :]

    step, batch = node.stride(-2), 0 if packed else node.stride(0)
    gold, label_step, label_batch = node, 0, 0
    if labels is not None:
        gold, label_step, label_batch = labels, labels.stride(-1), 0 if packed else labels.stride(0)
    by_node = made[0] if grad else node
    grad_step, grad_batch = by_node.stride(-2), 0 if packed else by_node.stride(0)
    width = 0 if index is None else index.stride(0)
    form: dict[str, Any] = {
        "L": L,
        "Lp": Lp,
        "BB": triton.next_power_of_2(B) if packed else 1,
        "PACKED": packed,
    }
    scales = halves(scale)
    where = node, length, first if packed else length, index if index is not None else length
    weights = weight if weight is not None else node
    flags = {
        "INDEX": index is not None,
        "LABELS": labels is not None,
        "WEIGHT": weight is not None,
        "GRAD": grad,
    }
    if B:
        chunks.operators[slots, chains](
            *where, start, edge, stop, gold, work, rows,
            B, width, K, S, slots, batch, step, label_batch, label_step,
            **form, INDEX=index is not None, WIDE=wide, num_warps=warps[0],
        )  # fmt: skip
        chunks.fold[B, 2 * chains](
            length, stop, work, sequences, B, K, S, slots,
            **form, LABELS=labels is not None, WIDE=wide, num_warps=warps[1],
        )  # fmt: skip
        chunk_sweep.sweep[slots,](
            *where[1:], start, edge, gold, weights, by_node, work, sequences, rows,
            B, width, K, S, slots, label_batch, label_step, grad_batch, grad_step, *scales,
            **form, **flags, WIDE=wide, num_warps=warps[2], num_stages=1,
        )  # fmt: skip
        chunk_logs.logs[B,](
            *where, start, edge, stop, gold, weights, by_node, work, sequences, alphas, values, in_logs,
            B, width, K, S, batch, step, label_batch, label_step, grad_batch, grad_step, *scales,
            **form, **flags, num_warps=4,
        )  # fmt: skip
    if grad or labels is not None:
        flags.pop("INDEX")
        out = made if grad else [node] * 4
        chunk_sweep.finish[L + 3,](
            work,
            sequences,
            values,
            weights,
            *out[1:],
            total,
            slots,
            B,
            *scales,
            L=L,
            Lp=Lp,
            **flags,
            num_warps=4,
        )
    if grad and made[0].dtype != node.dtype:
        made[0] = made[0].to(node.dtype)
    return (total, values, *made, in_logs)


def log_partition(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    made = _run(chain, None, None, 1.0, False)
    return made[1], made[-1]


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    made = _run(chain, None, weight, 1.0, True)
    return (*made[2:6], made[1], made[6])


def loss(chain: Chain, labels: Tensor, weight: Tensor | None, scale: float, grad: bool) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    return _run(chain, labels, weight, scale, grad)
