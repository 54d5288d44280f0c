"""Sums with edges per position in log space: for sequences whose probabilities vanish, and unknown labels.

Rows are logarithms relative to their maxima, in float64; tables are read in blocks of rows `from`.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import log_of, top_of
from crfkit.torch.cuda.kernels.tables import MINUS, gold_of, put, put_end, row_of, table_of


@triton.jit
def _row(
    node, index, labels, t, j, L, clamp, node_step, label_step, LABELS: tl.constexpr, INDEX: tl.constexpr
):
    """Return the row of a place, and its scores; -inf where a known label differs."""
    r = row_of(index, t, INDEX)
    x = tl.load(node + r * node_step + j, j < L, MINUS).to(tl.float64)
    y = r
    if LABELS:
        y = tl.load(labels + r * label_step).to(tl.int64)
        x = tl.where(clamp & (y >= 0) & (j != y), MINUS, x)
    return r, x, y


@triton.jit
def sweep_in_logs(
    node, index, start, edge, stop, labels, value, dnode, dstart, dedge, dstop, alphas, tops, betas,
    n, L, weight, unknown, node_step, edge_step, by_from, by_to, label_step,
    GRAD: tl.constexpr, LABELS: tl.constexpr, LP: tl.constexpr, BLOCK: tl.constexpr,
    INDEX: tl.constexpr, BETWEEN: tl.constexpr, CONTIGUOUS: tl.constexpr,
):  # fmt: skip
    """Write the value and the gradient of one sequence.

    With unknown labels there are two parts: labelings that agree with the labels, then all.
    """
    j = tl.arange(0, LP)
    i = tl.arange(0, BLOCK)
    inside = j < L
    u = tl.load(start + j, inside, MINUS).to(tl.float64)
    v = tl.load(stop + j, inside, MINUS).to(tl.float64)
    zero = tl.full((), 0, tl.int64)
    known = unknown + zero == 0
    other = tl.full((), 0.0, tl.float64)  # log Z of the labelings that agree with the labels
    for part in range(0, 1 + unknown):
        seconds = tl.where(part + zero > 0, L, 0)  # labels whose credits are there already
        clamp = part + zero < unknown
        _, x, _ = _row(node, index, labels, zero, j, L, clamp, node_step, label_step, LABELS, INDEX)
        a = u + x
        at = top_of(tl.max(a, 0))
        a -= at
        tl.store(tops, at)
        tl.store(tops + 1, at * 0.0)
        tl.store(alphas + j, a, inside)
        for t in range(1, n):
            r, x, _ = _row(node, index, labels, t + zero, j, L, clamp, node_step, label_step, LABELS, INDEX)
            tl.debug_barrier()
            top = tl.full([LP], float("-inf"), tl.float64)
            total = tl.zeros([LP], tl.float64)
            for i0 in range(0, L, BLOCK):
                rows = i0 + i < L
                ai = tl.load(alphas + (t + zero - 1) * L + i0 + i, rows, MINUS)
                place = table_of(edge + r * edge_step, i0 + i, j, by_from, by_to, CONTIGUOUS)
                z = ai[:, None] + tl.load(place, rows[:, None] & inside[None, :], MINUS).to(tl.float64)
                new = tl.maximum(top, tl.max(z, 0))
                total = total * tl.exp(top - top_of(new)) + tl.sum(tl.exp(z - top_of(new)[None, :]), 0)
                top = new
            a = top_of(top) + log_of(total) + x
            at = top_of(tl.max(a, 0))
            a -= at
            tl.store(tops + 4 * t, at)
            tl.store(tops + 4 * t + 1, at * 0.0)
            tl.store(alphas + (t + zero) * L + j, a, inside)
        tl.debug_barrier()

        ended = a + v
        et = top_of(tl.max(ended, 0))
        rest = et + log_of(tl.sum(tl.exp(ended - et), 0))
        difference, tall, scores = gold_of(
            node, index, start, edge, labels, tops, n, node_step, edge_step, by_from, by_to, label_step,
            known, INDEX, LABELS,
        )  # fmt: skip
        logz = tall + rest
        result = logz
        factor = weight
        if LABELS:
            last = tl.load(labels + row_of(index, n - 1 + zero, INDEX) * label_step)
            final = tl.load(stop + last, known, 0.0).to(tl.float64)
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

        if GRAD:
            gold = tl.where(known, factor, 0.0)
            b = v - top_of(tl.max(v, 0))
            q = tl.zeros([LP], tl.float64)
            for back in range(0, n):
                s = n - 1 - back + zero
                r, x, y = _row(node, index, labels, s, j, L, clamp, node_step, label_step, LABELS, INDEX)
                y0 = y
                if LABELS:
                    y0 = tl.load(labels + row_of(index, tl.maximum(s - 1, 0), INDEX) * label_step).to(
                        tl.int64
                    )
                q = tl.load(alphas + s * L + j, inside, MINUS) + b
                qt = top_of(tl.max(q, 0))
                c = top_of(qt + log_of(tl.sum(tl.exp(q - qt), 0)))
                norm = c + tl.load(tops + 4 * s)
                q = tl.exp(q - c) * factor
                if LABELS:
                    q = tl.where(j == y, q - gold, q)
                out = dnode + r * L + j
                put(out, q + tl.load(out, j < seconds, 0.0).to(tl.float64), inside)
                if back == 0:
                    put_end(dstop, q, j, L, seconds)
                g = x + b
                last_row = tl.where(s > 0, L, 0)  # no table leads to the first place
                tl.debug_barrier()
                for i0 in range(0, L, BLOCK):
                    ib = i0 + i
                    rows = ib < last_row
                    ok = rows[:, None] & inside[None, :]
                    ai = tl.load(alphas + (s - 1) * L + ib, rows, MINUS)
                    m = tl.load(table_of(edge + r * edge_step, ib, j, by_from, by_to, CONTIGUOUS), ok, MINUS)
                    m = m.to(tl.float64) + g[None, :]
                    p = tl.exp(ai[:, None] + m - norm) * factor
                    zt = top_of(tl.max(m, 1))
                    bi = zt + log_of(tl.sum(tl.exp(m - zt[:, None]), 1))
                    if LABELS:
                        p = tl.where((ib == y0)[:, None] & (j == y)[None, :], p - gold, p)
                    p = tl.where(rows[:, None], p, 0.0)
                    cells = dedge + r * L * L + ib[:, None] * L + j[None, :]
                    p += tl.load(cells, rows[:, None] & (j < seconds)[None, :], 0.0).to(tl.float64)
                    put(cells, p, (rows if BETWEEN else ib < L)[:, None] & inside[None, :])
                    tl.store(betas + (s & 1) * L + ib, bi, ib < L)
                tl.debug_barrier()
                b = tl.load(betas + (s & 1) * L + j, inside, MINUS)
                b -= top_of(tl.max(b, 0))
            put_end(dstart, q, j, L, seconds)
            tl.debug_barrier()
