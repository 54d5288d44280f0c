"""Where a program finds the chain of its sequence, and where it leaves the gradient (`crfkit.torch.rows`)."""

import triton
import triton.language as tl

from crfkit.torch.cuda.kernels.parts import wide

__all__ = ["RUNTIME", "VALUES", "finish", "places", "shift"]

# Arguments whose values must not lead to another compilation: all of them (`crfkit.torch.cuda.launch`).
RUNTIME = (
    "node node_b node_t length first index index_b start edge edge_i edge_j stop labels labels_b labels_t "
    "weight scale_high scale_low T L rows alphas partial value in_logs dnode"
).split()
VALUES = [
    name
    for name in RUNTIME
    if name not in ("weight", "scale_high", "scale_low", "alphas", "partial", "dnode")
]


@triton.jit
def places(index, t, inside):
    """Return where the places t of a chain lie among the rows of its sequence."""
    if index is not None:
        t = tl.load(index + t, mask=inside, other=0)
    return wide(t)


@triton.jit
def shift(b, first, by_sequence, by_row):
    """Return how far the first row of a sequence lies from that of the tensor."""
    if first is not None:
        rows = tl.load(first + b).to(tl.int64) * by_row
    else:
        rows = b * by_sequence
    return rows


@triton.jit
def finish(
    rows, dnode, index, base, n, T, L,
    PADDED: tl.constexpr, BLOCK: tl.constexpr, LP: tl.constexpr,
):  # fmt: skip
    """Bring the gradient to the rows of `node`, and zeros to those that are in no chain."""
    if dnode is not None:
        label = tl.arange(0, LP)[None, :]
        dnode += base * L
        for begin in range(0, T if PADDED else n, BLOCK):
            t = begin + tl.arange(0, BLOCK)
            end = T if PADDED else n
            place = places(index, t, t < end)[:, None]
            x = tl.load(rows + wide(t)[:, None] * L + label, mask=(t < n)[:, None] & (label < L), other=0.0)
            tl.store(
                dnode + place * L + label, x.to(dnode.dtype.element_ty), mask=(t < end)[:, None] & (label < L)
            )
    elif PADDED:
        for begin in range(n * L, T * L, BLOCK * LP):
            cell = begin + tl.arange(0, BLOCK * LP)
            tl.store(rows + cell, tl.zeros([BLOCK * LP], dtype=rows.dtype.element_ty), mask=cell < T * L)
