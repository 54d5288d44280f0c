"""The best labeling of few long chains of up to 64 labels: chunks of steps side by side.

Viterbi is a product of matrices in max-plus algebra, so chunks of it can be multiplied out independently.
`operators` makes the operator of each chunk, a row for each label at its border; `borders` folds those before
a chunk, sweeps it from the scores of its border, and follows the pointers of all labels at its end at once,
which maps them to labels at its border; `finish` composes the maps behind a chunk and traces its own labels.
Ties are decided by the pointers alone, as in one sweep.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.viterbi import (
    ARGUMENTS,
    fill,
    lowest,
    node_row,
    place_of,
    pointers,
    row_of,
    sequence,
    sweep,
    table_at,
    trace,
    write,
)


@triton.jit
def chunk(n, c, chunks):
    """Return between which places the steps of chunk c lie, and how many chunks have steps (at least 1)."""
    steps = tl.maximum((n - 1 + chunks - 1) // chunks, 1)
    lo = tl.minimum(c * steps, tl.maximum(n - 1, 0))
    return lo, tl.minimum(lo + steps, n - 1), tl.maximum((n - 1 + steps - 1) // steps, 1)


@triton.jit(do_not_specialize=ARGUMENTS)
def operators(
    node, length, first, index, edge, made, taken,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L, chunks, width,
    Lp: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, BY_POSITION: tl.constexpr,
):  # fmt: skip
    """Write row s of the operator of chunk c of sequence b: the best scores from label s to its end."""
    s = tl.program_id(0) % L
    c = tl.program_id(0) // L % chunks
    b = (tl.program_id(0) // L // chunks).to(tl.int64)
    lo, hi, used = chunk(tl.load(length + b), c, chunks)
    if c < used - 1:
        place = place_of(first, b, T)
        node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
        if index is not None:
            index += b * index_b
        i = tl.arange(0, Lp)
        a = tl.where(i == s, 0.0, float("-inf")).to(C)
        a, offset, _ = sweep(a, lo, hi, node, node_t, index, edge, edge_t, edge_i, shift, made, L,
                             Lp, Q, C, BY_POSITION, 0)  # fmt: skip
        row = (b * chunks + c) * Lp + s
        tl.store(made + row * Lp + i, a)
        tl.store(taken + row, offset)


@triton.jit(do_not_specialize=ARGUMENTS)
def borders(
    node, length, first, index, start, edge, stop, labels, back, made, taken, maps, last,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L, chunks, width,
    Lp: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, BY_POSITION: tl.constexpr,
):  # fmt: skip
    """Write the pointers and the map of chunk c of sequence b, and the last label of the sequence."""
    c = tl.program_id(0) % chunks
    b = (tl.program_id(0) // chunks).to(tl.int64)
    n = tl.load(length + b)
    lo, hi, used = chunk(n, c, chunks)
    place = place_of(first, b, T)
    if c == 0:
        fill(labels, place, n, T, first is not None)
    wrong = tl.zeros([Lp], tl.int32)
    if (c < used) & (n > 0):
        back += place * Lp
        made += b * chunks * Lp * Lp
        taken += b * chunks * Lp
        node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
        if index is not None:
            index += b * index_b
        i = tl.arange(0, Lp)
        inf = float("inf")
        begin = tl.load(start + i, i < L, -inf).to(tl.float64)
        end = tl.load(stop + i, i < L, -inf).to(C)
        x = node_row(node, row_of(index, n * 0, True), node_t, L, True, Lp).to(tl.float64)
        wrong = (~((begin < inf) & (end < inf) & (x < inf))).to(tl.int32)
        v = begin + x
        table = table_at(made, 0, Lp * Lp, width, 0, tl.where(c > 0, L, 0), Lp, Q, C)
        offset = tl.load(taken + i, i < tl.where(c > 0, L, 0), 0.0)
        for k in range(0, c):
            step = table.to(tl.float64)
            u = v + offset
            ahead = tl.where(k + 1 < c, L, 0)
            table = table_at(made, k + 1, Lp * Lp, width, 0, ahead, Lp, Q, C)
            offset = tl.load(taken + (k + 1) * Lp + i, i < ahead, 0.0)
            v = tl.max(tl.max(tl.reshape(u, [Q, Lp // Q])[:, :, None] + step, 1), 0)
        high = tl.max(v, 0)
        a = (v - tl.where((high > -inf) & (high < inf), high, 0.0)).to(C)
        a, _, more = sweep(a, lo, hi, node, node_t, index, edge, edge_t, edge_i, shift, back, L,
                           Lp, Q, C, BY_POSITION, 1)  # fmt: skip
        wrong = wrong | more
        if c == used - 1:
            top, y = lowest(a + end, i, Lp)
            tl.store(last + b * (chunks + 1), tl.where(top > -inf, y, -1))
        tl.debug_barrier()
        to = i
        p1 = pointers(back, hi, lo, Lp)
        p2 = pointers(back, hi - 1, lo, Lp)
        p3 = pointers(back, hi - 2, lo, Lp)
        for k in range(0, hi - lo):
            row = p1.to(tl.int32)
            p1, p2 = p2, p3
            p3 = pointers(back, hi - k - 3, lo, Lp)
            to = tl.gather(row, to, 0)
        tl.store(maps + (b * chunks + c) * Lp + i, to.to(tl.uint8))
    tl.store(last + b * (chunks + 1) + 1 + c, tl.max(wrong, 0))


@triton.jit(do_not_specialize=ARGUMENTS)
def finish(
    node, length, first, index, start, edge, stop, labels, back, maps, last, parts,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L, chunks, width,
    Lp: tl.constexpr, Cp: tl.constexpr,
):  # fmt: skip
    """Write the labels of chunk c of sequence b, and its part of the score."""
    c = tl.program_id(0) % chunks
    b = (tl.program_id(0) // chunks).to(tl.int64)
    n = tl.load(length + b)
    lo, hi, used = chunk(n, c, chunks)
    k = tl.arange(0, Cp)
    last += b * (chunks + 1)
    nan = tl.max(tl.load(last + 1 + k, k < chunks, 0), 0) > 0
    value = tl.zeros([], tl.float64)
    if (c < used) & (n > 0):
        y = tl.load(last)
        if nan:
            value += float("nan")
        elif y < 0:
            value += float("-inf")
        else:
            place = place_of(first, b, T)
            back += place * Lp
            node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
            if index is not None:
                index += b * index_b
            y = trace(y, c, used - 1, maps + b * chunks * Lp, Lp, False)
            y = trace(y, lo, hi, back, Lp, True)
            tl.debug_barrier()
            value += write(y, lo, hi, n, place, node, node_t, index, start, edge, edge_t, edge_i,
                           shift, stop, labels, back, Lp)  # fmt: skip
    tl.store(parts + b * chunks + c, value)
