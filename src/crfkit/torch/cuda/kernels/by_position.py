"""Sums over chains whose edges differ by position: forward, and back with the credits of every edge.

One program a sequence. A table is read once on the way forward and once on the way back, where its credits
are written; what bounds the time is the traffic of the tables. Rows are scaled probabilities (Rabiner 1989,
section V.A) with powers of two as scales, taken from the row before; a sequence whose sums may have lost
something, as seen from both directions, is swept again with logarithms in float64. Tables wider than a
program's registers are read in blocks of rows `from`.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import LN2, power_below, top_of
from crfkit.torch.cuda.kernels.tables import (
    MINUS,
    credits,
    gold_of,
    put,
    put_end,
    row_of,
    table_of,
)


@triton.jit
def sweep(
    node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops, betas,
    n, L, weight, unknown, node_step, edge_step, by_from, by_to, label_step,
    LOGS: tl.constexpr, GRAD: tl.constexpr, LABELS: tl.constexpr, C: tl.constexpr, LP: tl.constexpr,
    BLOCK: tl.constexpr, INDEX: tl.constexpr, BETWEEN: tl.constexpr, CONTIGUOUS: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Write the value and the gradient of one sequence; return whether nothing can have been lost.

    With unknown labels there are two parts: labellings that agree with the labels, then all.
    """
    ONE: tl.constexpr = BLOCK == LP  # a whole table at once: rows stay in registers
    AHEAD: tl.constexpr = STAGES if ONE and not LOGS else 1
    NONE: tl.constexpr = float("-inf") if LOGS else 0.0
    alphas = alphas.to(tl.pointer_type(C), bitcast=True)
    betas = betas.to(tl.pointer_type(C), bitcast=True)
    tops = tops.to(tl.pointer_type(C), bitcast=True)
    j = tl.arange(0, LP)
    i = tl.arange(0, BLOCK)
    inside = j < L
    u = tl.load(start + j, inside, MINUS).to(C)
    v = tl.load(stop + j, inside, MINUS).to(C)
    ut = top_of(tl.max(u, 0))
    vt = top_of(tl.max(v, 0))
    exact = tl.full((), 1, tl.int32)
    zero = tl.full((), 0, tl.int64)
    other = tl.full((), 0.0, tl.float64)  # log Z of the labellings that agree with the labels
    # What the rule for the way forward alone looks at (cpp/kernels/sweep/safety.hpp).
    smallest = tl.full([LP], float("inf"), C)
    low_row = tl.zeros([LP], C)
    low_ends = tl.where(inside & (u > MINUS), u - ut, 0.0)
    low_ends = tl.minimum(low_ends, tl.where(inside & (v > MINUS), v - vt, 0.0))
    low_table = tl.zeros([BLOCK, LP], C)
    holes = tl.where(inside & ((u == MINUS) | (v == MINUS)), 1, 0)

    for part in range(0, 1 + unknown):
        seconds = tl.where(part + zero > 0, L, 0)  # labels whose credits are there already
        clamp = part + zero < unknown
        # Forward.
        r = row_of(index, zero, INDEX)
        x = tl.load(node + r * node_step + j, inside, MINUS).to(C)
        if LABELS:
            y = tl.load(labels + r * label_step)
            x = tl.where(clamp & (y >= 0) & (j != y), MINUS, x)
        power = tl.full((), 0, tl.int32)
        if LOGS:
            a = u + x
            at = top_of(tl.max(a, 0))
            a -= at
            tl.store(tops, at)
            tl.store(tops + 1, at * 0.0)
        else:
            xt = top_of(tl.max(x, 0))
            a = tl.exp(u - ut) * tl.exp(x - xt)
            tl.store(tops, ut)
            tl.store(tops + 1, xt)
            tl.store(tops + 2, xt * 0.0 + 1.0)
            if not GRAD:
                low_row = tl.minimum(low_row, tl.where(inside & (x > MINUS), x - xt, 0.0))
                holes = tl.maximum(holes, tl.where(inside & (x == MINUS), 1, 0))
                smallest = tl.minimum(smallest, tl.where(a > 0.0, a, float("inf")))
        tl.store(alphas + j, a, inside)
        for t in tl.range(1, n, num_stages=AHEAD):
            r = row_of(index, t + zero, INDEX)
            x = tl.load(node + r * node_step + j, inside, MINUS).to(C)
            if LABELS:
                y = tl.load(labels + r * label_step)
                x = tl.where(clamp & (y >= 0) & (j != y), MINUS, x)
            if LOGS:
                tl.debug_barrier()
                top = tl.full([LP], float("-inf"), C)
                total = tl.zeros([LP], C)
                for i0 in range(0, L, BLOCK):
                    rows = i0 + i < L
                    ai = tl.load(alphas + (t + zero - 1) * L + i0 + i, rows, MINUS)
                    e = tl.load(
                        table_of(edge + r * edge_step, i0 + i, j, by_from, by_to, CONTIGUOUS),
                        rows[:, None] & inside[None, :], MINUS,
                    ).to(C)  # fmt: skip
                    z = ai[:, None] + e
                    new = tl.maximum(top, tl.max(z, 0))
                    total = total * tl.exp(top - top_of(new)) + tl.sum(tl.exp(z - top_of(new)[None, :]), 0)
                    top = new
                a = top_of(top) + tl.log(total) + x
                at = top_of(tl.max(a, 0))
                a -= at
                tl.store(tops + 4 * t, at)
                tl.store(tops + 4 * t + 1, at * 0.0)
            else:
                xt = top_of(tl.max(x, 0))
                scale, k = power_below(tl.max(a, 0))
                power += k
                if ONE:
                    ok = (i < L)[:, None] & inside[None, :]
                    e = tl.load(
                        table_of(edge + r * edge_step, i, j, by_from, by_to, CONTIGUOUS), ok, MINUS
                    ).to(C)
                    et = top_of(tl.max(tl.max(e, 0), 0))
                    a = tl.sum(a[:, None] * tl.exp(e - et), 0)
                    if not GRAD:
                        low_table = tl.minimum(low_table, tl.where(e > MINUS, e - et, 0.0))
                        holes = tl.maximum(holes, tl.max(tl.where(ok & (e == MINUS), 1, 0), 0))
                else:
                    tl.debug_barrier()
                    top = tl.full((), float("-inf"), C)
                    low = tl.full((), float("inf"), C)
                    a = tl.zeros([LP], C)
                    for i0 in range(0, L, BLOCK):
                        rows = i0 + i < L
                        ok = rows[:, None] & inside[None, :]
                        ai = tl.load(alphas + (t + zero - 1) * L + i0 + i, rows, 0.0)
                        e = tl.load(
                            table_of(edge + r * edge_step, i0 + i, j, by_from, by_to, CONTIGUOUS), ok, MINUS
                        ).to(C)
                        new = tl.maximum(top, tl.max(tl.max(e, 0), 0))
                        a = a * tl.exp(top - top_of(new))
                        a += tl.sum(ai[:, None] * tl.exp(e - top_of(new)), 0)
                        top = new
                        if not GRAD:
                            low = tl.minimum(low, tl.min(tl.min(tl.where(e > MINUS, e, float("inf")), 0), 0))
                            holes = tl.maximum(holes, tl.max(tl.where(ok & (e == MINUS), 1, 0), 0))
                    et = top_of(top)
                    if not GRAD:
                        low_table = tl.minimum(low_table, tl.where(low < float("inf"), low - et, 0.0))
                a = a * (tl.exp(x - xt) * scale)
                tl.store(tops + 4 * t, et)
                tl.store(tops + 4 * t + 1, xt)
                tl.store(tops + 4 * t + 2, scale)
                if not GRAD:
                    low_row = tl.minimum(low_row, tl.where(inside & (x > MINUS), x - xt, 0.0))
                    holes = tl.maximum(holes, tl.where(inside & (x == MINUS), 1, 0))
                    smallest = tl.minimum(smallest, tl.where(a > 0.0, a, float("inf")))
            tl.store(alphas + (t + zero) * L + j, a, inside)
        tl.debug_barrier()

        # The value.
        if LOGS:
            ended = a + v
            et = top_of(tl.max(ended, 0))
            rest = (et + tl.log(tl.sum(tl.exp(ended - et), 0))).to(tl.float64)
        else:
            rest = tl.log(tl.sum(a * tl.exp(v - vt), 0).to(tl.float64))
            rest += vt.to(tl.float64) + power.to(tl.float64) * LN2
        difference, total, scores = gold_of(
            node, index, start, edge, labels, tops, n, node_step, edge_step, by_from, by_to, label_step,
            unknown + zero == 0, INDEX, LABELS,
        )  # fmt: skip
        logz = total + rest
        result = logz
        factor = weight
        if LABELS:
            last = tl.load(labels + row_of(index, n - 1 + zero, INDEX) * label_step)
            final = tl.load(stop + last, unknown + zero == 0, 0.0).to(tl.float64)
            result = difference + (rest - final)
            if unknown > 0:
                result = logz - other
                result = tl.where(result < 0.0, 0.0, result)
                scores = tl.where(clamp, logz, other)
                other = logz
            forbidden = scores + final == MINUS
            result = tl.where(forbidden & (logz == logz), float("inf"), result)
            weight = tl.where(forbidden, 0.0, weight)
            factor = tl.where(clamp, -weight, weight)
        tl.store(value, result)

        # Back.
        if GRAD:
            credit = factor.to(C)
            gold = tl.where(unknown + zero == 0, credit, 0.0)
            b = v - vt if LOGS else tl.exp(v - vt)
            before = tl.full((), 1.0, C)  # the scale of the row b
            q = tl.zeros([LP], C)
            y0 = zero
            if LABELS:
                y0 += tl.load(labels + row_of(index, n - 1 + zero, INDEX) * label_step)
            y = y0
            for back in tl.range(0, n, num_stages=AHEAD):
                place = n - 1 - back + zero
                r = row_of(index, place, INDEX)
                x = tl.load(node + r * node_step + j, inside, MINUS).to(C)
                a = tl.load(alphas + place * L + j, inside, NONE)
                et = tl.load(tops + 4 * place)
                if LABELS:
                    y = y0
                    x = tl.where(clamp & (y >= 0) & (j != y), MINUS, x)
                    y0 = tl.load(labels + row_of(index, tl.maximum(place - 1, 0), INDEX) * label_step).to(
                        tl.int64
                    )
                if LOGS:
                    q = a + b
                    qt = top_of(tl.max(q, 0))
                    c = qt + tl.log(tl.sum(tl.exp(q - qt), 0))
                    norm = top_of(c) + et
                    q = tl.exp(q - top_of(c)) * credit
                    g = x + b
                else:
                    xt = tl.load(tops + 4 * place + 1)
                    scale = tl.load(tops + 4 * place + 2)
                    q = a * b
                    c = tl.sum(q, 0)
                    least: tl.constexpr = (-1022.0 if tl.float64 == C else -126.0) + 24.0
                    seen = c > tl.maximum(scale, before) * LP * LP * LP * 2.0**least
                    exact = tl.where(seen & (c < float("inf")), exact, 0)
                    norm = credit / c
                    q = q * norm
                    norm = norm * scale
                    g = tl.exp(x - xt) * b
                    before, _ = power_below(tl.max(b, 0))
                # Credits of labels, added to those of the first part if there was one.
                if LABELS:
                    q = tl.where(j == y, q - gold, q)
                out = dnode + r * L + j
                sum_of_parts = q
                if seconds > 0:
                    sum_of_parts += tl.load(out, inside, 0.0).to(C)
                put(out, sum_of_parts, inside)
                if back == 0:
                    put_end(dstop, q, j, L, seconds, C)
                # Credits of edges, and the row before.
                last_row = tl.where(place > 0, L, 0)
                if ONE:
                    b = credits(
                        alphas + (place - 1) * L, edge + r * edge_step, dedge + r * L * L, i, j, L, last_row,
                        seconds, by_from, by_to, y, y0, gold, et, g, norm, credit, before,
                        LOGS, LABELS, BETWEEN, CONTIGUOUS, C,
                    )  # fmt: skip
                else:
                    tl.debug_barrier()
                    for i0 in range(0, L, BLOCK):
                        bi = credits(
                            alphas + (place - 1) * L, edge + r * edge_step, dedge + r * L * L, i0 + i, j, L,
                            last_row, seconds, by_from, by_to, y, y0, gold, et, g, norm, credit, before,
                            LOGS, LABELS, BETWEEN, CONTIGUOUS, C,
                        )  # fmt: skip
                        tl.store(betas + (place & 1) * L + i0 + i, bi, i0 + i < L)
                    tl.debug_barrier()
                    b = tl.load(betas + (place & 1) * L + j, inside, NONE)
                if LOGS:
                    b -= top_of(tl.max(b, 0))
            put_end(dstart, q, j, L, seconds, C)
            tl.debug_barrier()

    if not LOGS and not GRAD:
        wide = -(tl.min(tl.minimum(low_ends, tl.min(low_table, 0)), 0) + tl.min(low_row, 0))
        none = wide < 300.0
        some = (wide < 690.0) & (tl.min(smallest, 0) > tl.exp(wide - 690.0))
        exact = tl.where(tl.max(holes, 0) > 0, some, none).to(tl.int32)
    return exact


