"""The Hessian of log Z times a direction, for one table of edges or one for each position.

With a(j) the logarithm of a forward row and l(j) its derivative along the direction v, l(j) is a mean:
l(j) = v(j) + sum_i p(i | j) (l(i) + v(i, j)), and so is its counterpart m(i) on the way back. The derivative
of an edge marginal is then p(i, j) (l(i) + v(i, j) + v(j) + m(j) - d), where d = <marginals, v>: no
differences of large numbers, whatever the scores. Rows are logarithms relative to their maxima in float64,
one exponential a cell: Hessian products are rare, and right for all scores.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import divided, log_of, top_of
from crfkit.torch.cuda.kernels.tables import MINUS, put, row_of


@triton.jit
def expected(p, x):
    """Return p x, 0 where p is 0: there x may be infinite."""
    return tl.where(p == 0.0, 0.0, p * x)


@triton.jit
def tile_of(table, i, j, by_from, by_to, inside, none: tl.constexpr):
    """Return a table [from, to] in float64."""
    return tl.load(table + i[:, None] * by_from + j[None, :] * by_to, inside, none).to(tl.float64)


_VARIABLE = [
    "T", "L", "node_batch", "node_step", "edge_batch", "edge_step", "by_from", "by_to", "index_batch",
    "v_node_batch", "v_node_step", "v_edge_batch", "v_edge_step", "v_from", "v_to",
]  # fmt: skip


@triton.jit(do_not_specialize=_VARIABLE)
def products(
    node, length, first, index, start, edge, stop, weight, v_node, v_start, v_edge, v_stop,
    dnode, dstart, dedge, dstop, dot, logz, rows,
    T, L, node_batch, node_step, edge_batch, edge_step, by_from, by_to, index_batch,
    v_node_batch, v_node_step, v_edge_batch, v_edge_step, v_from, v_to,
    LP: tl.constexpr, PACKED: tl.constexpr, INDEX: tl.constexpr, BETWEEN: tl.constexpr,
    SHARED: tl.constexpr,
):  # fmt: skip
    """Answer for one sequence a program; dstart, dstop and a shared dedge are rows [B, ...] of parts."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    zero = tl.full((), 0, tl.int64)
    j = tl.arange(0, LP)
    i = tl.arange(0, LP)
    inside = j < L
    table = (i < L)[:, None] & inside[None, :]
    if PACKED:
        row = tl.load(first + b)
        node += row * node_step
        v_node += row * v_node_step
        edge += row * edge_step
        v_edge += row * v_edge_step
    else:
        row = b * T
        node += b * node_batch
        v_node += b * v_node_batch
        edge += b * edge_batch
        v_edge += b * v_edge_batch
    if INDEX:
        index += b * index_batch
    dnode += row * L
    rows += row * 2 * L  # logarithms, then derivatives
    if SHARED:
        dedge += b * L * L
    elif BETWEEN:
        edge -= edge_step
        v_edge -= v_edge_step
        dedge += (b * (T - 1) - 1) * L * L
    else:
        dedge += row * L * L
    w = tl.load(weight + b).to(tl.float64)
    total = tl.full((), 0.0, tl.float64)
    along = tl.full((), 0.0, tl.float64)
    dfirst = tl.zeros([LP], tl.float64)
    dlast = tl.zeros([LP], tl.float64)
    shared = tl.zeros([LP, LP], tl.float64)
    if n > 0:
        r = row_of(index, zero, INDEX)
        a = tl.load(start + j, inside, MINUS).to(tl.float64)
        a += tl.load(node + r * node_step + j, inside, MINUS).to(tl.float64)
        da = tl.load(v_start + j, inside, 0.0).to(tl.float64)
        da += tl.load(v_node + r * v_node_step + j, inside, 0.0).to(tl.float64)
        down = top_of(tl.max(a, 0))
        a -= down
        total += down
        tl.store(rows + j, a, inside)
        tl.store(rows + L + j, da, inside)
        for t in range(1, n):
            r = row_of(index, t + zero, INDEX)
            x = tl.load(node + r * node_step + j, inside, MINUS).to(tl.float64)
            v = tl.load(v_node + r * v_node_step + j, inside, 0.0).to(tl.float64)
            e = tile_of(edge + r * edge_step, i, j, by_from, by_to, table, float("-inf"))
            ve = tile_of(v_edge + r * v_edge_step, i, j, v_from, v_to, table, 0.0)
            z = a[:, None] + e
            top = top_of(tl.max(z, 0))
            z = tl.exp(z - top[None, :])
            c = tl.sum(z, 0)
            da = divided(tl.sum(expected(z, da[:, None] + ve), 0), c) + v
            a = top + log_of(c) + x
            down = top_of(tl.max(a, 0))
            a -= down
            total += down
            tl.store(rows + (t + zero) * 2 * L + j, a, inside)
            tl.store(rows + (t + zero) * 2 * L + L + j, da, inside)
        tl.debug_barrier()
        m = tl.load(stop + j, inside, MINUS).to(tl.float64)
        dm = tl.load(v_stop + j, inside, 0.0).to(tl.float64)
        q = a + m
        down = top_of(tl.max(q, 0))
        q = tl.exp(q - down)
        sum_q = tl.sum(q, 0)
        total += down + log_of(sum_q)
        q = divided(q, sum_q)
        along = tl.sum(expected(q, da + dm), 0)
        dq = expected(q, da + dm - along) * w
        dlast = dq
        for back in range(1, n):
            place = n - back + zero
            r = row_of(index, place, INDEX)
            x = tl.load(node + r * node_step + j, inside, MINUS).to(tl.float64)
            v = tl.load(v_node + r * v_node_step + j, inside, 0.0).to(tl.float64)
            e = tile_of(edge + r * edge_step, i, j, by_from, by_to, table, float("-inf"))
            ve = tile_of(v_edge + r * v_edge_step, i, j, v_from, v_to, table, 0.0)
            a = tl.load(rows + (place - 1) * 2 * L + i, i < L, MINUS)
            da = tl.load(rows + (place - 1) * 2 * L + L + i, i < L, 0.0)
            put(dnode + r * L + j, dq, inside)
            z = e + (x + m)[None, :]
            high = top_of(tl.max(z, 1))
            z = tl.exp(z - high[:, None])
            c = tl.sum(z, 1)
            ve += (v + dm)[None, :]
            dm = divided(tl.sum(expected(z, ve), 1), c)
            m = high + log_of(c)
            m -= top_of(tl.max(m, 0))
            q = a + m
            q = tl.exp(q - top_of(tl.max(q, 0)))
            q = divided(q, tl.sum(q, 0))
            p = expected(z * (divided(q, c) * w)[:, None], da[:, None] + ve - along)
            dq = expected(q, da + dm - along) * w
            if SHARED:
                shared += p
            else:
                out = dedge + r * L * L + i[:, None] * L + j[None, :]
                put(out, p, table)
        r = row_of(index, zero, INDEX)
        put(dnode + r * L + j, dq, inside)
        dfirst = dq
    if SHARED:
        out = dedge + i[:, None] * L + j[None, :]
        put(out, shared, table)
    put(dstart + b * L + j, dfirst, inside)
    put(dstop + b * L + j, dlast, inside)
    tl.store(dot + b, along)
    tl.store(logz + b, total)
