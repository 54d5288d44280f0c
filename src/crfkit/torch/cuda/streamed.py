"""Sums over chains of many labels (above 64) with shared edges: loss, log Z, marginals.

One pass is: highest scores of rows, sweeps in both directions at once, log Z (and the sweep in log space of
those chains that need it), gradients of rows, gradient of edges. Sequences with unknown labels are swept a
second time, clamped to the known ones; the programs of all others end at once. Memory beside the gradients:
two rows of float64 a place, the tables, and a share of [L, L] for each program that sums edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from crfkit.torch.cuda.kernels import close, credits, streamed

__all__ = ["Sums", "log_partition", "loss", "marginals", "sweep"]

_NEAR = 192 * 1024  # bytes of the table that are read through the first cache (of 256 KB on an H200)


def _multiple(n: int, of: int) -> int:
    return -(-n // of) * of


class Sums:
    """What the kernels of one call share: addresses, tables, rows of the sweeps."""

    def __init__(
        self,
        chain: tuple[Any, ...],
        labels: Tensor | None,
        grad: bool,
        sweep: Callable[[Sums, bool], None],
    ) -> None:
        node, length, first, index, start, edge, stop = chain
        wide = torch.float64 in (node.dtype, edge.dtype)
        self.dtype = torch.float64 if wide else torch.float32
        self.B, self.L = length.shape[0], node.shape[-1]
        self.form = 2 if first is not None else (0 if index is None else 1)
        self.T = 0 if first is not None else node.shape[1]
        self.places = node.shape[0] if first is not None else self.B * self.T
        self.LP = triton.next_power_of_2(max(self.L, 16))
        self.LR, self.LS = _multiple(self.L, 64), _multiple(self.L, 16)
        self.C = tl.float64 if wide else tl.float32
        self.node, self.edge, self.grad, self.sweep = node, edge, grad, sweep
        self.start, self.stop = start.contiguous(), stop.contiguous()
        self.length = length
        strides = (0, node.stride(0)) if first is not None else node.stride()[:2]
        first = length if first is None else first
        index = length if index is None else index.contiguous()
        self.chain = (node, *strides, length, first, index, self.T)
        labels = length if labels is None else labels
        self.labels = (labels, *((0, labels.stride(0)) if labels.ndim < 2 else labels.stride()))
        # Programs a chain for what is done place by place.
        width = self.T or -(-self.places // max(self.B, 1))
        self.share = max(1, min(width, 8192 // max(self.B, 1)))
        self._tables()
        self.tops = self.new(self.places)
        self.logs = self.new(2, self.places, self.LS, dtype=torch.float64)
        self.rows = self.logs.view(self.dtype)
        self.exponents = self.new(2, self.places, dtype=torch.int32)
        if grad:
            self.out = torch.zeros_like(node)
            self.ends = torch.zeros(2, self.B, self.L, dtype=self.dtype, device=node.device)
            self.tile = 32 if wide else 64
            self.blocks = triton.cdiv(self.L, self.tile) ** 2
            self.ranges = max(1, min(self.B, 264 // self.blocks))
            passes = 1 if labels is length else 2
            self.shares = self.new(passes, self.ranges, self.L, self.L)
        else:
            self.out, self.ends = node, self.tops
        self.onto = (self.out, *((0, self.out.stride(0)) if self.form == 2 else self.out.stride()[:2]))

    def new(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return memory on the device of the call."""
        return torch.empty(shape, dtype=dtype or self.dtype, device=self.node.device)

    def _tables(self) -> None:
        self.table = self.new(2, self.LR, self.LS)  # [from, to], [to, from]
        self.begin = self.new(2, self.LS)
        self.offsets = self.new(3, dtype=torch.float64)
        blocks = triton.cdiv(self.LR, 32)
        streamed.tables[blocks, blocks](
            self.edge, *self.edge.stride(), self.start, self.stop, self.edge.amax(), self.table, self.begin,
            self.offsets, self.L, self.LR, self.LS, self.C, 32,
        )  # fmt: skip

    def clear(self, clamp: bool, gold: bool, partial: Tensor, weights: Tensor, value: Tensor) -> Tensor:
        """Run one pass: log Z goes to `value`, gradients to where they belong; return the flags."""
        in_logs = self.new(self.B, dtype=torch.uint8)
        each = (self.B, self.share)
        warps = min(8, max(1, self.LP // 128))
        streamed.row_tops[each](
            *self.chain, *self.labels, partial, self.tops, self.L, self.form, self.C, clamp, self.LP,
            num_warps=warps,
        )  # fmt: skip
        self.partial = partial
        self.sweep(self, clamp)
        close.close[(self.B,)](
            *self.chain, self.start, self.edge, *self.edge.stride(), self.stop, *self.labels, partial,
            weights, self.tops, self.offsets, self.rows, self.logs, self.exponents, self.places, value,
            in_logs, *self.onto, self.ends, self.L, self.LS, self.B,
            self.form, self.C, clamp, gold, self.grad, self.LP, max(1, min(16, 4096 // self.LP)), num_warps=8,
        )  # fmt: skip
        if self.grad:
            credits.combine[each](
                *self.chain, *self.labels, partial, weights, in_logs, self.tops, self.rows, self.exponents,
                self.places, *self.onto, self.ends, self.L, self.LS, self.B,
                self.form, self.C, clamp, gold, self.LP, num_warps=warps,
            )  # fmt: skip
            credits.edges[self.blocks, self.ranges](
                *self.chain[3:], self.edge, *self.edge.stride(), *self.labels, partial, weights, in_logs,
                value, self.table, self.rows, self.logs, self.places, self.shares[-1 if clamp else 0],
                self.L, self.LS, self.B, self.form, self.C, clamp, gold,
                8 if self.dtype == torch.float64 else 32, self.tile, self.tile, num_warps=4,
            )  # fmt: skip
        return in_logs

    def gradients(self) -> tuple[Tensor, ...]:
        """Return the gradients by node, start, edge and stop."""
        ends = self.ends.sum(1)
        edge = self.shares.sum((0, 1)).to(self.edge.dtype)
        return self.out, ends[0].to(self.start.dtype), edge, ends[1].to(self.stop.dtype)


def sweep(sums: Sums, clamp: bool) -> None:
    """Sweep all chains in one launch, a program for each chain and direction."""
    size = 8 if sums.dtype == torch.float64 else 4
    warps = max(1, min(16, sums.LP // 16))
    BK = max(1, min(64, 128 * 32 * warps // (sums.LP * size)))
    near = min(sums.L, _NEAR // (sums.LS * size)) // BK * BK
    exchange = sums.new(sums.B, 2, 2, sums.LR)
    streamed.sweep[sums.B, 2](
        *sums.chain, *sums.labels, sums.partial, sums.tops, sums.table, sums.begin, sums.rows, sums.exponents,
        sums.places, exchange, sums.L, sums.LR, sums.LS, near,
        sums.form, sums.C, clamp, sums.LP, BK, num_warps=warps,
    )  # fmt: skip


def log_partition(*chain: Any, sweep: Callable[[Sums, bool], None] = sweep) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    length = chain[1]
    logz = torch.zeros(length.shape, dtype=torch.float64, device=length.device)
    if not length.shape[0]:
        return logz, logz.to(torch.uint8)
    return logz, Sums(chain, None, False, sweep).clear(False, False, logz, logz, logz)


def marginals(*args: Any, sweep: Callable[[Sums, bool], None] = sweep) -> tuple[Tensor, ...]:
    """Return gradients of sum_b weight[b] log Z[b], log Z and flags."""
    chain, weight = args[:7], args[7]
    node, length, _, _, start, edge, stop = chain
    logz = torch.zeros(length.shape, dtype=torch.float64, device=length.device)
    if not length.shape[0]:
        return (*(torch.zeros_like(x) for x in (node, start, edge, stop)), logz, logz.to(torch.uint8))
    sums = Sums(chain, None, True, sweep)
    in_logs = sums.clear(False, False, logz, weight.double(), logz)
    return (*sums.gradients(), logz, in_logs)


def loss(*args: Any, sweep: Callable[[Sums, bool], None] = sweep) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    chain, (labels, weight, scale, grad) = args[:7], args[7:]
    node, length, _, _, start, edge, stop = chain
    B, device = length.shape[0], node.device
    total_dtype = torch.float64 if torch.float64 in (node.dtype, edge.dtype) else torch.float32
    if not B:
        empty = [torch.zeros_like(x) if grad else x.new_empty(0) for x in (node, start, edge, stop)]
        none = torch.zeros(0, dtype=torch.float64, device=device)
        return (none.sum().to(total_dtype), none, *empty, none.to(torch.uint8))
    sums = Sums(chain, labels, grad, sweep)
    score, logz, weights = torch.empty(3, B, dtype=torch.float64, device=device)
    partial = torch.empty(B, dtype=torch.uint8, device=device)
    credits.gold[(B,)](
        *sums.chain, sums.start, edge, *edge.stride(), sums.stop, *sums.labels,
        length if weight is None else weight.contiguous(), scale, score, partial, weights,
        sums.L, sums.form, weight is not None, 128, num_warps=4,
    )  # fmt: skip
    sums.clear(True, False, partial, weights, score)
    in_logs = sums.clear(False, True, partial, weights, logz)
    each = torch.where(score == -torch.inf, torch.inf, logz - score)
    total = each.sum() * scale if weight is None else (each * weight).sum() * scale
    made = sums.gradients() if grad else tuple(node.new_empty(0) for _ in range(4))
    return (total.to(total_dtype), each, *made, in_logs)
