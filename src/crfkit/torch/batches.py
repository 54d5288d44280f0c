"""The tensors of a batch as one value: chains of any order, and semi-Markov chains.

Everything inside `crfkit.torch` hands these on. They are flattened where operators of torch take them, field
by field, in this order (`crfkit.torch.ops` says what each field is).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

__all__ = ["Batch", "Chain", "Edges", "Placed", "Segments"]

Edges: TypeAlias = "Tensor | Sequence[Tensor]"  # [L, L], by position, or a table for each order


class Placed(Protocol):
    """What says where the rows of sequences lie (`crfkit.torch.rows`)."""

    @property
    def length(self) -> Tensor:
        """Positions of each sequence, [B] int32."""

    @property
    def first(self) -> Tensor | None:
        """The row where each packed sequence begins, [B] int64."""

    @property
    def kept(self) -> Tensor | None:
        """The rows of a mask in order, [B, T] int32."""


class Chain(NamedTuple):
    """Linear chains; of order k, with a list of tables in the place of one."""

    node: Tensor
    length: Tensor
    first: Tensor | None
    kept: Tensor | None
    start: Tensor
    edge: Any  # [L, L], by position, or a list
    stop: Tensor

    @property
    def like(self) -> Tensor:
        """The tensor whose leading axes say where rows lie."""
        return self.node

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """The tables of steps: one, or one for each order."""
        return tuple(self.edge) if isinstance(self.edge, list) else (self.edge,)

    @property
    def scores(self) -> tuple[Tensor, ...]:
        """What has a gradient, in the order of gradients: node, start, each table and stop."""
        if isinstance(self.edge, list):
            return (self.node, self.start, *self.edge, self.stop)
        return (self.node, self.start, self.edge, self.stop)

    def with_scores(self, scores: Iterable[Any]) -> Chain:
        """Return the same places with other scores, in the order of `scores`."""
        node, start, *tables, stop = scores
        edge = tables if isinstance(self.edge, list) else tables[0]
        return Chain(node, self.length, self.first, self.kept, start, edge, stop)

    def nothing(self) -> list[Tensor]:
        """Return what stands for a gradient that nobody asked for."""
        return [self.start.new_empty(0) for _ in self.scores]

    @property
    def total_dtype(self) -> torch.dtype:
        """The type of a total over sequences: float64 if scores of labels or steps are, else float32."""
        wide = torch.float64 in (self.node.dtype, self.tables[0].dtype)
        return torch.float64 if wide else torch.float32


class Segments(NamedTuple):
    """Semi-Markov chains; `node` or `segment` may be None."""

    node: Tensor | None
    segment: Tensor | None
    length: Tensor
    first: Tensor | None
    kept: Tensor | None
    start: Tensor
    edge: Tensor
    stop: Tensor
    duration: Tensor

    @property
    def like(self) -> Tensor:
        """The tensor whose leading axes say where rows lie."""
        like = self.segment if self.node is None else self.node
        assert like is not None
        return like

    @property
    def leading(self) -> torch.Size:
        """The axes of rows: [B, T], or packed [P]."""
        return self.like.shape[: 2 if self.first is None else 1]

    @property
    def scores(self) -> tuple[Tensor | None, ...]:
        """What has a gradient, in the order of gradients."""
        return (self.node, self.segment, self.start, self.edge, self.stop, self.duration)

    def with_scores(self, scores: Iterable[Any]) -> Segments:
        """Return the same places with other scores, in the order of `scores`."""
        node, segment, *tables = scores
        return Segments(node, segment, self.length, self.first, self.kept, *tables)

    def nothing(self) -> list[Tensor]:
        """Return what stands for a gradient that nobody asked for."""
        return [self.start.new_empty(0) for _ in self.scores]

    @property
    def total_dtype(self) -> torch.dtype:
        """The type of a total over sequences: float64 if scores of rows or steps are, else float32."""
        given = (x.dtype for x in (self.node, self.segment, self.edge) if x is not None)
        return torch.float64 if torch.float64 in given else torch.float32


Batch: TypeAlias = "Chain | Segments"
