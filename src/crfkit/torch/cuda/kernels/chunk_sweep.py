"""Forward and backward inside chunks from known borders (`crfkit.torch.cuda.kernels.chunks`), and the check.

Rows are computed in the type of `rows` (float64) and kept; gradients are made of them by tiles of positions.

Cells vanish below tiny = 2^-1022. Rows have maxima of about 1, so what vanishes at a step is less than L
tiny / m of the row, m being the maximum of the new row before it is scaled, and changes the answer by at
most that over c = sum_j alpha(j) beta(j). Rows of an operator are no larger than the mixture of them
that is seen here, so the same holds for what vanished there; they are in float64 and scaled at every
fourth step only, so that m^4 stands for m. A sequence is right if m c is above SMALL everywhere;
otherwise it is swept again in log space (`crfkit.torch.cuda.kernels.chunk_logs`).
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chunk_parts import (
    base_of,
    first_chunk,
    place_of,
    row_weights,
    sequence_of,
    table,
    vector,
    weights,
)
from crfkit.torch.cuda.kernels.parts import both, power_below, top_of

__all__ = ["counts", "finish", "sweep"]

SMALL = tl.constexpr(2.0**-200)


@triton.jit
def counts(labels, index, label_step, s, e, Lp: tl.constexpr, INDEX: tl.constexpr):
    """Return how often labels make each step [Lp, Lp], exactly, by products of one-hot rows."""
    o = tl.arange(0, 32)
    j = tl.arange(0, Lp)
    made = tl.zeros([Lp, Lp], tl.float32)
    for at in range(s, e, 32):
        t = at + o
        live = (t < e) & (t > 0)
        y = tl.load(labels + place_of(index, t, live, INDEX) * label_step, mask=live, other=-1)
        z = tl.load(labels + place_of(index, t - 1, live, INDEX) * label_step, mask=live, other=-1)
        made += tl.dot((z[None, :] == j[:, None]).to(tl.float16), (y[:, None] == j[None, :]).to(tl.float16))
    return made


@triton.jit
def edge_weights(edge, i, j, L, WIDE: tl.constexpr):
    """Return exp(score - top) of the edges, [Lp, Lp]."""
    E = table(edge, i, j, L)
    return weights(E - top_of(tl.max(tl.max(E, 1), 0)), WIDE)


@triton.jit
def row_of(rows, labels, index, t, s, label_step, j, clamp, live, Lp: tl.constexpr, INDEX: tl.constexpr):
    """Return the weights [Lp] of position t; with `clamp`, only that of its label if it is known."""
    w = tl.load(rows + (t - s) * Lp + j, mask=j < tl.where(live, Lp, 0), other=0.0)
    if clamp:
        y = tl.load(labels + place_of(index, t, live, INDEX) * label_step, mask=live, other=-1)
        w = tl.where((y >= 0) & (j != y), 0.0, w)
    return w


@triton.jit(
    do_not_specialize=[
        "B", "T", "K", "S", "slots", "label_batch", "label_step", "grad_batch", "grad_step", "scale_high",
        "scale_low",
    ]
)  # fmt: skip
def sweep(
    length, first, index, start, edge, labels, weight, grad, work, sequences, rows,
    B, T, K, S, slots, label_batch, label_step, grad_batch, grad_step, scale_high, scale_low,
    L: tl.constexpr, Lp: tl.constexpr, BB: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr,
    LABELS: tl.constexpr, WEIGHT: tl.constexpr, GRAD: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write gradients of the positions of a chunk, its part of those of edges, and the check."""
    slot = tl.program_id(0)
    R: tl.constexpr = Lp * Lp + 2 * Lp + 8
    C: tl.constexpr = rows.dtype.element_ty
    TILE: tl.constexpr = 16  # positions at a time
    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    tile = i[:, None] * Lp + j[None, :]
    b = sequence_of(slot, length, B, K, S, BB, PACKED)
    exists = b < B
    n = tl.load(length + b, mask=exists, other=0)
    c = slot - first_chunk(b, length, B, K, S, BB, PACKED)
    s = c * S
    e = tl.minimum(s + S, n)
    record = work + slot.to(tl.int64) * R
    sequence = sequences + b.to(tl.int64) * (2 * Lp + 4)
    if GRAD:
        nothing = j < tl.where(exists & (n == 0) & (c == 0), Lp, 0)
        tl.store(sequence + j, tl.zeros([Lp], tl.float64), mask=nothing)
        tl.store(sequence + Lp + j, tl.zeros([Lp], tl.float64), mask=nothing)
    if s >= n:
        tl.store(record + tile, tl.zeros([Lp, Lp], tl.float64))
        tl.store(record + R - 5, tl.zeros([], tl.float64))
        return
    index += b.to(tl.int64) * T
    alphas = rows + slots.to(tl.int64) * S * Lp
    betas = alphas + slots.to(tl.int64) * (S + 1) * Lp + slot.to(tl.int64) * S * Lp
    alphas += slot.to(tl.int64) * (S + 1) * Lp
    rows += slot.to(tl.int64) * S * Lp
    begin, _ = row_weights(vector(start, j, L), WIDE)
    begin = begin.to(C)
    coefficient = both(scale_high, scale_low)
    if WEIGHT:
        coefficient *= tl.load(weight + b).to(tl.float64)
    sweeps = 1
    one = 0  # whether the labels are one path
    if LABELS:
        label_step = tl.cast(label_step, tl.int64)
        labels += base_of(b, first, label_step, label_batch, PACKED)
        sweeps += (tl.load(sequence + 2 * Lp + 2) > 0).to(tl.int32)
        one = (sweeps == 1).to(tl.int32)
        if tl.load(sequence + 2 * Lp + 3) == float("-inf"):
            coefficient = tl.zeros([], tl.float64)
    if GRAD:
        grad_step = tl.cast(grad_step, tl.int64)
        grad += base_of(b, first, grad_step, grad_batch, PACKED)
    at_start = tl.zeros([Lp], tl.float64)
    at_stop = tl.zeros([Lp], tl.float64)
    least = tl.full([], 1.0, C)
    least_sum = tl.full([], 1.0, C)
    right = tl.full([], 1, tl.int32)  # NaN is in no order, so it is found here

    for clamp in range(0, sweeps):
        E = edge_weights(edge, i, j, L, WIDE).to(C)
        borders = record + clamp * slots.to(tl.int64) * R + Lp * Lp
        sign = 1.0 - 2.0 * clamp
        a = tl.load(borders + i)
        a = (a * power_below(tl.max(a, 0))[0]).to(C)
        tl.store(alphas + i, a)
        v = tl.load(borders + Lp + j)
        v = (v * power_below(tl.max(v, 0))[0]).to(C)
        w = row_of(rows, labels, index, s, s, label_step, j, clamp, s < e, Lp, INDEX)
        x = row_of(rows, labels, index, e - 1, s, label_step, j, clamp, s < e, Lp, INDEX)
        for k in range(0, e - s):  # both directions at a time: each waits for itself only
            more = s + k + 1 < e
            now = w
            w = row_of(rows, labels, index, s + k + 1, s, label_step, j, clamp, more, Lp, INDEX)
            top = tl.max(a, 0)
            least = tl.minimum(least, top)
            r = tl.sum(a[:, None] * E, 0)
            a = tl.where(s + k == 0, begin, r) * (now * power_below(top)[0])
            tl.store(alphas + (k + 1) * Lp + j, a)

            tl.store(betas + (e - 1 - k - s) * Lp + j, v)
            now = x
            x = row_of(rows, labels, index, e - 2 - k, s, label_step, j, clamp, more, Lp, INDEX)
            top = tl.max(v, 0)
            least = tl.minimum(least, top)
            v = tl.sum(E * (now * v)[None, :], 1) * power_below(top)[0]
        tl.debug_barrier()

        o = tl.arange(0, TILE)
        for at in range(s, e, TILE):
            ts = at + o
            live = ts < e
            here = (ts - s)[:, None] * Lp + j[None, :]
            forward = tl.load(alphas + Lp + here, mask=live[:, None], other=1.0)
            backward = tl.load(betas + here, mask=live[:, None], other=1.0)
            p = forward * backward
            total = tl.sum(p, 1)
            scaled = total * power_below(tl.max(forward, 1))[0] * power_below(tl.max(backward, 1))[0]
            least_sum = tl.minimum(least_sum, tl.min(scaled, 0))
            right *= tl.min((scaled > 0).to(tl.int32), 0)
            if GRAD:
                place = place_of(index, ts, live, INDEX)
                q = sign * (p / total[:, None]).to(tl.float64)
                if one:
                    y = tl.load(labels + place * label_step, mask=live, other=-1)
                    q -= (y[:, None] == j[None, :]).to(tl.float64)
                factor = tl.where(live, coefficient, 0.0)[:, None]
                q = tl.where(factor == 0, 0.0, factor * q)
                at_start += tl.sum(tl.where((ts == 0)[:, None], q, 0.0), 0)
                at_stop += tl.sum(tl.where((ts == n - 1)[:, None], q, 0.0), 0)
                out = grad + (place * grad_step)[:, None] + j[None, :]
                inside = live[:, None] & (j < L)[None, :]
                if clamp:
                    q += tl.load(out, mask=inside, other=0.0).to(tl.float64)
                tl.store(out, q.to(grad.dtype.element_ty), mask=inside)

        if GRAD:
            credits = tl.zeros([Lp, Lp], tl.float64)
            for at in range(s, e, TILE):
                ts = at + o
                live = (ts < e) & (ts > 0)
                here = (ts - s)[:, None] * Lp + j[None, :]
                backward = tl.load(betas + here, mask=live[:, None], other=1.0)
                total = tl.sum(tl.load(alphas + Lp + here, mask=live[:, None], other=1.0) * backward, 1)
                after = tl.load(rows + here, mask=live[:, None], other=0.0) * backward
                if clamp:
                    place = place_of(index, ts, live, INDEX)
                    y = tl.load(labels + place * label_step, mask=live, other=-1)
                    after = tl.where((y >= 0)[:, None] & (j[None, :] != y[:, None]), 0.0, after)
                before = alphas + (ts - s)[None, :] * Lp + i[:, None]
                before = tl.load(before, mask=live[None, :], other=0.0)  # [Lp, positions]
                part = power_below(tl.max(before, 0))[0] * (sign / total).to(C)
                before = (before * part[None, :]).to(tl.float64)
                credits = tl.dot(before, after.to(tl.float64), credits, out_dtype=tl.float64)
            credits *= edge_weights(edge, i, j, L, WIDE)
            if one:
                credits -= counts(labels, index, label_step, s, e, Lp, INDEX).to(tl.float64)
            credits = tl.where(coefficient == 0, 0.0, coefficient * credits)
            if clamp:
                credits += tl.load(record + tile)
            tl.store(record + tile, credits)
        tl.debug_barrier()

    if GRAD:
        tl.store(sequence + j, at_start, mask=j < tl.where(s == 0, Lp, 0))
        tl.store(sequence + Lp + j, at_stop, mask=j < tl.where(e == n, Lp, 0))
    fine = (right == 1) & (least > SMALL) & (least * least_sum > SMALL)
    tl.store(record + R - 5, tl.where(fine, 0.0, 1.0).to(tl.float64))


