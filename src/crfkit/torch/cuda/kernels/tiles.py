"""Tables [L, L] of up to 64 labels in the registers of a program, as tiles of four axes.

Cell (i, j) lies at [i // R, j // S, i % R, j % S]: the first two axes are the lanes (P Q = 32 for each warp),
the last two are registers. A sum over i is a sum within a lane and one over P lanes; its result, along j, is
what a step with the transposed table takes: two steps in turn need no exchange between lanes beyond the sums.
Vectors along i have the shape [P, 1, R, 1], vectors along j [1, Q, 1, S]; P R = Q S = the padded L. Where a
sweep loads them, they are spread over all lanes (`lanes_i`, `lanes_j`).
"""

import triton
import triton.language as tl

__all__ = [
    "along_i",
    "along_j",
    "lanes_i",
    "lanes_j",
    "max_i",
    "max_j",
    "sum_i",
    "sum_j",
    "to_i",
    "to_j",
    "transposed",
]


@triton.jit
def along_i(P: tl.constexpr, R: tl.constexpr):
    """Return the labels along i [P, 1, R, 1]."""
    return tl.arange(0, P)[:, None, None, None] * R + tl.arange(0, R)[None, None, :, None]


@triton.jit
def along_j(Q: tl.constexpr, S: tl.constexpr):
    """Return the labels along j [1, Q, 1, S]."""
    return tl.arange(0, Q)[None, :, None, None] * S + tl.arange(0, S)[None, None, None, :]


@triton.jit
def lanes_i(one, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr):
    """Return the labels along i in all lanes [P, Q, R, 1].

    `one` is 1, but known at run time only: otherwise the compiler lays these loads out by their addresses,
    and the tables after them, so that one of the two sums goes over all lanes (165 shuffles, not 37).
    """
    return tl.broadcast_to(along_i(P, R) * one, [P, Q, R, 1])


@triton.jit
def lanes_j(one, P: tl.constexpr, Q: tl.constexpr, S: tl.constexpr):
    """Return the labels along j in all lanes [P, Q, 1, S]; see `lanes_i`."""
    return tl.broadcast_to(along_j(Q, S) * one, [P, Q, 1, S])


@triton.jit
def sum_i(x):
    """Return the sum over i."""
    return tl.sum(tl.sum(x, 2, keep_dims=True), 0, keep_dims=True)


@triton.jit
def sum_j(x):
    """Return the sum over j."""
    return tl.sum(tl.sum(x, 3, keep_dims=True), 1, keep_dims=True)


@triton.jit
def max_i(x):
    """Return the maximum over i."""
    return tl.max(tl.max(x, 2, keep_dims=True), 0, keep_dims=True)


@triton.jit
def max_j(x):
    """Return the maximum over j."""
    return tl.max(tl.max(x, 3, keep_dims=True), 1, keep_dims=True)


@triton.jit
def to_i(x, P: tl.constexpr, R: tl.constexpr):
    """Return a vector along j as one along i."""
    return tl.reshape(tl.reshape(x, [P * R]), [P, 1, R, 1])


@triton.jit
def to_j(x, Q: tl.constexpr, S: tl.constexpr):
    """Return a vector along i as one along j."""
    return tl.reshape(tl.reshape(x, [Q * S]), [1, Q, 1, S])


@triton.jit
def transposed(x, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr, S: tl.constexpr):
    """Return the tile with i and j exchanged."""
    table = tl.reshape(tl.permute(x, (0, 2, 1, 3)), [P * R, Q * S])
    return tl.permute(tl.reshape(tl.trans(table), [P, R, Q, S]), (0, 2, 1, 3))
