"""Random semi-Markov chains as the operators of crfkit.torch take them, and all of their segmentations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import batches
from crfkit.torch.rows import kept

_SCORES = ("node", "segment", "start", "edge", "stop", "duration")


@dataclass(frozen=True)
class Segments:
    node: Tensor | None
    segment: Tensor | None
    length: Tensor
    first: Tensor | None
    index: Tensor | None
    start: Tensor
    edge: Tensor
    stop: Tensor
    duration: Tensor

    @property
    def args(self) -> batches.Segments:
        return batches.Segments(*vars(self).values())

    @property
    def scores(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _SCORES)

    @property
    def like(self) -> Tensor:
        like = self.segment if self.node is None else self.node
        assert like is not None
        return like

    def double(self) -> Segments:
        """The same chains in float64: what an answer in less is compared with."""
        given = {name: getattr(self, name) for name in _SCORES}
        return replace(self, **{name: x if x is None else x.double() for name, x in given.items()})

    def to(self, device: str) -> Segments:
        return replace(self, **{k: v if v is None else v.to(device) for k, v in vars(self).items()})


def random_segments(
    B: int,
    T: int,
    D: int,
    L: int,
    *,
    form: str = "padded",  # padded, time-first, holes, packed
    parts: str = "both",  # node, segment, both
    dtype: torch.dtype = torch.float32,
    scale: float = 1.0,
    forbidden: float = 0.0,
    seed: int = 0,
) -> Segments:
    """Chains of 0 to T positions; the first has T, the last has none if there are three or more."""
    random = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> Tensor:
        drawn = torch.randn(*shape, generator=random, dtype=torch.float64) * scale
        banned = torch.rand(*shape, generator=random) < forbidden
        return drawn.masked_fill(banned, -torch.inf)

    length = torch.randint(1, T + 1, (B,), generator=random, dtype=torch.int32)
    length[0] = T
    if B > 2:
        length[-1] = 0
    first = index = None
    if form == "packed":
        first = length.cumsum(0) - length
        leading: tuple[int, ...] = (int(length.sum()),)
    else:
        leading = (T, B) if form == "time-first" else (B, T)
    node: Tensor | None = scores(*leading, L).to(dtype)
    segment: Tensor | None = scores(*leading, D, L).to(dtype)
    if form == "time-first":
        node, segment = (None if x is None else x.transpose(0, 1) for x in (node, segment))
    if form == "holes":
        mask = torch.rand(B, T, generator=random) < 0.6
        mask[-1] = False
        length, index = kept(mask)
    wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    return Segments(
        None if parts == "segment" else node,
        None if parts == "node" else segment,
        length,
        first,
        index,
        *(scores(*shape).to(wide) for shape in ((L,), (L, L), (L,), (D, L))),
    )


def random_gold(segments: Segments, unknown: float = 0.0, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Labels and begins of every row that fit together: a label changes only where a segment begins."""
    random = torch.Generator().manual_seed(seed)
    shape, (D, L) = segments.like.shape[:-1], segments.duration.shape
    leading = shape[: 1 if segments.first is not None else 2]
    labels = torch.full(leading, -1)
    begins = torch.zeros(leading, dtype=torch.bool)
    for b in range(len(segments.length)):
        left, label = 0, 0
        for row in rows_of(segments, b):
            if left == 0:
                begins[row] = True
                left = int(torch.randint(1, D + 1, (), generator=random))
                label = int(torch.randint(L, (), generator=random))
            labels[row] = label
            left -= 1
    hidden = torch.rand(leading, generator=random) < unknown
    labels[hidden] = -1
    begins[hidden & (torch.rand(leading, generator=random) < 0.5)] = False
    return labels, begins


def rows_of(segments: Segments, b: int) -> list[tuple[int, ...]]:
    """Where the positions of one chain lie."""
    n = int(segments.length[b])
    if segments.first is not None:
        return [(int(segments.first[b]) + t,) for t in range(n)]
    return [(b, int(segments.index[b, t]) if segments.index is not None else t) for t in range(n)]


def _cuts(n: int, D: int) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for d in range(1, min(n, D) + 1):
        for rest in _cuts(n - d, D):
            yield (d, *rest)


Segmentation = tuple[float, tuple[int, ...], tuple[bool, ...]]


def segmentations(segments: Segments, b: int) -> list[Segmentation]:
    """Every segmentation of one chain: score, labels, begins; best first; small chains only."""
    rows = rows_of(segments, b)
    D, L = segments.duration.shape
    every: list[Any] = [None if x is None else x.double().cpu() for x in segments.scores]
    node, segment, start, edge, stop, duration = every
    found = []
    for cut in _cuts(len(rows), D):
        for labels in product(range(L), repeat=len(cut)):
            score, at = 0.0, 0
            path: list[int] = []
            begins: list[bool] = []
            for j, (d, y) in enumerate(zip(cut, labels, strict=True)):
                score += float(start[y] if j == 0 else edge[labels[j - 1], y]) + float(duration[d - 1, y])
                if segment is not None:
                    score += float(segment[(*rows[at], d - 1, y)])
                if node is not None:
                    score += sum(float(node[(*row, y)]) for row in rows[at : at + d])
                path += [y] * d
                begins += [True] + [False] * (d - 1)
                at += d
            if cut:
                score += float(stop[labels[-1]])
            found.append((score, tuple(path), tuple(begins)))
    return sorted(found, key=lambda one: -one[0])
