"""Forward rows of chains of any number of labels, kept for each place: by maxima or by sums.

alpha'(j) = max_i or log sum_i exp (alpha(i) + edge(i, j)) + node(j), less the maximum of the row before: what
follows compares the cells of one row only. The table is read at every step, from the caches, in tiles of
BI x BJ, each while the one before it is used; rows that there are not repeat the last one.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide
from crfkit.torch.cuda.kernels.viterbi import (
    ARGUMENTS,
    fill,
    lowest,
    place_of,
    row_of,
    sequence,
    trace_rows,
    write,
)


@triton.jit
def tile(table, i0, j0, edge_i, L, BI: tl.constexpr, BJ: tl.constexpr, Q: tl.constexpr):
    """Return a tile [Q, BI / Q, BJ] of a table."""
    i = i0 + tl.arange(0, Q)[:, None, None] * (BI // Q) + tl.arange(0, BI // Q)[None, :, None]
    j = j0 + tl.arange(0, BJ)[None, None, :]
    return tl.load(table + tl.minimum(i, L - 1) * edge_i + j, (j < L) & (i >= 0), float("-inf"))


@triton.jit
def maxima(
    n, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, alpha, L,
    BI: tl.constexpr, BJ: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, BY_POSITION: tl.constexpr,
    HELD: tl.constexpr,
):  # fmt: skip
    """Write the rows alpha [n, L] of a sequence; return 1 if a score is NaN or +inf, else 0.

    The first HELD rows of the table stay in registers: none, or three quarters of BJ, which is all labels.
    """
    inf = float("inf")
    wrong = tl.zeros([BJ], tl.int32)
    high = tl.full([], -inf, C)
    for j0 in range(0, L, BJ):
        j = j0 + tl.arange(0, BJ)
        x = tl.load(node + row_of(index, n * 0, True) * node_t + j, j < L, -inf).to(C)
        begin = tl.load(start + j, j < L, -inf).to(C)
        end = tl.load(stop + j, j < L, -inf).to(C)
        wrong = wrong | (~((x < inf) & (begin < inf) & (end < inf))).to(tl.int32)
        tl.store(alpha + j, begin + x, j < L)
        high = tl.maximum(high, tl.max(begin + x, 0))
        if not BY_POSITION:
            for i0 in range(0, tl.where(n > 1, L, 0), BI):
                cells = tile(edge, i0, j0, edge_i, L, BI, BJ, Q)
                wrong = wrong | tl.max(tl.max((~(cells < inf)).to(tl.int32), 1), 0)
    tl.debug_barrier()
    table = edge
    if n > 1:
        table = edge + (row_of(index, n * 0 + 1, True) - shift) * edge_t
    ahead = tile(table, HELD, 0, edge_i, tl.where(n > 1, L, 1), BI, BJ, Q)
    if HELD > 0:
        held = tile(table, 0, 0, edge_i, tl.where(n > 1, L, 1), BJ // 2, BJ, Q).to(C)
        more = tile(table, BJ // 2, 0, edge_i, tl.where(n > 1, L, 1), BJ // 4, BJ, Q).to(C)
        label = tl.arange(0, BJ)
        new = tl.load(alpha + label, label < L, -inf)
    k = tl.arange(0, Q)[:, None] * (BI // Q) + tl.arange(0, BI // Q)[None, :]
    for t in range(1, n):
        row = row_of(index, t, True)
        here = alpha + wide(t) * L
        table = edge + (row - shift) * edge_t
        following = edge + (row_of(index, t + 1, t + 1 < n) - shift) * edge_t
        following = tl.where(t + 1 < n, following, table)
        taken = tl.where((high > -inf) & (high < inf), high, 0.0)
        high = tl.full([], -inf, C)
        a_ahead = tl.load(here - L + tl.minimum(HELD + k, L - 1))
        for j0 in range(0, L, BJ):
            j = j0 + tl.arange(0, BJ)
            x = tl.load(node + row * node_t + j, j < L, -inf).to(C)
            wrong = wrong | (~(x < inf)).to(tl.int32)
            top = tl.full([BJ], -inf, C)
            if HELD > 0:
                half, rest = tl.split(tl.permute(tl.reshape(new, [2, BJ // 2]), [1, 0]))
                top = tl.max(tl.max(tl.reshape(half, [Q, BJ // 2 // Q])[:, :, None] + held, 1), 0)
                third, _ = tl.split(tl.permute(tl.reshape(rest, [2, BJ // 4]), [1, 0]))
                third = tl.reshape(third, [Q, BJ // 4 // Q])[:, :, None]
                top = tl.maximum(top, tl.max(tl.max(third + more, 1), 0))
            for i0 in range(HELD, L, BI):
                cells = ahead
                a = a_ahead
                behind = i0 + BI >= L
                i_ahead = tl.where(behind, HELD, i0 + BI)
                j_ahead = tl.where(behind, tl.where(j0 + BJ >= L, 0, j0 + BJ), j0)
                from_here = tl.where(behind & (j0 + BJ >= L), following, table)
                ahead = tile(from_here, i_ahead, j_ahead, edge_i, L, BI, BJ, Q)
                a_ahead = tl.load(here - L + tl.minimum(i_ahead + k, L - 1))
                if BY_POSITION:
                    wrong = wrong | tl.max(tl.max((~(cells < inf)).to(tl.int32), 1), 0)
                top = tl.maximum(top, tl.max(tl.max(a[:, :, None] + cells.to(C), 1), 0))
            new = top + (x - taken)
            tl.store(here + j, new, j < L)
            high = tl.maximum(high, tl.max(tl.where(j < L, new, -inf), 0))
        tl.debug_barrier()
    return tl.max(wrong, 0)


@triton.jit(do_not_specialize=ARGUMENTS)
def best(
    node, length, first, index, start, edge, stop, labels, score, alpha,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr, Q: tl.constexpr, C: tl.constexpr,
    BY_POSITION: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """Answer sequence b by one program: its forward rows by maxima, then the labels that reach them."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    alpha += place * L
    node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    fill(labels, place, n, T, first is not None)
    value = tl.zeros([], tl.float64)
    if n > 0:
        inf = float("inf")
        i = tl.arange(0, Lp)
        wrong = maxima(n, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, alpha, L,
                       BI, BJ, Q, C, BY_POSITION, HELD)  # fmt: skip
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, -inf) + tl.load(stop + i, i < L, -inf).to(C)
        top, y = lowest(last, i, Lp)
        if wrong > 0:
            value += float("nan")
        elif top == -inf:
            value += -inf
        else:
            y = trace_rows(y, n - 1, alpha, L, index, edge, edge_t, edge_i, shift, L, Lp)
            tl.debug_barrier()
            value += write(y, n * 0, n - 1, n, place, node, node_t, index, start, edge, edge_t, edge_i,
                           shift, stop, labels, alpha, L)  # fmt: skip
    tl.store(score + b, value)


