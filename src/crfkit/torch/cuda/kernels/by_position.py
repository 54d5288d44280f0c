"""Sums over chains whose edges differ by position: forward, and back with the credits of every edge.

One program a sequence. A table is read once on the way forward and once on the way back, where its credits
are written; what bounds the time is the traffic of the tables. Rows are scaled probabilities (Rabiner 1989,
section V.A) with powers of two as scales, taken from the row before; a sequence whose sums may have lost
something, as seen from both directions, is swept again with logarithms in float64, and so are sequences with
unknown labels. Tables that do not fit in registers are read in blocks of rows `from`.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import LN2, both, log_of, power_below, top_of
from crfkit.torch.cuda.kernels.position_logs import sweep_in_logs
from crfkit.torch.cuda.kernels.tables import MINUS, gold_of, put, row_of, table_of


@triton.jit
def table_at(
    edge, r, i, j, L, last_row, edge_step, by_from, by_to, CONTIGUOUS: tl.constexpr, C: tl.constexpr
):
    """Return rows i of the table that leads to row r; -inf from `last_row` on."""
    place = table_of(edge + r * edge_step, i, j, by_from, by_to, CONTIGUOUS)
    return tl.load(place, (i < last_row)[:, None] & (j < L)[None, :], MINUS).to(C)


@triton.jit
def credits(
    a, e, dedge, i, j, L, last_row, y, y0, credit, et, g, norm, scale,
    LABELS: tl.constexpr, BETWEEN: tl.constexpr,
):  # fmt: skip
    """Write credits of rows i of a table; return the row of the way back at i, as a column."""
    rows = i < last_row
    m = tl.exp(e - et) * g
    p = m * (a * norm)
    if LABELS:
        p = tl.where((i == y0)[:, None] & (j == y)[None, :], p - credit, p)
    p = tl.where(rows[:, None], p, 0.0)
    kept = rows if BETWEEN else i < L
    put(dedge + i[:, None] * L + j[None, :], p, kept[:, None] & (j < L)[None, :])
    return tl.sum(m, 1, keep_dims=True) * scale


@triton.jit
def sweep(
    node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops, betas,
    n, L, weight, node_step, edge_step, by_from, by_to, label_step,
    GRAD: tl.constexpr, LABELS: tl.constexpr, C: tl.constexpr, LP: tl.constexpr, BLOCK: tl.constexpr,
    INDEX: tl.constexpr, BETWEEN: tl.constexpr, CONTIGUOUS: tl.constexpr,
):  # fmt: skip
    """Write the value and the gradient of one sequence; return whether nothing can have been lost.

    All labels are known. Tables are read a step, or a block of rows, ahead. Rows [1, LP] and
    columns [LP, 1] have the layout of the tables, so that only their transposition moves numbers.
    """
    ONE: tl.constexpr = BLOCK == LP
    alphas = alphas.to(tl.pointer_type(C), bitcast=True)
    betas = betas.to(tl.pointer_type(C), bitcast=True)
    tops = tops.to(tl.pointer_type(C), bitcast=True)
    j = tl.arange(0, LP)
    i = tl.arange(0, BLOCK)
    k = j[None, :]
    h = i[:, None]
    inside = k < L
    u = tl.load(start + k, inside, MINUS).to(C)
    v = tl.load(stop + k, inside, MINUS).to(C)
    ut = top_of(tl.max(u))
    vt = top_of(tl.max(v))
    exact = tl.full((), 1, tl.int32)
    zero = tl.full((), 0, tl.int64)
    # What the rule for the way forward alone looks at (cpp/kernels/sweep/safety.hpp).
    smallest = tl.full([1, LP], float("inf"), C)
    low_row = tl.where(inside & (u > MINUS), u - ut, 0.0)
    low_row = tl.minimum(low_row, tl.where(inside & (v > MINUS), v - vt, 0.0))
    low_table = tl.full((), 0.0, C)
    holes = tl.where(inside & ((u == MINUS) | (v == MINUS)), 1, 0)

    # Forward.
    r = row_of(index, zero, INDEX)
    x = tl.load(node + r * node_step + k, inside, MINUS).to(C)
    xt = top_of(tl.max(x))
    a = tl.exp(u - ut) * tl.exp(x - xt)
    tl.store(tops, ut)
    tl.store(tops + 1, xt)
    tl.store(tops + 2, xt * 0.0 + 1.0)
    tl.store(alphas + k, a, inside)
    if not GRAD:
        low_row = tl.minimum(low_row, tl.where(inside & (x > MINUS), x - xt, 0.0))
        holes = tl.maximum(holes, tl.where(inside & (x == MINUS), 1, 0))
        smallest = tl.minimum(smallest, tl.where(a > 0.0, a, float("inf")))
    power = tl.full((), 0, tl.int32)
    r = row_of(index, tl.minimum(n - 1, 1) + zero, INDEX)
    x = tl.load(node + r * node_step + k, inside, MINUS).to(C)
    e = table_at(edge, r, i, j, L, tl.where(n > 1, L, 0), edge_step, by_from, by_to, CONTIGUOUS, C)
    for t in range(1, n):
        later = row_of(index, tl.minimum(t + 1, n - 1) + zero, INDEX)
        x_later = tl.load(node + later * node_step + k, inside, MINUS).to(C)
        xt = top_of(tl.max(x))
        scale, up = power_below(tl.max(a))
        power += up
        if ONE:
            e_later = table_at(edge, later, i, j, L, L, edge_step, by_from, by_to, CONTIGUOUS, C)
            et = top_of(tl.max(e))
            a = tl.sum(tl.trans(a) * tl.exp(e - et), 0, keep_dims=True)
            if not GRAD:
                low_table = tl.minimum(low_table, tl.min(tl.where(e > MINUS, e - et, 0.0)))
                holes += tl.sum(tl.where((h < L) & inside & (e == MINUS), 1, 0), 0, keep_dims=True)
            e = e_later
        else:
            tl.debug_barrier()
            top = tl.full((), float("-inf"), C)
            low = tl.full((), float("inf"), C)
            a = tl.zeros([1, LP], C)
            for i0 in range(0, L, BLOCK):
                more = i0 + BLOCK < L
                row = tl.where(more, r, later)
                e_later = table_at(
                    edge, row, tl.where(more, i0 + BLOCK, 0) + i, j, L, L, edge_step, by_from, by_to,
                    CONTIGUOUS, C,
                )  # fmt: skip
                ai = tl.load(alphas + (t + zero - 1) * L + i0 + h, i0 + h < L, 0.0)
                new = tl.maximum(top, tl.max(e))
                a = a * tl.exp(top - top_of(new))
                a += tl.sum(ai * tl.exp(e - top_of(new)), 0, keep_dims=True)
                top = new
                if not GRAD:
                    low = tl.minimum(low, tl.min(tl.where(e > MINUS, e, float("inf"))))
                    ok = (i0 + h < L) & inside
                    holes += tl.sum(tl.where(ok & (e == MINUS), 1, 0), 0, keep_dims=True)
                e = e_later
            et = top_of(top)
            if not GRAD:
                low_table = tl.minimum(low_table, tl.where(low < float("inf"), low - et, 0.0))
        a = a * (tl.exp(x - xt) * scale)
        tl.store(tops + 4 * t, et)
        tl.store(tops + 4 * t + 1, xt)
        tl.store(tops + 4 * t + 2, scale)
        tl.store(alphas + (t + zero) * L + k, a, inside)
        if not GRAD:
            low_row = tl.minimum(low_row, tl.where(inside & (x > MINUS), x - xt, 0.0))
            holes = tl.maximum(holes, tl.where(inside & (x == MINUS), 1, 0))
            smallest = tl.minimum(smallest, tl.where(a > 0.0, a, float("inf")))
        x = x_later
        r = later
    tl.debug_barrier()

    # The value.
    b = tl.exp(v - vt)
    rest = log_of(tl.sum(a * b)) + vt.to(tl.float64) + power.to(tl.float64) * LN2
    difference, total, scores = gold_of(
        node, index, start, edge, labels, tops, n, node_step, edge_step, by_from, by_to, label_step,
        zero == 0, INDEX, LABELS,
    )  # fmt: skip
    result = total + rest
    y0 = n
    if LABELS:
        y0 = tl.load(labels + row_of(index, n - 1 + zero, INDEX) * label_step).to(tl.int32)
        final = tl.load(stop + y0).to(tl.float64)
        forbidden = scores + final == MINUS
        loss = difference + (rest - final)
        result = tl.where(forbidden & (result == result), float("inf"), loss)
        weight = tl.where(forbidden, 0.0, weight)
    tl.store(value, result)

    # Back.
    if GRAD:
        credit = weight.to(C)
        before = tl.full((), 1.0, C)  # the scale of the row b
        q = tl.zeros([1, LP], C)
        r = row_of(index, n - 1 + zero, INDEX)
        x = tl.load(node + r * node_step + k, inside, MINUS).to(C)
        e = table_at(edge, r, i, j, L, tl.where(n > 1, L, 0), edge_step, by_from, by_to, CONTIGUOUS, C)
        for back in range(0, n):
            s = n - 1 - back + zero
            prior = tl.maximum(s - 1, 0)
            earlier = row_of(index, prior, INDEX)
            x_earlier = tl.load(node + earlier * node_step + k, inside, MINUS).to(C)
            a_earlier = tl.load(alphas + prior * L + k, inside, 0.0)
            y = y0
            if LABELS:
                y0 = tl.load(labels + earlier * label_step).to(tl.int32)
            et = tl.load(tops + 4 * s)
            xt = tl.load(tops + 4 * s + 1)
            scale = tl.load(tops + 4 * s + 2)
            last_row = tl.where(s > 0, L, 0)  # no table leads to the first place
            ends = tl.where(s > 1, L, 0)
            if ONE:
                e_earlier = table_at(edge, earlier, i, j, L, ends, edge_step, by_from, by_to, CONTIGUOUS, C)
                ai = tl.load(alphas + prior * L + h, h < L, 0.0)
            q = a * b
            c = tl.sum(q)
            least: tl.constexpr = (-1022.0 if tl.float64 == C else -126.0) + 24.0
            seen = c > tl.maximum(scale, before) * LP * LP * LP * 2.0**least
            exact = tl.where(seen & (c < float("inf")), exact, 0)
            norm = credit / c
            q = q * norm
            norm = norm * scale
            g = tl.exp(x - xt) * b
            before, _ = power_below(tl.max(b))
            if LABELS:
                q = tl.where(k == y, q - credit, q)
            put(dnode + r * L + k, q, inside)
            if back == 0:
                put(dstop + k, q, inside)
            out = dedge + r * L * L
            if ONE:
                column = credits(
                    ai, e, out, i, j, L, last_row, y, y0, credit, et, g, norm, before, LABELS, BETWEEN
                )
                b = tl.sum(tl.where(h == k, column, 0.0), 0, keep_dims=True)  # as a row
                e = e_earlier
            else:
                tl.debug_barrier()
                for i0 in range(0, L, BLOCK):
                    ib = i0 + i
                    more = i0 + BLOCK < L
                    row = tl.where(more, r, earlier)
                    e_earlier = table_at(
                        edge, row, tl.where(more, i0 + BLOCK, 0) + i, j, L, tl.where(more, last_row, ends),
                        edge_step, by_from, by_to, CONTIGUOUS, C,
                    )  # fmt: skip
                    ab = tl.load(alphas + prior * L + i0 + h, i0 + h < L, 0.0)
                    bi = credits(
                        ab, e, out, ib, j, L, last_row, y, y0, credit, et, g, norm, before, LABELS, BETWEEN
                    )
                    tl.store(betas + (s & 1) * L + i0 + h, bi, i0 + h < L)
                    e = e_earlier
                tl.debug_barrier()
                b = tl.load(betas + (s & 1) * L + k, inside, 0.0)
            a = a_earlier
            x = x_earlier
            r = earlier
        put(dstart + k, q, inside)
        tl.debug_barrier()
    else:
        wide = -(low_table + tl.min(low_row))
        none = wide < 300.0
        some = (wide < 690.0) & (tl.min(smallest) > tl.exp(wide - 690.0))
        exact = tl.where(tl.max(holes) > 0, some, none).to(tl.int32)
    return exact


_VARIABLE = [
    "T", "L", "scale_high", "scale_low", "node_batch", "node_step", "edge_batch", "edge_step",
    "by_from", "by_to", "label_batch", "label_step", "index_batch",
]  # fmt: skip


@triton.jit(do_not_specialize=_VARIABLE)
def sums(
    node, length, first, index, start, edge, stop, labels, weight,
    value, dnode, dstart, dedge, dstop, in_logs, alphas, tops, betas,
    T, L, scale_high, scale_low, node_batch, node_step, edge_batch, edge_step, by_from, by_to,
    label_batch, label_step, index_batch,
    GRAD: tl.constexpr, LABELS: tl.constexpr, WEIGHT: tl.constexpr, C: tl.constexpr, LP: tl.constexpr,
    BLOCK: tl.constexpr, LOG_BLOCK: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr,
    BETWEEN: tl.constexpr, CONTIGUOUS: tl.constexpr,
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
    credit = both(scale_high, scale_low)
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
        exact = tl.full((), 0, tl.int32)
        if unknown == 0:
            exact = sweep(
                node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops,
                betas, n, L, credit, node_step, edge_step, by_from, by_to, label_step,
                GRAD, LABELS, C, LP, BLOCK, INDEX, BETWEEN, CONTIGUOUS,
            )  # fmt: skip
        if exact == 0:
            sweep_in_logs(
                node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops,
                betas, n, L, credit, unknown, node_step, edge_step, by_from, by_to, label_step,
                GRAD, LABELS, LP, LOG_BLOCK, INDEX, BETWEEN, CONTIGUOUS,
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
