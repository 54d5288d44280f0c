"""Sums of one chain in log space: for the sequences whose probabilities do not fit, and for unknown labels.

Rows are logarithms relative to their maxima, in float64; the maxima are added up. Slow and always right:
every cell of every step is an exponential. Forward rows of even places are kept as two numbers of type C
each, in the room of two rows; those of odd places are made again on the way back.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.chains import RUNTIME, finish, shift
from crfkit.torch.cuda.kernels.parts import both, log_of, top_of, wide
from crfkit.torch.cuda.kernels.tiles import along_i, along_j, max_i, max_j, sum_i, sum_j, to_i, to_j

__all__ = ["sums"]


@triton.jit
def _edge_scores(edge, edge_i, edge_j, L, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr):
    """Return the table of edges as a tile of float64, -inf beyond the labels."""
    i, j = along_i(P, R), along_j(Q, S)
    inside = (i < L) & (j < L)
    return tl.load(edge + i * edge_i + j * edge_j, mask=inside, other=float("-inf")).to(tl.float64)


@triton.jit
def _row(node, node_t, labels, labels_t, index, t, clamped, L, P: tl.constexpr, R: tl.constexpr):
    """Return the scores of place t along i, -inf where a known label differs."""
    i = along_i(P, R)
    place = t
    if index is not None:
        place = tl.load(index + t)
    x = tl.load(node + wide(place) * node_t + i, mask=i < L, other=float("-inf")).to(tl.float64)
    if labels is not None:
        if clamped:
            y = tl.load(labels + wide(place) * labels_t)
            x = tl.where((y >= 0) & (i != y), float("-inf"), x)
    return x


@triton.jit
def _step(alpha, e, x, P: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Return the row after alpha, relative to its maximum, and that maximum."""
    v = alpha + e
    top = top_of(max_i(v))
    r = to_i(log_of(sum_i(tl.exp((v - top).to(C)))) + top, P, R) + x
    top = top_of(max_i(r))
    return r - top, top


