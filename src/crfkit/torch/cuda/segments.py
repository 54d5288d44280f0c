"""Sums over segmentations on CUDA devices: up to 64 labels and segments of up to 128 places.

Five launches, whatever the lengths: factors of places; the sweeps of both directions and of the gold side by
side; what must be summed again in log space; and two that turn rows into gradients. Packed sequences lie one
behind the other: `first` rises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from crfkit.torch.batches import Segments
from crfkit.torch.cuda.kernels import segment_best, segment_credits, segment_sample
from crfkit.torch.cuda.kernels import segments as sweeps

__all__ = ["best", "log_partition", "loss", "marginals", "sample"]

_CHUNK = 32  # places of one program that makes gradients


class Swept(NamedTuple):
    """What the sweeps leave: rows by place, then scores of whole sequences."""

    rows: Tensor  # [gold, direction, enter or leave, P, L]
    weight: Tensor  # [2, P, L] factors of places, and their logs
    known: Tensor  # [P] labels of the gold
    wall: Tensor  # [P] 1 where the gold begins a segment, 2 where it goes on with one
    power: Tensor  # [gold, direction, P]
    logz: Tensor  # [B, gold] without the tops of rows
    tops: Tensor  # [B]
    in_logs: Tensor  # [B, gold]


class Batch:
    """Segments as the kernels take them."""

    def __init__(self, given: Segments) -> None:
        self.given = given
        self.node, self.segment, self.length, self.first, self.index = given[:5]
        self.start, self.edge, self.stop, self.duration = (x.contiguous() for x in given[5:])
        node, segment, length, index, duration = (
            self.node,
            self.segment,
            self.length,
            self.index,
            self.duration,
        )
        like, self.packed = given.like, self.first is not None
        self.like = like
        self.B, (self.D, self.L) = length.shape[0], duration.shape
        self.leading = given.leading
        self.P = self.leading.numel()
        self.T = 0 if self.packed else like.shape[1]
        self.chunks = max(-(-self.T // _CHUNK), 1)
        self.factors = self.duration.double().exp()
        self.Lp = max(triton.next_power_of_2(self.L), 4)
        self.Dp = max(triton.next_power_of_2(self.D), 4)
        self.flags: dict[str, Any] = {"PACKED": self.packed, "INDEXED": index is not None}
        self.forms: dict[str, Any] = {
            "NODE": node is not None,
            "SEGMENT": segment is not None,
            "Lp": self.Lp,
            "Dp": self.Dp,
        }
        cells = self.Lp * max(self.Dp, self.Lp)
        self.warps = min(max(cells // 512, 1), 8)  # 4 are as fast with gold, slower without (H200)

    def _strides(self, x: Tensor | None, axes: int) -> tuple[Any, ...]:
        """Return a tensor and its strides by sequence, by place and, of segments, by length."""
        if x is None:
            return (self.start, *(0,) * axes)
        if x.stride(-1) != 1:
            x = x.contiguous()
        return (x, 0, *x.stride()[:-1]) if self.packed else (x, *x.stride()[:-1])

    @property
    def index_of(self) -> tuple[Tensor, Tensor, int]:
        """Where places lie: `first`, `index` and its stride."""
        none = self.length
        return (
            none if self.first is None else self.first,
            none if self.index is None else self.index,
            0 if self.index is None else self.index.stride(0),
        )

    @property
    def scores(self) -> tuple[Any, ...]:
        """All scores, with where they lie."""
        return (
            *self._strides(self.node, 2),
            *self._strides(self.segment, 3),
            self.length,
            *self.index_of,
            self.start,
            self.edge,
            self.stop,
            self.duration,
        )

    @property
    def programs(self) -> int:
        """The number of programs that take the chunks of all sequences."""
        return int(self.B + self.P // _CHUNK if self.packed else self.B * self.chunks)

    def swept(self, labels: Tensor | None = None, begins: Tensor | None = None) -> Swept:
        """Sweep over all segmentations, and over those that agree with the gold if there is some."""
        passes = 1 if labels is None else 2
        new, P, L, B = self.start.new_empty, self.P, self.L, self.B
        wide: Any = {"dtype": torch.float64}
        whole: Any = {"dtype": torch.int32}
        made = Swept(
            new((passes, 2, 2, P, L), **wide),
            new((2, P, L), **wide),
            new((P,), **whole),
            new((P,), **whole),
            new((passes, 2, P), **whole),
            new((B, 2), **wide),
            new((B,), **wide),
            new((B, 2), **whole),
        )
        crest, tops = new((passes, 2, P), **whole), new((P,), **wide)
        most = new((B, 2, 2), dtype=torch.float32)
        gold = self.length if labels is None else labels.contiguous()
        cuts = self.length if begins is None else begins.contiguous().view(torch.uint8)
        sizes = (self.T, P, self.D, L)
        if B:
            sweeps.weigh[(self.programs,)](
                *self._strides(self.node, 2), self.length, *self.index_of, gold, cuts,
                0 if self.packed else self.T, made.weight, tops, made.known, made.wall,
                B, self.T, P, L, self.chunks, B.bit_length(),
                **self.flags, NODE=self.node is not None, GOLD=passes == 2, Lp=self.Lp, S=_CHUNK, num_warps=4,
            )  # fmt: skip
            where = (*self._strides(self.segment, 3), self.length, *self.index_of)
            tables = (self.start, self.edge, self.stop)
            rows = (made.known, made.wall, made.rows, made.weight, made.power)
            flags = self.flags | {"SEGMENT": self.segment is not None, "Lp": self.Lp, "Dp": self.Dp}
            sweeps.swept[(B, 2, passes)](
                *where, *tables, self.factors, *rows, most, *sizes, **flags, num_warps=self.warps
            )
            sweeps.settle[(B, passes)](
                *where, *tables, self.duration, *rows, crest, most, tops, made.logz, made.tops, made.in_logs,
                *sizes, **flags, BLOCK=256, num_warps=self.warps,
            )  # fmt: skip
        return made

    def gradient(self, made: Swept, factor: Tensor, gold: bool) -> tuple[Tensor, ...]:
        """Return the gradient by all scores; `factor` [B] float64 is the weight of each sequence."""
        L, D, B, N = self.L, self.D, self.B, self.programs
        new = made.rows.new_empty
        ends, edges, durations = new((B, 2, L)), new((N, L, L)), new((N, D, L))
        node, segment = (self._zeros(x) for x in (self.node, self.segment))
        where = (self.length, *self.index_of)
        last = (made.logz, made.in_logs, factor)
        if B:
            segment_credits.credit[(N,)](
                *self._strides(self.segment, 3), *where, self.edge, self.duration, self.factors,
                made.rows, made.weight, made.known, made.wall, made.power, *last,
                ends, edges, durations, segment, B, self.T, self.P, D, L, self.chunks, B.bit_length(),
                **self.flags, SEGMENT=self.segment is not None, GOLD=gold, Lp=self.Lp, S=_CHUNK,
                num_warps=self.Lp // 8 if self.Lp > 32 else 4,
            )  # fmt: skip
            if self.node is not None:
                segment_credits.cover[(B,)](
                    node, *where, made.rows, made.power, *last, self.T, self.P, L,
                    **self.flags, GOLD=gold, Lp=self.Lp, S=_CHUNK, num_warps=4,
                )  # fmt: skip
        total = ends.sum(0)
        made_by = (node, segment, total[0], edges.sum(0), total[1], durations.sum(0))
        pairs = zip(made_by, self.given.scores, strict=True)
        return tuple(x if y is None else x.to(y.dtype) for x, y in pairs)

    def _zeros(self, x: Tensor | None) -> Tensor:
        """Return a gradient to be filled; that of half precision in float32."""
        if x is None:
            return self.start.new_empty(0)
        return x.new_zeros(x.shape, dtype=torch.promote_types(x.dtype, torch.float32))


def log_partition(segments: Segments) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    made = Batch(segments).swept()
    return made.logz[:, 0] + made.tops, made.in_logs[:, 0].to(torch.uint8)


def marginals(segments: Segments, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    batch = Batch(segments)
    made = batch.swept()
    logz = made.logz[:, 0] + made.tops
    factor = torch.where(logz.isfinite(), weight.double(), 0.0)
    return (*batch.gradient(made, factor, gold=False), logz, made.in_logs[:, 0].to(torch.uint8))


def loss(
    segments: Segments, labels: Tensor, begins: Tensor, weight: Tensor | None, scale: float, grad: bool
) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    batch = Batch(segments)
    made = batch.swept(labels, begins)
    free, gold = made.logz.unbind(1)
    each = torch.where((gold == -torch.inf) & ~free.isnan(), torch.inf, free - gold)
    each = torch.where(made.tops.isfinite(), each, torch.nan)
    factor = torch.full_like(each, scale) if weight is None else weight.double() * scale
    total = (each * factor).sum().to(segments.total_dtype)
    gradient = tuple(segments.nothing())
    if grad:
        gradient = batch.gradient(made, torch.where(each.isfinite(), factor, 0.0), gold=True)
    return (total, each, *gradient, made.in_logs[:, 0].to(torch.uint8))


def best(segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels, begins and scores."""
    batch = Batch(segments)
    new = batch.start.new_empty
    spans, sources = (new((batch.P, batch.L), dtype=torch.uint8) for _ in range(2))
    labels = batch.start.new_full(batch.leading, -1, dtype=torch.int64)
    begins = batch.start.new_zeros(batch.leading, dtype=torch.uint8)
    score = new((batch.B,), dtype=torch.float64)
    if batch.B:
        segment_best.best[(batch.B,)](
            *batch.scores, spans, sources, labels, begins, 0 if batch.packed else batch.T, score,
            batch.T, batch.D, batch.L, **batch.flags, **batch.forms, num_warps=batch.warps,
        )  # fmt: skip
    return labels, begins.bool(), score


def sample(segments: Segments, n: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    """Return labels and begins of n draws; they depend on the seed, the sequence and its number."""
    batch = Batch(segments)
    made = batch.swept()
    shape = [*batch.leading]
    shape.insert(0 if batch.packed else 1, n)
    labels = batch.start.new_full(shape, -1, dtype=torch.int64)
    begins = batch.start.new_zeros(shape, dtype=torch.uint8)
    strides = (0, batch.P) if batch.packed else (n * batch.T, batch.T)
    if batch.B and n:
        segment_sample.sample[(batch.B, n)](
            *batch._strides(batch.segment, 3), batch.length, *batch.index_of, batch.edge, batch.stop,
            batch.duration, made.rows, made.weight, made.power, made.logz, made.in_logs, seed, labels, begins,
            *strides, batch.T, batch.P, batch.D, batch.L, **batch.flags, SEGMENT=batch.segment is not None,
            Lp=batch.Lp, Dp=batch.Dp, num_warps=1,
        )  # fmt: skip
    return labels, begins.bool()
