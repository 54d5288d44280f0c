"""Marginals and gradients out of the rows of both sweeps (`streamed`, `wide`).

With f scaled to a maximum of about 1 and c_t = sum_j f_t(j) r_t(j), where r_t = E g_{t+1} is the backward
row: the marginals of place t are f_t r_t / c_t, and those of the step
from t to t + 1 are f_t(i) E(i, j) g_{t+1}(j) / c_t.
The latter are summed over all places as a product of matrices, [L, places] x [places, L], by E at the end.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.streamed import allowed, exponential, first_row, place, two_to


@triton.jit(do_not_specialize=["sb", "st", "T", "se", "te", "lb", "lt", "scale"])
def gold(
    node, sb, st, length, first, index, T, start, edge, se, te, stop, labels, lb, lt,
    weight, scale, score, partial, weights, L,
    FORM: tl.constexpr, WEIGHTED: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """Write the score of the labels of a sequence, whether some are unknown, and scale * weight.

    The weight is 0 where the labelling is forbidden or not a number: such a sequence has no gradient.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    total = tl.full([], 0.0, tl.float64)
    unknown = tl.full([], 0, tl.int32)
    for t0 in range(0, n, BT):
        t = t0 + tl.arange(0, BT)
        known = t < n
        t = tl.minimum(t, n - 1)
        outer, row = place(b, t, first, index, T, FORM)
        y = tl.load(labels + outer * lb + row * lt)
        unknown += tl.sum((known & (y < 0)).to(tl.int32), 0)
        known &= (y >= 0) & (y < L)
        total += tl.sum(tl.load(node + outer * sb + row * st + y, mask=known, other=0.0).to(tl.float64), 0)
        total += tl.sum(tl.load(start + y, mask=known & (t == 0), other=0.0).to(tl.float64), 0)
        total += tl.sum(tl.load(stop + y, mask=known & (t == n - 1), other=0.0).to(tl.float64), 0)
        outer, row = place(b, tl.maximum(t - 1, 0), first, index, T, FORM)
        x = tl.load(labels + outer * lb + row * lt)
        known &= (t > 0) & (x >= 0) & (x < L)
        total += tl.sum(tl.load(edge + x * se + y * te, mask=known, other=0.0).to(tl.float64), 0)
    w = tl.full([], 1.0, tl.float64) * scale
    if WEIGHTED:
        w *= tl.load(weight + b).to(tl.float64)
    possible = (unknown > 0) | ((total > float("-inf")) & (total < float("inf")))
    tl.store(score + b, total)
    tl.store(partial + b, (unknown > 0).to(tl.uint8))
    tl.store(weights + b, tl.where(possible, w, 0.0))


