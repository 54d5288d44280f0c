"""Marginals and gradients out of the rows of both sweeps (`streamed`, `wide`).

With f scaled to a maximum of about 1 and c_t = sum_j f_t(j) r_t(j), where r_t = E g_{t+1} is the backward
row: the marginals of place t are f_t r_t / c_t, and those of the step from t to t + 1 are
f_t(i) E(i, j) g_{t+1}(j) / c_t. The latter are summed over all places as a product of matrices,
[L, places] x [places, L], by E at the end. Pass 1, over chains with unknown labels, is subtracted.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.streamed import exponential, first_row, place, scores, swept, two_to


@triton.jit
def _finite(x):
    return (x > float("-inf")) & (x < float("inf"))


@triton.jit(do_not_specialize=["sb", "st", "T", "lb", "lt", "gb", "gt", "places", "B"])
def combine(
    node, sb, st, length, first, index, T, labels, lb, lt, partial, weights, value, in_logs, losses, tops,
    rows, logs, exponents, places, out, gb, gt, ends, L, LS, B,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, GRAD: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Write losses; gradients of weight * loss (or of weight * log Z) by rows and by ends [2, B, L].

    In place of f_t and r_t come f_t * weight / c_t and g_t (or the logarithms of f_t and g_t) for `edges`.
    """
    b = tl.program_id(0).to(tl.int64)
    n = tl.load(length + b)
    logz = tl.load(value + b)
    if PASSES == 2:
        if tl.program_id(1) == 0:
            gold = tl.load(value + B + b)
            tl.store(losses + b, tl.where(gold == float("-inf"), float("inf"), logz - gold))
    if GRAD:
        j = tl.arange(0, LP)
        base = first_row(b, first, T, FORM)
        LW = LS * (2 if tl.float32 == C else 1)
        if n == 0:
            tl.store(ends + b * L + j, tl.zeros([LP], C), mask=j < L)
            tl.store(ends + (B + b) * L + j, tl.zeros([LP], C), mask=j < L)
        for t in range(tl.program_id(1), n, tl.num_programs(1)):
            outer, row = place(b, t, first, index, T, FORM)
            label = labels + outer * lb + row * lt
            q = tl.zeros([LP], C)
            for z in range(PASSES):
                if swept(b, z, length, partial, PASSES) > 0:
                    w = tl.load(weights + b) * (1 - 2 * z)
                    x = scores(node + outer * sb + row * st, j, L, label, z, PASSES, tl.float64)
                    front = z * 2 * places.to(tl.int64) + base + t
                    if tl.load(in_logs + z * B + b) == 0:
                        at = rows + front * LW + j
                        to = at + places.to(tl.int64) * LW
                        f = tl.load(at, mask=j < L, other=0.0) * two_to(-tl.load(exponents + front), C)
                        r = tl.load(to, mask=j < L, other=0.0)
                        f = f * (w.to(C) / tl.sum(f * r, 0))
                        q += f * r
                        g = r * exponential(x.to(C) - tl.load(tops + z * places + base + t))
                        tl.store(at, f, mask=j < L)
                        tl.store(to, g * two_to(-tl.load(exponents + places + front), C), mask=j < L)
                    else:
                        log_f = logs + front * LS + j
                        log_g = log_f + places.to(tl.int64) * LS
                        before = tl.load(log_f, mask=j < L, other=float("-inf")) + x
                        after = tl.load(log_g, mask=j < L, other=float("-inf"))
                        q += (w * tl.exp(before + after - tl.load(value + z * B + b))).to(C)
                        tl.store(log_f, before, mask=j < L)
                        tl.store(log_g, after + x, mask=j < L)
            if PASSES == 2:
                known = tl.load(partial + b) == 0
                q = tl.where((j == tl.load(label)) & known, q - tl.load(weights + b).to(C), q)
            q = tl.where(_finite(logz), q, 0.0)
            tl.store(out + outer * gb + row * gt + j, q.to(out.dtype.element_ty), mask=j < L)
            tl.store(ends + b * L + j, q, mask=j < tl.where(t == 0, L, 0))
            tl.store(ends + (B + b) * L + j, q, mask=j < tl.where(t == n - 1, L, 0))


