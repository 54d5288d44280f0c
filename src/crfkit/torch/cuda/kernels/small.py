"""Sums of chains with one table of edges and up to 64 labels: a program for each sequence.

The table and its transpose lie in registers (`tiles`); steps go forward with one and the other in turn. Rows
of exp(node - top) are made first, all places at once; the sweeps then only load them, two steps ahead.
Every second row is scaled by a power of two, found from the row two steps before, so that it does not hold up
the sums (Rabiner 1989, V.A). The gradient of log Z goes to `rows`; gold counts are taken from it afterwards.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chains import RUNTIME, VALUES, finish, places, shift
from crfkit.torch.cuda.kernels.parts import LN2, both, floor_of, log_of, power_below, top_of, wide
from crfkit.torch.cuda.kernels.tiles import (
    along_i,
    along_j,
    lanes_i,
    lanes_j,
    max_i,
    max_j,
    sum_i,
    sum_j,
    to_i,
    transposed,
)

__all__ = ["gradients", "values"]


@triton.jit
def prepare(
    node, node_t, index, labels, labels_t, edge, edge_i, edge_j, rows, counts, n, L,
    BLOCK: tl.constexpr, LP: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write rows of exp(node - their maximum), and add the gold steps to `counts` [L, L], which are 0.

    Return the sum of maxima; that sum minus the gold scores of places and steps; whether a label is unknown;
    the lowest score beside a maximum (without counts). Counts are added up by atomic operations, all of them
    by 1: whole numbers, the same in any order.
    """
    label = tl.arange(0, LP)[None, :]
    tops = tl.zeros([BLOCK], dtype=tl.float64)
    costs = tl.zeros([BLOCK], dtype=tl.float64)
    unknown = tl.zeros([BLOCK], dtype=tl.int32)
    lowest = tl.zeros([BLOCK], dtype=C)
    for begin in range(0, n, BLOCK):
        t = begin + tl.arange(0, BLOCK)
        inside = t < n
        place = places(index, t, inside)
        cells = inside[:, None] & (label < L)
        x = tl.load(node + place[:, None] * node_t + label, mask=cells, other=float("-inf")).to(C)
        high = top_of(tl.max(x, 1))
        relative = x - high[:, None]
        tl.store(rows + wide(t)[:, None] * L + label, tl.exp(relative), mask=cells)
        tops += high.to(tl.float64)
        if counts is None:
            there = cells & (relative > float("-inf"))
            lowest = tl.minimum(lowest, tl.min(tl.where(there, relative, 0.0), 1))
        if labels is not None:
            y = tl.load(labels + place * labels_t, mask=inside, other=0).to(tl.int32)
            into = inside & (t > 0)
            before = tl.load(labels + places(index, t - 1, into) * labels_t, mask=into, other=0).to(tl.int32)
            unknown |= (y < 0).to(tl.int32)
            known = inside & (y >= 0) & (y < L)
            gold = tl.load(node + place * node_t + y, mask=known, other=0.0).to(C)
            gold = tl.where(y < L, gold, float("nan"))
            costs += (high - gold).to(tl.float64)
            valid = into & (y >= 0) & (before >= 0) & (y < L) & (before < L)
            e = tl.load(edge + before * edge_i + y * edge_j, mask=valid, other=0.0).to(tl.float64)
            costs -= e
            if counts is not None:
                tl.atomic_add(counts + before * L + y, 1.0, mask=valid, sem="relaxed")
    return tl.sum(tops), tl.sum(costs), tl.max(unknown), tl.min(lowest)


