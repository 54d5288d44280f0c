"""One step of the sweeps of all chains, for tables that are too large to be read by every chain (`streamed`).

A program makes a block of labels of a block of chains, [BB, L] x [L, BJ] in three tf32 products (as accurate
as float32 but for the last bit), and the maximum of what it made: the next step finds the scale of its rows
in those maxima. So a step is one launch, and nothing has to wait within it.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import power_below
from crfkit.torch.cuda.kernels.streamed import exponential, place


@triton.jit(do_not_specialize=["sb", "st", "T", "places", "i", "B"])
def step(
    node, sb, st, length, first, index, T, tops, table, begin, rows, exponents, places, exchange, maxima, i,
    L, LR, LS, B,
    FORM: tl.constexpr, NB: tl.constexpr, BB: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Write rows of step i, forward from the first place, backward from the last; exponents of step i - 1.

    exchange [2, 2, B, LR] holds the rows of two steps, 0 beyond L; maxima [2, 2, B, blocks] their maxima.
    """
    back = tl.program_id(1)
    b = tl.program_id(2).to(tl.int64) * BB + tl.arange(0, BB)
    n = tl.load(length + b, mask=b < B, other=0)
    if tl.max(n, 0) >= i:
        blocks = tl.num_programs(0)
        j = tl.program_id(0) * BJ + tl.arange(0, BJ)
        base = b * T
        now, before = (i % 2) * 2 + back, (1 - i % 2) * 2 + back
        scale = tl.full([BB], 1.0, tl.float32)
        if i > 0:
            block = tl.arange(0, NB)
            at = maxima + (before * B + b)[:, None] * blocks + block[None, :]
            parts = tl.load(at, mask=(n >= i)[:, None] & (block < blocks)[None, :], other=0.0)
            scale, power = power_below(tl.max(parts, 1))
            t = i - 1 + back * (n - 2 * i + 1)
            tl.store(
                exponents + back * places + base + t, power, mask=tl.where(tl.program_id(0) == 0, n, -1) >= i
            )
        active = i < n
        t = tl.where(active, i + back * (n - 1 - 2 * i), 0)
        cells = active[:, None] & (j < L)[None, :]
        if i > 0:
            k = tl.arange(0, BK)
            a_at = exchange + (before * B + b)[:, None] * LR + k[None, :]
            e_at = table + (back * LR + k)[:, None] * LS + j[None, :]
            r = tl.zeros([BB, BJ], tl.float32)
            for k0 in range(0, LR, BK):
                a = tl.load(a_at + k0, mask=active[:, None], other=0.0) * scale[:, None]
                e = tl.load(e_at + k0 * LS, mask=j[None, :] < LS, other=0.0)
                r = tl.dot(a, e, r, input_precision="tf32x3")
        else:
            r = tl.load(begin + back * LS + j, mask=j < L, other=0.0)[None, :] + tl.zeros(
                [BB, BJ], tl.float32
            )
        outer, row = place(b, t, first, index, T, FORM)
        x = tl.load(node + (outer * sb + row * st)[:, None] + j[None, :], mask=cells, other=float("-inf"))
        f = r * exponential(x.to(tl.float32) - tl.load(tops + base + t, mask=active, other=0.0)[:, None])
        tl.store(exchange + (now * B + b)[:, None] * LR + j[None, :], f, mask=cells)
        tl.store(maxima + (now * B + b) * blocks + tl.program_id(0), tl.max(f, 1), mask=active)
        at = rows + (places.to(tl.int64) * back + base + t)[:, None] * (LS * 2) + j[None, :]
        tl.store(at, tl.where(back == 1, r, f), mask=cells)
