"""The operators of segments on the CPU, by the native kernels in float64.

The scores of all segments of some sequences are in memory at a time, [p, D, L]; sequences are taken in blocks
that keep this below `BLOCK` bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Pointers
from crfkit.native import kernels
from crfkit.structures.gold import Path
from crfkit.structures.segments.gold import add_segment_counts
from crfkit.structures.segments.potentials import SemiMarkovPotentials, coverage, sums_over_segments
from crfkit.structures.segments.semimarkov import SemiMarkov
from crfkit.torch.batches import Segments
from crfkit.torch.cpu import check_count, checked_weight
from crfkit.torch.reference import sound
from crfkit.torch.rows import in_chain, positions
from crfkit.torch.tensors import FLOATS, check_tensor

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

BLOCK = 1 << 26  #: bytes of scores of segments at a time


@dataclass(frozen=True)
class Block:
    """Some neighboring sequences of a batch."""

    sequences: slice
    rows: Pointers  # [p] in the rows of all, flattened
    potentials: SemiMarkovPotentials
    bad: Bools  # [sequences] NaN or +inf is among the scores


class Batch:
    """A batch in the order of its sequences."""

    def __init__(self, given: Segments) -> None:
        self.given, self.leading = given, given.leading
        self.node, self.segment, self.packed = given.node, given.segment, given.first is not None
        D, L = given.duration.shape[0], given.like.shape[-1]
        rows = {"node": (*self.leading, L), "segment": (*self.leading, D, L)}
        tables = {"start": (L,), "edge": (L, L), "stop": (L,), "duration": (D, L)}
        for name, shape in (rows | tables).items():
            if getattr(given, name) is not None:
                check_tensor(name, getattr(given, name), FLOATS, shape)
        _check_places(given)
        places = positions(given.like, given)
        self.rows = places[in_chain(given.length, places.shape[1])].numpy()  # [P]
        self.seq_ptr = np.append(0, np.cumsum(given.length.numpy(), dtype=np.int64))  # [B + 1]
        shared = [x.detach().double().numpy() for x in given[5:]]
        self.bad = any(bool((np.isnan(x) | (x == np.inf)).any()) for x in shared)
        self.start, self.edge, self.stop, self.duration = (
            [np.zeros_like(x) for x in shared] if self.bad else shared
        )

    def at(self, x: Tensor, rows: Pointers) -> Any:
        """Return some rows of a tensor."""
        if self.packed:
            return x.detach()[torch.from_numpy(rows)]
        T = self.leading[1]
        return x.detach()[torch.from_numpy(rows // T), torch.from_numpy(rows % T)]

    @once
    def structure(self) -> SemiMarkov:
        D, L = self.duration.shape
        return SemiMarkov(L, max_length=D)

    def blocks(self) -> Iterator[Block]:
        """Make the scores of segments, some sequences at a time."""
        D, L = self.duration.shape
        most = max(1, BLOCK // (8 * D * L))
        n, N = 0, len(self.seq_ptr) - 1
        while n < N:
            end = int(np.searchsorted(self.seq_ptr, self.seq_ptr[n] + most, side="right")) - 1
            end = min(max(end, n + 1), N)
            yield self._block(n, end)
            n = end

    def _block(self, n: int, end: int) -> Block:
        D, L = self.duration.shape
        rows = self.rows[self.seq_ptr[n] : self.seq_ptr[end]]
        ptr = self.seq_ptr[n : end + 1] - self.seq_ptr[n]
        if self.node is None:
            scores = np.zeros((len(rows), D, L))  # [p, D, L]
        else:
            scores = sums_over_segments(self.at(self.node, rows).double().numpy(), D)
        if self.segment is not None:
            scores += self.at(self.segment, rows).double().numpy()
        scores += self.duration
        counts = np.diff(ptr)
        left = np.repeat(ptr[1:], counts) - np.arange(len(rows))  # [p] places to the end
        scores[np.arange(D) >= left[:, None]] = 0.0  # runs past the end: not read
        wrong = np.isnan(scores).any((1, 2)) | (scores == np.inf).any((1, 2))
        bad = np.zeros(end - n, np.bool_)
        bad[np.repeat(np.arange(end - n), counts)[wrong]] = True
        bad |= self.bad & (counts > 0)
        scores[np.repeat(bad, counts)] = 0.0
        made = SemiMarkovPotentials(
            self.structure, scores, self.edge, self.start, self.stop, ptr, single=False
        )
        return Block(slice(n, end), rows, made, bad)


def _check_places(given: Segments) -> None:
    """Raise unless the rows of every chain exist."""
    leading, length, first, index = given.leading, given.length, given.first, given.kept
    B, rows = length.shape[0] if first is not None else leading[0], leading[-1]
    check_tensor("length", length, (torch.int32,), (B,))
    end = length.long()
    if first is not None:
        check_tensor("first", first, (torch.int64,), (B,))
        end = torch.where(length > 0, first.clamp(max=rows) + end, 0)
        if ((length > 0) & (first < 0)).any():
            raise ValueError("first is negative, expected the row where a sequence begins")
    if (length < 0).any() or (end > rows).any():
        raise ValueError(f"length does not fit: a sequence is negative or runs past the {rows} rows")
    if index is not None:
        check_tensor("index", index, (torch.int32,), tuple(leading))
        used = index[in_chain(length, rows)]
        if ((used < 0) | (used >= rows)).any():
            raise ValueError(f"index names a row that does not exist, expected 0 to {rows - 1}")


class Gradient:
    """Gradients by all scores, added up block by block."""

    def __init__(self, batch: Batch) -> None:
        D, L = batch.duration.shape
        P = batch.leading.numel()
        self.batch = batch
        self.node = None if batch.node is None else np.zeros((P, L))
        self.segment = None if batch.segment is None else np.zeros((P, D, L))
        self.start, self.stop = np.zeros(L), np.zeros(L)
        self.edge, self.duration = np.zeros((L, L)), np.zeros((D, L))

    def add(self, block: Block, sign: float, counts: dict[str, Floats]) -> None:
        """Add weighted counts: "segment" [p, D, L], "edge" [L, L], "start" and "stop" [L]."""
        if self.node is not None:
            self.node[block.rows] += sign * coverage(counts["segment"])
        if self.segment is not None:
            self.segment[block.rows] += sign * counts["segment"]
        self.duration += sign * counts["segment"].sum(0)
        for name in ("edge", "start", "stop"):
            total = getattr(self, name)
            total += sign * counts[name]

    def tensors(self) -> list[Tensor]:
        """Return them in the shapes and types of the scores."""
        made = (self.node, self.segment, self.start, self.edge, self.stop, self.duration)
        pairs = zip(self.batch.given.scores, self.batch.given.nothing(), made, strict=True)
        return [
            none if x is None or y is None else torch.from_numpy(y).to(x.dtype).view(x.shape)
            for x, none, y in pairs
        ]


def _sums(
    block: Block, weight: Floats, potentials: SemiMarkovPotentials
) -> tuple[Floats, NDArray[np.uint8], dict[str, Floats]]:
    """Return log Z, flags and weighted counts."""
    weight = np.where(block.bad, 0.0, weight)
    raw = kernels.marginals(potentials.problem, False, False, torch.get_num_threads(), weight)
    counts = {"segment": raw["node"], "edge": raw["tables"][0], "start": raw["start"], "stop": raw["stop"]}
    return np.where(block.bad, np.nan, raw["value"]), raw["in_logs"], counts


def _swept(batch: Batch, weights: Floats, gradient: Gradient | None = None) -> tuple[Tensor, Tensor]:
    """Return log Z and flags; add weighted counts to a gradient."""
    values, flags = [np.zeros(0)], [np.zeros(0, np.uint8)]
    for block in batch.blocks():
        value, in_logs, counts = _sums(block, weights[block.sequences], block.potentials)
        if gradient is not None:
            gradient.add(block, 1.0, counts)
        values.append(value)
        flags.append(in_logs)
    return torch.from_numpy(np.concatenate(values)), torch.from_numpy(np.concatenate(flags))


def log_partition(segments: Segments) -> tuple[Tensor, Tensor]:
    """Return log Z and flags."""
    return _swept(Batch(segments), np.zeros(len(segments.length)))


def marginals(segments: Segments, weight: Tensor) -> tuple[Tensor, ...]:
    """Return gradients, log Z and flags."""
    batch = Batch(segments)
    gradient = Gradient(batch)
    value, in_logs = _swept(batch, checked_weight(weight, segments.length).numpy(), gradient)
    return (*gradient.tensors(), value, in_logs)


def hvp(segments: Segments, weight: Tensor, *along: Tensor | None) -> tuple[Tensor, ...]:
    """Return Hessian products by the reference; a sequence with NaN or +inf has no part in them."""
    return sound(log_partition(segments)[0].isnan(), segments, weight, along)


def _gold(batch: Batch, block: Block, labels: Tensor, begins: Tensor) -> tuple[Path, Bools]:
    """Return the gold of a block, and which places certainly go on with a segment."""
    ptr = block.potentials.seq_ptr
    label = batch.at(labels, block.rows).numpy().astype(np.int32)
    begin = batch.at(begins, block.rows).numpy().copy()
    begin[ptr[:-1][np.diff(ptr) > 0]] = True
    return Path(ptr, label, begin), ~begin & (label >= 0)


def _agreeing(gold: Path, inside: Bools, block: Block) -> SemiMarkovPotentials:
    L = block.potentials.segment.shape[2]
    mask = (gold.label[:, None] < 0) | (gold.label[:, None] == np.arange(L))
    return block.potentials.clamped(mask, gold.begin, inside)


def loss(
    given: Segments, labels: Tensor, begins: Tensor, weight: Tensor | None, scale: float, grad: bool
) -> tuple[Tensor, ...]:
    """Return the total, losses, gradients and flags."""
    batch = Batch(given)
    N = len(batch.seq_ptr) - 1
    weights = np.full(N, scale) if weight is None else checked_weight(weight, given.length).numpy() * scale
    for name, x, dtype in (("labels", labels, torch.int64), ("begins", begins, torch.bool)):
        check_tensor(name, x, (dtype,), tuple(batch.leading))
    gradient = Gradient(batch)
    each, flags = np.zeros(N), np.zeros(N, np.uint8)
    for block in batch.blocks():
        gold, inside = _gold(batch, block, labels, begins)
        segments = block.potentials
        D, L = segments.segment.shape[1:]
        w = np.where(block.bad, 0.0, weights[block.sequences])
        known = bool(((gold.label >= 0) & (gold.label < L)).all())
        score = segments.path_score(gold.label, gold.begin) if known else None
        if score is None or bool(np.isneginf(score).any()):
            agreeing = _agreeing(gold, inside, block)
            score = kernels.log_partition(agreeing.problem, False, torch.get_num_threads())
            w = np.where(np.isneginf(score), 0.0, w)
            counts = _sums(block, w, agreeing)[2] if grad else {}
        else:
            counts = {"segment": np.zeros((len(block.rows) * D, L)), "transition": np.zeros(L * L)}
            counts |= {"start": np.zeros(L), "stop": np.zeros(L)}
            if grad:
                add_segment_counts(gold, w, L, D, counts)
            counts["segment"] = counts["segment"].reshape(-1, D, L)
            counts["edge"] = counts["transition"].reshape(L, L)
        if grad:
            value, in_logs, free = _sums(block, w, segments)
            gradient.add(block, 1.0, free)
            gradient.add(block, -1.0, counts)
        else:
            value, in_logs, _ = _sums(block, np.zeros(len(w)), segments)
        with np.errstate(invalid="ignore"):
            lost = np.where(np.isneginf(score), np.inf, value - score)
        each[block.sequences] = np.where(block.bad, np.nan, lost)
        flags[block.sequences] = in_logs
    made = gradient.tensors() if grad else given.nothing()
    losses = torch.from_numpy(each)
    total = (losses * torch.from_numpy(weights)).sum().to(given.total_dtype)
    return (total, losses, *made, torch.from_numpy(flags))


_Found = tuple[Floats, Any, Any]  # scores [N, k], labels and begins [k, P]


def _paths(segments: Segments, k: int, query: Callable[[Block], _Found]) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels and begins [k, rows], -1 and False where there are none, and scores [B, k]."""
    batch = Batch(segments)
    P = batch.leading.numel()
    labels, begins = np.full((k, P), -1, np.int64), np.zeros((k, P), np.bool_)
    score = np.full((len(batch.seq_ptr) - 1, k), -np.inf)
    for block in batch.blocks():
        value, label, begin = query(block)
        value = np.where(block.bad[:, None], np.nan, value)
        there = np.repeat(value > -np.inf, np.diff(block.potentials.seq_ptr), axis=0).T  # [k, p]
        labels[:, block.rows] = np.where(there, label, -1)
        begins[:, block.rows] = there & (begin > 0)
        score[block.sequences] = value
    shaped = [torch.from_numpy(x).view(k, *batch.leading) for x in (labels, begins)]
    if not batch.packed:
        shaped = [x.transpose(0, 1).contiguous() for x in shaped]
    return shaped[0], shaped[1], torch.from_numpy(score)


def best(segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels, begins and scores."""

    def query(block: Block) -> _Found:
        value, label, begin = kernels.best(block.potentials.problem, torch.get_num_threads())
        return value[:, None], label, begin

    labels, begins, score = _paths(segments, 1, query)
    axis = 0 if segments.first is not None else 1
    return labels.squeeze(axis), begins.squeeze(axis), score[:, 0]


def kbest(segments: Segments, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return labels, begins and scores of the k best."""
    return _paths(
        segments, k, lambda block: kernels.kbest(block.potentials.problem, k, torch.get_num_threads())
    )


def sample(segments: Segments, n: int, seed: Tensor) -> tuple[Tensor, Tensor]:
    """Return labels and begins of n draws."""
    check_count("n", n)
    first = int(seed)

    def query(block: Block) -> _Found:
        # the kernel numbers sequences from 0 in each block
        own = (first + block.sequences.start * 0x9E3779B97F4A7C15) % 2**64
        return kernels.sample(block.potentials.problem, n, own, False, torch.get_num_threads())

    return _paths(segments, n, query)[:2]
