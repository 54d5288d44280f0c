"""Sums over chains of very many labels, as `streamed`, but swept step by step, all chains at once."""

from __future__ import annotations

from functools import partial

import torch
import triton

from crfkit.torch.cuda import streamed
from crfkit.torch.cuda.kernels.wide import step

__all__ = ["log_partition", "loss", "marginals", "sweep"]


def sweep(sums: streamed.Sums, clamp: bool) -> None:
    """Sweep all chains, one launch for each place.

    `streamed` sweeps those that are clamped (few, or none), packed ones (how many steps there are is known
    only on the device) and float64.
    """
    if clamp or sums.form == 2 or sums.dtype == torch.float64:
        streamed.sweep(sums, clamp)
        return
    BB, BJ, BK = (16 if sums.B <= 16 else 32), 16, 64
    blocks = triton.cdiv(sums.L, BJ)
    grid = (blocks, 2, triton.cdiv(sums.B, BB))
    device = sums.node.device
    exchange = torch.zeros(2, 2, sums.B, sums.LR, device=device)
    maxima = sums.new(2, 2, sums.B, blocks)
    launch = step[grid]
    for i in range(sums.T + 1):
        launch(
            *sums.chain, sums.tops, sums.table, sums.begin, sums.rows, sums.exponents, sums.places, exchange,
            maxima, i, sums.L, sums.LR, sums.LS, sums.B,
            sums.form, triton.next_power_of_2(blocks), BB, BJ, BK, num_warps=4, num_stages=4,
        )  # fmt: skip


log_partition = partial(streamed.log_partition, sweep=sweep)
marginals = partial(streamed.marginals, sweep=sweep)
loss = partial(streamed.loss, sweep=sweep)
