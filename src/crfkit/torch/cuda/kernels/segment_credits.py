"""Gradients by the rows that the sweeps of `segments` wrote: nothing is recursive, so places go in parallel.

The probability of a segment is enter[s] w[s] .. w[e] f[d] back_enter[e] / Z, of an edge before t
leave[t - 1] E back_leave[t] / Z. Those of labelings that agree with the gold are taken off.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.segments import LN2, _row_of, chunk_of

_ARGS = [
    "segment_b", "segment_t", "segment_d", "index_b", "B", "T", "P", "D", "L", "chunks", "rounds",
]  # fmt: skip


@triton.jit
def _whole(z):
    """Return log Z as a power of two and the rest: Z = 2^whole / rest."""
    two = z / LN2
    whole = tl.floor(two)
    return whole.to(tl.int32), tl.exp2(whole - two)


@triton.jit
def _raised(e):
    """Return 2^e, 0 if that is below the normal numbers."""
    bits = (tl.minimum(tl.maximum(e, -1022), 1000) + 1023).to(tl.int64) << 52
    return tl.where(e < -1022, 0.0, bits.to(tl.float64, bitcast=True))


# One return each: a branch that is taken at run time may not return (Triton 3.6).
@triton.jit
def _lift(forth, back, z, whole, rest, logs, here):
    """Return 2^(powers of both directions) / Z at places; in log space -log Z."""
    if logs > 0:
        lift = tl.where(here, -z, 0.0)
    else:
        powers = tl.load(forth, mask=here, other=0) + tl.load(back, mask=here, other=0)
        lift = _raised(powers - whole) * rest
    return lift


@triton.jit
def _mass(a, b, lift, logs):
    if logs > 0:
        mass = tl.exp(a + b + lift)
    else:
        mass = a * lift * b
    return mass


@triton.jit
def _grown(product, w, wall, logs):
    """One more place of segments, which may not cross a wall."""
    if logs > 0:
        grown = tl.where(wall, float("-inf"), product + w)
    else:
        grown = tl.where(wall, 0.0, product * w)
    return grown


@triton.jit
def _segment(product, score, f, after, lift, logs):
    """Return the probability of segments of a score, and f = exp(score)."""
    if logs > 0:
        mass = tl.exp(product + score + after + lift)
    else:
        mass = product * f * (after * lift)
    return mass


@triton.jit(do_not_specialize=_ARGS)
def credit(
    segment, segment_b, segment_t, segment_d, length, first, index, index_b, edge, duration, factors,
    rows, weight, known, wall, power, logz, in_logs, factor,
    ends_out, edge_out, duration_out, segment_out, B, T, P, D, L, chunks, rounds,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, SEGMENT: tl.constexpr, GOLD: tl.constexpr,
    Lp: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write partial sums of S places: one program a chunk."""
    mine = tl.program_id(0).to(tl.int64)
    b, chunk = chunk_of(first, B, chunks, rounds, PACKED, S)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    low = (chunk * S).to(tl.int32)
    y = tl.arange(0, Lp)
    inside = y < L
    s = low + tl.arange(0, S)
    times = tl.load(factor + b)
    good = times != 0.0
    z0 = tl.load(logz + b * 2)
    logs0 = tl.load(in_logs + b * 2)
    z1, logs1 = z0, logs0
    if GOLD:
        z1 = tl.load(logz + b * 2 + 1)
        logs1 = tl.load(in_logs + b * 2 + 1)
    whole0, rest0 = _whole(z0)
    whole1, rest1 = _whole(z1)
    cells = (s < n)[:, None] & inside[None, :]
    at = (base + s)[:, None] * L + y[None, :]
    none0 = tl.where(logs0 > 0, float("-inf"), 0.0)
    none1 = tl.where(logs1 > 0, float("-inf"), 0.0)
    weight0 = weight + tl.where(logs0 > 0, P * L, 0)
    weight1 = weight + tl.where(logs1 > 0, P * L, 0)
    product0 = tl.load(rows + at, mask=cells, other=none0)
    product1 = product0
    alive = tl.full([], 0, tl.int32)
    if GOLD:
        product1 = tl.load(rows + 4 * P * L + at, mask=cells, other=none1)
        alive = tl.full([], 1, tl.int32)
    if SEGMENT:
        begin = _row_of(tl.maximum(tl.minimum(s, n - 1), 0), b, first, index, index_b, PACKED, INDEXED)
        if PACKED:
            own = begin
        else:
            own = b * T + begin
    longest = tl.where(good, tl.minimum(D, n - low), 0)
    for d in range(0, D):
        total = tl.zeros([S, Lp], tl.float64)
        if d < longest:
            e = s + d
            here = e < n
            cells = here[:, None] & inside[None, :]
            at = (base + e)[:, None] * L + y[None, :]
            score = tl.load(duration + d * L + y, mask=inside, other=float("-inf")).to(tl.float64)[None, :]
            f = tl.load(factors + d * L + y, mask=inside, other=0.0)[None, :]
            if SEGMENT:
                each = tl.load(
                    segment + b * segment_b + begin[:, None] * segment_t + d * segment_d + y[None, :],
                    mask=cells,
                    other=float("-inf"),
                ).to(tl.float64)
                score += each
                f *= tl.exp(each)
            w = tl.load(weight0 + at, mask=cells, other=none0)
            product0 = _grown(product0, w, (s < 0)[:, None], logs0)
            after = tl.load(rows + 2 * P * L + at, mask=cells, other=none0)
            lift = _lift(power + base + s, power + P + base + e, z0, whole0, rest0, logs0, here)
            total = _segment(product0, score, f, after, lift[:, None], logs0)
            if GOLD:
                if alive > 0:
                    w = tl.load(weight1 + at, mask=cells, other=none1)
                    label = tl.load(known + base + e, mask=here, other=-1)[:, None]
                    walls = (tl.load(wall + base + e, mask=here, other=0) == 1) & (e > s)
                    other = walls[:, None] | ((label >= 0) & (label != y[None, :]))
                    product1 = _grown(product1, w, other, logs1)
                    after = tl.load(rows + 6 * P * L + at, mask=cells, other=none1)
                    both = power + 2 * P + base
                    lift = _lift(both + s, both + P + e, z1, whole1, rest1, logs1, here)
                    total -= _segment(product1, score, f, after, lift[:, None], logs1)
                    alive = tl.max(tl.max(tl.where(product1 > none1, 1, 0), 0), 0)
            total = tl.where(cells, total * times, 0.0)
            if SEGMENT:
                tl.store(segment_out + (own[:, None] * D + d) * L + y[None, :], total, mask=cells)
        tl.store(duration_out + (mine * D + d) * L + y, tl.sum(total, 0), mask=inside)
    # edges before the places of this chunk
    square = inside[:, None] & inside[None, :]
    steps = tl.load(edge + y[:, None] * L + y[None, :], mask=square, other=float("-inf")).to(tl.float64)
    crossed = tl.exp(steps)
    counts = tl.zeros([Lp, Lp], tl.float64)
    high = tl.where(good, tl.minimum(low + S, n), 0)
    for t in range(tl.maximum(low, 1), high):
        spot = (base + t) * L + y
        for gold in tl.static_range(0, 2 if GOLD else 1):
            blocked = tl.full([], 0, tl.int32)
            if gold:
                blocked = tl.load(wall + base + t)
            if blocked != 2:
                before = tl.load(rows + (4 * gold + 1) * P * L + spot - L, mask=inside, other=0.0)
                behind = tl.load(rows + (4 * gold + 3) * P * L + spot, mask=inside, other=0.0)
                if (logs1 if gold else logs0) > 0:
                    mass = tl.exp(before[:, None] + steps + behind[None, :] - (z1 if gold else z0))
                else:
                    powers = tl.load(power + 2 * gold * P + base + t - 1)
                    powers += tl.load(power + (2 * gold + 1) * P + base + t)
                    raised = _raised(powers - (whole1 if gold else whole0)) * (rest1 if gold else rest0)
                    mass = (before * raised)[:, None] * crossed * behind[None, :]
                if gold:
                    counts -= mass
                else:
                    counts += mass
    counts = tl.where(square, counts * times, 0.0)
    counts = tl.where(good, counts, 0.0)
    tl.store(edge_out + (mine * L + y[:, None]) * L + y[None, :], counts, mask=square)
    for end in tl.static_range(0, 2):
        own_end = tl.zeros([Lp], tl.float64)
        if (chunk == 0) & (n > 0):
            place = base + end * (n - 1)
            for gold in tl.static_range(0, 2 if GOLD else 1):
                ahead = tl.load(rows + (4 * gold + end) * P * L + place * L + y, mask=inside, other=0.0)
                rear = tl.load(rows + (4 * gold + 3 - end) * P * L + place * L + y, mask=inside, other=0.0)
                which = logs1 if gold else logs0
                both = power + 2 * gold * P + place
                if gold:
                    up = _lift(both, both + P, z1, whole1, rest1, which, n > 0)
                    own_end -= _mass(ahead, rear, up, which)
                else:
                    up = _lift(both, both + P, z0, whole0, rest0, which, n > 0)
                    own_end += _mass(ahead, rear, up, which)
            own_end = tl.where(good, own_end * times, 0.0)
        tl.store(ends_out + (b * 2 + end) * L + y, own_end, mask=y + chunk * Lp < L)


