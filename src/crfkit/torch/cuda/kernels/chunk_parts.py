"""What the passes over chunks share: where chunks and rows lie, and scores as numbers of float64.

A score s enters as exp(s - top) with the largest score of its table or row as top; -inf enters as 0.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import top_of

__all__ = [
    "base_of",
    "chunks_of",
    "first_chunk",
    "place_of",
    "pow2",
    "read",
    "row_weights",
    "sequence_of",
    "table",
    "vector",
    "weights",
]


@triton.jit
def chunks_of(n, S):
    """Return how many chunks a chain has; an empty one has one."""
    return tl.maximum((n + S - 1) // S, 1)


@triton.jit
def first_chunk(b, length, B, K, S, BB: tl.constexpr, PACKED: tl.constexpr):
    """Return the first chunk of a sequence: each has K if padded, and those it needs if packed."""
    if PACKED:
        i = tl.arange(0, BB)
        before = i < tl.minimum(b, B)
        n = tl.load(length + i, mask=before, other=0)
        return tl.sum(tl.where(before, chunks_of(n, S), 0), 0)
    return b * K


@triton.jit
def sequence_of(chunk, length, B, K, S, BB: tl.constexpr, PACKED: tl.constexpr):
    """Return the sequence of a chunk, B or more if there is none."""
    if PACKED:
        i = tl.arange(0, BB)
        n = tl.load(length + i, mask=i < B, other=0)
        ends = tl.cumsum(tl.where(i < B, chunks_of(n, S), 0), 0)
        return tl.sum((ends <= chunk).to(tl.int32), 0)
    return chunk // K


@triton.jit
def place_of(index, t, live, INDEX: tl.constexpr):
    """Return the row of position t within its sequence."""
    if INDEX:
        return tl.load(index + t, mask=live, other=0).to(tl.int64)
    return t + tl.zeros([], tl.int64)


@triton.jit
def base_of(b, first, step, batch, PACKED: tl.constexpr):
    """Return the offset of the first row of a sequence."""
    if PACKED:
        return tl.load(first + b).to(tl.int64) * step
    return b.to(tl.int64) * batch


@triton.jit
def pow2(n):
    """Return 2^n in float64 by its bits; 0 below 2^-1022."""
    n = tl.minimum(tl.maximum(n.to(tl.int64), -1023), 1023)
    return ((n + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def weights(x, WIDE: tl.constexpr):
    """Return exp(x) of float64 numbers x <= 0: to 53 bits, or to the 22 bits of exp2 in float32."""
    if WIDE:
        return tl.exp(x)
    y = x * 1.4426950408889634
    y = tl.where(y < -1100.0, -1100.0, y)  # keeps NaN
    whole = tl.floor(y)
    return tl.exp2((y - whole).to(tl.float32)).to(tl.float64) * pow2(whole.to(tl.int32))


@triton.jit
def row_weights(x, WIDE: tl.constexpr):
    """Return exp(x - top) of one row of scores, and top."""
    top = top_of(tl.max(x, 0))
    return weights(x - top, WIDE), top


@triton.jit
def vector(scores, j, L):
    """Return scores [Lp] of start or stop, -inf behind the last label."""
    return tl.load(scores + j, mask=j < L, other=float("-inf")).to(tl.float64)


@triton.jit
def table(edge, i, j, L):
    """Return scores [Lp, Lp] of edges, -inf behind the last label."""
    inside = (i < L)[:, None] & (j < L)[None, :]
    return tl.load(edge + i[:, None] * L + j[None, :], mask=inside, other=float("-inf")).to(tl.float64)


@triton.jit
def read(node, labels, place, step, label_step, j, L, clamp, live):
    """Return scores [Lp] of the row at a place; with `clamp`, only that of its label if it is known."""
    x = tl.load(node + place * step + j, mask=j < tl.where(live, L, 0), other=float("-inf")).to(tl.float64)
    if clamp:
        y = tl.load(labels + place * label_step, mask=live, other=-1)
        x = tl.where((y >= 0) & (j != y), float("-inf"), x)
    return x
