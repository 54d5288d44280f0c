"""Forward rows of chains of any number of labels, kept for each place: by maxima or by sums.

alpha'(j) = max_i or log sum_i exp (alpha(i) + edge(i, j)) + node(j), less the maximum of the row before: what
follows compares the cells of one row only. The table is read in tiles of BI x BJ at every step (it stays in
the caches). Sums are made in log space, right for any scores: terms are added up in float64 where W is
float64, their exponentials are taken of differences from the largest, in C.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide
from crfkit.torch.cuda.kernels.viterbi import CHAIN, fill, place_of, row_of, sequence, write


@triton.jit
def tile(alpha, edge, i, j, edge_i, L, W: tl.constexpr):
    """Return alpha(i) + edge(i, j) as [BI, BJ], -inf where there are no such labels."""
    a = tl.load(alpha + i, i < L, float("-inf"))
    inside = (i[:, None] < L) & (j[None, :] < L)
    at = edge + i[:, None].to(tl.int64) * edge_i + j[None, :]
    return a[:, None] + tl.load(at, inside, float("-inf")).to(W)


@triton.jit
def forward(
    n, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, alpha, L,
    BI: tl.constexpr, BJ: tl.constexpr, W: tl.constexpr, C: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """Write the rows alpha [n, L] of a sequence; return 1 if a score is NaN or +inf, else 0."""
    inf = float("inf")
    wrong = tl.zeros([BJ], tl.int32)
    high = tl.zeros([], W)
    for t in range(0, n):
        row = row_of(index, t, True)
        here = alpha + wide(t) * L
        table = edge + (row - shift) * edge_t
        next_high = tl.full([], -inf, W)
        for j0 in range(0, L, BJ):
            j = j0 + tl.arange(0, BJ)
            x = tl.load(node + row * node_t + j, j < L, -inf).to(W)
            wrong = wrong | (~(x < inf)).to(tl.int32)
            if t == 0:
                best = tl.load(start + j, j < L, -inf).to(W)
                last = tl.load(stop + j, j < L, -inf).to(W)
                wrong = wrong | (~((best < inf) & (last < inf))).to(tl.int32)
            else:
                tops = tl.full([BI, BJ], -inf, W)
                for i0 in range(0, L, BI):
                    i = i0 + tl.arange(0, BI)
                    before = tile(here - L, table, i, j, edge_i, L, W)
                    tops = tl.maximum(tops, before, tl.PropagateNan.ALL)
                wrong = wrong | tl.max((~(tops < inf)).to(tl.int32), 0)
                best = tl.max(tops, 0)
                if SUM:
                    top = tl.where(best > -inf, best, 0.0)
                    sums = tl.zeros([BI, BJ], C)
                    for i0 in range(0, L, BI):
                        i = i0 + tl.arange(0, BI)
                        before = tile(here - L, table, i, j, edge_i, L, W)
                        sums += tl.exp((before - top[None, :]).to(C))
                    best += tl.log(tl.maximum(tl.sum(sums, 0), 1.0)).to(W)  # the largest term is 1
            a = best + (x - high)
            tl.store(here + j, a, j < L)
            next_high = tl.maximum(next_high, tl.max(a, 0))
        high = tl.where((next_high > -inf) & (next_high < inf), next_high, 0.0)
        tl.debug_barrier()
    return tl.max(wrong, 0)


@triton.jit
def column(alpha, edge, y, edge_i, L, Lp: tl.constexpr, W: tl.constexpr):
    """Return alpha(i) + edge(i, y) as [Lp]."""
    i = tl.arange(0, Lp)
    a = tl.load(alpha + i, i < L, float("-inf"))
    return a + tl.load(edge + i.to(tl.int64) * edge_i + y, i < L, float("-inf")).to(W)


@triton.jit(do_not_specialize=CHAIN)
def best(
    node, length, first, index, start, edge, stop, labels, score, alpha, path,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Answer sequence b by one program: its forward rows by maxima, then the labels that reach them."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    alpha += place * L
    path += place
    node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    fill(labels, place, n, T, first is not None)
    value = tl.zeros([], tl.float64)
    if n > 0:
        inf = float("inf")
        i = tl.arange(0, Lp)
        wrong = forward(n, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, alpha, L,
                        BI, BJ, C, C, False)  # fmt: skip
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, -inf) + tl.load(stop + i, i < L, -inf).to(C)
        top = tl.max(last, 0)
        if wrong > 0:
            value += float("nan")
        elif top == -inf:
            value += -inf
        else:
            y = tl.min(tl.where(last == top, i, Lp - 1), 0)
            for k in range(1, n):
                t = wide(n - k)
                tl.store(path + t, y)
                table = edge + (row_of(index, n - k, True) - shift) * edge_t
                before = column(alpha + (t - 1) * L, table, y, edge_i, L, Lp, C)
                y = tl.min(tl.where(before == tl.max(before, 0), i, Lp - 1), 0)
            tl.debug_barrier()
            value += write(y, n * 0, n - 1, n, place, node, node_t, index, start, edge, edge_t, edge_i,
                           shift, stop, labels, path, 1)  # fmt: skip
    tl.store(score + b, value)


@triton.jit(do_not_specialize=CHAIN)
def sums(
    node, length, first, index, start, edge, stop, alpha, allowed,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the forward rows of sequence b by sums, and 1 if there is a labelling to draw, else 0."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    alpha += place * L
    node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    fine = n * 0
    if n > 0:
        i = tl.arange(0, Lp)
        wrong = forward(n, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, alpha, L,
                        BI, BJ, tl.float64, C, True)  # fmt: skip
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, float("-inf"))
        last += tl.load(stop + i, i < L, float("-inf")).to(tl.float64)
        fine = tl.where((wrong == 0) & (tl.max(last, 0) > float("-inf")), 1, 0)
    tl.store(allowed + b, fine)
