"""Sweeps over segmentations, in float64: scaled, or in log space.

Rows of places, [L] by label, in two half steps of L^2 + D L cells a place:

  enter[t] = leave[t - 1] E                  what begins at t; E = exp(edge)
  ring     = products enter[s] w[s] .. w[t]  of the last D beginnings, in registers, one factor a step
  leave[t] = sum over d: ring f[d]           what ends at t; f = exp(duration + segment)

The way back is the same with E transposed, `stop` for `start`, and places in reverse: one body, two programs
a sequence; two more if there is gold, which allows what agrees with it. w = exp(node - its top) is made
before (`weigh`); powers of two are taken out of all rows of a place and kept as one integer, `power`.

A cell that vanishes is below 2^-1022 of this scale. `settle` bounds what such cells could have added to the
sum by the largest rows of the other direction (`crest`, exponents of two), and sweeps a sequence again, in
log space, where they might matter.
"""

import triton
import triton.language as tl

LIMIT = tl.constexpr(900)  # 1022, less 40 bits to be kept and the numbers of cells that add up
NONE = tl.constexpr(-(1 << 29))  # the exponent of 0
LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def _times(a, b, LOGS: tl.constexpr):
    if LOGS:
        return a + b
    else:
        return a * b


@triton.jit
def _factor(x, LOGS: tl.constexpr):
    if LOGS:
        return x
    else:
        return tl.exp(x)


@triton.jit
def _added(x, LOGS: tl.constexpr):
    """Add up along axis 0; in log space the log of a sum of exponentials."""
    if LOGS:
        top = tl.max(x, 0)
        top = tl.where(top == float("-inf"), 0.0, top)
        return tl.log(tl.sum(tl.exp(x - top[None, :]), 0)) + top
    else:
        return tl.sum(x, 0)


@triton.jit
def _top(row):
    """Return the largest score of a row; 0 where all is forbidden."""
    top = tl.max(row, 0)
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _row_of(place, b, first, index, index_b, PACKED: tl.constexpr, INDEXED: tl.constexpr):
    """Return the row of places: among all rows if they are packed, else in their sequence."""
    if PACKED:
        return tl.load(first + b) + place
    elif INDEXED:
        return tl.load(index + b * index_b + place).to(tl.int64)
    else:
        return place.to(tl.int64)


