"""The end of a sweep over a sequence: its log Z, or the sweep again in log space where scaled numbers failed.

What vanishes in a step of the scaled sweeps is below L * tiny next to rows of at most L; it can change an
answer by that relative to C_t = sum_j f_t(j) r_t(j), f_t before it is rescaled. So a sequence is right if
every C_t is well above tiny. Where it is not, or is not a number, logarithms in float64 answer: slow, right.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import LN2, floor_of, log_of, top_of
from crfkit.torch.cuda.kernels.streamed import first_row, place, scores, swept, two_to


@triton.jit
def _product(
    row, node, edge, sk, sj, j, L, labels, z, PASSES: tl.constexpr, LP: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """Return log sum_k exp(row[k] + node[k] + edge[k, j]), -inf where there is nothing to sum."""
    k = tl.arange(0, BK)
    high = tl.full([BK, LP], float("-inf"), tl.float64)
    sums = tl.zeros([BK, LP], tl.float64)
    for k0 in range(0, L, BK):
        a = tl.load(row + k0 + k, mask=k0 + k < L, other=float("-inf"))
        a += scores(node, k0 + k, L, labels, z, PASSES, tl.float64)
        at = (k0 + k).to(tl.int64)[:, None] * sk + j.to(tl.int64)[None, :] * sj
        e = tl.load(edge + at, mask=(k0 + k < L)[:, None] & (j < L)[None, :], other=float("-inf"))
        x = a[:, None] + e.to(tl.float64)
        higher = tl.maximum(high, x)
        level = top_of(higher)
        sums = sums * tl.exp(high - level) + tl.exp(x - level)
        high = higher
    top = top_of(tl.max(high, 0))
    return log_of(tl.sum(sums * tl.exp(high - top[None, :]), 0)) + top


@triton.jit(do_not_specialize=["sb", "st", "T", "se", "te", "lb", "lt", "places", "B"])
def close(
    node, sb, st, length, first, index, T, start, edge, se, te, stop, labels, lb, lt, partial, weights,
    tops, offsets, rows, logs, exponents, places, value, in_logs, L, LS, B,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, GRAD: tl.constexpr,
    LP: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Write log Z and in_logs [passes, B]; where in_logs is 1 also rows of logarithms, without own scores.

    Pass 1 writes only where labels are unknown, and weight 0 where no labeling agrees with them.
    """
    b = tl.program_id(0).to(tl.int64)
    z = tl.program_id(1)
    n = swept(b, z, length, partial, PASSES)
    base = first_row(b, first, T, FORM)
    LW = LS * (2 if tl.float32 == C else 1)
    side = places.to(tl.int64)
    front = z * 2 * side + base
    j = tl.arange(0, LP)
    total = tl.full([], 0.0, tl.float64)
    power = tl.full([], 0, tl.int64)
    failed = tl.full([], 0, tl.int32)
    c = tl.full([], 1.0, tl.float64)
    for t0 in range(0, n, BK):
        t = t0 + tl.arange(0, BK)
        up = tl.load(exponents + front + t, mask=t < n, other=0)
        at = rows + (front + t)[:, None] * LW + j[None, :]
        inside = (t < n)[:, None] & (j < L)[None, :]
        f = tl.load(at, mask=inside, other=0.0) * two_to(-up, C)[:, None]
        sums = tl.sum(f * tl.load(at + side * LW, mask=inside, other=0.0), 1).to(tl.float64)
        enough = sums * two_to(up, tl.float64) > floor_of(C)
        failed += tl.sum(((t < n) & (enough == 0)).to(tl.int32), 0)
        c = tl.sum(tl.where(t == n - 1, sums, 0.0), 0)
        total += tl.sum(tl.load(tops + z * places + base + t, mask=t < n, other=0.0).to(tl.float64), 0)
        power += tl.sum(up.to(tl.int64), 0)
    if (n > 0) & (failed == 0):
        total += power.to(tl.float64) * LN2 + tl.log(c)
        total += tl.load(offsets) * (n - 1) + tl.load(offsets + 1) + tl.load(offsets + 2)
    if failed > 0:
        tl.debug_barrier()
        opening = tl.load(start + j, mask=j < L, other=float("-inf")).to(tl.float64)
        ending = tl.load(stop + j, mask=j < L, other=float("-inf")).to(tl.float64)
        for back in range(2 if GRAD else 1):
            r = tl.where(back == 0, opening, ending)
            at = node
            known = labels
            for i in range(0, n):
                t = i + back * (n - 1 - 2 * i)
                own = logs + (front + back * side + t) * LS
                if i > 0:
                    sk = tl.where(back == 0, se, te)
                    sj = tl.where(back == 0, te, se)
                    r = _product(own + (2 * back - 1) * LS, at, edge, sk, sj, j, L, known, z, PASSES, LP, BK)
                outer, row = place(b, t, first, index, T, FORM)
                at = node + outer * sb + row * st
                known = labels + outer * lb + row * lt
                tl.store(own + j, r, mask=j < L)
                tl.debug_barrier()
            if back == 0:
                x = r + scores(at, j, L, known, z, PASSES, tl.float64) + ending
                top = top_of(tl.max(x, 0))
                total = log_of(tl.sum(tl.exp(x - top), 0)) + top
    if z == 0:
        tl.store(value + b, total)
    elif tl.load(partial + b) != 0:
        tl.store(value + B + b, total)
        possible = (total > float("-inf")) & (total < float("inf"))
        tl.store(weights + b, tl.where(possible, tl.load(weights + b), 0.0))
    tl.store(in_logs + z * B + b, (failed > 0).to(tl.uint8))