_VARIABLE = [
    "T", "L", "scale", "node_batch", "node_step", "edge_batch", "edge_step", "by_from", "by_to",
    "label_batch", "label_step", "index_batch",
]  # fmt: skip


@triton.jit(do_not_specialize=_VARIABLE)
def sums(
    node, length, first, index, start, edge, stop, labels, weight,
    value, dnode, dstart, dedge, dstop, in_logs, alphas, tops, betas,
    T, L, scale, node_batch, node_step, edge_batch, edge_step, by_from, by_to,
    label_batch, label_step, index_batch,
    GRAD: tl.constexpr, LABELS: tl.constexpr, WEIGHT: tl.constexpr, C: tl.constexpr, LP: tl.constexpr,
    BLOCK: tl.constexpr, LOG_BLOCK: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr,
    BETWEEN: tl.constexpr, CONTIGUOUS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Answer for one sequence a program: log Z, or the loss with LABELS; with GRAD its gradient."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    j = tl.arange(0, LP)
    i = tl.arange(0, BLOCK)
    inside = j < L
    if PACKED:
        base = tl.load(first + b)
        row = base
        node += base * node_step
        edge += base * edge_step
        labels += base * label_step
    else:
        base = b * T
        row = base
        node += b * node_batch
        edge += b * edge_batch
        labels += b * label_batch
    if INDEX:
        index += b * index_batch
    alphas += base * L
    tops += base * 4
    betas += b * 2 * L
    dnode += row * L
    if BETWEEN:
        edge -= edge_step
        dedge += (b * (T - 1) - 1) * L * L
    else:
        dedge += row * L * L
    dstart += b * L
    dstop += b * L
    value += b
    credit = tl.full((), 0.0, tl.float64) + scale
    if WEIGHT:
        credit *= tl.load(weight + b).to(tl.float64)

    unknown = 0
    if LABELS:
        for t0 in range(0, n, 64):
            t = t0 + tl.arange(0, 64)
            r = tl.load(index + t, t < n, 0).to(tl.int64) if INDEX else t.to(tl.int64)
            y = tl.load(labels + r * label_step, t < n, 0)
            unknown = tl.maximum(unknown, tl.max(tl.where(y < 0, 1, 0), 0))
    exact = tl.full((), 1, tl.int32)
    if n > 0:
        exact = sweep(
            node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops, betas,
            n, L, credit, unknown, node_step, edge_step, by_from, by_to, label_step,
            False, GRAD, LABELS, C, LP, BLOCK, INDEX, BETWEEN, CONTIGUOUS, STAGES,
        )  # fmt: skip
        if exact == 0:
            sweep(
                node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops,
                betas, n, L, credit, unknown, node_step, edge_step, by_from, by_to, label_step,
                True, GRAD, LABELS, tl.float64, LP, LOG_BLOCK, INDEX, BETWEEN, CONTIGUOUS, 1,
            )  # fmt: skip
    else:
        tl.store(value, 0.0)
        if GRAD:
            zero = tl.zeros([LP], tl.float32)
            put(dstart + j, zero, inside)
            put(dstop + j, zero, inside)
    tl.store(in_logs + b, (1 - exact).to(tl.uint8))

    if GRAD and not PACKED and not INDEX:  # rows behind the end
        for t in range(n, T):
            r = b * 0 + t
            put(dnode + r * L + j, tl.zeros([LP], tl.float32), inside)
            for i0 in range(0, L, BLOCK):
                rows = i0 + i < (tl.where(r > 0, L, 0) if BETWEEN else L)
                ok = rows[:, None] & inside[None, :]
                out = dedge + r * L * L + (i0 + i)[:, None] * L + j[None, :]
                put(out, tl.zeros([BLOCK, LP], tl.float32), ok)
