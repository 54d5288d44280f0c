"""Loss, log Z and marginals of chains whose edges differ by position."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels.by_position import sums
from crfkit.torch.cuda.launch import halves

__all__ = ["log_partition", "loss", "marginals"]

_CELLS = 1024  # of a table, held by one program at a time


def _launch(
    chain: Chain, labels: Tensor | None, weight: Tensor | None, scale: float, grad: bool
) -> tuple[Tensor, list[Tensor], Tensor]:
    """Return values [B] (log Z, or losses where there are labels), gradients and flags."""
    node, length, first, index, start, edge, stop = chain
    B, L, packed = length.shape[0], node.shape[-1], first is not None
    T = 0 if packed else node.shape[1]
    width = max(triton.next_power_of_2(L), 4)
    block = min(width, max(_CELLS // width, 1))
    wide = torch.float64 in (node.dtype, edge.dtype) or not grad
    # Rows that are in no chain: the kernel finds those behind the ends of chains, no others.
    make = torch.zeros_like if packed or index is not None else torch.empty_like
    form = torch.contiguous_format
    made = [make(x if grad else x[:0], memory_format=form) for x in (node, edge)]
    ends = [x.new_empty(B if grad else 0, L) for x in (start, stop)]
    value = node.new_empty(B, dtype=torch.float64)
    in_logs = node.new_empty(B, dtype=torch.uint8)
    rows = node.shape[0] if packed else B * T
    # alphas [rows, L], tops [rows, 4], betas [B, 2, L]
    scratch = node.new_empty(rows * (L + 4) + B * 2 * L, dtype=torch.float64)
    alphas, tops, betas = scratch.split([rows * L, rows * 4, B * 2 * L])
    # H200, loss and gradient: 256 x 128 x 23 in 0.33 ms with 8 warps, 0.37 with 4; 512 x 128 x 45 in 1.2 ms
    # with at most 128 registers, so that four programs share a processor, 2.6 without the limit.
    whole = block == width
    warps = 1 if width * block <= 256 else 8 if whole and labels is not None and grad else 4
    most = None if whole or not grad else 128
    *batch, by_row, by_from, by_to = edge.stride()
    contiguous = "to" if by_to == 1 else "from" if by_from == 1 else "neither"
    of_labels = labels.stride() if labels is not None else (0,)
    if B:
        sums[(B,)](
            node, length, first, index, start, edge, stop, labels if labels is not None else length, weight,
            value, made[0], ends[0], made[1], ends[1], in_logs, alphas, tops, betas,
            T, L, *halves(scale), 0 if packed else node.stride(0), node.stride(-2),
            0 if packed else batch[0], by_row, by_from, by_to, of_labels[0], of_labels[-1],
            index.stride(0) if index is not None else 0,
            GRAD=grad, LABELS=labels is not None, WEIGHT=weight is not None,
            C=tl.float64 if wide else tl.float32, LP=width, BLOCK=block,
            LOG_BLOCK=min(width, max(512 // width, 1)), PACKED=packed, INDEX=index is not None,
            BETWEEN=not packed and edge.shape[1] < T, CONTIGUOUS=contiguous,
            num_warps=warps, maxnreg=most,
        )  # fmt: skip
    if not grad:
        return value, chain.nothing(), in_logs
    return value, [made[0], ends[0].sum(0), made[1], ends[1].sum(0)], in_logs


def log_partition(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    value, _, in_logs = _launch(chain, None, None, 1.0, False)
    return value, in_logs


def marginals(chain: Chain, weight: Tensor) -> tuple[Tensor, ...]:
    """Return the gradient of sum_b weight[b] log Z[b], log Z and flags."""
    value, made, in_logs = _launch(chain, None, weight, 1.0, True)
    return (*made, value, in_logs)


def loss(chain: Chain, labels: Tensor, weight: Tensor | None, scale: float, grad: bool) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    value, made, in_logs = _launch(chain, labels, weight, scale, grad)
    total = value.sum() if weight is None else torch.dot(value, weight.double())
    return ((total * scale).to(chain.total_dtype), value, *made, in_logs)