@triton.jit
def _exponent(x):
    """Return the power of two at or below a positive number."""
    return ((x.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023


@triton.jit
def _power(e):
    """2^e for |e| < 1000."""
    return ((e + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)


@triton.jit
def chunk_of(first, B, chunks, rounds, PACKED: tl.constexpr, S: tl.constexpr):
    """Return the sequence and the chunk of S places of a program, of B + P // S or B * chunks."""
    pid = tl.program_id(0).to(tl.int64)
    if PACKED:  # sequence b has the programs from first[b] // S + b on
        low = pid * 0
        high = low + B - 1
        for _ in range(0, rounds):
            middle = (low + high + 1) // 2
            fits = tl.load(first + middle) // S + middle <= pid
            low = tl.where(fits, middle, low)
            high = tl.where(fits, high, middle - 1)
        b = low
        chunk = pid - (tl.load(first + low) // S + low)
    else:
        b = pid // chunks
        chunk = pid - b * chunks
    return b, chunk


_ARGS = [
    "node_b", "node_t", "segment_b", "segment_t", "segment_d", "index_b", "rows_b", "B", "T", "P", "D", "L",
    "chunks", "rounds",
]  # fmt: skip


@triton.jit(do_not_specialize=_ARGS)
def weigh(
    node, node_b, node_t, length, first, index, index_b, labels, begins, rows_b,
    weight, tops, known, wall, B, T, P, L, chunks, rounds,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, NODE: tl.constexpr, GOLD: tl.constexpr,
    Lp: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write by place: factors of places and their logs, tops of rows, and what the gold says.

    `known` is a label or -1; `wall` is 1 where a segment must begin, 2 where none may.
    """
    b, chunk = chunk_of(first, B, chunks, rounds, PACKED, S)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    if chunk * S < n:
        y = tl.arange(0, Lp)
        t = (chunk * S + tl.arange(0, S)).to(tl.int32)
        here = t < n
        cells = here[:, None] & (y < L)[None, :]
        row = _row_of(tl.minimum(t, n - 1), b, first, index, index_b, PACKED, INDEXED)
        out = (base + t)[:, None] * L + y[None, :]
        if NODE:
            x = tl.load(
                node + b * node_b + row[:, None] * node_t + y[None, :], mask=cells, other=float("-inf")
            ).to(tl.float64)
            top = tl.max(x, 1)
            top = tl.where(top == float("-inf"), 0.0, top)
            x = x - top[:, None]
        else:
            top = tl.zeros([S], tl.float64)
            x = tl.zeros([S, Lp], tl.float64)
        tl.store(tops + base + t, top, mask=here)
        tl.store(weight + out, tl.exp(x), mask=cells)
        tl.store(weight + P * L + out, x, mask=cells)
        if GOLD:
            label = tl.load(labels + b * rows_b + row, mask=here, other=-1)
            begin = tl.load(begins + b * rows_b + row, mask=here, other=0)
            begins_here = (begin > 0) | (t == 0)
            tl.store(known + base + t, label.to(tl.int32), mask=here)
            tl.store(wall + base + t, tl.where(begins_here, 1, tl.where(label >= 0, 2, 0)), mask=here)


@triton.jit
def _sweep(
    b, back, gold, n, base,
    segment, segment_b, segment_t, segment_d, first, index, index_b,
    start, edge, stop, table, known, wall, enter, leave, weight, power, D, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, SEGMENT: tl.constexpr,
    Lp: tl.constexpr, Dp: tl.constexpr, LOGS: tl.constexpr,
):  # fmt: skip
    """Write the rows of one sequence in one direction; return the largest score of its segments."""
    y = tl.arange(0, Lp)
    slot = tl.arange(0, Dp)
    inside = y < L
    ZERO: tl.constexpr = float("-inf") if LOGS else 0.0
    down = tl.where(back > 0, 1, L)
    along = tl.where(back > 0, L, 1)
    cells = inside[:, None] & inside[None, :]
    steps = tl.load(edge + y[:, None] * down + y[None, :] * along, mask=cells, other=float("-inf"))
    steps = _factor(steps.to(tl.float64), LOGS)  # [from, to] of the direction
    if back > 0:
        origin = tl.load(stop + y, mask=inside, other=float("-inf"))
    else:
        origin = tl.load(start + y, mask=inside, other=float("-inf"))
    opening = _factor(origin.to(tl.float64), LOGS)  # [Lp]
    ring = tl.full([Dp, Lp], ZERO, tl.float64)
    largest = tl.full([Dp, Lp], float("-inf"), tl.float32)
    scale = tl.full([], 0, tl.int32)
    shift = tl.full([], 0, tl.int32)
    m = tl.full([], 0, tl.int32)  # the slot of this place
    must = tl.full([], 0, tl.int32)  # behind this place, on the way back
    never = tl.full([], 0, tl.int32)
    t = tl.where(back > 0, n - 1, 0)
    x = tl.load(weight + (base + t) * L + y, mask=y < L * tl.minimum(n, 1), other=ZERO)
    label = tl.load(known + base + t, mask=gold * n > 0, other=-1)
    boundary = tl.load(wall + base + t, mask=gold * n > 0, other=0)
    for i in range(0, n):
        t = tl.where(back > 0, n - 1 - i, i)
        d = m - slot
        d = tl.where(d < 0, d + D, d)  # [Dp] places of the segments, less one
        filled = ((slot < D) & (d <= i))[:, None] & inside[None, :]
        f = tl.load(table + d[:, None] * L + y[None, :], mask=filled, other=ZERO).to(tl.float64)
        if SEGMENT:
            s = tl.where(back > 0, t, tl.maximum(t - d, 0))  # where they begin
            at = _row_of(s, b, first, index, index_b, PACKED, INDEXED)
            score = tl.load(
                segment + b * segment_b + at[:, None] * segment_t + d[:, None] * segment_d + y[None, :],
                mask=filled,
                other=float("-inf"),
            )
            largest = tl.maximum(largest, score.to(tl.float32))
            f = _times(f, _factor(score.to(tl.float64), LOGS), LOGS)
        w = tl.where((label < 0) | (label == y), x, ZERO)
        must_here = (boundary == 1).to(tl.int32)
        never_here = (boundary == 2).to(tl.int32)
        if back == 0:
            must = must_here
            never = never_here
        # the next row is read while this one is summed
        following = tl.where(i + 1 < n, tl.where(back > 0, t - 1, t + 1), t)
        x = tl.load(weight + (base + following) * L + y, mask=inside, other=ZERO)
        label = tl.load(known + base + following, mask=gold > 0, other=-1)
        boundary = tl.load(wall + base + following, mask=gold > 0, other=0)
        opening = tl.where((never > 0) & (i > 0), ZERO, opening)
        kept = tl.where((must > 0) & (i > 0), ZERO, ring)
        ring = tl.where((slot == m)[:, None], opening[None, :], kept)
        if LOGS:
            tl.store(enter + (base + t) * L + y, opening, mask=inside)
        else:
            factor = tl.where(i % 4 == 0, _power(-shift), _power(shift * 0))
            scale += tl.where(i % 4 == 0, shift, 0)
            w = w * factor
            tl.store(enter + (base + t) * L + y, opening * factor, mask=inside)
            tl.store(power + base + t, scale)
        ring = _times(ring, w[None, :], LOGS)
        if not LOGS:
            if i % 4 == 2:  # the scale follows two rows later
                peak = tl.max(tl.max(ring, 0), 0)
                shift = tl.where(peak > 0.0, tl.minimum(tl.maximum(_exponent(peak), -900), 500), 0)
        closing = _added(_times(ring, f, LOGS), LOGS)  # [Lp]
        tl.store(leave + (base + t) * L + y, closing, mask=inside)
        opening = _added(_times(closing[:, None], steps, LOGS), LOGS)
        must = must_here
        never = never_here
        m = tl.where(m + 1 == D, 0, m + 1)
    return tl.max(tl.max(largest, 0), 0)


@triton.jit(do_not_specialize=_ARGS)
def swept(
    segment, segment_b, segment_t, segment_d, length, first, index, index_b,
    start, edge, stop, factors, known, wall, rows, weight, power, most, T, P, D, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, SEGMENT: tl.constexpr, Lp: tl.constexpr, Dp: tl.constexpr,
):  # fmt: skip
    """Sweep: program (sequence, direction, gold or not)."""
    b, back, gold = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    place = (gold * 2 + back) * P
    found = _sweep(
        b, back, gold, n, base,
        segment, segment_b, segment_t, segment_d, first, index, index_b,
        start, edge, stop, factors, known, wall,
        rows + place * 2 * L, rows + (place * 2 + P) * L, weight, power + place, D, L,
        PACKED, INDEXED, SEGMENT, Lp, Dp, False,
    )  # fmt: skip
    tl.store(most + (b * 2 + gold) * 2 + back, found)


@triton.jit
def _crests(rows, power, crest, base, n, L, Lp: tl.constexpr, S: tl.constexpr):
    """Write an exponent of two at or above the largest cell of each row of `enter`."""
    y = tl.arange(0, Lp)
    for low in range(0, n, S):
        t = low + tl.arange(0, S)
        cells = (t < n)[:, None] & (y < L)[None, :]
        row = tl.load(rows + (base + t)[:, None] * L + y[None, :], mask=cells, other=0.0)
        peak = tl.max(row, 1)
        bad = tl.max(tl.where(row != row, 1, 0), 1)
        e = _exponent(peak)
        e = tl.where((e > 1000) | (bad > 0), -NONE, tl.load(power + base + t, mask=t < n, other=0) + e + 1)
        tl.store(crest + base + t, tl.where((peak == 0.0) & (bad == 0), NONE, e), mask=t < n)


@triton.jit(do_not_specialize=_ARGS)
def settle(
    segment, segment_b, segment_t, segment_d, length, first, index, index_b,
    start, edge, stop, duration, known, wall, rows, weight, power, crest, most,
    tops, logz, total_top, in_logs, T, P, D, L,
    PACKED: tl.constexpr, INDEXED: tl.constexpr, SEGMENT: tl.constexpr, Lp: tl.constexpr, Dp: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Find log Z without the tops, the sum of the tops, and whether to sum in log space: (sequence, gold)."""
    b, gold = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n = tl.load(length + b)
    if PACKED:
        base = tl.load(first + b)
    else:
        base = b * T
    P = P.to(tl.int64)
    y = tl.arange(0, Lp)
    inside = y < L
    slot = tl.arange(0, Dp)
    value = tl.full([], 0.0, tl.float64)
    added = tl.full([], 0.0, tl.float64)
    flag = tl.full([], 0, tl.int32)
    if n > 0:
        place = gold * 2 * P
        ahead, behind = crest + place + base, crest + place + P + base
        leave = rows + (place * 2 + P) * L
        _crests(rows + place * 2 * L, power + place, crest + place, base, n, L, Lp, 32)
        _crests(rows + (place + P) * 2 * L, power + place + P, crest + place + P, base, n, L, Lp, 32)
        tl.debug_barrier()
        end = tl.load(stop + y, mask=inside, other=float("-inf")).to(tl.float64)
        last = tl.load(leave + (base + n - 1) * L + y, mask=inside, other=0.0)
        total = tl.sum(last * tl.exp(end), 0)
        scale = tl.load(power + place + base + n - 1)
        worst = tl.full([], NONE, tl.int32)
        for low in range(0, n, BLOCK):
            t = low + tl.arange(0, BLOCK)
            here = t < n
            forth = tl.load(power + place + base + t, mask=here, other=NONE)
            retro = tl.load(power + place + P + base + t, mask=here, other=NONE)
            for d in range(0, D):
                forth = tl.maximum(forth, tl.load(ahead + t - d, mask=here & (t >= d), other=NONE))
                retro = tl.maximum(retro, tl.load(behind + t + d, mask=t + d < n, other=NONE))
            worst = tl.maximum(worst, tl.max(tl.where(here, forth + retro, 2 * NONE), 0))
            added += tl.sum(tl.load(tops + base + t, mask=here, other=0.0), 0)
        table = tl.load(
            duration + slot[:, None] * L + y[None, :],
            mask=(slot < D)[:, None] & inside[None, :],
            other=float("-inf"),
        )
        largest = tl.max(tl.max(table.to(tl.float32), 0), 0)
        if SEGMENT:
            largest += tl.load(most + (b * 2 + gold) * 2)
        largest = tl.maximum(largest, 0.0)
        value = tl.log(total) + scale.to(tl.float64) * LN2
        room = worst + 2.0 * largest / LN2 - scale - tl.log(total) / LN2
        safe = (total > 0.0) & (total < float("inf")) & (room < LIMIT)
        if safe == 0:
            flag = tl.full([], 1, tl.int32)
            for direction in range(0, 2):
                at = (gold * 2 + direction) * P
                _sweep(
                    b, direction, gold, n, base,
                    segment, segment_b, segment_t, segment_d, first, index, index_b,
                    start, edge, stop, duration, known, wall,
                    rows + at * 2 * L, rows + (at * 2 + P) * L, weight + P * L, power + at, D, L,
                    PACKED, INDEXED, SEGMENT, Lp, Dp, True,
                )  # fmt: skip
            tl.debug_barrier()
            last = tl.load(leave + (base + n - 1) * L + y, mask=inside, other=float("-inf")) + end
            top = _top(last)
            value = tl.log(tl.sum(tl.exp(last - top), 0)) + top
    tl.store(logz + b * 2 + gold, value)
    if gold == 0:
        tl.store(total_top + b, added)
    tl.store(in_logs + b * 2 + gold, flag)
