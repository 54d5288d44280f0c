"""The best segmentation: the sweep of `segments` with the largest instead of the sum, then its trace."""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.segments import _row_of

_ARGS = ["node_b", "node_t", "segment_b", "segment_t", "segment_d", "index_b", "rows_b", "T", "D", "L"]


@triton.jit
def _first(candidates, best, number, AXIS: tl.constexpr, MOST: tl.constexpr):
    """Return the smallest number of those that are best; MOST if none is, as among NaN."""
    return tl.min(tl.where(candidates == tl.expand_dims(best, AXIS), number, MOST), AXIS)


@triton.jit
def _odd(x):
    """Return 1 for NaN and +inf, which a maximum would pass over."""
    return ((x != x) | (x == float("inf"))).to(tl.int32)


@triton.jit(do_not_specialize=_ARGS)
def best(
    node, node_b, node_t, segment, segment_b, segment_t, segment_d, length, first, index, index_b,
    start, edge, stop, duration, spans, sources, labels, begins, rows_b, score, T, D, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, NODE: tl.constexpr, SEGMENT: tl.constexpr,
    Lp: tl.constexpr, Dp: tl.constexpr,
):  # fmt: skip
    """One program a sequence; spans and sources [P, L] hold the way back."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    y = tl.arange(0, Lp)
    slot = tl.arange(0, Dp)
    inside = y < L
    steps = tl.load(
        edge + y[:, None] * L + y[None, :], mask=inside[:, None] & inside[None, :], other=float("-inf")
    ).to(tl.float64)
    opening = tl.load(start + y, mask=inside, other=float("-inf")).to(tl.float64)
    closing = tl.full([Lp], 0.0, tl.float64)
    odd = _odd(opening) + tl.max(_odd(steps), 0)  # [Lp]
    odd_segments = tl.zeros([Dp, Lp], tl.int32)
    ring = tl.full([Dp, Lp], float("-inf"), tl.float64)
    m = tl.full([], 0, tl.int32)
    row = _row_of(tl.full([], 0, tl.int32), b, first, index, index_b, PACKED, INDEXED)
    if NODE:
        x = tl.load(node + b * node_b + row * node_t + y, mask=y < L * tl.minimum(n, 1), other=float("-inf"))
    for t in range(0, n):
        d = m - slot
        d = tl.where(d < 0, d + D, d)
        filled = ((slot < D) & (d <= t))[:, None] & inside[None, :]
        f = tl.load(duration + d[:, None] * L + y[None, :], mask=filled, other=float("-inf")).to(tl.float64)
        if SEGMENT:
            at = _row_of(tl.maximum(t - d, 0), b, first, index, index_b, PACKED, INDEXED)
            f += tl.load(
                segment + b * segment_b + at[:, None] * segment_t + d[:, None] * segment_d + y[None, :],
                mask=filled,
                other=float("-inf"),
            ).to(tl.float64)
        odd_segments |= _odd(f)
        ring = tl.where((slot == m)[:, None], opening[None, :], ring)
        if NODE:
            odd |= _odd(x.to(tl.float64))
            ring += x.to(tl.float64)[None, :]
            row = _row_of(tl.minimum(t + 1, n - 1), b, first, index, index_b, PACKED, INDEXED)
            x = tl.load(node + b * node_b + row * node_t + y, mask=inside, other=float("-inf"))
        ending = tl.where(filled, ring + f, float("-inf"))
        closing = tl.max(ending, 0)
        span = _first(ending, closing, d[:, None], 0, Dp - 1)
        tl.store(spans + (base + t) * L + y, span.to(tl.uint8), mask=inside)
        longer = closing[:, None] + steps
        opening = tl.max(longer, 0)
        source = _first(longer, opening, y[:, None], 0, Lp - 1)
        tl.store(sources + (base + t) * L + y, source.to(tl.uint8), mask=inside)
        m = tl.where(m + 1 == D, 0, m + 1)
    value = tl.full([], 0.0, tl.float64)
    if n > 0:
        ended = closing + tl.load(stop + y, mask=inside, other=float("-inf")).to(tl.float64)
        value = tl.max(ended, 0)
        bad = tl.max(odd | _odd(ended) | tl.max(odd_segments, 0), 0)
        value = tl.where(bad > 0, float("nan"), value)
        if value > float("-inf"):
            label = tl.min(tl.where(ended == value, y, Lp - 1), 0)
            e = n - 1
            tl.debug_barrier()
            while e >= 0:
                reach = tl.minimum(tl.load(spans + (base + e) * L + label).to(tl.int32), e)
                s = e - reach
                at = _row_of(tl.maximum(e - slot, 0), b, first, index, index_b, PACKED, INDEXED)
                tl.store(labels + b * rows_b + at, label + 0 * at, mask=slot <= reach)
                tl.store(begins + b * rows_b + at, slot == reach, mask=slot <= reach)
                label = tl.load(sources + (base + s - 1) * L + label, mask=s > 0, other=0).to(tl.int32)
                e = s - 1
    tl.store(score + b, value)
