"""The Hessian of log Z times a direction: shared edges and edges per position, up to 64 labels."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels.curvature import products

__all__ = ["hvp"]


def _strides(node: Tensor, edge: Tensor) -> tuple[int, ...]:
    """Return the strides of sequences and rows of node, then of edge, then those within a table."""
    of_node = node.stride()[:-1] if node.ndim == 3 else (0, node.stride(0))
    shared = (0,) * (4 - edge.ndim)
    return (*of_node, *shared, *edge.stride())


def hvp(chain: Chain, weight: Tensor, *along: Tensor) -> tuple[Tensor, ...]:
    """Return the Hessian products, <marginals, direction> and log Z."""
    node, length, first, index, start, edge, stop = chain
    along_node, along_start, along_edge, along_stop = along
    B, L, packed = length.shape[0], node.shape[-1], first is not None
    T = 0 if packed else node.shape[1]
    width = max(triton.next_power_of_2(L), 4)
    by_position = edge.ndim > 2
    form = torch.contiguous_format
    dnode = torch.zeros_like(node, memory_format=form)
    dedge = torch.zeros_like(edge, memory_format=form) if by_position else edge.new_empty(B, L, L)
    ends = [x.new_empty(B, L) for x in (start, stop)]
    dot, logz = (node.new_empty(B, dtype=torch.float64) for _ in range(2))
    rows = node.new_empty(node.shape[:-1].numel() * 2 * L, dtype=torch.float64)
    along_node = along_node if along_node.stride(-1) == 1 else along_node.contiguous()
    *of_rows, by_from, by_to = _strides(node, edge)
    *of_directions, v_from, v_to = _strides(along_node, along_edge)
    if B:
        products[(B,)](
            node, length, first, index, start, edge, stop, weight,
            along_node, along_start, along_edge, along_stop,
            dnode, ends[0], dedge, ends[1], dot, logz, rows,
            T, L, *of_rows, by_from, by_to, index.stride(0) if index is not None else 0,
            *of_directions, v_from, v_to,
            LP=width, PACKED=packed, INDEX=index is not None,
            BETWEEN=by_position and not packed and edge.shape[1] < T, SHARED=not by_position,
            num_warps=16 if width == 64 else 4 if width == 32 else 1,
        )  # fmt: skip
    return (dnode, ends[0].sum(0), dedge if by_position else dedge.sum(0), ends[1].sum(0), dot, logz)