@triton.jit(do_not_specialize=_ARGS)
def cover(
    node_out, length, first, index, index_b, rows, power, logz, in_logs, factor, T, P, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, GOLD: tl.constexpr, Lp: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write the probability that a place lies in a segment of each label: program (sequence).

    It is that of the place before, less what ends there, and what begins here.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    y = tl.arange(0, Lp)
    inside = y < L
    times = tl.load(factor + b)
    good = times != 0.0
    carried0 = tl.zeros([Lp], tl.float64)
    carried1 = tl.zeros([Lp], tl.float64)
    for low in range(0, n, S):
        t = low + tl.arange(0, S)
        here = t < n
        later = here & (t > 0)
        at = (base + t)[:, None] * L + y[None, :]
        out = tl.zeros([S, Lp], tl.float64)
        for gold in tl.static_range(0, 2 if GOLD else 1):
            z = tl.load(logz + b * 2 + gold)
            whole, rest = _whole(z)
            logs = tl.load(in_logs + b * 2 + gold)
            none = tl.where(logs > 0, float("-inf"), 0.0)
            own = rows + 4 * gold * P * L
            both = power + 2 * gold * P + base + t
            cells = here[:, None] & inside[None, :]
            begins = _mass(
                tl.load(own + at, mask=cells, other=none),
                tl.load(own + 3 * P * L + at, mask=cells, other=none),
                _lift(both, both + P, z, whole, rest, logs, here)[:, None],
                logs,
            )
            cells = later[:, None] & inside[None, :]
            ends = _mass(
                tl.load(own + P * L + at - L, mask=cells, other=none),
                tl.load(own + 2 * P * L + at - L, mask=cells, other=none),
                _lift(both - 1, both + P - 1, z, whole, rest, logs, later)[:, None],
                logs,
            )
            change = tl.where(here[:, None], begins - ends, 0.0)
            sums = tl.cumsum(change, 0)
            if gold:
                out -= tl.maximum(sums + carried1[None, :], 0.0)
                carried1 += tl.sum(change, 0)
            else:
                out += tl.maximum(sums + carried0[None, :], 0.0)
                carried0 += tl.sum(change, 0)
        row = _row_of(tl.minimum(t, n - 1), b, first, index, index_b, PACKED, INDEXED)
        if PACKED:
            own_row = row
        else:
            own_row = b * T + row
        out = tl.where(good, out * times, 0.0)
        tl.store(node_out + own_row[:, None] * L + y[None, :], out, mask=here[:, None] & inside[None, :])
