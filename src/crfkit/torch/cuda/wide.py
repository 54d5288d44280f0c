"""Sums over chains of very many labels, as `streamed`, but swept step by step, all chains at once."""

from __future__ import annotations

from functools import partial

import torch

from crfkit.torch.cuda import streamed
from crfkit.torch.cuda.kernels.wide import step
from crfkit.torch.cuda.launch import takes_all

__all__ = ["log_partition", "loss", "marginals", "sweep"]


def sweep(sums: streamed.Sums) -> None:
    """Sweep all chains, one launch for each place.

    `streamed` sweeps packed chains (how many steps there are is known only on the device), float64, and those
    of pass 1: few, or none.
    """
    if sums.form == 2 or sums.dtype == torch.float64:
        streamed.sweep(sums)
        return
    if sums.passes == 2:
        streamed.stream(sums, 1)
    BB, BJ, BK = (16 if sums.B <= 16 else 32), 16, 64
    blocks = streamed.over(sums.L, BJ)
    grid = (blocks, 2, streamed.over(sums.B, BB))
    exchange = torch.zeros(2, 2, sums.B, sums.LR, device=sums.node.device)
    maxima = sums.new(2, 2, sums.B, blocks)
    before = (
        *sums.chain, sums.tops, sums.table, sums.begin, sums.rows, sums.exponents, sums.places, exchange,
        maxima,
    )  # fmt: skip
    after = (sums.L, sums.LR, sums.LS, sums.B, sums.form, streamed.power_above(blocks), BB, BJ, BK)
    launch = partial(step[grid], num_warps=4, num_stages=4)
    made = launch(*before, 0, *after)
    # What was compiled for the first step is right for all: the launch costs a fifth of one that looks it up.
    if takes_all(step, made):
        launch = made[grid]
    for i in range(1, sums.T + 1):
        launch(*before, i, *after)


log_partition = partial(streamed.log_partition, sweep=sweep)
marginals = partial(streamed.marginals, sweep=sweep)
loss = partial(streamed.loss, sweep=sweep)