@triton.jit
def _forward(
    node, node_t, labels, labels_t, index, start, stop, e, alphas, n, clamped, L,
    P: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return log Z [1, 1, 1, 1] and the last row; keep rows of even places at `alphas`, where it is given."""
    i = along_i(P, R)
    first = tl.load(start + i, mask=i < L, other=float("-inf")).to(tl.float64)
    alpha = first + _row(node, node_t, labels, labels_t, index, 0, clamped, L, P, R)
    top = top_of(max_i(alpha))
    alpha, total = alpha - top, top
    for t in range(1, n):
        if alphas is not None:
            if t % 2 == 1:
                row = alphas + wide(t - 1) * L + i
                high = alpha.to(C)
                low = tl.where(alpha == float("-inf"), 0.0, alpha - high.to(tl.float64)).to(C)
                tl.store(row, high, mask=i < L)
                tl.store(row + L, low, mask=i < L)
        x = _row(node, node_t, labels, labels_t, index, t, clamped, L, P, R)
        alpha, top = _step(alpha, e, x, P, R, C)
        total += top
    last = tl.load(stop + i, mask=i < L, other=float("-inf")).to(tl.float64)
    ended = alpha + last
    top = top_of(max_i(ended))
    return log_of(sum_i(tl.exp((ended - top).to(C)))) + top + total, alpha


@triton.jit
def _credit(rows, alpha, beta, weight, kept, i, L, C: tl.constexpr):
    """Add weight times the marginals of a place to what its row keeps; return log sum_j alpha(j) beta(j)."""
    both = alpha + beta
    top = top_of(max_i(both))
    total = top_of(log_of(sum_i(tl.exp((both - top).to(C)))) + top)
    before = tl.load(rows + i, mask=i < tl.where(kept, L, 0), other=0.0)
    tl.store(rows + i, before + (weight * tl.exp(both - total)).to(C), mask=i < L)
    return total


@triton.jit
def _backward(
    node, node_t, labels, labels_t, index, stop, e, alphas, alpha, rows, weight, n, clamped, kept, L,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return the tile of edge marginals; write weight times those of places, added to what is `kept`."""
    i = along_i(P, R)
    beta = tl.load(stop + i, mask=i < L, other=float("-inf")).to(tl.float64)
    _credit(rows + wide(n - 1) * L, alpha, beta, weight, kept, i, L, C)
    edges = tl.zeros([P, Q, R, S], dtype=C)
    for step in range(1, n):
        t = n - 1 - step
        x = _row(node, node_t, labels, labels_t, index, t + 1, clamped, L, P, R)
        v = e + to_j(x + beta, Q, S)
        top = top_of(max_j(v))
        beta = log_of(sum_j(tl.exp((v - top).to(C)))) + top
        row = alphas + wide(t - t % 2) * L + i
        alpha = tl.load(row, mask=i < L, other=float("-inf")).to(tl.float64)
        alpha += tl.load(row + L, mask=i < L, other=0.0).to(tl.float64)
        if t % 2 == 1:
            x = _row(node, node_t, labels, labels_t, index, t, clamped, L, P, R)
            alpha, _ = _step(alpha, e, x, P, R, C)
        total = _credit(rows + wide(t) * L, alpha, beta, weight, kept, i, L, C)
        edges += tl.exp((v + alpha - total).to(C))
        beta -= top_of(max_i(beta))
    return edges


@triton.jit(do_not_specialize=RUNTIME)
def sums(
    node, node_b, node_t, length, first, index, index_b, start, edge, edge_i, edge_j, stop,
    labels, labels_b, labels_t, weight, scale_high, scale_low, T, L,
    rows, alphas, partial, value, in_logs, dnode,
    P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr, BLOCK: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Make log Z or the loss anew where `in_logs` is 1, and, where `rows` is given, the gradient.

    The arguments are those of `small.gradients`. The loss is that of two sweeps: the second one is clamped
    to the labels, so that those which are unknown are summed over.
    """
    b = tl.program_id(0).to(tl.int64)
    if tl.load(in_logs + b) == 0:
        return
    n = tl.load(length + b)
    base = shift(b, first, T, 1)
    node += shift(b, first, node_b, node_t)
    if labels is not None:
        labels += shift(b, first, labels_b, labels_t)
    if index is not None:
        index += b * index_b
    e = _edge_scores(edge, edge_i, edge_j, L, P, Q, R, S)
    result = tl.full((), 0.0, tl.float64)
    if rows is not None:
        rows += base * L
        alphas += base * L
        partial += b * (L * L + 2 * L + 1)
        factor = both(scale_high, scale_low)
        if weight is not None:
            factor *= tl.load(weight + b).to(tl.float64)
        edges = tl.zeros([P, Q, R, S], dtype=C)
    for turn in range(0, 1 if labels is None else 2):
        clamped = turn == 1
        logz, last = _forward(
            node, node_t, labels, labels_t, index, start, stop, e, alphas, n, clamped, L, P, R, C
        )
        logz = tl.max(logz)
        gold = clamped & (logz == float("-inf"))
        result = tl.where(gold, float("inf"), tl.where(clamped, result - logz, logz))
        if rows is not None:
            sign = tl.where(clamped, -factor, factor)
            tl.debug_barrier()
            more = _backward(
                node, node_t, labels, labels_t, index, stop, e, alphas, last, rows, sign, n, clamped,
                clamped & (logz > float("-inf")), L, P, Q, R, S, C,
            )  # fmt: skip
            edges = tl.where(gold, 0.0, edges + more * sign.to(C))
            tl.debug_barrier()
    if labels is not None:
        result = tl.where(result < 0.0, 0.0, result)
    tl.store(value + b, result)
    if rows is not None:
        i, j = along_i(P, R), along_j(Q, S)
        tl.store(partial + i * L + j, edges, mask=(i < L) & (j < L))
        tl.store(partial + L * L + i, tl.load(rows + i, mask=i < L, other=0.0), mask=i < L)
        ended = tl.load(rows + wide(n - 1) * L + i, mask=i < L, other=0.0)
        tl.store(partial + L * L + L + i, ended, mask=i < L)
        tl.store(partial + L * L + 2 * L, (result * factor).to(C))
        finish(rows, dnode, index, base, n, T, L, first is None, BLOCK, P * R)