@triton.jit
def _forward(
    rows, alphas, a, E, F, n, L,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Return the last row along i, its exponent, and the smallest cell of any row (if rows are not kept).

    `alphas`: where the rows of all places but the last go, each as it is before it is scaled; or None.
    """
    one = tl.where(n > -1, 1, 0)
    i, j = lanes_i(one, P, Q, R), lanes_j(one, P, Q, S)
    write_i = (i < L) & (tl.arange(0, Q)[None, :, None, None] == 0)
    write_j = (j < L) & (tl.arange(0, P)[:, None, None, None] == 0)
    smallest = tl.zeros([P, Q, 1, 1], dtype=a.dtype) + 1.0
    exponent = tl.zeros([P, Q, 1, 1], dtype=tl.int32)
    w1 = tl.load(rows + L + j, mask=j < tl.where(n > 1, L, 0), other=0.0)
    w2 = tl.load(rows + 2 * L + i, mask=i < tl.where(n > 2, L, 0), other=0.0)
    here = rows + 3 * L
    if alphas is not None:
        tl.store(alphas + i, a, mask=write_i)
    for t in range(1, n - 1, 2):
        next1 = tl.load(here + j, mask=j < tl.where(t + 2 < n, L, 0), other=0.0)
        next2 = tl.load(here + L + i, mask=i < tl.where(t + 3 < n, L, 0), other=0.0)
        here += 2 * L
        scale, k = power_below(max_i(a))
        exponent += k
        r = sum_i(a * E) * w1
        if alphas is not None:
            tl.store(alphas + L + j, r, mask=write_j)
        else:
            smallest = tl.minimum(smallest, -max_i(tl.where(a > 0.0, -a, -1.0)))
        a = sum_j(r * F)
        if alphas is not None:
            tl.store(alphas + 2 * L + i, a * w2, mask=write_i)
            alphas += 2 * L
        else:
            smallest = tl.minimum(smallest, -max_j(tl.where(r > 0.0, -r, -1.0)))
        a *= w2 * scale
        w1, w2 = next1, next2
    if n % 2 == 0:
        if alphas is None:
            smallest = tl.minimum(smallest, -max_i(tl.where(a > 0.0, -a, -1.0)))
        r = tl.max(sum_i(a * E) * w1, 0, keep_dims=True)  # the same in all lanes of an i
        a = tl.broadcast_to(to_i(r, P, R), [P, Q, R, 1])
    if alphas is None:
        smallest = tl.minimum(smallest, -max_i(tl.where(a > 0.0, -a, -1.0)))
    return a, exponent, smallest


@triton.jit
def _backward(
    rows, alphas, a, b, E, F, weight, n, L,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write weight * marginals over `rows`; return those of edges and the least sum_j alpha(j) beta(j).

    Both rows are taken as they were before they were scaled: then this sum is about m m' c of `floor_of`.
    """
    one = tl.where(n > -1, 1, 0)
    i, j = lanes_i(one, P, Q, R), lanes_j(one, P, Q, S)
    write_i = (i < L) & (tl.arange(0, Q)[None, :, None, None] == 0)
    write_j = (j < L) & (tl.arange(0, P)[:, None, None, None] == 0)
    C: tl.constexpr = a.dtype
    S1 = tl.zeros([P, Q, R, S], dtype=C)
    S2 = tl.zeros([P, Q, R, S], dtype=C)
    here = rows + wide(n - 1) * L
    there = alphas + wide(n - 2) * L
    w = tl.load(here + i, mask=i < L, other=0.0)
    w1 = tl.load(here - L + j, mask=j < tl.where(n > 1, L, 0), other=0.0)
    a1 = tl.load(there + j, mask=j < tl.where(n > 1, L, 0), other=0.0)
    w2 = tl.load(here - 2 * L + i, mask=i < tl.where(n > 2, L, 0), other=0.0)
    a2 = tl.load(there - L + i, mask=i < tl.where(n > 2, L, 0), other=0.0)
    last = sum_i(a * b)
    least = last + tl.zeros([P, Q, 1, 1], dtype=C)
    tl.store(here + i, a * b * (weight / last), mask=write_i)
    g = b * w  # beta times exp(node), along i
    for t in range(n - 1, 1, -2):
        next1 = tl.load(here - 3 * L + j, mask=j < tl.where(t > 2, L, 0), other=0.0)
        ahead1 = tl.load(there - 2 * L + j, mask=j < tl.where(t > 2, L, 0), other=0.0)
        next2 = tl.load(here - 4 * L + i, mask=i < tl.where(t > 3, L, 0), other=0.0)
        ahead2 = tl.load(there - 3 * L + i, mask=i < tl.where(t > 3, L, 0), other=0.0)
        scale, _ = power_below(max_i(g))
        b1 = sum_i(g * F)
        c = sum_j(a1 * b1)
        part = a1 * (1.0 / c)
        S2 += g * part
        tl.store(here - L + j, part * b1 * weight, mask=write_j)
        least = tl.minimum(least, c)
        g1 = b1 * w1
        b2 = sum_j(g1 * E)
        c = sum_i(a2 * b2)
        part = a2 * (1.0 / c)
        S1 += part * g1
        tl.store(here - 2 * L + i, part * b2 * weight, mask=write_i)
        least = tl.minimum(least, c)
        g = b2 * (w2 * scale)
        w1, w2, a1, a2 = next1, next2, ahead1, ahead2
        here -= 2 * L
        there -= 2 * L
    if n % 2 == 0:
        b1 = sum_i(g * F)
        c = sum_j(a1 * b1)
        part = a1 * (1.0 / c)
        S2 += g * part
        tl.store(here - L + j, part * b1 * weight, mask=write_j)
        least = tl.minimum(least, c)
    return E * S1 + transposed(F * S2, P, Q, R, S), least


@triton.jit
def _lowest(relative):
    """Return the lowest of scores beside their maximum that is not forbidden."""
    return tl.min(tl.where(relative > float("-inf"), relative, 0.0))


@triton.jit
def _table(
    edge, edge_i, edge_j, L,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return exp(edge - top) as a tile [from, to], its transpose, the top, and the lowest score beside it."""
    i, j = along_i(P, R), along_j(Q, S)
    inside = (i < L) & (j < L)
    e = tl.load(edge + i * edge_i + j * edge_j, mask=inside, other=float("-inf")).to(C)
    f = tl.load(edge + j * edge_i + i * edge_j, mask=inside, other=float("-inf")).to(C)
    top = top_of(tl.max(e))
    return tl.exp(e - top), tl.exp(f - top), top, _lowest(e - top)


@triton.jit
def _ends(scores, i, L, C: tl.constexpr):
    """Return exp(scores - top) along i, the top and the lowest beside it: of start or stop."""
    x = tl.load(scores + i, mask=i < L, other=float("-inf")).to(C)
    top = top_of(tl.max(x))
    return tl.exp(x - top), top, _lowest(x - top)


@triton.jit
def _gold_ends(labels, labels_t, index, scores, t):
    """Return the score of the label at place t: NaN never, 0 if it is unknown."""
    place = t
    if index is not None:
        place = tl.load(index + t)
    y = tl.load(labels + wide(place) * labels_t)
    return tl.load(scores + y, mask=y >= 0, other=0.0).to(tl.float64)


@triton.jit(do_not_specialize=RUNTIME)
def gradients(
    node, node_b, node_t, length, first, index, index_b, start, edge, edge_i, edge_j, stop,
    labels, labels_b, labels_t, weight, scale_high, scale_low, T, L,
    rows, alphas, partial, value, in_logs, dnode,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Make log Z or the loss of a sequence and its gradient.

    rows, alphas  [rows of node, L]: room for exp(node) and then the gradient; for forward rows
    partial       [B, L * L + 2 L + 1]: the gradient by edge, start and stop, and the weighted value
    dnode         the gradient by node where `rows` is not that: of another type or in another order
    """
    LP: tl.constexpr = P * R
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    base = shift(b, first, T, 1)
    node += shift(b, first, node_b, node_t)
    if labels is not None:
        labels += shift(b, first, labels_b, labels_t)
    if index is not None:
        index += b * index_b
    rows += base * L
    alphas += base * L
    partial += b * (L * L + 2 * L + 1)
    i, j = along_i(P, R), along_j(Q, S)
    factor = both(scale_high, scale_low)
    if weight is not None:
        factor *= tl.load(weight + b).to(tl.float64)
    result = tl.full((), 0.0, tl.float64)
    safe = n >= 0
    if n > 0:
        spread_i = lanes_i(tl.where(n > -1, 1, 0), P, Q, R)
        a, start_top, _ = _ends(start, spread_i, L, C)
        z, stop_top, _ = _ends(stop, spread_i, L, C)
        if labels is not None:
            for begin in range(0, L * L, 1024):
                cell = begin + tl.arange(0, 1024)
                tl.store(partial + cell, tl.zeros([1024], dtype=C), mask=cell < L * L)
            tl.debug_barrier()
        tops, cost, unknown, _ = prepare(
            node, node_t, index, labels, labels_t, edge, edge_i, edge_j, rows, partial, n, L, BLOCK, LP, C
        )
        E, F, edge_top, _ = _table(edge, edge_i, edge_j, L, P, Q, R, S, C)
        more = start_top.to(tl.float64) + stop_top.to(tl.float64)
        more += tl.where(n > 1, (n - 1) * edge_top.to(tl.float64), 0.0)
        tops += more
        kept = factor  # the weight of the gradient: 0 where the gold labeling is forbidden
        if labels is not None:
            cost += more - _gold_ends(labels, labels_t, index, start, 0)
            cost -= _gold_ends(labels, labels_t, index, stop, n - 1)
            kept = tl.where(cost == float("inf"), 0.0, factor)
        tl.debug_barrier()
        a *= tl.load(rows + spread_i, mask=spread_i < L, other=0.0)
        a, exponent, _ = _forward(rows, alphas, a, E, F, n, L, P, Q, R, S)
        result = tl.max(log_of(sum_i(a * z)) + exponent.to(tl.float64) * LN2)
        tl.debug_barrier()
        edges, least = _backward(rows, alphas, a, z, E, F, kept.to(C), n, L, P, Q, R, S)
        safe = tl.max(least) > floor_of(C)
        tl.debug_barrier()
        inside = (i < L) & (j < L)
        if labels is not None:
            safe = safe & (unknown == 0)
            result += cost
            result = tl.where(result < 0.0, 0.0, result)  # never negative, whatever the last bit says
            edges -= tl.load(partial + i * L + j, mask=inside, other=0.0)
            for begin in range(0, n, BLOCK):
                t = begin + tl.arange(0, BLOCK)
                y = tl.load(labels + places(index, t, t < n) * labels_t, mask=t < n, other=-1)
                at = rows + wide(t) * L + y
                here = (y >= 0) & (y < L)
                tl.store(at, tl.load(at, mask=here, other=0.0) - kept.to(C), mask=here)
            tl.debug_barrier()
        else:
            result += tops
        tl.store(partial + i * L + j, edges * kept.to(C), mask=inside)
    else:
        tl.store(partial + i * L + j, tl.zeros([P, Q, R, S], dtype=C), mask=(i < L) & (j < L))
    here = i < tl.where(n > 0, L, 0)
    tl.store(partial + L * L + i, tl.load(rows + i, mask=here, other=0.0), mask=i < L)
    last = tl.load(rows + wide(n - 1) * L + i, mask=here, other=0.0)
    tl.store(partial + L * L + L + i, last, mask=i < L)
    tl.store(partial + L * L + 2 * L, (result * factor).to(C))
    tl.store(value + b, result)
    tl.store(in_logs + b, tl.where(safe, 0, 1).to(tl.uint8))
    finish(rows, dnode, index, base, n, T, L, first is None, BLOCK, LP)


@triton.jit(do_not_specialize=VALUES)
def values(
    node, node_b, node_t, length, first, index, index_b, start, edge, edge_i, edge_j, stop,
    labels, labels_b, labels_t, T, L, rows, value, in_logs,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Make log Z or the loss of a sequence, in float64.

    There is no way back to tell what was lost, so nothing may be: the smallest cell of any row must have room
    for another step, whose factors are at least exp(-spread).
    """
    LP: tl.constexpr = P * R
    C: tl.constexpr = tl.float64
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    base = shift(b, first, T, 1)
    node += shift(b, first, node_b, node_t)
    if labels is not None:
        labels += shift(b, first, labels_b, labels_t)
    if index is not None:
        index += b * index_b
    rows += base * L
    result = tl.full((), 0.0, tl.float64)
    safe = n >= 0
    if n > 0:
        spread_i = lanes_i(tl.where(n > -1, 1, 0), P, Q, R)
        a, start_top, start_low = _ends(start, spread_i, L, C)
        z, stop_top, stop_low = _ends(stop, spread_i, L, C)
        tops, cost, unknown, lowest = prepare(
            node, node_t, index, labels, labels_t, edge, edge_i, edge_j, rows, None, n, L, BLOCK, LP, C
        )
        E, F, edge_top, edge_low = _table(edge, edge_i, edge_j, L, P, Q, R, S, C)
        more = start_top + stop_top + tl.where(n > 1, (n - 1) * edge_top, 0.0)
        tops += more
        if labels is not None:
            cost += more - _gold_ends(labels, labels_t, index, start, 0)
            cost -= _gold_ends(labels, labels_t, index, stop, n - 1)
        spread = -lowest - tl.minimum(tl.minimum(start_low, stop_low), tl.where(n > 1, edge_low, 0.0))
        tl.debug_barrier()
        a *= tl.load(rows + spread_i, mask=spread_i < L, other=0.0)
        a, exponent, smallest = _forward(rows, None, a, E, F, n, L, P, Q, R, S)
        result = tl.max(log_of(sum_i(a * z)) + exponent.to(tl.float64) * LN2)
        safe = tl.log(tl.min(smallest)) > spread - 690.0
        if labels is not None:
            safe = safe & (unknown == 0)
            result += cost
            result = tl.where(result < 0.0, 0.0, result)
        else:
            result += tops
    tl.store(value + b, result)
    tl.store(in_logs + b, tl.where(safe, 0, 1).to(tl.uint8))
