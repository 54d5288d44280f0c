"""Viterbi with more labels than a program can follow alone: a launch for each step, on all of the device.

A program makes BJ columns of the new rows of G sequences, so that a tile of the table serves them all. The
rows are kept (`forward` says how they are scaled), and the labels are found from them at the end. A score
that is NaN or +inf makes all rows behind it NaN, which `found` sees in the last one.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide
from crfkit.torch.cuda.kernels.viterbi import ARGUMENTS, fill, lowest, place_of, trace_rows, write


@triton.jit
def rows_tile(edge, i0, j, edge_i, L, BI: tl.constexpr):
    """Return rows i0, i0 + 1, ... of some columns, [BI, BJ]; the last row is repeated."""
    i = i0 + tl.arange(0, BI)[:, None]
    return tl.load(
        edge + tl.minimum(i, L - 1) * edge_i + j[None, :], (j[None, :] < L) & (i >= 0), float("-inf")
    )


@triton.jit(do_not_specialize=[*ARGUMENTS, "t", "B"])
def step(
    node, length, index, start, edge, alpha, node_b, node_t, index_b, edge_i, T, L, t, B,
    G: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr, C: tl.constexpr, FIRST: tl.constexpr,
):  # fmt: skip
    """Write BJ columns of row t of G sequences."""
    blocks = (L + BJ - 1) // BJ
    inf = float("inf")
    j = tl.program_id(0) % blocks * BJ + tl.arange(0, BJ)
    b = tl.program_id(0) // blocks * G + tl.arange(0, G)
    inside = t < tl.load(length + b, b < B, 0)
    b = tl.minimum(b, B - 1).to(tl.int64)
    if index is None:
        row = b * 0 + t
    else:
        row = tl.load(index + b * index_b + t, inside, 0).to(tl.int64)
    real = inside[:, None] & (j < L)[None, :]
    x = tl.load(node + (b * node_b + row * node_t)[:, None] + j[None, :], real, -inf).to(C)
    here = alpha + (b * T + t) * L
    if FIRST:
        new = tl.load(start + j, j < L, -inf).to(C)[None, :] + x
    else:
        i = tl.arange(0, BI)
        tops = tl.full([G, BI, BJ], -inf, C)
        highs = tl.full([G, BI], -inf, C)
        cells = rows_tile(edge, 0, j, edge_i, L, BI)
        kept = tl.broadcast_to(inside[:, None], [G, BI])
        a = tl.load((here - L)[:, None] + tl.minimum(i, L - 1)[None, :], kept, -inf)
        for i0 in range(BI, L + BI, BI):
            next_cells = rows_tile(edge, i0, j, edge_i, L, BI)
            next_a = tl.load((here - L)[:, None] + tl.minimum(i0 + i, L - 1)[None, :], kept, -inf)
            tops = tl.maximum(tops, a[:, :, None] + cells.to(C)[None, :, :], tl.PropagateNan.ALL)
            highs = tl.maximum(highs, a)
            cells, a = next_cells, next_a
        high = tl.max(highs, 1)
        high = tl.where((high > -inf) & (high < inf), high, 0.0)
        new = tl.max(tops, 1) + (x - high[:, None])
        wrong = tl.max((~(tops < inf)).to(tl.int32), 1) > 0
        new = tl.where(wrong, float("nan"), new)
    tl.store(here[:, None] + j[None, :], new, real)


@triton.jit(do_not_specialize=ARGUMENTS)
def found(
    node, length, first, index, start, edge, stop, labels, score, alpha,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the labels of sequence b that reach its rows, and their score."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    alpha += place * L
    node += b * node_b
    if index is not None:
        index += b * index_b
    fill(labels, place, n, T, False)
    tl.debug_barrier()
    value = tl.zeros([], tl.float64)
    if n > 0:
        inf = float("inf")
        i = tl.arange(0, Lp)
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, -inf) + tl.load(stop + i, i < L, -inf).to(C)
        top, y = lowest(last, i, Lp)
        if tl.max((~(last < inf)).to(tl.int32), 0) > 0:
            value += float("nan")
        elif top == -inf:
            value += -inf
        else:
            y = trace_rows(y, n - 1, alpha, L, index, edge, edge_t, edge_i, shift, L, Lp)
            tl.debug_barrier()
            value += write(y, n * 0, n - 1, n, place, node, node_t, index, start, edge, edge_t, edge_i,
                           shift, stop, labels, alpha, L)  # fmt: skip
    tl.store(score + b, value)
