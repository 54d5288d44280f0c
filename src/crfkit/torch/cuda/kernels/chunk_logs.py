"""Chains swept in log space, one program for each sequence of which a chunk failed the check.

Rows of logarithms in float64, relative to their maxima; the scratch is that of the chunks.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chunk_parts import (
    base_of,
    chunks_of,
    first_chunk,
    place_of,
    read,
    table,
    vector,
)
from crfkit.torch.cuda.kernels.chunk_sweep import counts
from crfkit.torch.cuda.kernels.parts import both, top_of

__all__ = ["logs"]


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
def finite_max(z, axis: tl.constexpr):
    """Return maxima, 0 in place of -inf."""
    return top_of(tl.max(z, axis))


@triton.jit
def log_sum(z):
    """Return log sum exp of a vector."""
    top = finite_max(z, 0)
    return tl.log(tl.sum(tl.exp(z - top), 0)) + top


@triton.jit(
    do_not_specialize=[
        "B",
        "T",
        "K",
        "S",
        "batch",
        "step",
        "label_batch",
        "label_step",
        "grad_batch",
        "grad_step",
        "scale_high",
        "scale_low",
    ]
)
def logs(
    node, length, first, index, start, edge, stop, labels, weight, grad,
    work, sequences, alphas, value, in_logs,
    B, T, K, S, batch, step, label_batch, label_step, grad_batch, grad_step, scale_high, scale_low,
    L: tl.constexpr, Lp: tl.constexpr, BB: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr,
    LABELS: tl.constexpr, WEIGHT: tl.constexpr, GRAD: tl.constexpr,
):  # fmt: skip
    """Write the value of every sequence; sweep those again of which a chunk failed."""
    b = tl.program_id(0)
    R: tl.constexpr = Lp * Lp + 2 * Lp + 8
    n = tl.load(length + b)
    chunks = chunks_of(n, S)
    slot = first_chunk(b, length, B, K, S, BB, PACKED)
    record = work + slot.to(tl.int64) * R
    sequence = sequences + b.to(tl.int64) * (2 * Lp + 4)
    o = tl.arange(0, 64)
    failed = tl.zeros([], tl.float64)
    for at in range(0, chunks, 64):
        failed += tl.sum(
            tl.load(record + (at + o).to(tl.int64) * R + R - 5, mask=at + o < chunks, other=0.0), 0
        )
    tl.store(in_logs + b, (failed > 0).to(tl.uint8))
    free = tl.load(sequence + 2 * Lp)
    second = tl.load(sequence + 2 * Lp + 1)
    if failed == 0:
        tl.store(value + b, free - second)
        return

    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    step = tl.cast(step, tl.int64)
    node += base_of(b, first, step, batch, PACKED)
    index += b.to(tl.int64) * T
    alphas += slot.to(tl.int64) * S * Lp
    E = table(edge, i, j, L)
    coefficient = both(scale_high, scale_low)
    if WEIGHT:
        coefficient *= tl.load(weight + b).to(tl.float64)
    sweeps = 1
    score = tl.zeros([], tl.float64)
    if LABELS:
        label_step = tl.cast(label_step, tl.int64)
        labels += base_of(b, first, label_step, label_batch, PACKED)
        sweeps += (tl.load(sequence + 2 * Lp + 2) > 0).to(tl.int32)
        score = tl.load(sequence + 2 * Lp + 3)
        if score == float("-inf"):
            coefficient = tl.zeros([], tl.float64)
    if GRAD:
        grad_step = tl.cast(grad_step, tl.int64)
        grad += base_of(b, first, grad_step, grad_batch, PACKED)
    credits = tl.zeros([Lp, Lp], tl.float64)
    one = 0
    if LABELS:
        one = (sweeps == 1).to(tl.int32)

    forbidden = score == float("-inf")
    answer = -score  # the second chain is swept first: it decides whether there is a gradient
    for turn in range(0, sweeps):
        clamp = sweeps - 1 - turn
        sign = 1.0 - 2.0 * clamp
        offset = tl.zeros([], tl.float64)
        a = tl.zeros([Lp], tl.float64)
        for t in range(0, n):
            x = read(node, labels, place_of(index, t, t < n, INDEX), step, label_step, j, L, clamp, t < n)
            z = a[:, None] + E
            top = finite_max(z, 0)
            r = tl.log(tl.sum(tl.exp(z - top[None, :]), 0)) + top
            r = tl.where(t == 0, vector(start, j, L), r) + x
            top = finite_max(r, 0)
            a = r - top
            offset += top
            tl.store(alphas + t * Lp + j, a)
        v = vector(stop, j, L)
        total = log_sum(a + v) + offset
        if total == float("-inf"):
            forbidden |= clamp > 0
            coefficient = tl.zeros([], tl.float64)
        answer += sign * total
        tl.debug_barrier()
        if GRAD:
            for back in range(0, n):
                t = n - 1 - back
                place = place_of(index, t, t < n, INDEX)
                z = tl.load(alphas + t * Lp + j) + v
                top = log_sum(z)
                q = sign * tl.exp(z - tl.where(top == float("-inf"), 0.0, top))
                if one:
                    q -= (tl.load(labels + place * label_step) == j).to(tl.float64)
                q = tl.where(coefficient == 0, 0.0, coefficient * q)
                put(grad, place, grad_step, sequence, t, n, q, j, L, turn > 0, t < n)
                if t > 0:
                    x = read(node, labels, place, step, label_step, j, L, clamp, t < n)
                    a = tl.load(alphas + (t - 1) * Lp + i)
                    G = E + (x + v)[None, :]
                    top = finite_max(G, 1)
                    u = tl.log(tl.sum(tl.exp(G - top[:, None]), 1)) + top
                    top = log_sum(a + u)
                    top = tl.where(top == float("-inf"), 0.0, top)
                    credits += sign * tl.exp(a[:, None] + G - top)
                    v = u - finite_max(u, 0)
        tl.debug_barrier()

    if LABELS:
        answer = tl.where(forbidden, float("inf"), answer)
    tl.store(value + b, answer)
    if GRAD:
        if one:
            credits -= counts(labels, index, label_step, 0, n, Lp, INDEX).to(tl.float64)
        credits = tl.where(coefficient == 0, 0.0, coefficient * credits)
        tile = i[:, None] * Lp + j[None, :]
        for k in range(0, chunks):
            tl.store(record + tl.cast(k, tl.int64) * R + tile, tl.where(k == 0, credits, 0.0))
