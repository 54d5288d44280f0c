"""Sweeps as in `streamed`, with the whole table in the registers of a program: up to 128 labels in float32.

A row goes from the columns of a product to the rows of the next through shared memory, never further away.
Four warps are best: 64 x 128 x 128 takes 0.16 ms, with eight 0.36 (H200).
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import power_below
from crfkit.torch.cuda.kernels.streamed import ahead, exponential, first_row, swept


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt", "places", "B"])
def sweep(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, tops,
    table, begin, rows, exponents, places, L, LR, LS, B,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Write f_t and the backward r_t, rows [passes, 2, places, LW], and exponents [passes, 2, places]."""
    b = tl.program_id(0).to(tl.int64)
    back = tl.program_id(1)
    z = tl.program_id(2)
    n = swept(b, z, length, partial, PASSES)
    j = tl.arange(0, LP)
    base = first_row(b, first, T, FORM)
    LW = LS * (2 if tl.float32 == C else 1)
    side = (z * 2 + back) * places.to(tl.int64)
    tops += z * places
    if n > 0:
        at = table + back * LR.to(tl.int64) * LS + j[:, None] * LS + j[None, :]
        e = tl.load(at, mask=(j < LR)[:, None] & (j < LS)[None, :], other=0.0)
        r = tl.load(begin + back * LS + j, mask=j < L, other=0.0)
        a = r
        x, top = ahead(
            0, b, back, n, j, L, node, sb, st, first, index, T, labels, lb, lt, tops, base, z, PASSES, FORM, C
        )  # fmt: skip
        for i in range(0, n):
            w = exponential(x - top)
            x, top = ahead(
                i + 1, b, back, n, j, L, node, sb, st, first, index, T, labels, lb, lt, tops, base, z,
                PASSES, FORM, C,
            )  # fmt: skip
            if i > 0:
                r = tl.sum(a[:, None] * e, 0)
            f = r * w
            t = base + i + back * (n - 1 - 2 * i)
            tl.store(rows + (side + t) * LW + j, tl.where(back == 1, r, f), mask=j < L)
            scale, power = power_below(tl.max(f, 0))
            tl.store(exponents + side + t, power)
            a = f * scale
