"""Sums over chains of many labels (above 64) with shared edges: loss, log Z, marginals.

Five launches: `prologue` (tables, tops of rows, gold), sweeps in both directions at once, `close` (log Z, and
the sweep in log space of those chains that need it), `combine` (gradients of rows), `edges`. Chains with
unknown labels are swept a second time, clamped to the known ones; the programs of all others end at once.
Memory beside the gradients: two rows of float64 a place and pass, tables, [L, L] for each range of chains.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton.language as tl
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels import close, credits, held, prologue, streamed

__all__ = ["Sums", "log_partition", "loss", "marginals", "over", "power_above", "stream", "sweep"]

_NEAR = 192 * 1024  # bytes of the table that are read through the first cache (of 256 KB on an H200)
_PROGRAMS = 264  # two for each processor of an H200, to sum edges


# triton.cdiv and triton.next_power_of_2 cost as much as a launch when the host calls them.
def over(n: int, by: int) -> int:
    """Return n / by, rounded up."""
    return -(-n // by)


def power_above(n: int) -> int:
    """Return the lowest power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def _strides(x: Tensor, packed: bool) -> tuple[int, int]:
    return (0, x.stride(0)) if packed else (x.stride(0), x.stride(1))


class Sums:
    """One call: its addresses, tables, rows of the sweeps, and answers."""

    def __init__(
        self,
        chain: Chain,
        labels: Tensor | None,
        weight: Tensor | None,
        grad: bool,
        sweep: Callable[[Sums], None],
    ) -> None:
        node, length, first, index, start, edge, stop = chain
        packed = first is not None
        wide = torch.float64 in (node.dtype, edge.dtype)
        self.node, self.edge = node, edge
        self.dtype = torch.float64 if wide else torch.float32
        self.B, self.L = length.shape[0], node.shape[-1]
        self.T = 0 if packed else node.shape[1]
        self.places = node.shape[0] if packed else self.B * self.T
        self.LR, self.LS = over(self.L, 64) * 64, over(self.L, 16) * 16
        self.passes = 1 if labels is None else 2
        self.form = 2 if packed else (0 if index is None else 1)
        C, LP = tl.float64 if wide else tl.float32, power_above(max(self.L, 16))
        self.constants = (self.passes, self.form, C)
        self.LP = LP
        first = length if first is None else first
        index = length if index is None else index.contiguous()
        self.chain = (node, *_strides(node, packed), length, first, index, self.T)
        self.labels = (length, 0, 0) if labels is None else (labels, *_strides(labels, packed))
        parameters = (start.contiguous(), edge, *edge.stride(), stop.contiguous())

        self.table = self.new(2, self.LR, self.LS)  # [from, to], [to, from]
        self.begin = self.new(2, self.LS)
        self.tops = self.new(self.passes, self.places)
        self.logs = self.new(self.passes, 2, self.places, self.LS, dtype=torch.float64)
        self.rows = self.logs.view(self.dtype)
        self.exponents = self.new(self.passes, 2, self.places, dtype=torch.int32)
        numbers = self.new(self.passes + 2, self.B, dtype=torch.float64)
        self.value, self.losses = numbers[: self.passes], numbers[-2]
        weight = numbers if weight is None else weight
        self.weights = numbers[-1] if self.passes == 2 else weight  # 0 where gold is not possible
        self.in_logs = self.new(self.passes + 1, self.B, dtype=torch.uint8)
        self.partial = self.in_logs[-1]
        offsets = self.new(3, dtype=torch.float64)
        width = self.T or over(self.places, self.B)
        share = max(1, min(width, 8192 // self.B))  # programs a chain, for what is done place by place
        warps = min(8, max(1, LP // 128))
        prologue.prologue[(over(self.LR, 32) ** 2 + self.B * share,)](
            *self.chain, *parameters, *self.labels, edge.amax(), self.table, self.begin, offsets, self.tops,
            self.places, weight, self.value[-1], self.partial, self.weights, share, self.L, self.LR, self.LS,
            *self.constants, LP, 32, 128, num_warps=4,
        )  # fmt: skip
        sweep(self)
        close.close[self.B, self.passes](
            *self.chain, *parameters, *self.labels, self.partial, self.weights, self.tops, offsets, self.rows,
            self.logs, self.exponents, self.places, self.value, self.in_logs, self.L, self.LS, self.B,
            *self.constants, grad, LP, max(1, min(16, 4096 // LP)), num_warps=8,
        )  # fmt: skip
        if not grad and labels is None:
            return
        if grad:
            self.out = torch.zeros_like(node)
            self.ends = self.new(2, self.B, self.L)
        else:
            self.out, self.ends = node, self.tops
        credits.combine[self.B, share if grad else 1](
            *self.chain, *self.labels, self.partial, self.weights, self.value, self.in_logs, self.losses,
            self.tops, self.rows, self.logs, self.exponents, self.places, self.out,
            *_strides(self.out, packed), self.ends, self.L, self.LS, self.B, *self.constants, grad, LP,
            num_warps=warps,
        )  # fmt: skip
        if grad:
            rows, columns = (32, 32) if wide else (128, 64)
            blocks = over(self.L, rows) * over(self.L, columns)
            ranges = max(1, min(self.B, _PROGRAMS // blocks))
            self.shares = self.new(ranges, self.L, self.L)
            credits.edges[blocks, ranges](
                *self.chain[3:], *parameters[1:4], *self.labels, self.partial, self.weights, self.value,
                self.in_logs, self.table, self.rows, self.logs, self.places, self.shares, self.L, self.LS,
                self.B, *self.constants, 8 if wide else 32, rows, columns, num_warps=8,
            )  # fmt: skip

    def new(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return memory on the device of the call."""
        return torch.empty(shape, dtype=dtype or self.dtype, device=self.node.device)

    def gradients(self, start: Tensor, stop: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients by node, start, edge and stop."""
        ends = self.ends.sum(1)
        edge = self.shares.sum(0).to(self.edge.dtype)
        return self.out, ends[0].to(start.dtype), edge, ends[1].to(stop.dtype)


def hold(sums: Sums) -> None:
    """Sweep all chains in one launch, with the table in registers."""
    held.sweep[sums.B, 2, sums.passes](
        *sums.chain, *sums.labels, sums.partial, sums.tops, sums.table, sums.begin, sums.rows,
        sums.exponents, sums.places, sums.L, sums.LR, sums.LS, sums.B, *sums.constants, sums.LP, num_warps=4,
    )  # fmt: skip


def stream(sums: Sums, since: int = 0) -> None:
    """Sweep all chains in one launch, reading the table at every step; passes from `since` on."""
    size = 8 if sums.dtype == torch.float64 else 4
    warps = max(1, min(8, sums.LP // 32))
    BK = max(1, min(64, 64 * 32 * warps // sums.LP * 4 // size))
    near = min(sums.L, _NEAR // (sums.LS * size)) // BK * BK
    streamed.sweep[sums.B, 2, sums.passes - since](
        *sums.chain, *sums.labels, sums.partial, sums.tops, sums.table, sums.begin, sums.rows, sums.exponents,
        sums.places, sums.new(sums.passes, sums.B, 2, 2, sums.LR), sums.L, sums.LR, sums.LS, sums.B, near,
        since, *sums.constants, sums.LP, BK, num_warps=warps,
    )  # fmt: skip


def sweep(sums: Sums) -> None:
    """Sweep all chains, a program for each chain, direction and pass."""
    most = 64 if sums.dtype == torch.float64 else 128
    if most < sums.LP:
        stream(sums)
    else:
        hold(sums)


def _none(chain: Chain) -> Tensor:
    return torch.zeros(0, dtype=torch.float64, device=chain.length.device)


def log_partition(chain: Chain, sweep: Callable[[Sums], None] = sweep) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    if not chain.length.shape[0]:
        return _none(chain), _none(chain).to(torch.uint8)
    sums = Sums(chain, None, None, False, sweep)
    return sums.value[0], sums.in_logs[0]


def marginals(chain: Chain, weight: Tensor, sweep: Callable[[Sums], None] = sweep) -> tuple[Tensor, ...]:
    """Return gradients of sum_b weight[b] log Z[b], log Z and flags."""
    if not chain.length.shape[0]:
        none = _none(chain)
        return (*map(torch.zeros_like, chain.scores), none, none.to(torch.uint8))
    sums = Sums(chain, None, weight.double().contiguous(), True, sweep)
    return (*sums.gradients(chain.start, chain.stop), sums.value[0], sums.in_logs[0])


def loss(
    chain: Chain,
    labels: Tensor,
    weight: Tensor | None,
    scale: float,
    grad: bool,
    sweep: Callable[[Sums], None] = sweep,
) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    length = chain.length
    if not length.shape[0]:
        none = _none(chain)
        empty = map(torch.zeros_like, chain.scores) if grad else chain.nothing()
        return (none.sum().to(chain.total_dtype), none, *empty, none.to(torch.uint8))
    if weight is None:
        weights = torch.full(length.shape, scale, dtype=torch.float64, device=length.device)
    else:
        weights = weight.double() * scale
    sums = Sums(chain, labels, weights.contiguous(), grad, sweep)
    made = sums.gradients(chain.start, chain.stop) if grad else chain.nothing()
    return ((sums.losses * weights).sum().to(chain.total_dtype), sums.losses, *made, sums.in_logs[0])
