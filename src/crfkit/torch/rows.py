"""Where the rows of scores of a batch of sequences lie in a tensor.

Every batch has ``node, length, first, kept``:

- padded, ``node [B, T, L]``: position n of sequence b is row ``node[b, n]``, for n < ``length[b]``;
- padded, with ``kept [B, T]``: it is row ``node[b, kept[b, n]]``, so that masks may have holes;
- packed, ``node [P, L]`` with ``first [B]``: it is row ``node[first[b] + n]``.

Nothing is copied: kernels address rows, by whatever strides the tensor has. The functions here bring rows
into the order of chains and back, for the reference in plain torch.
"""

from __future__ import annotations

from importlib import import_module

import torch
from torch import Tensor

from crfkit.torch.batches import Placed

__all__ = ["in_chain", "kept", "padded_rows", "positions", "scattered", "traced"]


def traced() -> bool:
    """Tell whether a graph is being made that will run on other values: compiled, exported or traced."""
    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def kept(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return lengths [B] int32 and the positions [B, T] int32 that a mask [B, T] keeps, in order.

    Examples
    --------
    >>> kept(torch.tensor([[False, True, False, True]]))
    (tensor([2], dtype=torch.int32), tensor([[1, 3, 0, 2]], dtype=torch.int32))
    """
    if mask.is_cuda and not traced():
        found: tuple[Tensor, Tensor] = import_module("crfkit.torch.cuda.compact").kept(mask)
        return found
    place = torch.arange(mask.shape[1], dtype=torch.int32, device=mask.device).expand(mask.shape)
    seen, length = mask.cumsum(1), mask.sum(1)  # seen: kept up to each place, itself included
    rank = torch.where(mask, seen - 1, length[:, None] + place - seen)  # no sort: ONNX has no stable one
    return length.to(torch.int32), torch.zeros_like(rank, dtype=torch.int32).scatter(1, rank, place)


def positions(node: Tensor, at: Placed) -> Tensor:
    """Return the row [B, T] int64 of each place of each chain, in ``node`` flattened to [rows, L].

    Places behind the end of a chain have the row of some other place; see `in_chain`.
    """
    if at.first is not None:
        T = int(at.length.max()) if at.length.numel() else 0
        place = at.first[:, None] + torch.arange(T, device=node.device)
        return place.clamp(max=max(node.shape[0] - 1, 0))
    B, T = node.shape[:2]
    begin = torch.arange(B, device=node.device)[:, None] * T
    return begin + (torch.arange(T, device=node.device) if at.kept is None else at.kept.long())


def in_chain(length: Tensor, width: int) -> Tensor:
    """Return which of ``width`` places [B, width] are in their chains."""
    return torch.arange(width, device=length.device) < length[:, None]


def padded_rows(x: Tensor, at: Placed) -> Tensor:
    """Return rows [B, T, ...] in the order of the chains, zeros behind their ends; differentiable."""
    rows = x
    if at.first is not None or at.kept is not None:
        rows = (x if at.first is not None else x.flatten(0, 1))[positions(x, at)]
    inside = in_chain(at.length, rows.shape[1])
    return torch.where(inside.view(*inside.shape, *(1,) * (rows.ndim - 2)), rows, rows.new_zeros(()))


def scattered(values: Tensor, like: Tensor, at: Placed, fill: int = 0) -> Tensor:
    """Return values [B, T, ...] of the places of chains at the rows of ``like``, ``fill`` elsewhere."""
    leading = like.shape[:1] if at.first is not None else like.shape[:2]
    out = values.new_full((leading.numel(), *values.shape[2:]), fill)
    inside = in_chain(at.length, values.shape[1])
    out[positions(like, at)[inside]] = values[inside]
    return out.view(*leading, *values.shape[2:])
