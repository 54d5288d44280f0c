"""Long chains, cut into chunks of S positions: a parallel scan in three passes.

Särkkä & García-Fernández (2021), Temporal parallelization of Bayesian smoothers; here for sums over labels.

1. `operators`: the product of the steps of each chunk, [from, to], by matrix products in float64. Its row i
   is what a chain does that enters the chunk from label i; every row has its own power of two. The first
   chunk has one row, which begins with `start`.
2. `fold`: a vector times these operators from the left, and from the right: forward values at the left border
   of every chunk, backward values at its right border, log Z.
3. `crfkit.torch.cuda.kernels.chunk_sweep`: forward and backward inside each chunk from its borders.

With labels there is a second chain, in which known labels exclude all others. If a sequence has no unknown
label it is only a score; otherwise it goes through the same passes, and its marginals are subtracted.

Scratch in float64: a record for each chunk and chain (operator [Lp, Lp], left and right border [Lp],
then value, score of the labels, unknown labels, whether the check failed, exponent); a record for each
sequence (gradient by start [Lp], by stop [Lp], then value of the chain, value of the second chain,
unknown labels, score of the labels). In the type of computation: weights, forward and backward values of
all positions, S or S + 1 rows for each chunk.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chunk_parts import (
    base_of,
    chunks_of,
    first_chunk,
    place_of,
    pow2,
    row_weights,
    sequence_of,
    table,
    vector,
    weights,
)
from crfkit.torch.cuda.kernels.parts import LN2, power_below, top_of

__all__ = ["fold", "operators"]

NONE = tl.constexpr(-(1 << 28))  # exponent of a row of zeros
TINY = tl.constexpr(2.0**-500)  # a fold that falls below it may have lost what matters


@triton.jit
def scaled_rows(A, k):
    """Return rows with maxima in [1, 2), and the sums of their exponents."""
    top = tl.max(A, 1)
    scale, up = power_below(top)
    return A * scale[:, None], k + up


@triton.jit
def write_weights(
    node, index, labels, rows, s, e, step, label_step, clamp,
    L: tl.constexpr, Lp: tl.constexpr, INDEX: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write exp(score - top) of rows, 0 where a known label differs; return the sum of tops."""
    o = tl.arange(0, 16)
    j = tl.arange(0, Lp)
    total = tl.zeros([], tl.float64)
    for at in range(s, e, 16):
        t = at + o
        live = t < e
        place = place_of(index, t, live, INDEX)
        inside = live[:, None] & (j < L)[None, :]
        x = tl.load(node + (place * step)[:, None] + j[None, :], mask=inside, other=float("-inf")).to(
            tl.float64
        )
        top = top_of(tl.max(x, 1))
        w = weights(x - top[:, None], WIDE)
        if clamp:
            y = tl.load(labels + place * label_step, mask=live, other=-1)
            w = tl.where((y >= 0)[:, None] & (j[None, :] != y[:, None]), 0.0, w)
        total += tl.sum(tl.where(live, top, 0.0), 0)
        tl.store(rows + (t - s)[:, None] * Lp + j[None, :], w.to(rows.dtype.element_ty), mask=live[:, None])
    return total


