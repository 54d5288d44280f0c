"""Tensors on the CPU as the native code takes them: by DLPack, checked there, never copied whole.

This is the only way across: C++ sees types, shapes and strides of what torch says the tensors are, and
refuses what does not fit. Rows of float32 and float64 are read and written where they lie, whatever the
strides of sequences and positions. Half types are widened to float32 first. Tables that all steps share are
read in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.dlpack import to_dlpack

from crfkit import _native

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


@dataclass(frozen=True)
class Chains:
    """Chains in tensors: the native object, and what it was made of."""

    native: _native.TensorChains
    node: Tensor
    length: Tensor
    start: Tensor
    tables: tuple[Tensor, ...]
    stop: Tensor
    packed: bool

    def gradient(self) -> list[Tensor]:
        """Return tensors for a gradient by node, start, each table and stop, still to be filled."""
        blank = torch.zeros if self.packed else torch.empty
        by_position = len(self.tables) == 1 and self.tables[0].ndim > 2

        def new(x: Tensor, make: Any = torch.empty) -> Tensor:
            made: Tensor = make(x.shape, dtype=x.dtype if x.dtype in _WIDE else torch.float32)
            return made

        tables = [new(x, blank if by_position else torch.empty) for x in self.tables]
        return [new(self.node, blank), new(self.start), *tables, new(self.stop)]

    def as_given(self, made: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return a gradient in the types of what it is by."""
        pairs = zip(made, (self.node, self.start, *self.tables, self.stop), strict=True)
        return tuple(x if x.dtype == of.dtype else x.to(of.dtype) for x, of in pairs)


def chains_of(
    node: Tensor,
    length: Tensor,
    first: Tensor | None,
    index: Tensor | None,
    start: Tensor,
    tables: Sequence[Tensor],
    stop: Tensor,
) -> Chains:
    """Hand tensors to the native code; one table may lie by position.

    Raises
    ------
    ValueError
        A shape or type is not what the others need, or a chain has rows that `node` does not have.
    """
    by_position = len(tables) == 1 and tables[0].ndim > 2
    native = _native.TensorChains(
        _rows(node, 1),
        to_dlpack(length),
        None if first is None else to_dlpack(first),
        None if index is None else to_dlpack(index),
        scores(start),
        scores(stop),
        [_rows(x, 2) if by_position else scores(x) for x in tables],
    )
    return Chains(native, node, length, start, tuple(tables), stop, first is not None)


def threads_for(node: Tensor, order: int = 1, times: int = 1) -> int:
    """Return how many threads are worth their start, about 30 microseconds each."""
    L = node.shape[-1]
    cells = node.numel() // max(L, 1) * (L ** (order + 1) + 32 * L) * times
    most: int = torch.get_num_threads()
    wanted: int = cells // 200_000  # 0.1 ms for each thread
    return max(1, min(most, wanted))
