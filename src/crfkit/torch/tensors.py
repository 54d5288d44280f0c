"""Tensors on the CPU as the native code takes them: by DLPack, checked there, never copied whole.

This is the only way across: C++ sees types, shapes and strides of what torch says the tensors are, and
refuses what does not fit. Rows of float32 and float64 are read and written where they lie, whatever the
strides of sequences and positions. Half types are widened to float32 first. Tables that all steps share are
read in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.dlpack import to_dlpack

from crfkit import _native
from crfkit.torch.batches import Chain

__all__ = ["FLOATS", "Chains", "chains_of", "check_tensor", "scores", "threads_for", "to_dlpack"]

_WIDE = (torch.float32, torch.float64)
_HALF = (torch.float16, torch.bfloat16)


def scores(x: Tensor) -> Any:
    """Return scores for the native code; those of half precision in float32."""
    return to_dlpack(x.float() if x.dtype in _HALF else x)


def _rows(x: Tensor, axes: int) -> Any:
    """Return scores whose last axes lie side by side: the tensor itself if they do."""
    if x.dtype in _HALF:
        x = x.float()
    expected = 1
    for axis in range(-1, -axes - 1, -1):
        if x.shape[axis] > 1 and x.stride(axis) != expected:
            return to_dlpack(x.contiguous())
        expected *= x.shape[axis]
    return to_dlpack(x)


def check_tensor(name: str, x: Tensor, dtypes: Sequence[torch.dtype], shape: tuple[int, ...]) -> None:
    """Raise unless a tensor has one of these types and this shape."""
    if tuple(x.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(x.shape)}, expected {shape}")
    if x.dtype not in dtypes:
        names = " or ".join(str(d).removeprefix("torch.") for d in dtypes)
        raise ValueError(f"{name} has type {str(x.dtype).removeprefix('torch.')}, expected {names}")


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Chains(NamedTuple):
    """Chains in tensors: the native object, and what it was made of."""

    native: _native.TensorChains
    chain: Chain

    def gradient(self) -> list[Tensor]:
        """Return tensors for a gradient by node, start, each table and stop, still to be filled."""
        by_position = self.chain.tables[0].ndim > 2
        made = []
        for i, x in enumerate(self.chain.scores):
            rows = self.chain.first is not None and (i == 0 or (i == 2 and by_position))
            make = torch.zeros_like if rows else torch.empty_like  # packed: rows may be in no chain
            kind = x.dtype if x.dtype in _WIDE else torch.float32
            made.append(make(x, dtype=kind, memory_format=torch.contiguous_format))  # half the time of empty
        return made

    def as_given(self, made: Sequence[Tensor]) -> list[Tensor]:
        """Return a gradient in the types of what it is by."""
        pairs = zip(made, self.chain.scores, strict=True)
        return [x if x.dtype == of.dtype else x.to(of.dtype) for x, of in pairs]


def chains_of(chain: Chain) -> Chains:
    """Hand tensors to the native code; one table may lie by position.

    Raises
    ------
    ValueError
        A shape or type is not what the others need, or a chain has rows that `node` does not have.
    """
    tables = chain.tables
    by_position = len(tables) == 1 and tables[0].ndim > 2
    native = _native.TensorChains(
        _rows(chain.node, 1),
        to_dlpack(chain.length),
        None if chain.first is None else to_dlpack(chain.first),
        None if chain.kept is None else to_dlpack(chain.kept),
        scores(chain.start),
        scores(chain.stop),
        [_rows(x, 2) if by_position else scores(x) for x in tables],
    )
    return Chains(native, chain)


def threads_for(node: Tensor, order: int = 1, times: int = 1) -> int:
    """Return how many threads are worth their start, about 30 microseconds each."""
    L = node.shape[-1]
    cells = node.numel() // max(L, 1) * (L ** (order + 1) + 32 * L) * times
    most: int = torch.get_num_threads()
    wanted: int = cells // 200_000  # 0.1 ms for each thread
    return max(1, min(most, wanted))