@triton.jit
def terms(alpha, table, i0, j, edge_i, L, BI: tl.constexpr):
    """Return alpha(i) + edge(i, j) as [BI, BJ] in float64, -inf where there are no such labels."""
    i = i0 + tl.arange(0, BI)
    a = tl.load(alpha + i, i < L, float("-inf"))
    inside = (i[:, None] < L) & (j[None, :] < L)
    at = table + i[:, None] * edge_i + j[None, :]
    return a[:, None] + tl.load(at, inside, float("-inf")).to(tl.float64)


@triton.jit(do_not_specialize=ARGUMENTS)
def sums(
    node, length, first, index, start, edge, stop, alpha, allowed,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the forward rows of sequence b by sums, and 1 if there is a labeling to draw, else 0.

    In log space, which is right for any scores: terms in float64, exponentials relative to the largest in C.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    alpha += place * L
    node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    inf = float("inf")
    wrong = tl.zeros([BJ], tl.int32)
    high = tl.zeros([], tl.float64)
    for t in range(0, n):
        row = row_of(index, t, True)
        here = alpha + wide(t) * L
        table = edge + (row - shift) * edge_t
        next_high = tl.full([], -inf, tl.float64)
        for j0 in range(0, L, BJ):
            j = j0 + tl.arange(0, BJ)
            x = tl.load(node + row * node_t + j, j < L, -inf).to(tl.float64)
            wrong = wrong | (~(x < inf)).to(tl.int32)
            if t == 0:
                value = tl.load(start + j, j < L, -inf).to(tl.float64)
                end = tl.load(stop + j, j < L, -inf)
                wrong = wrong | (~((value < inf) & (end < inf))).to(tl.int32)
            else:
                tops = tl.full([BI, BJ], -inf, tl.float64)
                for i0 in range(0, L, BI):
                    before = terms(here - L, table, i0, j, edge_i, L, BI)
                    tops = tl.maximum(tops, before, tl.PropagateNan.ALL)
                wrong = wrong | tl.max((~(tops < inf)).to(tl.int32), 0)
                value = tl.max(tops, 0)
                top = tl.where(value > -inf, value, 0.0)
                total = tl.zeros([BI, BJ], C)
                for i0 in range(0, L, BI):
                    before = terms(here - L, table, i0, j, edge_i, L, BI)
                    total += tl.exp((before - top[None, :]).to(C))
                value += tl.log(tl.maximum(tl.sum(total, 0), 1.0)).to(tl.float64)  # the largest term is 1
            a = value + (x - high)
            tl.store(here + j, a, j < L)
            next_high = tl.maximum(next_high, tl.max(a, 0))
        high = tl.where((next_high > -inf) & (next_high < inf), next_high, 0.0)
        tl.debug_barrier()
    fine = n * 0
    if n > 0:
        i = tl.arange(0, Lp)
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, -inf)
        last += tl.load(stop + i, i < L, -inf).to(tl.float64)
        fine = tl.where((tl.max(wrong, 0) == 0) & (tl.max(last, 0) > -inf), 1, 0)
    tl.store(allowed + b, fine)
