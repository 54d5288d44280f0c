"""What the sweeps of `streamed` and `wide` need before they start, in one launch: tables, tops of rows, gold.

The first programs write tables; the others have a share of the places of one chain each, and the first of a
chain its gold score.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import top_of
from crfkit.torch.cuda.kernels.streamed import allowed, first_row, place


@triton.jit
def _ends(start, stop, begin, offsets, L, LS, BLOCK: tl.constexpr, C: tl.constexpr):
    """Write exp(start - top) and exp(stop - top) [2, LS], and both tops."""
    for side in range(2):
        high = tl.full([], float("-inf"), tl.float64)
        for k in range(0, L, BLOCK):
            at = k + tl.arange(0, BLOCK)
            x = tl.load(start + at, mask=at < L, other=float("-inf"))
            y = tl.load(stop + at, mask=at < L, other=float("-inf"))
            high = tl.maximum(high, tl.max(tl.where(side == 0, x, y), 0).to(tl.float64))
        high = top_of(high)
        tl.store(offsets + 1 + side, high)
        for k in range(0, L, BLOCK):
            at = k + tl.arange(0, BLOCK)
            x = tl.load(start + at, mask=at < L, other=0.0)
            y = tl.load(stop + at, mask=at < L, other=0.0)
            value = tl.exp(tl.where(side == 0, x, y).to(tl.float64) - high)
            tl.store(begin + side * LS + at, value.to(C), mask=at < L)


@triton.jit
def _tables(
    number, blocks, edge, se, te, highest, table, start, stop, begin, offsets, L, LR, LS,
    BLOCK: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write a block of exp(edge - top) and of its transpose."""
    top = top_of(tl.load(highest).to(tl.float64))
    i = (number // blocks) * BLOCK + tl.arange(0, BLOCK)
    j = (number % blocks) * BLOCK + tl.arange(0, BLOCK)
    at = edge + i.to(tl.int64)[:, None] * se + j.to(tl.int64)[None, :] * te
    x = tl.load(at, mask=(i < L)[:, None] & (j < L)[None, :], other=float("-inf"))
    x = tl.exp(x.to(tl.float64) - top).to(C)
    tl.store(table + i[:, None] * LS + j[None, :], x, mask=(i < LR)[:, None] & (j < LS)[None, :])
    size = LR.to(tl.int64) * LS
    tl.store(table + size + j[None, :] * LS + i[:, None], x, mask=(i < LS)[:, None] & (j < LR)[None, :])
    if number == 0:
        tl.store(offsets, top)
        _ends(start, stop, begin, offsets, L, LS, BLOCK, C)


@triton.jit
def _tops(
    b, number, n, share, node, sb, st, first, index, T, labels, lb, lt, tops, places, L,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Write the highest scores of a share of the places of a chain."""
    j = tl.arange(0, LP)
    base = first_row(b, first, T, FORM)
    for t in range(number, n, share):
        outer, row = place(b, t, first, index, T, FORM)
        x = tl.load(node + outer * sb + row * st + j, mask=j < L, other=float("-inf")).to(C)
        tl.store(tops + base + t, top_of(tl.max(x, 0)))
        if PASSES == 2:
            x = allowed(x, j, tl.load(labels + outer * lb + row * lt))
            tl.store(tops + places + base + t, top_of(tl.max(x, 0)))


@triton.jit
def _gold(
    b, n, node, sb, st, first, index, T, start, edge, se, te, stop, labels, lb, lt,
    weight, score, partial, weights, L, FORM: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """Write the score of the labels of a chain, whether some are unknown, and its weight.

    The weight is 0 where the labeling is forbidden or not a number: such a chain has no gradient.
    """
    total = tl.full([], 0.0, tl.float64)
    unknown = tl.full([], 0, tl.int32)
    for t0 in range(0, n, BT):
        t = t0 + tl.arange(0, BT)
        known = t < n
        t = tl.minimum(t, n - 1)
        outer, row = place(b, t, first, index, T, FORM)
        y = tl.load(labels + outer * lb + row * lt)
        unknown += tl.sum((known & (y < 0)).to(tl.int32), 0)
        known &= (y >= 0) & (y < L)
        total += tl.sum(tl.load(node + outer * sb + row * st + y, mask=known, other=0.0).to(tl.float64), 0)
        total += tl.sum(tl.load(start + y, mask=known & (t == 0), other=0.0).to(tl.float64), 0)
        total += tl.sum(tl.load(stop + y, mask=known & (t == n - 1), other=0.0).to(tl.float64), 0)
        outer, row = place(b, tl.maximum(t - 1, 0), first, index, T, FORM)
        x = tl.load(labels + outer * lb + row * lt)
        known &= (t > 0) & (x >= 0) & (x < L)
        total += tl.sum(tl.load(edge + x * se + y * te, mask=known, other=0.0).to(tl.float64), 0)
    possible = (unknown > 0) | ((total > float("-inf")) & (total < float("inf")))
    tl.store(score + b, total)
    tl.store(partial + b, (unknown > 0).to(tl.uint8))
    tl.store(weights + b, tl.where(possible, tl.load(weight + b), 0.0))


@triton.jit(do_not_specialize=["sb", "st", "T", "se", "te", "lb", "lt", "places", "share"])
def prologue(
    node, sb, st, length, first, index, T, start, edge, se, te, stop, labels, lb, lt,
    highest, table, begin, offsets, tops, places, weight, score, partial, weights, share, L, LR, LS,
    PASSES: tl.constexpr, FORM: tl.constexpr, C: tl.constexpr, LP: tl.constexpr, BLOCK: tl.constexpr,
    BT: tl.constexpr,
):  # fmt: skip
    """Write exp(edge - top) and its transpose [2, LR, LS], 0 beyond L; ends [2, LS]; offsets [3]; tops; gold.

    Tops [passes, places] are the highest scores of places, 0 where all are -inf; in pass 1 those of labels.
    """
    blocks = tl.cdiv(LR, BLOCK)
    number = tl.program_id(0)
    if number < blocks * blocks:
        _tables(
            number, blocks, edge, se, te, highest, table, start, stop, begin, offsets, L, LR, LS, BLOCK, C
        )  # fmt: skip
    else:
        number -= blocks * blocks
        b = (number // share).to(tl.int64)
        n = tl.load(length + b)
        _tops(
            b, number % share, n, share, node, sb, st, first, index, T, labels, lb, lt, tops, places, L,
            PASSES, FORM, C, LP,
        )  # fmt: skip
        if PASSES == 2:
            if number % share == 0:
                _gold(
                    b, n, node, sb, st, first, index, T, start, edge, se, te, stop, labels, lb, lt,
                    weight, score, partial, weights, L, FORM, BT,
                )  # fmt: skip
