"""Pieces of sweeps over tables of edges in memory: addresses, gold scores, what is written."""

import triton
import triton.language as tl

MINUS = tl.constexpr(float("-inf"))


@triton.jit
def row_of(index, t, INDEX: tl.constexpr):
    """Return the row of a place, counted from the first of its sequence."""
    if INDEX:
        return tl.load(index + t).to(tl.int64)
    return t


@triton.jit
def table_of(edge, i, j, by_from, by_to, CONTIGUOUS: tl.constexpr):
    """Return addresses [from, to] of a table; the axis that is contiguous is known when compiling."""
    if CONTIGUOUS == "to":
        return edge + i[:, None] * by_from + j[None, :]
    if CONTIGUOUS == "from":
        return edge + i[:, None] + j[None, :] * by_to
    return edge + i[:, None] * by_from + j[None, :] * by_to


@triton.jit
def put(out, x, inside):
    """Write numbers in the type of what they are written to; to half types by way of float32."""
    kind: tl.constexpr = out.dtype.element_ty
    if kind == tl.float64:
        tl.store(out, x, inside)
    else:
        tl.store(out, x.to(tl.float32).to(kind), inside)


@triton.jit
def gold_of(
    node, index, start, edge, labels, tops, n, node_step, edge_step, by_from, by_to, label_step,
    known, INDEX: tl.constexpr, LABELS: tl.constexpr,
):  # fmt: skip
    """Return the sum of the tops of all rows minus the scores of gold labels; and both sums by themselves."""
    difference = tl.full((), 0.0, tl.float64)
    total = tl.full((), 0.0, tl.float64)
    scores = tl.full((), 0.0, tl.float64)
    for t0 in range(0, n, 64):
        t = t0 + tl.arange(0, 64)
        ok = t < n
        top = tl.load(tops + 4 * t, ok, 0.0).to(tl.float64) + tl.load(tops + 4 * t + 1, ok, 0.0)
        gold = tl.zeros_like(top)
        if LABELS:
            ok = t < tl.where(known, n, 0)
            later = ok & (t > 0)
            if INDEX:
                r = tl.load(index + t, ok, 0).to(tl.int64)
                q = tl.load(index + t - 1, later, 0).to(tl.int64)
            else:
                r = t.to(tl.int64)
                q = r - 1
            y = tl.load(labels + r * label_step, ok, 0)
            z = tl.load(labels + q * label_step, later, 0)
            gold = tl.load(node + r * node_step + y, ok, 0.0).to(tl.float64)
            gold += tl.load(start + y, ok & (t == 0), 0.0).to(tl.float64)
            gold += tl.load(edge + r * edge_step + z * by_from + y * by_to, later, 0.0).to(tl.float64)
        difference += tl.sum(top - gold, 0)
        total += tl.sum(top, 0)
        scores += tl.sum(gold, 0)
    return difference, total, scores


@triton.jit
def put_end(out, q, j, L, seconds):
    """Write the credits of the first or the last label, added to those of the first part."""
    put(out + j, q + tl.load(out + j, j < seconds, 0.0).to(q.dtype), j < L)