@triton.jit(do_not_specialize=["T", "se", "te", "lb", "lt", "places", "B"])
def edges(
    length, first, index, T, edge, se, te, labels, lb, lt, partial, weights, value, in_logs,
    table, rows, logs, places, out, L, LS, B,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr,
    BT: tl.constexpr, BI: tl.constexpr, BJ: tl.constexpr,
):  # fmt: skip
    """Write the gradient of edges of a range of chains, one block of it: [ranges, L, L], to be summed."""
    blocks = tl.cdiv(L, BJ)
    i = (tl.program_id(0) // blocks) * BI + tl.arange(0, BI)
    j = (tl.program_id(0) % blocks) * BJ + tl.arange(0, BJ)
    share = tl.cdiv(B, tl.num_programs(1))
    low = tl.program_id(1) * share
    inside = (i < L)[:, None] & (j < L)[None, :]
    LW = LS * (2 if tl.float32 == C else 1)
    side = places.to(tl.int64)
    total = tl.zeros([BI, BJ], C)  # by E
    apart = tl.zeros([BI, BJ], C)
    for number in range(low * PASSES, tl.minimum(low + share, B) * PASSES):
        b = side * 0 + number // PASSES
        z = number % PASSES
        n = swept(b, z, length, partial, PASSES)
        base = first_row(b, first, T, FORM)
        front = z * 2 * side + base
        failed = tl.load(in_logs + z * B + b) != 0
        logz = tl.load(value + z * B + b)
        n = tl.where(_finite(logz) & _finite(tl.load(value + b)), n, 0)
        for t0 in range(1, tl.where(failed, 0, n), BT):
            t = t0 + tl.arange(0, BT)
            late = t >= n
            at = rows + (front + t - 1)[None, :] * LW + i[:, None]
            a = tl.load(at, mask=(i < L)[:, None] & (late == 0)[None, :], other=0.0)
            at = rows + (front + side + t)[:, None] * LW + j[None, :]
            g = tl.load(at, mask=(late == 0)[:, None] & (j < L)[None, :], other=0.0)
            if tl.float64 == C:
                total += tl.sum(tl.trans(a)[:, :, None] * g[:, None, :], 0)
            else:
                total = tl.dot(a, g, total, input_precision="tf32x3")
        if PASSES == 2:
            if (z == 0) & (tl.load(partial + b) == 0):
                counts = tl.zeros([BI, BJ], tl.float32)
                for t0 in range(1, n, 64):
                    t = t0 + tl.arange(0, 64)
                    late = t >= n
                    t = tl.minimum(t, n - 1)
                    outer, row = place(b, t - 1, first, index, T, FORM)
                    x = tl.load(labels + outer * lb + row * lt)
                    outer, row = place(b, t, first, index, T, FORM)
                    y = tl.where(late, -1, tl.load(labels + outer * lb + row * lt))
                    of_x = (i[:, None] == x[None, :]).to(tl.float16)
                    counts = tl.dot(of_x, (y[:, None] == j[None, :]).to(tl.float16), counts)
                apart -= counts.to(C) * tl.load(weights + b).to(C)
    e = tl.load(table + i[:, None] * LS + j[None, :], mask=inside, other=0.0)
    at = out + tl.program_id(1).to(tl.int64) * L * L + i.to(tl.int64)[:, None] * L + j[None, :]
    tl.store(at, total * e + apart, mask=inside)
    # Chains in log space come after the others, so that these have all registers.
    for number in range(low * PASSES, tl.minimum(low + share, B) * PASSES):
        b = side * 0 + number // PASSES
        z = number % PASSES
        logz = tl.load(value + z * B + b)
        n = swept(b, z, length, partial, PASSES) * tl.load(in_logs + z * B + b).to(tl.int32)
        n = tl.where(_finite(logz) & _finite(tl.load(value + b)), n, 0)
        if n > 1:
            front = z * 2 * side + first_row(b, first, T, FORM)
            w = tl.load(weights + b) * (1 - 2 * z)
            cells = edge + i.to(tl.int64)[:, None] * se + j.to(tl.int64)[None, :] * te
            x = tl.load(cells, mask=inside, other=float("-inf")).to(tl.float64) - logz
            sums = tl.zeros([BI, BJ], C)
            for t in range(1, n):
                a = tl.load(logs + (front + t - 1) * LS + i, mask=i < L, other=float("-inf"))
                g = tl.load(logs + (front + side + t) * LS + j, mask=j < L, other=float("-inf"))
                sums += tl.exp(a[:, None] + x + g[None, :]).to(C)
            tl.debug_barrier()
            tl.store(at, tl.load(at, mask=inside, other=0.0) + sums * w.to(C), mask=inside)
