"""Tensors on the CPU as the native code takes them: checked here, addressed there, never copied whole.

Rows of float32 and float64 are read and written where they lie, whatever the strides of sequences and
positions. Half types are widened to float32 first. Tables that all steps share become float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from crfkit import _native

__all__ = ["FLOATS", "Chains", "Gradient", "chains_of", "check_tensor", "threads_for"]

_WIDE = {torch.float32: False, torch.float64: True}
# (address, float64 rather than float32, stride of sequences, stride of positions)
_Rows = tuple[int, bool, int, int]


def _rows(x: Tensor, packed: bool, row_axes: int) -> _Rows:
    by_sequence = 0 if packed else x.stride(0)
    return x.data_ptr(), _WIDE[x.dtype], by_sequence, x.stride(-row_axes - 1)


def _widened(x: Tensor, row_axes: int) -> Tensor:
    """Return float32 or float64 with contiguous rows (the last axes): the tensor itself if it is so."""
    x = x.detach()
    if x.dtype not in _WIDE:
        x = x.float()
    expected = 1
    for axis in range(-1, -row_axes - 1, -1):
        if x.shape[axis] > 1 and x.stride(axis) != expected:
            return x.contiguous()
        expected *= x.shape[axis]
    return x


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
    """Chains in tensors: the native object, and what it points to."""

    native: _native.TensorChains
    kept: tuple[Any, ...]
    node: Tensor
    start: Tensor
    tables: tuple[Tensor, ...]  # as they were given
    stop: Tensor
    packed: bool

    @property
    def by_position(self) -> bool:
        """Whether every step has a table of its own."""
        return self.tables[0].ndim > 2 and len(self.tables) == 1

    def labels(self, labels: Tensor) -> tuple[int, int, int]:
        """Return the place of labels at the rows of `node`, checked."""
        check_tensor("labels", labels, (torch.int64,), tuple(self.node.shape[:-1]))
        return labels.data_ptr(), 0 if self.packed else labels.stride(0), labels.stride(-1)

    def gradient(self) -> Gradient:
        """Return tensors for a gradient, still to be filled."""
        blank = torch.zeros if self.packed else torch.empty

        def rows(x: Tensor) -> Tensor:
            return blank(x.shape, dtype=x.dtype if x.dtype in _WIDE else torch.float32)

        def table(x: Tensor) -> Tensor:
            return torch.empty(x.shape, dtype=x.dtype if x.dtype in _WIDE else torch.float32)

        tables = tuple((rows if self.by_position else table)(x) for x in self.tables)
        made = (rows(self.node), table(self.start), *tables, table(self.stop))
        return Gradient(self, made)


@dataclass(frozen=True)
class Gradient:
    """Tensors that the native code fills: of node, start, each table and stop."""

    chains: Chains
    made: tuple[Tensor, ...]

    def places(self) -> tuple[_Rows, _Rows, _Rows, list[_Rows]]:
        """Return where they are."""
        node, start, *tables, stop = self.made
        packed = self.chains.packed

        def whole(x: Tensor) -> _Rows:
            return x.data_ptr(), _WIDE[x.dtype], 0, 0

        by_position = self.chains.by_position
        edges = [_rows(x, packed, 2) if by_position else whole(x) for x in tables]
        return _rows(node, packed, 1), whole(start), whole(stop), edges

    def as_given(self) -> tuple[Tensor, ...]:
        """Return them in the types of what they are gradients of."""
        given = (self.chains.node, self.chains.start, *self.chains.tables, self.chains.stop)
        pairs = zip(self.made, given, strict=True)
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
    """Check tensors and address them; one table may lie by position.

    Raises
    ------
    ValueError
        A shape or type is not what the others need, or a chain has rows that `node` does not have.
    """
    packed = first is not None
    if node.ndim != (2 if packed else 3):
        raise ValueError(
            f"node has shape {tuple(node.shape)}, expected {'(rows, labels)' if packed else '(B, T, labels)'}"
        )
    places, L = node.shape[-2:]
    B = length.shape[0] if packed else node.shape[0]
    if L < 1:
        raise ValueError("node has no labels: its last axis is 0")
    check_tensor("node", node, FLOATS, tuple(node.shape))
    check_tensor("length", length, (torch.int32,), (B,))
    length = length.contiguous()
    if first is not None:
        check_tensor("first", first, (torch.int64,), (B,))
        first = first.contiguous()
        if index is not None:
            raise ValueError("packed rows (first) have no index")
    if index is not None:
        check_tensor("index", index, (torch.int32,), (B, places))
        index = index if places < 2 or index.stride(1) == 1 else index.contiguous()
    for name, x in (("start", start), ("stop", stop)):
        check_tensor(name, x, FLOATS, (L,))
    scores = _widened(node, 1)
    ends = [x.detach().double().contiguous() for x in (start, stop)]
    edge, between, shared = None, False, []
    if len(tables) == 1 and tables[0].ndim > 2:
        table = tables[0]
        between = not packed and table.ndim == 4 and table.shape[1] == places - 1
        leading = (places,) if packed else (B, places - between)
        check_tensor("edge", table, FLOATS, (*leading, L, L))
        # A row that is never read stands for none: the address of no rows is 0, "not by position".
        edge = _widened(table, 2) if table.numel() else torch.zeros((1,) * len(leading) + (L, L))
    else:
        for h, table in enumerate(tables, 1):
            check_tensor("edge" if len(tables) == 1 else f"edge {h}", table, FLOATS, (L,) * (h + 1))
            shared.append(table.detach().double().contiguous())
    native = _native.TensorChains.at(
        B,
        places,
        L,
        _rows(scores, packed, 1),
        length.data_ptr(),
        0 if first is None else first.data_ptr(),
        0 if index is None else index.data_ptr(),
        0 if index is None else index.stride(0),
        ends[0].data_ptr(),
        ends[1].data_ptr(),
        [x.data_ptr() for x in shared],
        None if edge is None else _rows(edge, packed, 2),
        between,
    )
    kept = (scores, length, first, index, ends, shared, edge)
    return Chains(native, kept, node, start, tuple(tables), stop, packed)


def threads_for(node: Tensor, order: int = 1, times: int = 1) -> int:
    """Return how many threads are worth their start, about 30 microseconds each."""
    L = node.shape[-1]
    cells = node.numel() // max(L, 1) * (L ** (order + 1) + 32 * L) * times
    most: int = torch.get_num_threads()
    wanted: int = cells // 200_000  # 0.1 ms for each thread
    return max(1, min(most, wanted))