@triton.jit(do_not_specialize=["slots", "B", "scale_high", "scale_low"])
def finish(
    work, sequences, value, weight, start, edge, stop, total, slots, B, scale_high, scale_low,
    L: tl.constexpr, Lp: tl.constexpr, WEIGHT: tl.constexpr, LABELS: tl.constexpr, GRAD: tl.constexpr,
):  # fmt: skip
    """Sum the parts of chunks and sequences in their order: a row of edges, start, stop, or the total."""
    row = tl.program_id(0)
    W: tl.constexpr = 4096 // Lp
    j = tl.arange(0, Lp)
    o = tl.arange(0, W)
    if row == L + 2:
        if LABELS:
            each = tl.zeros([W], tl.float64)
            for at in range(0, B, W):
                live = at + o < B
                part = tl.load(value + at + o, mask=live, other=0.0) * both(scale_high, scale_low)
                if WEIGHT:
                    part *= tl.load(weight + at + o, mask=live, other=0.0).to(tl.float64)
                each += part
            tl.store(total, tl.sum(each, 0).to(total.dtype.element_ty))
        return
    if GRAD:
        made = tl.zeros([W, Lp], tl.float64)
        if row < L:
            R: tl.constexpr = Lp * Lp + 2 * Lp + 8
            for at in range(0, slots, W):
                parts = (at + o).to(tl.int64) * R + row * Lp
                made += tl.load(work + parts[:, None] + j[None, :], mask=(at + o < slots)[:, None], other=0.0)
            tl.store(edge + row * L + j, tl.sum(made, 0).to(edge.dtype.element_ty), mask=j < L)
        else:
            for at in range(0, B, W):
                parts = (at + o).to(tl.int64) * (2 * Lp + 4) + (row - L) * Lp
                made += tl.load(
                    sequences + parts[:, None] + j[None, :], mask=(at + o < B)[:, None], other=0.0
                )
            out = tl.sum(made, 0)
            tl.store(start + j, out.to(start.dtype.element_ty), mask=j < tl.where(row == L, L, 0))
            tl.store(stop + j, out.to(stop.dtype.element_ty), mask=j < tl.where(row == L, 0, L))
