"""`best` and `sample` of chains on CUDA devices: any number of labels, tables shared or by position.

Few labels: the best labeling is found with the table in registers, by one program for each sequence or, if
they are few and long, for each chunk of one. Many labels: the table is read at every step.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from crfkit.torch.batches import Chain
from crfkit.torch.cuda.kernels import draws, forward, viterbi, viterbi_chunks, viterbi_steps
from crfkit.torch.cuda.launch import launch

__all__ = ["best", "sample"]


# Labels up to which the table is kept in registers, and those up to which pointers are kept instead of rows.
REGISTERS, POINTERS = 128, 32
ALONE = 256  # labels up to which one program follows a sequence, if they are not packed


def _strides(chain: Chain) -> tuple[int, ...]:
    """Return what addresses rows and steps: strides, shift, T and L, in the order of the kernels."""
    node, _, first, index, _, edge, _ = chain
    if first is None:
        T = node.shape[1]
        rows = (node.stride(0), node.stride(1), 0 if index is None else index.stride(0))
    else:
        T = node.shape[0]
        rows = (0, node.stride(0), 0)
    shift = 0
    if edge.ndim == 2:
        steps = (0, 0, edge.stride(0))
    elif edge.ndim == 3:
        steps = (0, edge.stride(0), edge.stride(1))
    else:
        steps = edge.stride()[:3]
        shift = int(edge.shape[1] < T)
    return (*rows, *steps, shift, T, node.shape[-1])


def _compute(node: Tensor, edge: Tensor) -> torch.dtype:
    wide = node.dtype is torch.float64 or edge.dtype is torch.float64
    return torch.float64 if wide else torch.float32


def _padded(L: int) -> int:
    return int(max(16, triton.next_power_of_2(L)))


def _chunks(B: int, T: int, L: int) -> int:
    """Return into how many chunks the steps of each sequence are cut."""
    return min(isqrt(3 * T // 2), 512) if T >= 1024 and B * L <= 1200 and L <= 64 else 1


def best(chain: Chain) -> tuple[Tensor, Tensor]:
    """Return the best labels at the rows of `node`, -1 where there are none; and scores [B]."""
    node, length, first, _, _, edge, _ = chain
    B, L = length.shape[0], node.shape[-1]
    if first is None:  # kernels write every row
        labels = node.new_empty(node.shape[:-1], dtype=torch.int64)
    else:
        labels = node.new_full(node.shape[:-1], -1, dtype=torch.int64)
    if not B:
        return labels, node.new_empty(0, dtype=torch.float64)
    if edge.stride(-1) != 1:
        edge = edge.contiguous()
        chain = chain._replace(edge=edge)
    sizes = _strides(chain)
    C = _compute(node, edge)
    if L > REGISTERS or (L > 64 and (edge.ndim > 2 or C is torch.float64)):
        if L > ALONE and first is None and edge.ndim == 2:
            return labels, _stepped(chain, labels, sizes)
        return labels, _streamed(chain, labels, sizes)
    chunks = _chunks(B, sizes[-2] if first is None else sizes[-2] // B, L)
    if chunks > 1:
        return labels, _chunked(chain, labels, sizes, chunks)
    constants, kept, warps = _registers(L, C, edge.ndim > 2)
    score = node.new_empty(B, dtype=torch.float64)
    back = node.new_empty(labels.numel() * constants[0], dtype=kept)
    launch(viterbi.whole, B, (*chain, labels, score, back, *sizes), constants, warps)
    return labels, score


def _kind(C: torch.dtype) -> tl.dtype:
    return tl.float64 if C is torch.float64 else tl.float32


@cache
def _registers(L: int, C: torch.dtype, by_position: bool) -> tuple[tuple[Any, ...], torch.dtype, int]:
    """Return the constants of `viterbi.whole`, the type of what it keeps, and its warps."""
    Lp = _padded(L)
    rows = L > POINTERS and not by_position and C is torch.float32
    warps = 1 if rows and Lp <= 64 else max(1, Lp // 32)
    return (Lp, 4, _kind(C), by_position, 2 if rows else 1), C if rows else torch.uint8, warps


def _chunked(chain: Chain, labels: Tensor, sizes: tuple[int, ...], chunks: int) -> Tensor:
    """Write the best labels by chunks; return scores."""
    node, length, first, index, _, edge, _ = chain
    B, L, C = length.shape[0], sizes[-1], _compute(node, edge)
    Lp = _padded(L)
    back = labels.new_empty(labels.numel() * Lp, dtype=torch.uint8)
    made = labels.new_empty(B * chunks * Lp * Lp, dtype=C)
    taken = labels.new_empty(B * chunks * Lp, dtype=torch.float64)
    maps = labels.new_empty(B * chunks * Lp, dtype=torch.uint8)
    last = labels.new_empty(B * (chunks + 1), dtype=torch.int32)
    parts = labels.new_empty((B, chunks), dtype=torch.float64)
    sizes = (*sizes, chunks, Lp)
    constants, warps = (Lp, 4, _kind(C), edge.ndim > 2), max(1, Lp // 32)
    rows = (node, length, first, index, edge, made, taken, *sizes)
    alone = 1 if C is torch.float32 and edge.ndim == 2 else warps  # one warp holds the table, keeping nothing
    launch(viterbi_chunks.operators, B * chunks * L, rows, constants, alone)
    ends = (*chain, labels, back, made, taken, maps, last, *sizes)
    launch(viterbi_chunks.borders, B * chunks, ends, constants, warps)
    whole = (*chain, labels, back, maps, last, parts, *sizes)
    launch(viterbi_chunks.finish, B * chunks, whole, (Lp, triton.next_power_of_2(chunks)), warps)
    return parts.sum(1)


def _streamed(chain: Chain, labels: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Write the best labels with a table that is read at every step; return scores."""
    node, length, edge = chain.node, chain.length, chain.edge
    C, B, L = _compute(node, edge), length.shape[0], sizes[-1]
    score = labels.new_empty(B, dtype=torch.float64)
    alpha = labels.new_empty(labels.numel() * L, dtype=C)
    Lp = _padded(L)
    BJ = min(Lp, 256)
    held = 3 * BJ // 4 if L <= 256 and edge.ndim == 2 and C is torch.float32 else 0
    BI = 8 if held else min(Lp, 64 if C is torch.float32 else 32)
    constants = (Lp, BI, BJ, 4, _kind(C), edge.ndim > 2, held)
    launch(forward.best, B, (*chain, labels, score, alpha, *sizes), constants, max(1, BJ // 32))
    return score


def _stepped(chain: Chain, labels: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Write the best labels of padded sequences by a launch for each step; return scores."""
    node, length, _, index, start, edge, _ = chain
    B, T, L, C = length.shape[0], sizes[-2], sizes[-1], _compute(node, edge)
    score = labels.new_empty(B, dtype=torch.float64)
    alpha = labels.new_empty(labels.numel() * L, dtype=C)
    G, BI, BJ = min(4, triton.next_power_of_2(B)), 32, 64
    blocks = triton.cdiv(B, G) * triton.cdiv(L, BJ)
    for t in range(T):
        rows = (node, length, index, start, edge, alpha, *sizes[:3], sizes[5], T, L, t, B)
        launch(viterbi_steps.step, blocks, rows, (G, BI, BJ, _kind(C), t == 0), 8)
    constants = (_padded(L), _kind(C))
    launch(viterbi_steps.found, B, (*chain, labels, score, alpha, *sizes), constants, 8)
    return score


def sample(chain: Chain, n: int, seed: Tensor) -> Tensor:
    """Return n independent draws at the rows of `node`, [B, n, T] or packed [n, P]; -1 as `best` does."""
    node, length, first, index, start, edge, stop = chain
    B, L = length.shape[0], node.shape[-1]
    if first is None:
        labels = node.new_empty((B, n, node.shape[1]), dtype=torch.int64)
    else:
        labels = node.new_full((n, node.shape[0]), -1, dtype=torch.int64)
    if not B * n:
        return labels
    if edge.stride(-1) != 1:
        edge = edge.contiguous()
        chain = chain._replace(edge=edge)
    sizes = _strides(chain)
    alpha = node.new_empty(node.shape[:-1].numel() * L, dtype=torch.float64)
    allowed = node.new_empty(B, dtype=torch.int32)
    Lp = _padded(L)
    BI, BJ = min(Lp, 32), min(Lp, 256)
    rows = (node, length, first, index, start, edge, stop, alpha, allowed, *sizes)
    constants = (Lp, BI, BJ, _kind(_compute(node, edge)))
    launch(forward.sums, B, rows, constants, max(1, BI * BJ // 512))
    D = min(triton.next_power_of_2(n), max(1, 1024 // Lp))
    each = (node, length, first, index, edge, stop, alpha, allowed, seed, labels, *sizes, n)
    launch(draws.draw, B * triton.cdiv(n, D), each, (Lp, D), max(1, D * Lp // 256))
    return labels
