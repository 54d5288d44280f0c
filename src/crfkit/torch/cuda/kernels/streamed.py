"""Sweeps over chains of many labels: one program for each sequence and direction, the table streamed.

Both directions are one recursion. With E = exp(edge - top) and W_t = exp(node_t - top_t), row vectors

    r_0 = exp(start - top),  r_t = 2^-n (f_{t-1} E),   f_t = r_t * W_t  (forward; n = exponent of max f_{t-1})
    r_0 = exp(stop - top),   r_t = 2^-n (g_{t+1} E'),  g_t = r_t * W_t  (backward, from the last place)

so the two run beside each other, and T steps are waited for instead of 2 T. Kept are f_t and the backward
r_t; `credits` makes marginals of them. A program has the whole row; it reads the table at every step, as many
of its rows as fit from the first cache and the others past it.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import power_below, top_of


@triton.jit
def place(b, t, first, index, T, FORM: tl.constexpr):
    """Return where place t of chain b lies: [b, row] of padded tensors (FORM 0, 1), [0, row] of packed."""
    outer = b * (0 if FORM == 2 else 1)
    row = b * 0 + t
    if FORM == 1:
        row = tl.load(index + b * T + t).to(tl.int64)
    if FORM == 2:
        row += tl.load(first + b)
    return outer, row


@triton.jit
def first_row(b, first, T, FORM: tl.constexpr):
    """Return where the rows of chain b begin in arrays over places."""
    row = b * T
    if FORM == 2:
        row = tl.load(first + b)
    return row


@triton.jit
def allowed(x, j, label, CLAMP: tl.constexpr):
    """Return scores, those of other labels than a known one forbidden; NaN and inf stay, to be seen."""
    if CLAMP:
        x = tl.where((label < 0) | (j == label) | (x != x) | (x == float("inf")), x, float("-inf"))
    return x


@triton.jit
def exponential(x):
    """Return e^x; in float32 with what x * log2(e) is rounded by, which `exp` there would lose."""
    if x.dtype == tl.float64:
        value = tl.exp(x)
    else:
        y = x * 1.4426950408889634
        low = tl.fma(x, 1.4426950408889634, -y) + x * 1.925963033500512e-08
        value = tl.where(x > -150.0, tl.exp2(y) * (1.0 + low * 0.6931471805599453), x * 0.0)
        value = tl.where(x == float("-inf"), 0.0, value)
    return value


@triton.jit
def two_to(n, C: tl.constexpr):
    """Return 2^n for the exponent of a normal number."""
    if tl.float64 == C:
        value = ((n + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    else:
        value = ((n + 127) << 23).to(tl.float32, bitcast=True)
    return value


@triton.jit(do_not_specialize=["se", "te"])
def tables(
    edge, se, te, start, stop, highest, table, begin, offsets, L, LR, LS, C: tl.constexpr, BLOCK: tl.constexpr
):
    """Write exp(edge - top) and its transpose [2, LR, LS], 0 beyond L; ends likewise [2, LS]; tops [3]."""
    top = top_of(tl.load(highest).to(tl.float64))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < L)[:, None] & (j < L)[None, :]
    x = tl.load(
        edge + i.to(tl.int64)[:, None] * se + j.to(tl.int64)[None, :] * te, mask=inside, other=float("-inf")
    )
    x = tl.exp(x.to(tl.float64) - top).to(C)
    size = LR.to(tl.int64) * LS
    tl.store(table + i[:, None] * LS + j[None, :], x, mask=(i < LR)[:, None] & (j < LS)[None, :])
    tl.store(table + size + j[None, :] * LS + i[:, None], x, mask=(i < LS)[:, None] & (j < LR)[None, :])
    if (tl.program_id(0) == 0) & (tl.program_id(1) == 0):
        tl.store(offsets, top)
        for side in range(2):
            high = tl.full([], float("-inf"), tl.float64)
            for k in range(0, L, BLOCK):
                at = k + tl.arange(0, BLOCK)
                a = tl.load(start + at, mask=(at < L) & (side == 0), other=float("-inf"))
                z = tl.load(stop + at, mask=(at < L) & (side == 1), other=float("-inf"))
                high = tl.maximum(high, tl.max(tl.maximum(a, z), 0).to(tl.float64))
            high = top_of(high)
            tl.store(offsets + 1 + side, high)
            for k in range(0, L, BLOCK):
                at = k + tl.arange(0, BLOCK)
                a = tl.load(start + at, mask=(at < L) & (side == 0), other=0.0)
                z = tl.load(stop + at, mask=(at < L) & (side == 1), other=0.0)
                tl.store(begin + side * LS + at, tl.exp((a + z).to(tl.float64) - high).to(C), mask=at < L)


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt"])
def row_tops(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, tops, L,
    FORM: tl.constexpr, C: tl.constexpr, CLAMP: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Write the highest score of each place, 0 where all are -inf."""
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    if CLAMP:
        n = tl.where(tl.load(partial + b) != 0, n, 0)
    j = tl.arange(0, LP)
    base = first_row(b, first, T, FORM)
    for t in range(tl.program_id(1), n, tl.num_programs(1)):
        outer, row = place(b, t, first, index, T, FORM)
        x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(C)
        if CLAMP:
            x = allowed(x, j, tl.load(labels + outer * lb + row * lt), CLAMP)
        tl.store(tops + base + t, top_of(tl.max(x, 0)))


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt", "near", "places"])
def sweep(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, tops,
    table, begin, rows, exponents, places, exchange, L, LR, LS, near,
    FORM: tl.constexpr, C: tl.constexpr, CLAMP: tl.constexpr, LP: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Write f_t and the backward r_t, rows [2, places, LW], and the exponents [2, places] of the maxima."""
    b = tl.program_id(0).to(tl.int64)
    back = tl.program_id(1)
    n = tl.load(length + b)
    if CLAMP:
        n = tl.where(tl.load(partial + b) != 0, n, 0)
    j = tl.arange(0, LP)
    k = tl.arange(0, BK)
    base = first_row(b, first, T, FORM)
    table += back * LR.to(tl.int64) * LS
    LW = LS * (2 if tl.float32 == C else 1)  # rows have room for float64
    rows += places.to(tl.int64) * back * LW
    exponents += back * places
    exchange += (b * 2 + back) * 2 * LR
    cells = table + k[:, None] * LS + j[None, :]
    r = tl.load(begin + back * LS + j, mask=j < L, other=0.0)
    scale = tl.full([], 1.0, C)
    for i in range(0, n):
        t = i + back * (n - 1 - 2 * i)
        outer, row = place(b, t, first, index, T, FORM)
        x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(C)
        if CLAMP:
            x = allowed(x, j, tl.load(labels + outer * lb + row * lt), CLAMP)
        w = exponential(x - tl.load(tops + base + t))
        if i > 0:
            before = exchange + ((i - 1) % 2) * LR + k
            sums = tl.zeros([BK, LP], C)
            for k0 in range(0, near, BK):
                a = tl.load(before + k0, mask=k0 + k < L, other=0.0) * scale
                e = tl.load(cells + k0 * LS, mask=j[None, :] < LS, other=0.0, cache_modifier=".ca")
                sums += a[:, None] * e
            for k0 in range(near, L, BK):
                a = tl.load(before + k0, mask=k0 + k < L, other=0.0) * scale
                e = tl.load(cells + k0 * LS, mask=j[None, :] < LS, other=0.0, cache_modifier=".cg")
                sums += a[:, None] * e
            r = tl.sum(sums, 0)
        f = r * w
        tl.store(exchange + (i % 2) * LR + j, f, mask=j < L)
        tl.store(rows + (base + t) * LW + j, tl.where(back == 1, r, f), mask=j < L)
        scale, power = power_below(tl.max(f, 0))
        tl.store(exponents + base + t, power)
        tl.debug_barrier()