@triton.jit
def write_row(out, ends, j, L, B, b, t, n, q, more):
    """Write gradients of a row and of the ends of its chain [2, B, L]; if `more` is 1, on top of others."""
    there = tl.load(out + j, mask=j < L * more, other=0.0)
    tl.store(out + j, (q + there).to(out.dtype.element_ty), mask=j < L)
    for side in range(2):
        size = tl.where(t == side * (n - 1), L, 0)
        at = ends + (side * B + b) * L + j
        end = tl.load(at, mask=j < size * more, other=0.0)
        tl.store(at, (q + end).to(ends.dtype.element_ty), mask=j < size)


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt", "gb", "gt", "places", "B"])
def combine(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, weights, in_logs, tops,
    rows, exponents, places, out, gb, gt, ends, L, LS, B,
    FORM: tl.constexpr, C: tl.constexpr, CLAMP: tl.constexpr, GOLD: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Write gradients of weight * (log Z - score) by rows and ends.

    In place of f_t and r_t come f_t * weight / c_t and g_t, which `edges` multiplies.
    A clamped pass comes first, with -weight, for chains with unknown labels; the free pass adds to it.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    unknown = tl.full([], 0, tl.int32)
    if CLAMP or GOLD:
        unknown = tl.load(partial + b).to(tl.int32)
    if CLAMP:
        n *= unknown
    n = tl.where(tl.load(in_logs + b) == 0, n, 0)
    j = tl.arange(0, LP)
    base = first_row(b, first, T, FORM)
    LW = LS * (2 if tl.float32 == C else 1)
    side = places.to(tl.int64) * LW
    w = tl.load(weights + b).to(C)
    if CLAMP:
        w = -w
    for t in range(tl.program_id(1), n, tl.num_programs(1)):
        p = base + t
        f = tl.load(rows + p * LW + j, mask=j < L, other=0.0) * two_to(-tl.load(exponents + p), C)
        r = tl.load(rows + side + p * LW + j, mask=j < L, other=0.0)
        f = f * (w / tl.sum(f * r, 0))
        outer, row = place(b, t, first, index, T, FORM)
        x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(C)
        q = f * r
        if CLAMP or GOLD:
            label = tl.load(labels + outer * lb + row * lt)
            x = allowed(x, j, label, CLAMP)
            if GOLD:
                q = tl.where((unknown == 0) & (j == label), q - w, q)
        more = unknown * (1 if GOLD else 0)  # a clamped pass came before
        write_row(out + outer * gb + row * gt, ends, j, L, B, b, t, n, q, more)
        g = r * exponential(x - tl.load(tops + p)) * two_to(-tl.load(exponents + places + p), C)
        tl.store(rows + p * LW + j, f, mask=j < L)
        tl.store(rows + side + p * LW + j, g, mask=j < L)


@triton.jit
def added(total, a, g, C: tl.constexpr):
    """Return total + a' g, [BI, BJ], for a [BT, BI] and g [BT, BJ]."""
    if tl.float64 == C:
        total += tl.sum(a[:, :, None] * g[:, None, :], 0)
    else:
        total = tl.dot(tl.trans(a), g, total, input_precision="tf32x3")
    return total


@triton.jit(do_not_specialize=["T", "se", "te", "lb", "lt", "places", "B"])
def edges(
    length, first, index, T, edge, se, te, labels, lb, lt, partial, weights, in_logs, logz,
    table, rows, logs, places, out, L, LS, B,
    FORM: tl.constexpr, C: tl.constexpr, CLAMP: tl.constexpr, GOLD: tl.constexpr,
    BT: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr,
):  # fmt: skip
    """Write the gradient of edges of a range of chains, one block of it: [ranges, L, L], to be summed."""
    blocks = tl.cdiv(L, BJ)
    i = (tl.program_id(0) // blocks) * BI + tl.arange(0, BI)
    j = (tl.program_id(0) % blocks) * BJ + tl.arange(0, BJ)
    share = tl.cdiv(B, tl.num_programs(1))
    low = tl.program_id(1) * share
    inside = (i < L)[:, None] & (j < L)[None, :]
    LW = LS * (2 if tl.float32 == C else 1)
    side = places.to(tl.int64)
    total = tl.zeros([BI, BJ], C)  # by E
    apart = tl.zeros([BI, BJ], C)  # what is summed in log space, and labels
    for number in range(low, tl.minimum(low + share, B)):
        b = side * 0 + number
        n = tl.load(length + b)
        unknown = tl.full([], 0, tl.int32)
        if CLAMP or GOLD:
            unknown = tl.load(partial + b).to(tl.int32)
        if CLAMP:
            n *= unknown
        base = first_row(b, first, T, FORM)
        failed = tl.load(in_logs + b) != 0
        z = tl.load(logz + b)
        n = tl.where((z > float("-inf")) & (z < float("inf")), n, 0)
        w = tl.load(weights + b)
        if CLAMP:
            w = -w
        for t0 in range(1, tl.where(failed, 0, n), BT):
            t = t0 + tl.arange(0, BT)
            at = rows + (base + t)[:, None] * LW
            a = tl.load(at - LW + i[None, :], mask=(t < n)[:, None] & (i < L)[None, :], other=0.0)
            g = tl.load(at + side * LW + j[None, :], mask=(t < n)[:, None] & (j < L)[None, :], other=0.0)
            total = added(total, a, g, C)
        if failed:
            at = edge + i.to(tl.int64)[:, None] * se + j.to(tl.int64)[None, :] * te
            e = tl.load(at, mask=inside, other=float("-inf")).to(tl.float64)
            for t in range(1, n):
                a = tl.load(logs + (base + t - 1) * LS + i, mask=i < L, other=float("-inf"))
                g = tl.load(logs + (side + base + t) * LS + j, mask=j < L, other=float("-inf"))
                apart += (w * tl.exp(a[:, None] + e + g[None, :] - z)).to(C)
        if GOLD:
            for t0 in range(1, tl.where(unknown > 0, 0, n), BT):
                t = t0 + tl.arange(0, BT)
                late = t >= n
                t = tl.minimum(t, n - 1)
                outer, row = place(b, t - 1, first, index, T, FORM)
                x = tl.load(labels + outer * lb + row * lt)
                outer, row = place(b, t, first, index, T, FORM)
                y = tl.where(late, -1, tl.load(labels + outer * lb + row * lt))
                a = (x[:, None] == i[None, :]).to(C) * (-w).to(C)
                apart = added(apart, a, (y[:, None] == j[None, :]).to(C), C)
    e = tl.load(table + i[:, None] * LS + j[None, :], mask=inside, other=0.0)
    at = out + tl.program_id(1).to(tl.int64) * L * L + i.to(tl.int64)[:, None] * L + j[None, :]
    tl.store(at, total * e + apart, mask=inside)
