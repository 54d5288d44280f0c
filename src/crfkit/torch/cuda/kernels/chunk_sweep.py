"""Forward and backward inside chunks from known borders (`crfkit.torch.cuda.kernels.chunks`), and the check.

Cells vanish below 2^-1022. Rows have maxima of about 1, so what vanishes at a step is less than L^2
2^-1022 / m of the row, m being the maximum of the new row before it is scaled, and changes the answer by
at most that over c = sum_j alpha(j) beta(j). Rows of an operator are no larger than the mixture of them
that is seen here, so the same holds for what vanished there; they are scaled at every fourth step only,
so that m^4 stands for m. A sequence is right if m > 2^-200 and m c > 2^-200 everywhere; otherwise it is
swept again in log space (`crfkit.torch.cuda.kernels.chunk_logs`).
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chunk_parts import (
    base_of,
    first_chunk,
    place_of,
    read,
    row_weights,
    sequence_of,
    table,
    vector,
    weights,
)
from crfkit.torch.cuda.kernels.parts import power_below, top_of

__all__ = ["counts", "finish", "put", "sweep"]

SMALL = tl.constexpr(2.0**-200)


@triton.jit
def put(grad, place, grad_step, at_ends, t, n, q, j, L, more, live):
    """Write a row of the gradient of one position, or add to it; keep it for start and stop at the ends."""
    Lp: tl.constexpr = j.shape[0]
    inside = j < tl.where(live, L, 0)
    rows = grad + place * grad_step + j
    old = tl.load(rows, mask=j < tl.where(live & more, L, 0), other=0.0).to(tl.float64)
    tl.store(rows, (q + old).to(grad.dtype.element_ty), mask=inside)
    begins = tl.where(live & (t == 0), Lp, 0)
    old = tl.load(at_ends + j, mask=j < tl.where(more, begins, 0), other=0.0)
    tl.store(at_ends + j, q + old, mask=j < begins)
    ends = tl.where(live & (t == n - 1), Lp, 0)
    old = tl.load(at_ends + Lp + j, mask=j < tl.where(more, ends, 0), other=0.0)
    tl.store(at_ends + Lp + j, q + old, mask=j < ends)


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


@triton.jit(
    do_not_specialize=[
        "B",
        "T",
        "K",
        "S",
        "slots",
        "batch",
        "step",
        "label_batch",
        "label_step",
        "grad_batch",
        "grad_step",
        "scale",
    ]
)
def sweep(
    node, length, first, index, start, edge, labels, weight, grad, work, sequences, alphas,
    B, T, K, S, slots, batch, step, label_batch, label_step, grad_batch, grad_step, scale,
    L: tl.constexpr, Lp: tl.constexpr, BB: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr,
    LABELS: tl.constexpr, WEIGHT: tl.constexpr, GRAD: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write gradients of the positions of a chunk, its part of those of edges, and the check."""
    slot = tl.program_id(0)
    R: tl.constexpr = Lp * Lp + 3 * Lp + 4
    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    tile = i[:, None] * Lp + j[None, :]
    b = sequence_of(slot, length, B, K, S, BB, PACKED)
    live = b < B
    n = tl.load(length + b, mask=live, other=0)
    c = slot - first_chunk(b, length, B, K, S, BB, PACKED)
    s = c * S
    e = tl.minimum(s + S, n)
    record = work + slot.to(tl.int64) * R
    sequence = sequences + b.to(tl.int64) * (2 * Lp + 4)
    if GRAD:
        nothing = j < tl.where(live & (n == 0) & (c == 0), Lp, 0)
        tl.store(sequence + j, tl.zeros([Lp], tl.float64), mask=nothing)
        tl.store(sequence + Lp + j, tl.zeros([Lp], tl.float64), mask=nothing)
    if s >= n:
        tl.store(record + tile, tl.zeros([Lp, Lp], tl.float64))
        tl.store(record + R - 1, tl.zeros([], tl.float64))
        return
    step = tl.cast(step, tl.int64)
    node += base_of(b, first, step, batch, PACKED)
    index += b.to(tl.int64) * T
    alphas += slot.to(tl.int64) * (S + 1) * Lp
    E = table(edge, i, j, L)
    E = weights(E - top_of(tl.max(tl.max(E, 1), 0)), WIDE)
    begin, _ = row_weights(vector(start, j, L), WIDE)
    coefficient = tl.cast(scale, tl.float64)
    if WEIGHT:
        coefficient *= tl.load(weight + b).to(tl.float64)
    sweeps = 1
    if LABELS:
        label_step = tl.cast(label_step, tl.int64)
        labels += base_of(b, first, label_step, label_batch, PACKED)
        sweeps += (tl.load(sequence + 2 * Lp + 2) > 0).to(tl.int32)
        if tl.load(sequence + 2 * Lp + 3) == float("-inf"):
            coefficient = tl.zeros([], tl.float64)
    if GRAD:
        grad_step = tl.cast(grad_step, tl.int64)
        grad += base_of(b, first, grad_step, grad_batch, PACKED)
    credits = tl.zeros([Lp, Lp], tl.float64 if WIDE else tl.float32)
    one = 0  # whether the labels are one path
    if LABELS:
        one = (sweeps == 1).to(tl.int32)
    least = tl.full([], 1.0, tl.float64)
    least_sum = tl.full([], 1.0, tl.float64)
    right = tl.full([], 1, tl.int32)  # NaN is in no order, so it is found here

    for clamp in range(0, sweeps):
        borders = record + clamp * slots.to(tl.int64) * R + Lp * Lp + Lp
        sign = 1.0 - 2.0 * clamp
        a = tl.load(borders + i)
        tl.store(alphas + i, a)
        x = read(node, labels, place_of(index, s, s < e, INDEX), step, label_step, j, L, clamp, s < e)
        for t in range(s, e):
            w, _ = row_weights(x, WIDE)
            place = place_of(index, t + 1, t + 1 < e, INDEX)
            x = read(node, labels, place, step, label_step, j, L, clamp, t + 1 < e)
            r = tl.sum(a[:, None] * E, 0)
            r = tl.where(t == 0, begin, r) * w
            top = tl.max(r, 0)
            least = tl.minimum(least, top)
            a = r * power_below(top)[0]
            tl.store(alphas + (t + 1 - s) * Lp + j, a)
        tl.debug_barrier()

        v = tl.load(borders + Lp + j)
        a = tl.load(alphas + (e - s) * Lp + j)
        p = a * v
        total = tl.sum(p, 0)
        least_sum = tl.minimum(least_sum, total)
        right *= (total > 0).to(tl.int32)
        if GRAD:
            place = place_of(index, e - 1, s < e, INDEX)
            q = sign * p / total
            if one:
                q -= (tl.load(labels + place * label_step) == j).to(tl.float64)
            q = tl.where(coefficient == 0, 0.0, coefficient * q)
            put(grad, place, grad_step, sequence, e - 1, n, q, j, L, clamp > 0, s < e)
        x = read(node, labels, place_of(index, e - 1, s < e, INDEX), step, label_step, j, L, clamp, s < e)
        before = tl.load(alphas + (e - 1 - s) * Lp + i)
        for back in range(0, e - s - (c == 0).to(tl.int32)):
            t = e - 1 - back
            w, _ = row_weights(x, WIDE)
            a = before
            more = t > s
            place = place_of(index, t - 1, more, INDEX)
            x = read(node, labels, place, step, label_step, j, L, clamp, more)
            before = tl.load(alphas + (t - 1 - s) * Lp + i, mask=i < tl.where(more, Lp, 0), other=0.0)
            G = E * (w * v)[None, :]
            u = tl.sum(G, 1)
            p = a * u
            total = tl.sum(p, 0)
            top = tl.max(u, 0)
            scale_u = power_below(top)[0]
            least = tl.minimum(least, top)
            least_sum = tl.minimum(least_sum, total * scale_u)
            right *= (total > 0).to(tl.int32)
            v = u * scale_u
            if GRAD:
                credits += (sign * a / total).to(credits.dtype)[:, None] * G.to(credits.dtype)
                q = sign * p / total
                if one:
                    q -= (tl.load(labels + place * label_step, mask=more, other=-1) == i).to(tl.float64)
                q = tl.where(coefficient == 0, 0.0, coefficient * q)
                put(grad, place, grad_step, sequence, t - 1, n, q, i, L, clamp > 0, more)
        tl.debug_barrier()

    if GRAD:
        if one:
            credits -= counts(labels, index, label_step, s, e, Lp, INDEX).to(credits.dtype)
        credits = tl.where(coefficient == 0, 0.0, coefficient * credits)
        tl.store(record + tile, credits.to(tl.float64))
    fine = (right == 1) & (least > SMALL) & (least * least_sum > SMALL)
    tl.store(record + R - 1, tl.where(fine, 0.0, 1.0).to(tl.float64))


