"""The best labeling of chains of up to 128 labels: Viterbi with the table in registers.

A step is alpha'(j) = max_i (alpha(i) + edge(i, j)) + node(j). What is kept of it in `back` [places, Lp] is
either the lowest i that reaches the maximum (uint8), or alpha' itself: then the way back looks for the
maximum again, of one column only; that is faster with more than 32 labels, where comparisons bound a step.
Rows stay near 0 by taking their maximum off every fourth step: the score is added up in float64 along the
path itself, so no offset is needed for it. A thread owns a column of the table, in Q runs of Lp / Q rows
whose maxima do not wait for each other; rows have a run-time stride, so that the compiler lays the columns
out in this way.

`whole` answers a sequence by one program; few long sequences are answered by chunks (`viterbi_chunks`).
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide

# Every argument of a kernel but its constants (`crfkit.torch.cuda.launch`). Of those that address a chain,
#   node_b, node_t: strides of sequences (0 if packed) and rows; edge_b, edge_t, edge_i: of sequences, rows,
#   and `from` (that of `to` is 1); shift: 1 if entry t of `edge` is the step from row t to row t + 1.
ARGUMENTS = [
    *("node", "length", "first", "index", "start", "edge", "stop"),
    *("node_b", "node_t", "index_b", "edge_b", "edge_t", "edge_i", "shift", "T", "L"),
    *("labels", "score", "back", "alpha", "made", "taken", "maps", "last", "parts", "chunks", "width"),
    *("allowed", "seed", "draws"),
]


@triton.jit
def place_of(first, b, T):
    """Return the number of the first place of sequence b among the places of all sequences."""
    return b * T if first is None else tl.load(first + b).to(tl.int64)


@triton.jit
def sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t):
    """Return where the rows and the steps of sequence b begin."""
    if first is not None:
        node += place * node_t
        edge += place * edge_t
    return node + b * node_b, edge + b * edge_b


@triton.jit
def row_of(index, t, inside):
    """Return the rows of places t of a sequence."""
    return wide(t) if index is None else tl.load(index + t, inside, 0).to(tl.int64)


@triton.jit
def node_row(node, row, node_t, L, inside, Lp: tl.constexpr):
    """Return the scores [Lp] of a row, -inf for labels that there are not and outside of the chain."""
    i = tl.arange(0, Lp)
    return tl.load(node + row * node_t + i, i < tl.where(inside, L, 0), float("-inf"))


@triton.jit
def table_at(edge, row, edge_t, edge_i, shift, L, Lp: tl.constexpr, Q: tl.constexpr, C: tl.constexpr):
    """Return the table [Q, Lp / Q, Lp] of the step into a row."""
    q = tl.arange(0, Q)[:, None, None] * (Lp // Q) + tl.arange(0, Lp // Q)[None, :, None]
    j = tl.arange(0, Lp)[None, None, :]
    at = edge + (row - shift) * edge_t + q * edge_i + j
    return tl.load(at, (q < L) & (j < L), float("-inf")).to(C)


@triton.jit
def lowest(values, i, Lp: tl.constexpr):
    """Return the maximum of a row, and the lowest label that reaches it.

    Integers of 32 bits are compared across a warp by one instruction, so float32 is mapped to them in order.
    """
    if values.dtype == tl.float32:
        key = tl.where(values == 0.0, 0.0, values).to(tl.int32, bitcast=True)
        key = key ^ ((key >> 31) & 0x7FFFFFFF)
        high = tl.max(key, 0)
        y = tl.min(tl.where(key == high, i, Lp - 1), 0)
        top = (high ^ ((high >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    else:
        top = tl.max(values, 0)
        y = tl.min(tl.where(values == top, i, Lp - 1), 0)
    return top, y


@triton.jit
def sweep(
    a, lo, hi, node, node_t, index, edge, edge_t, edge_i, shift, back, L,
    Lp: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, BY_POSITION: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Follow the steps lo + 1, ..., hi from the row a [Lp] of place lo.

    KEEP: 1 for pointers, 2 for rows, 0 for nothing. Returns the row of place hi, what was taken off it, and
    where a score was NaN or +inf (0 or 1, [Lp]).
    """
    i = tl.arange(0, Lp)
    inf = float("inf")
    rows = tl.arange(0, Q)[:, None, None] * (Lp // Q) + tl.arange(0, Lp // Q)[None, :, None]
    table = table_at(edge, row_of(index, lo + 1, lo < hi), edge_t, edge_i, shift,
                     tl.where(lo < hi, L, 0), Lp, Q, C)  # fmt: skip
    wrong = tl.where(tl.max(tl.max((~(table < inf)).to(tl.int32), 1), 0) > 0, 1, 0)
    x1 = node_row(node, row_of(index, lo + 1, lo + 1 <= hi), node_t, L, lo + 1 <= hi, Lp)
    x2 = node_row(node, row_of(index, lo + 2, lo + 2 <= hi), node_t, L, lo + 2 <= hi, Lp)
    x3 = node_row(node, row_of(index, lo + 3, lo + 3 <= hi), node_t, L, lo + 3 <= hi, Lp)
    r4 = row_of(index, lo + 4, lo + 4 <= hi)
    offset = tl.zeros([], tl.float64)
    for t in range(lo + 1, hi + 1):
        x = x1.to(C)
        x1, x2 = x2, x3
        x3 = node_row(node, r4, node_t, L, t + 3 <= hi, Lp)
        r4 = row_of(index, t + 4, t + 4 <= hi)
        wrong = wrong | (~(x < inf)).to(tl.int32)
        step = table
        if BY_POSITION:
            more = t < hi
            table = table_at(edge, row_of(index, t + 1, more), edge_t, edge_i, shift,
                             tl.where(more, L, 0), Lp, Q, C)  # fmt: skip
            wrong = wrong | tl.max(tl.max((~(table < inf)).to(tl.int32), 1), 0)
        before = tl.reshape(a, [Q, Lp // Q])[:, :, None] + step
        top = tl.max(tl.max(before, 1), 0)
        if KEEP == 1:
            pointer = tl.min(tl.min(tl.where(before == top[None, None, :], rows, Lp - 1), 1), 0)
            tl.store(back + wide(t) * Lp + i, pointer.to(tl.uint8))
        a = top + x
        if t % 4 == 0:
            high = tl.max(a, 0)
            high = tl.where((high > -inf) & (high < inf), high, 0.0)
            a = a - high
            offset += high.to(tl.float64)
        if KEEP == 2:
            tl.store(back + wide(t) * Lp + i, a)
    return a, offset, wrong


@triton.jit
def fill(labels, place, n, T, PACKED: tl.constexpr):
    """Write -1 at all rows of a sequence."""
    rows = n if PACKED else T
    for t0 in range(0, rows, 256):
        t = t0 + tl.arange(0, 256)
        tl.store(labels + place + t, tl.full([256], -1, tl.int64), t < rows)


@triton.jit
def pointers(back, t, lo, Lp: tl.constexpr):
    """Return the row of pointers [Lp] of place t, if it lies behind lo."""
    i = tl.arange(0, Lp)
    return tl.load(back + wide(t) * Lp + i, i < tl.where(t > lo, Lp, 0), 0)


@triton.jit
def trace(y, lo, hi, back, Lp: tl.constexpr, KEEP: tl.constexpr):
    """Follow pointers from label y of place hi to place lo; KEEP: write the labels passed over them."""
    i = tl.arange(0, Lp)
    p1 = pointers(back, hi, lo, Lp)
    p2 = pointers(back, hi - 1, lo, Lp)
    p3 = pointers(back, hi - 2, lo, Lp)
    p4 = pointers(back, hi - 3, lo, Lp)
    for k in range(0, hi - lo):
        t = wide(hi - k)
        row = p1.to(tl.int32)
        p1, p2, p3 = p2, p3, p4
        p4 = pointers(back, hi - k - 4, lo, Lp)
        if KEEP:
            tl.store(back + t * Lp, y.to(tl.uint8))
        y = tl.sum(tl.where(i == y, row, 0), 0)
    return y


@triton.jit
def kept_row(rows, t, lo, width, L, Lp: tl.constexpr):
    """Return row t [Lp] of those kept, if it does not lie before lo."""
    i = tl.arange(0, Lp)
    return tl.load(rows + wide(t) * width + i, i < tl.where(t >= lo, L, 0), float("-inf"))


@triton.jit
def trace_rows(y, hi, rows, width, index, edge, edge_t, edge_i, shift, L, Lp: tl.constexpr):
    """Find the labels before label y of place hi by the rows kept; write those of 1, ..., hi over them."""
    i = tl.arange(0, Lp)
    a1 = kept_row(rows, hi - 1, 0, width, L, Lp)
    a2 = kept_row(rows, hi - 2, 0, width, L, Lp)
    a3 = kept_row(rows, hi - 3, 0, width, L, Lp)
    for k in range(0, hi):
        t = hi - k
        a = a1
        a1, a2 = a2, a3
        a3 = kept_row(rows, t - 4, 0, width, L, Lp)
        tl.store(rows + wide(t) * width, y.to(a.dtype))
        step = edge + (row_of(index, t, True) - shift) * edge_t + y
        before = a + tl.load(step + i * edge_i, i < L, float("-inf")).to(a.dtype)
        _, y = lowest(before, i, Lp)
    return y


@triton.jit
def write(
    y, lo, hi, n, place, node, node_t, index, start, edge, edge_t, edge_i, shift, stop, labels, back, width,
):  # fmt: skip
    """Write the traced labels of places lo + 1, ..., hi (and 0 if lo is 0); return their score."""
    total = tl.zeros([128], tl.float64)
    begin = tl.where(lo == 0, 0, lo + 1)
    for t0 in range(begin, hi + 1, 128):
        t = t0 + tl.arange(0, 128)
        inside = t <= hi
        row = row_of(index, t, inside)
        now = tl.load(back + wide(t) * width, inside & (t > lo), 0).to(tl.int64)
        now = tl.where(t == lo, y, now)
        before = tl.load(back + wide(t - 1) * width, inside & (t - 1 > lo), 0).to(tl.int64)
        before = tl.where(t - 1 == lo, y, before)
        tl.store(labels + place + row, now, inside)
        total += tl.load(node + row * node_t + now, inside, 0.0).to(tl.float64)
        step = edge + (row - shift) * edge_t + before * edge_i + now
        total += tl.load(step, inside & (t > 0), 0.0).to(tl.float64)
        total += tl.load(start + now, inside & (t == 0), 0.0).to(tl.float64)
        total += tl.load(stop + now, inside & (t == n - 1), 0.0).to(tl.float64)
    return tl.sum(total, 0)


@triton.jit(do_not_specialize=ARGUMENTS)
def whole(
    node, length, first, index, start, edge, stop, labels, score, back,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L,
    Lp: tl.constexpr, Q: tl.constexpr, C: tl.constexpr, BY_POSITION: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """Answer sequence b, the number of the program."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    place = place_of(first, b, T)
    back += place * Lp
    node, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    fill(labels, place, n, T, first is not None)
    if n == 0:
        tl.store(score + b, tl.zeros([], tl.float64))
    else:
        i = tl.arange(0, Lp)
        inf = float("inf")
        begin = tl.load(start + i, i < L, -inf).to(C)
        end = tl.load(stop + i, i < L, -inf).to(C)
        x = tl.load(node + row_of(index, n * 0, True) * node_t + i, i < L, -inf).to(C)
        if KEEP == 2:
            tl.store(back + i, begin + x)
        a, _, wrong = sweep(begin + x, n * 0, n - 1, node, node_t, index, edge, edge_t, edge_i, shift,
                            back, L, Lp, Q, C, BY_POSITION, KEEP)  # fmt: skip
        wrong = wrong | (~((begin < inf) & (end < inf) & (x < inf))).to(tl.int32)
        top, y = lowest(a + end, i, Lp)
        nan = tl.max(wrong, 0) > 0
        tl.debug_barrier()
        value = tl.where(nan, float("nan"), tl.full([], -inf, tl.float64))
        if (top > -inf) & (~nan):
            if KEEP == 1:
                y = trace(y, n * 0, n - 1, back, Lp, True)
            else:
                y = trace_rows(y, n - 1, back, Lp, index, edge, edge_t, edge_i, shift, L, Lp)
            tl.debug_barrier()
            value = write(y, n * 0, n - 1, n, place, node, node_t, index, start, edge, edge_t, edge_i,
                          shift, stop, labels, back, Lp)  # fmt: skip
        tl.store(score + b, value)
