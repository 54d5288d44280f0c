"""Independent draws from the distribution of a chain, from its last place to its first.

Given the label j of place t, that of place t - 1 is i with probability proportional to
exp(alpha(i) + edge(i, j)) (forward filtering, backward sampling; `forward.sums` makes the rows alpha). The
uniform number of (seed, sequence, draw, place) is that of Philox (Salmon et al., 2011), with 53 bits: a draw
does not depend on how many there are nor on how the batch is run. A program makes D draws of one sequence.
"""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide
from crfkit.torch.cuda.kernels.viterbi import ARGUMENTS, place_of, row_of, sequence


@triton.jit
def uniform(seed, b, d, t):
    """Return numbers in [0, 1), one for each draw d."""
    zero = tl.zeros(d.shape, tl.uint32)
    high, low, _, _ = tl.philox(seed, zero + t, d.to(tl.uint32), zero + b.to(tl.uint32), zero)
    return ((high >> 5).to(tl.float64) * 67108864.0 + (low >> 6).to(tl.float64)) / 9007199254740992.0


@triton.jit
def pick(score, u, Lp: tl.constexpr):
    """Return the labels [D] that the numbers u [D] choose by exp(score) [D, Lp]; never one of score -inf."""
    i = tl.arange(0, Lp)[None, :]
    chance = tl.exp(score - tl.max(score, 1)[:, None])
    possible = chance > 0
    beyond = tl.cumsum(chance, 1) > (u * tl.sum(chance, 1))[:, None]
    highest = tl.max(tl.where(possible, i, 0), 1)  # if rounding leaves nothing beyond u
    return tl.minimum(tl.min(tl.where(possible & beyond, i, Lp), 1), highest)


@triton.jit(do_not_specialize=ARGUMENTS)
def draw(
    node, length, first, index, edge, stop, alpha, allowed, seed, labels,
    node_b, node_t, index_b, edge_b, edge_t, edge_i, shift, T, L, draws,
    Lp: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Write D draws of sequence b."""
    groups = (draws + D - 1) // D
    b = (tl.program_id(0) // groups).to(tl.int64)
    d = tl.program_id(0) % groups * D + tl.arange(0, D)
    real = d < draws
    n = tl.load(length + b)
    place = place_of(first, b, T)
    _, edge = sequence(b, place, node, first, edge, node_b, node_t, edge_b, edge_t)
    if index is not None:
        index += b * index_b
    alpha += place * L
    if first is None:
        out = labels + (b * draws + wide(d)) * T
        rows = T
    else:
        out = labels + (place + wide(d) * T)
        rows = n
    for t0 in range(0, rows, 128):
        t = t0 + tl.arange(0, 128)
        nothing = tl.full([D, 128], -1, tl.int64)
        tl.store(out[:, None] + t[None, :], nothing, real[:, None] & (t < rows)[None, :])
    tl.debug_barrier()
    if tl.load(allowed + b) > 0:
        key = tl.load(seed)
        i = tl.arange(0, Lp)
        last = tl.load(alpha + wide(n - 1) * L + i, i < L, float("-inf"))
        last += tl.load(stop + i, i < L, float("-inf")).to(tl.float64)
        y = pick(tl.broadcast_to(last[None, :], [D, Lp]), uniform(key, b, d, n - 1), Lp)
        for k in range(1, n):
            t = n - k
            row = row_of(index, t, True)
            tl.store(out + row, y.to(tl.int64), real)
            a = tl.load(alpha + wide(t - 1) * L + i, i < L, float("-inf"))
            steps = edge + (row - shift) * edge_t + wide(i)[None, :] * edge_i + y[:, None]
            inside = tl.broadcast_to((i < L)[None, :], [D, Lp])
            before = a[None, :] + tl.load(steps, inside, float("-inf")).to(tl.float64)
            y = pick(before, uniform(key, b, d, t - 1), Lp)
        tl.store(out + row_of(index, n * 0, True), y.to(tl.int64), real)