@triton.jit(do_not_specialize=["B", "T", "K", "S", "slots", "batch", "step", "label_batch", "label_step"])
def operators(
    node, length, first, index, start, edge, stop, labels, work, rows,
    B, T, K, S, slots, batch, step, label_batch, label_step,
    L: tl.constexpr, Lp: tl.constexpr, BB: tl.constexpr,
    PACKED: tl.constexpr, INDEX: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write the operator of a chunk, its value, and the score of its labels."""
    slot = tl.program_id(0)
    clamp = tl.program_id(1)
    R: tl.constexpr = Lp * Lp + 2 * Lp + 8
    b = sequence_of(slot, length, B, K, S, BB, PACKED)
    if b >= B:
        return
    n = tl.load(length + b)
    c = slot - first_chunk(b, length, B, K, S, BB, PACKED)
    s = c * S
    e = tl.minimum(s + S, n)
    if s >= n:
        return
    step = tl.cast(step, tl.int64)
    label_step = tl.cast(label_step, tl.int64)
    node += base_of(b, first, step, batch, PACKED)
    labels += base_of(b, first, label_step, label_batch, PACKED)
    index += b.to(tl.int64) * T
    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    record = work + (clamp * slots + slot).to(tl.int64) * R
    E = table(edge, i, j, L)
    edge_top = top_of(tl.max(tl.max(E, 1), 0))
    E = weights(E - edge_top, WIDE)
    begin, start_top = row_weights(vector(start, j, L), WIDE)
    into_top = tl.where(c == 0, start_top, edge_top)

    inner = tl.zeros([], tl.float64)  # score of the labels without the step into the chunk
    unknown = tl.zeros([], tl.int32)
    if clamp:
        border = tl.zeros([], tl.float64)
        o = tl.arange(0, 64)
        for at in range(s, e, 64):
            t = at + o
            live = t < e
            here = place_of(index, t, live, INDEX)
            y = tl.load(labels + here * label_step, mask=live, other=0).to(tl.int32)
            later = live & (t > 0)
            before = place_of(index, t - 1, later, INDEX)
            z = tl.load(labels + before * label_step, mask=later, other=0).to(tl.int32)
            unknown += tl.sum((y < 0).to(tl.int32), 0)
            node_score = tl.load(node + here * step + y, mask=live & (y >= 0) & (y < L), other=0.0)
            inner += tl.sum(tl.where(y < L, node_score.to(tl.float64), float("nan")), 0)
            known = (y >= 0) & (z >= 0) & (y < L) & (z < L)
            edge_score = tl.load(edge + z * L + y, mask=later & known, other=0.0).to(tl.float64)
            inner += tl.sum(tl.where(t > s, edge_score, 0.0), 0)
            border += tl.sum(tl.where(t == s, edge_score, 0.0), 0)
            ends = live & (y >= 0) & (y < L)
            border += tl.sum(tl.load(start + y, mask=ends & (t == 0), other=0.0).to(tl.float64), 0)
            border += tl.sum(tl.load(stop + y, mask=ends & (t == n - 1), other=0.0).to(tl.float64), 0)
        tl.store(record + R - 7, inner + border)
        tl.store(record + R - 6, unknown.to(tl.float64))

    k = tl.zeros([Lp], tl.int32)
    if clamp * (unknown == 0).to(tl.int32):  # one path: from any label to the last, by the first
        y = tl.load(labels + place_of(index, s, s < n, INDEX) * label_step).to(tl.int32)
        last = tl.load(labels + place_of(index, e - 1, s < n, INDEX) * label_step).to(tl.int32)
        into = tl.load(edge + i * L + y, mask=i < tl.where((c > 0) & (y < L), L, 0), other=float("-inf"))
        at_start = tl.load(start + y + i, mask=i < tl.where((c == 0) & (y < L), 1, 0), other=float("-inf"))
        into = tl.maximum(into.to(tl.float64), at_start.to(tl.float64))
        A = tl.where((j == last)[None, :], weights(into - into_top, WIDE)[:, None], 0.0)
        value = inner + into_top
    else:
        rows += (slot.to(tl.int64) + clamp * 2 * slots.to(tl.int64)) * S * Lp
        value = into_top + (e - s - 1).to(tl.float64) * edge_top
        value += write_weights(node, index, labels, rows, s, e, step, label_step, clamp, L, Lp, INDEX, WIDE)
        tl.debug_barrier()
        w = tl.load(rows + j).to(tl.float64)
        A = tl.where(c == 0, tl.where((i == 0)[:, None], begin[None, :], 0.0), E) * w[None, :]
        w = tl.load(rows + Lp + j, mask=j < tl.where(s + 1 < e, Lp, 0), other=0.0).to(tl.float64)
        for t in range(s + 1, e):
            ahead = rows + (t + 1 - s) * Lp + j
            now = w
            w = tl.load(ahead, mask=j < tl.where(t + 1 < e, Lp, 0), other=0.0).to(tl.float64)
            A = tl.dot(A, E, out_dtype=tl.float64) * now[None, :]
            if t % 4 == 0:
                A, k = scaled_rows(A, k)
    A, k = scaled_rows(A, k)
    k = tl.where(tl.max(A, 1) > 0, k, NONE)
    most = tl.max(k, 0)
    tl.store(record + i[:, None] * Lp + j[None, :], A * pow2(k - most)[:, None])
    tl.store(record + R - 4, most.to(tl.float64))
    tl.store(record + R - 8, value)


@triton.jit
def load_operator(record, live, Lp: tl.constexpr):
    """Return an operator [Lp, Lp]."""
    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    bound = tl.where(live, Lp, 0)
    return tl.load(record + i[:, None] * Lp + j[None, :], mask=(i < bound)[:, None], other=0.0)


@triton.jit(do_not_specialize=["B", "K", "S", "slots"])
def fold(
    length, stop, work, sequences, B, K, S, slots,
    L: tl.constexpr, Lp: tl.constexpr, BB: tl.constexpr,
    PACKED: tl.constexpr, LABELS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write forward values at the left borders of the chunks, or backward values at the right ones."""
    b = tl.program_id(0)
    backward = tl.program_id(1) % 2
    clamp = tl.program_id(1) // 2
    R: tl.constexpr = Lp * Lp + 2 * Lp + 8
    n = tl.load(length + b)
    chunks = tl.where(n > 0, chunks_of(n, S), 0)
    slot = first_chunk(b, length, B, K, S, BB, PACKED)
    i = tl.arange(0, Lp)
    j = tl.arange(0, Lp)
    record = work + (clamp * slots + slot).to(tl.int64) * R
    sequence = sequences + b.to(tl.int64) * (2 * Lp + 4) + 2 * Lp

    unknown = tl.zeros([], tl.float64)
    value = tl.zeros([], tl.float64)
    apart = tl.zeros([], tl.float64)  # value minus the score of the labels
    score = tl.zeros([], tl.float64)
    exponents = tl.zeros([], tl.float64)
    o = tl.arange(0, 64)
    for at in range(0, chunks, 64):
        live = at + o < chunks
        each = (at + o).to(tl.int64) * R + R
        mine = tl.load(record + each - 8, mask=live, other=0.0)
        value += tl.sum(mine, 0)
        exponents += tl.sum(tl.load(record + each - 4, mask=live, other=0.0), 0)
        if LABELS:
            second = work + (slots + slot).to(tl.int64) * R
            unknown += tl.sum(tl.load(second + each - 6, mask=live, other=0.0), 0)
            gold = tl.load(second + each - 7, mask=live, other=0.0)
            apart += tl.sum(mine - gold, 0)
            score += tl.sum(gold, 0)
    if LABELS:
        one_path = unknown == 0
        tl.store(sequence + 1, tl.zeros([], tl.float64), mask=one_path & (clamp == 1) & (backward == 0))
        if one_path & (clamp == 1):
            return
        score = tl.where(one_path, score, 0.0)
        value = tl.where(one_path, apart, value)

    w, stop_top = row_weights(vector(stop, j, L), WIDE)
    total = tl.zeros([], tl.int32)
    if backward:
        v = w
        here = record + (chunks - 1).to(tl.int64) * R
        M = load_operator(here, chunks > 0, Lp)
        more = load_operator(here - R, chunks > 1, Lp)
        for r in range(0, chunks):
            tl.store(here + Lp * Lp + Lp + j, v)
            A = M
            M = more
            more = load_operator(here - 2 * R, r + 2 < chunks, Lp)
            here -= R
            top = tl.max(v, 0)
            scale, _ = power_below(top)
            v = tl.sum(A * v[None, :], 1) * tl.where(top > TINY, scale, float("nan"))
    else:
        v = tl.where(i == 0, 1.0, 0.0).to(tl.float64)
        here = record
        M = load_operator(here, chunks > 0, Lp)
        more = load_operator(here + R, chunks > 1, Lp)
        for r in range(0, chunks):
            tl.store(here + Lp * Lp + i, v)
            A = M
            M = more
            more = load_operator(here + 2 * R, r + 2 < chunks, Lp)
            here += R
            top = tl.max(v, 0)
            scale, up = power_below(top)
            total += up
            v = tl.sum(v[:, None] * A, 0) * tl.where(top > TINY, scale, float("nan"))
        end = tl.sum(v * w, 0)
        value += tl.log(end) + (total.to(tl.float64) + exponents) * LN2 + stop_top
        value = tl.where(n > 0, value, 0.0)
        tl.store(sequence + clamp, value)
        if clamp == 0:
            tl.store(sequence + 2, unknown)
            tl.store(sequence + 3, score)
            if LABELS == 0:
                tl.store(sequence + 1, tl.zeros([], tl.float64))
