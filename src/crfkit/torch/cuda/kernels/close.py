"""The end of a sweep over a sequence: its log Z, or the sweep again in log space where scaled numbers failed.

What vanishes in a step of the scaled sweeps is below L * tiny next to rows of at most L; it can change an
answer by that relative to C_t = sum_j f_t(j) r_t(j), f_t before it is rescaled. So a sequence is right if
every C_t is well above tiny. Where it is not, or is not a number, logarithms in float64 answer: slow, right.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.credits import write_row
from crfkit.torch.cuda.kernels.parts import LN2, floor_of, top_of
from crfkit.torch.cuda.kernels.streamed import allowed, first_row, place, two_to


@triton.jit
def log_product(row, edge, sk, sj, j, L, LP: tl.constexpr, BK: tl.constexpr):
    """Return log sum_k exp(row[k] + edge[k, j]), -inf where there is nothing to sum."""
    k = tl.arange(0, BK)
    high = tl.full([BK, LP], float("-inf"), tl.float64)
    sums = tl.zeros([BK, LP], tl.float64)
    for k0 in range(0, L, BK):
        a = tl.load(row + k0 + k, mask=k0 + k < L, other=float("-inf"))
        at = (k0 + k).to(tl.int64)[:, None] * sk + j.to(tl.int64)[None, :] * sj
        e = tl.load(edge + at, mask=(k0 + k < L)[:, None] & (j < L)[None, :], other=float("-inf"))
        x = a[:, None] + e.to(tl.float64)
        higher = tl.maximum(high, x)
        level = tl.where(higher == float("-inf"), 0.0, higher)
        sums = sums * tl.exp(high - level) + tl.exp(x - level)
        high = higher
    top = top_of(tl.max(high, 0))
    return tl.log(tl.sum(sums * tl.exp(high - top[None, :]), 0)) + top


@triton.jit
def log_sum(x):
    """Return log sum exp of a row."""
    top = top_of(tl.max(x, 0))
    return tl.log(tl.sum(tl.exp(x - top), 0)) + top


@triton.jit(do_not_specialize=["sb", "st", "T", "se", "te", "lb", "lt", "gb", "gt", "places", "B"])
def close(
    node, sb, st, length, first, index, T, start, edge, se, te, stop, labels, lb, lt, partial, weights,
    tops, offsets, rows, logs, exponents, places, value, in_logs, out, gb, gt, ends, L, LS, B,
    FORM: tl.constexpr, C: tl.constexpr, CLAMP: tl.constexpr, GOLD: tl.constexpr, GRAD: tl.constexpr,
    LP: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Write log Z [B] and in_logs [B]; where in_logs is 1 also gradients, and logarithms of rows for `edges`.

    A clamped pass writes only where labels are unknown, and weight 0 where no labelling agrees with them.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    unknown = tl.full([], 0, tl.int32)
    if CLAMP or GOLD:
        unknown = tl.load(partial + b).to(tl.int32)
    if CLAMP:
        n *= unknown
    base = first_row(b, first, T, FORM)
    LW = LS * (2 if tl.float32 == C else 1)
    side = places.to(tl.int64)
    j = tl.arange(0, LP)
    total = tl.full([], 0.0, tl.float64)
    power = tl.full([], 0, tl.int64)
    failed = tl.full([], 0, tl.int32)
    c = tl.full([], 1.0, tl.float64)
    for t0 in range(0, n, BK):
        t = t0 + tl.arange(0, BK)
        p = base + t
        up = tl.load(exponents + p, mask=t < n, other=0)
        at = rows + p[:, None] * LW + j[None, :]
        inside = (t < n)[:, None] & (j < L)[None, :]
        f = tl.load(at, mask=inside, other=0.0) * two_to(-up, C)[:, None]
        sums = tl.sum(f * tl.load(at + side * LW, mask=inside, other=0.0), 1).to(tl.float64)
        enough = sums * two_to(up, tl.float64) > floor_of(C)
        failed += tl.sum(((t < n) & (enough == 0)).to(tl.int32), 0)
        c = tl.sum(tl.where(t == n - 1, sums, 0.0), 0)
        total += tl.sum(tl.load(tops + p, mask=t < n, other=0.0).to(tl.float64), 0)
        power += tl.sum(up.to(tl.int64), 0)
    if (n > 0) & (failed == 0):
        total += power.to(tl.float64) * LN2 + tl.log(c)
        total += tl.load(offsets) * (n - 1) + tl.load(offsets + 1) + tl.load(offsets + 2)
    if failed > 0:
        f = tl.load(start + j, mask=j < L, other=float("-inf")).to(tl.float64)
        tl.debug_barrier()
        for t in range(0, n):
            outer, row = place(b, t, first, index, T, FORM)
            x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(tl.float64)
            if CLAMP:
                x = allowed(x, j, tl.load(labels + outer * lb + row * lt), CLAMP)
            if t > 0:
                f = log_product(logs + (base + t - 1) * LS, edge, se, te, j, L, LP, BK)
            f += x
            tl.store(logs + (base + t) * LS + j, f, mask=j < L)
            tl.debug_barrier()
        r = tl.load(stop + j, mask=j < L, other=float("-inf")).to(tl.float64)
        total = log_sum(f + r)
        if GRAD:
            finite = (total > float("-inf")) & (total < float("inf"))
            w = tl.load(weights + b)
            if CLAMP:
                w = -w
            for i in range(0, n):
                t = n - 1 - i
                outer, row = place(b, t, first, index, T, FORM)
                x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(tl.float64)
                if i > 0:
                    r = log_product(logs + (side + base + t + 1) * LS, edge, te, se, j, L, LP, BK)
                f = tl.load(logs + (base + t) * LS + j, mask=j < L, other=float("-inf"))
                q = w * tl.exp(f + r - total)
                if CLAMP or GOLD:
                    label = tl.load(labels + outer * lb + row * lt)
                    x = allowed(x, j, label, CLAMP)
                    if GOLD:
                        q = tl.where((unknown == 0) & (j == label), q - w, q)
                q = tl.where(finite, q, 0.0)
                more = tl.where(finite, unknown * (1 if GOLD else 0), 0)  # a clamped pass came before
                write_row(out + outer * gb + row * gt, ends, j, L, B, b, t, n, q, more)
                tl.store(logs + (side + base + t) * LS + j, r + x, mask=j < L)
                tl.debug_barrier()
    if CLAMP:
        if unknown > 0:
            tl.store(value + b, total)
            w = tl.load(weights + b)
            tl.store(weights + b, tl.where((total > float("-inf")) & (total < float("inf")), w, 0.0))
    else:
        tl.store(value + b, total)
    tl.store(in_logs + b, (failed > 0).to(tl.uint8))