@triton.jit(do_not_specialize=["slots", "B", "scale"])
def finish(
    work, sequences, value, weight, start, edge, stop, total, slots, B, scale,
    L: tl.constexpr, Lp: tl.constexpr, WEIGHT: tl.constexpr, LABELS: tl.constexpr, GRAD: tl.constexpr,
):  # fmt: skip
    """Sum the parts of chunks and sequences in their order: a row of edges, start, stop, or the total."""
    row = tl.program_id(0)
    j = tl.arange(0, Lp)
    o = tl.arange(0, 32)
    if row == L + 2:
        if LABELS:
            each = tl.zeros([32], tl.float64)
            for at in range(0, B, 32):
                live = at + o < B
                part = tl.load(value + at + o, mask=live, other=0.0) * scale
                if WEIGHT:
                    part *= tl.load(weight + at + o, mask=live, other=0.0).to(tl.float64)
                each += part
            tl.store(total, tl.sum(each, 0).to(total.dtype.element_ty))
        return
    if GRAD:
        made = tl.zeros([32, Lp], tl.float64)
        if row < L:
            R: tl.constexpr = Lp * Lp + 3 * Lp + 4
            for at in range(0, slots, 32):
                rows = (at + o).to(tl.int64) * R + row * Lp
                made += tl.load(work + rows[:, None] + j[None, :], mask=(at + o < slots)[:, None], other=0.0)
            tl.store(edge + row * L + j, tl.sum(made, 0).to(edge.dtype.element_ty), mask=j < L)
        else:
            for at in range(0, B, 32):
                rows = (at + o).to(tl.int64) * (2 * Lp + 4) + (row - L) * Lp
                made += tl.load(sequences + rows[:, None] + j[None, :], mask=(at + o < B)[:, None], other=0.0)
            out = tl.sum(made, 0)
            tl.store(start + j, out.to(start.dtype.element_ty), mask=j < tl.where(row == L, L, 0))
            tl.store(stop + j, out.to(stop.dtype.element_ty), mask=j < tl.where(row == L, 0, L))
