"""What the kernels of sums share: tops of rows, powers of two, the rule of safety, logarithms of sums.

Rows are kept as probabilities scaled by powers of two, which is exact; exponents are added up as integers.
"""

import triton
import triton.language as tl

__all__ = ["LN2", "both", "divided", "floor_of", "log_of", "power_below", "top_of", "wide"]

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def both(high, low):
    """Return a number of float64 from its two halves (`crfkit.torch.cuda.launch.halves`)."""
    return tl.cast(high, tl.float64) + tl.cast(low, tl.float64)


@triton.jit
def top_of(x):
    """Return the larger of row maxima and what exp can take: 0 where all is -inf."""
    return tl.where(x == float("-inf"), 0.0, x)


@triton.jit
def power_below(x):
    """Return 2^-k and k for x from 2^k to 2^(k + 1), float32 or float64; any power for 0 or NaN."""
    if x.dtype == tl.float64:
        k = ((x.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
        k = tl.where(x > 0.0, tl.minimum(k, 1022), 0)
        scale = ((1023 - k).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    else:
        k = ((x.to(tl.int32, bitcast=True) >> 23) & 255) - 127
        k = tl.where(x > 0.0, tl.minimum(k, 126), 0)
        scale = ((127 - k) << 23).to(tl.float32, bitcast=True)
    return scale, k


@triton.jit
def floor_of(C: tl.constexpr):
    """Return how large m m' c must be for sums in C to be right: the smallest normal number times 2^36.

    What vanishes in a step is at most L times the smallest number, against the maximum m of the new row
    before it is scaled (m': of the backward sweep); it changes an answer by at most 1 / c of that, where c
    is sum_j alpha(j) beta(j) with both maxima about 1.
    """
    if C == tl.float64:
        floor = 2.0**-986
    else:
        floor = 2.0**-90
    return floor


@triton.jit
def log_of(x):
    """Return log x in float64: -inf for 0."""
    x = x.to(tl.float64)
    special = tl.where(x == 0.0, float("-inf"), x)
    return tl.where(x > 0.0, tl.log(tl.where(x > 0.0, x, 1.0)), special)


@triton.jit
def divided(x, total):
    """Return x / total, 0 where the total is 0."""
    return tl.where(total == 0.0, 0.0, x / tl.where(total == 0.0, 1.0, total))


@triton.jit
def wide(number):
    """Return an integer of 64 bits: rows may lie further away than 32 bits can say."""
    return tl.full((), 0, tl.int64) + number
