"""Draws of segmentations from the rows of the forward sweep: labels and lengths, from the end backwards."""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.segments import LN2, _row_of

_ARGS = ["segment_b", "segment_t", "segment_d", "index_b", "out_b", "out_n", "T", "P", "D", "L"]


@triton.jit
def _logs(x, power, logs):
    """Return rows of a sweep as logs."""
    if logs > 0:
        value = x
    else:
        value = tl.log(x) + power * LN2
    return value


@triton.jit
def _drawn(score, number, seed, b, draw, e, which):
    """Draw a number by the logs of its weights; the words of Philox depend on all that follows them."""
    top = tl.max(score, 0)
    share = tl.exp(score - tl.where(top == float("-inf"), 0.0, top))
    below = tl.cumsum(share, 0)
    place = e.to(tl.uint32)
    high, low, _, _ = tl.philox(seed, b.to(tl.uint32), draw.to(tl.uint32), place, place * 0 + which)
    unit = (high.to(tl.float64) + low.to(tl.float64) / 4294967296.0) / 4294967296.0
    at = unit * tl.max(below, 0)
    # the first whose sum lies above: it has a weight
    return tl.min(tl.where(below > at, number, 1 << 20), 0)


@triton.jit(do_not_specialize=_ARGS)
def sample(
    segment, segment_b, segment_t, segment_d, length, first, index, index_b, edge, stop, duration,
    rows, weight, power, logz, in_logs, seed, labels, begins, out_b, out_n, T, P, D, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, SEGMENT: tl.constexpr, Lp: tl.constexpr, Dp: tl.constexpr,
):  # fmt: skip
    """Write one draw: program (sequence, draw)."""
    b, draw = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    y = tl.arange(0, Lp)
    slot = tl.arange(0, Dp)
    inside = y < L
    own = tl.load(seed)
    z = tl.load(logz + b * 2)
    logs = tl.load(in_logs + b * 2)
    if (n > 0) & (z > float("-inf")) & (z < float("inf")):
        after = tl.load(stop + y, mask=inside, other=float("-inf")).to(tl.float64)
        e = n - 1
        while e >= 0:
            leave = tl.load(rows + (P + base + e) * L + y, mask=inside, other=0.0)
            ended = _logs(leave, tl.load(power + base + e).to(tl.float64), logs) + after
            ended = tl.where(inside, ended, float("-inf"))
            label = _drawn(ended, y, own, b, draw, e, 0)
            # segments of d + 1 places that end at e: slot is d
            s = tl.maximum(e - slot, 0)
            fits = (slot <= e) & (slot < D)
            cell = (base + s) * L + label
            enter = tl.load(rows + cell, mask=fits, other=0.0)
            enter = _logs(enter, tl.load(power + base + s, mask=fits, other=0).to(tl.float64), logs)
            factor = tl.load(weight + P * L + cell, mask=fits, other=0.0)
            score = enter + tl.cumsum(factor, 0)
            score += tl.load(duration + slot * L + label, mask=fits, other=float("-inf")).to(tl.float64)
            at = _row_of(s, b, first, index, index_b, PACKED, INDEXED)
            if SEGMENT:
                score += tl.load(
                    segment + b * segment_b + at * segment_t + slot * segment_d + label, mask=fits, other=0.0
                ).to(tl.float64)
            reach = _drawn(tl.where(fits, score, float("-inf")), slot, own, b, draw, e, 1)
            covered = slot <= reach
            tl.store(labels + b * out_b + draw * out_n + at, label + 0 * at, mask=covered)
            tl.store(begins + b * out_b + draw * out_n + at, slot == reach, mask=covered)
            after = tl.load(edge + y * L + label, mask=inside, other=float("-inf")).to(tl.float64)
            e = e - reach - 1
