"""The places that masks keep, and sums over sequences in their order."""

import triton
import triton.language as tl

__all__ = ["kept", "totals"]


@triton.jit(do_not_specialize=["mask", "mask_b", "mask_t", "length", "index", "T"])
def kept(mask, mask_b, mask_t, length, index, T, BLOCK: tl.constexpr):
    """Write how many places of a row the mask keeps, and all places: those that are kept first."""
    b = tl.program_id(0).to(tl.int64)
    mask += b * mask_b
    index += b * T
    lane = tl.arange(0, BLOCK)
    counts = tl.zeros([BLOCK], dtype=tl.int32)
    for begin in range(0, T, BLOCK):
        t = begin + lane
        counts += (tl.load(mask + t * mask_t, mask=t < T, other=0) != 0).to(tl.int32)
    n = tl.sum(counts)
    tl.store(length + b, n)
    seen = 0
    for begin in range(0, T, BLOCK):
        t = begin + lane
        here = (tl.load(mask + t * mask_t, mask=t < T, other=0) != 0).to(tl.int32)
        before = seen + tl.cumsum(here, 0) - here
        tl.store(index + tl.where(here != 0, before, n + t - before), t, mask=t < T)
        seen += tl.sum(here)


@triton.jit(do_not_specialize=["partial", "B", "L", "dedge", "dstart", "dstop", "total"])
def totals(partial, B, L, dedge, dstart, dstop, total, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Add up rows [B, L * L + 2 L + 1] of gradients by edge, start and stop and of values, in their order."""
    width = L * L + 2 * L + 1
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros([ROWS, COLUMNS], dtype=partial.dtype.element_ty)
    for begin in range(0, B, ROWS):
        b = begin + tl.arange(0, ROWS)
        at = partial + b.to(tl.int64)[:, None] * width + column[None, :]
        sums += tl.load(at, mask=(b < B)[:, None] & (column < width)[None, :], other=0.0)
    x = tl.sum(sums, 0)
    tl.store(dedge + column, x.to(dedge.dtype.element_ty), mask=column < L * L)
    ends = column - L * L
    tl.store(dstart + ends, x.to(dstart.dtype.element_ty), mask=(ends >= 0) & (ends < L))
    tl.store(dstop + ends - L, x.to(dstop.dtype.element_ty), mask=(ends >= L) & (ends < 2 * L))
    tl.store(total + ends - 2 * L, x.to(total.dtype.element_ty), mask=ends == 2 * L)
