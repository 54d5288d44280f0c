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

from crfkit.torch.cuda.kernels.parts import power_below


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
def allowed(x, j, label):
    """Return scores, those of other labels than a known one forbidden; NaN and inf stay, to be seen."""
    return tl.where((label < 0) | (j == label) | (x != x) | (x == float("inf")), x, float("-inf"))


@triton.jit
def scores(node, j, L, labels, z, PASSES: tl.constexpr, C: tl.constexpr):
    """Return a row of scores, -inf beyond L; in pass 1 only the label that is known, if it is."""
    x = tl.load(node + j, mask=j < L, other=float("-inf")).to(C)
    if PASSES == 2:
        if z == 1:
            x = allowed(x, j, tl.load(labels))
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


@triton.jit
def swept(b, z, length, partial, PASSES: tl.constexpr):
    """Return how many places pass z sweeps: pass 1 is for chains with unknown labels."""
    n = tl.load(length + b)
    if PASSES == 2:
        n = tl.where((z == 0) | (tl.load(partial + b) != 0), n, 0)
    return n


@triton.jit
def ahead(
    i, b, back, n, j, L, node, sb, st, first, index, T, labels, lb, lt, tops, base, z,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return scores and top of step i, loaded a step before they are used: -inf and 0 behind the last."""
    x = tl.full(j.shape, float("-inf"), C)
    top = tl.full([], 0.0, C)
    if i < n:
        t = i + back * (n - 1 - 2 * i)
        outer, row = place(b, t, first, index, T, FORM)
        x = scores(node + outer * sb + row * st, j, L, labels + outer * lb + row * lt, z, PASSES, C)
        top = tl.load(tops + base + t)
    return x, top


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt", "near", "since", "places", "B"])
def sweep(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, tops,
    table, begin, rows, exponents, places, exchange, L, LR, LS, B, near, since,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, LP: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Write f_t and the backward r_t, rows [passes, 2, places, LW], and exponents [passes, 2, places]."""
    b = tl.program_id(0).to(tl.int64)
    back = tl.program_id(1)
    z = tl.program_id(2) + since
    n = swept(b, z, length, partial, PASSES)
    j = tl.arange(0, LP)
    k = tl.arange(0, BK)
    base = first_row(b, first, T, FORM)
    table += back * LR.to(tl.int64) * LS
    side = (z * 2 + back) * places.to(tl.int64)
    rows += side * (LS * (2 if tl.float32 == C else 1))  # rows have room for float64
    exponents += side
    tops += z * places
    exchange += ((z * B + b) * 2 + back) * 2 * LR
    cells = table + k[:, None] * LS + j[None, :]
    r = tl.load(begin + back * LS + j, mask=j < L, other=0.0)
    scale = tl.full([], 1.0, C)
    x, top = ahead(
        0, b, back, n, j, L, node, sb, st, first, index, T, labels, lb, lt, tops, base, z, PASSES, FORM, C
    )  # fmt: skip
    for i in range(0, n):
        t = i + back * (n - 1 - 2 * i)
        w = exponential(x - top)
        x, top = ahead(
            i + 1, b, back, n, j, L, node, sb, st, first, index, T, labels, lb, lt, tops, base, z,
            PASSES, FORM, C,
        )  # fmt: skip
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
        to = rows + (base + t) * (LS * (2 if tl.float32 == C else 1))
        tl.store(to + j, tl.where(back == 1, r, f), mask=j < L)
        scale, power = power_below(tl.max(f, 0))
        tl.store(exponents + base + t, power)
        tl.debug_barrier()
