"""Scores of segments, as queries and training see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Bools, Floats, Ids, Pointers, sum_by_sequence
from crfkit.structures.labels import forbid, label_ids

if TYPE_CHECKING:
    from crfkit.structures.semimarkov import SemiMarkov

__all__ = ["SemiMarkovPotentials", "sums_over_segments", "whole_segments"]


@dataclass(frozen=True, eq=False)
class SemiMarkovPotentials:
    """Scores of segments, ready for `crfkit.inference`; made by `SemiMarkov.potentials`."""

    structure: SemiMarkov
    segment: Floats  # [P, D, L], begins at p
    edge: Floats  # [L, L] or [P, L, L]
    start: Floats | None  # [L]
    stop: Floats | None  # [L]
    seq_ptr: Pointers  # [N + 1]
    single: bool

    @cached_property
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""
        return _native.Problem.segments(self.segment, self.edge, self.start, self.stop, self.seq_ptr)

    def sequence(self, n: int) -> SemiMarkovPotentials:
        """Return sequence n alone."""
        rows = slice(int(self.seq_ptr[n]), int(self.seq_ptr[n + 1]))
        edge = self.edge[rows] if self.edge.ndim == 3 else self.edge
        length = np.array([0, rows.stop - rows.start], dtype=np.int64)
        return SemiMarkovPotentials(
            self.structure, self.segment[rows], edge, self.start, self.stop, length, single=True
        )

    def clamped(self, mask: Bools) -> SemiMarkovPotentials:
        """Return the same scores without the segments that a label mask [P, L] rules out."""
        segment = forbid(self.segment, whole_segments(mask, self.segment.shape[1]))
        return SemiMarkovPotentials(
            self.structure, segment, self.edge, self.start, self.stop, self.seq_ptr, self.single
        )

    def segmentation(self, segments: Sequence[tuple[int, int, str | int]]) -> tuple[Ids, NDArray[np.uint8]]:
        """Return labels [P] and begins [P] of (start, end, label) triples that tile the positions."""
        P = len(self.segment)
        labels, begin = np.zeros(P, dtype=np.int32), np.zeros(P, dtype=np.uint8)
        at = 0
        for i, (first, end, label) in enumerate(segments):
            last = int(self.seq_ptr[np.searchsorted(self.seq_ptr, at, side="right")]) if at < P else P
            if first != at or not first < end <= last:
                raise ValueError(
                    f"segments[{i}] is ({first}, {end}, {label!r}), expected one from {at} to at most {last}"
                )
            labels[first:end] = label_ids(self.structure.labels, [label], f"segments[{i}]")
            begin[first] = 1
            at = end
        if at != P:
            raise ValueError(f"segments end at {at}, expected {P}")
        return labels, begin

    def path_score(self, labels: Ids, begin: NDArray[np.uint8]) -> Floats:
        """Score of one segmentation of each sequence, [N]."""
        _ = self.problem  # checks shapes and numbers
        P, D = self.segment.shape[:2]
        first = np.flatnonzero(begin)
        length = np.diff(np.append(first, P))
        terms = np.zeros(P)  # [P]
        short = length <= D
        terms[first[~short]] = -np.inf
        terms[first[short]] = self.segment[first[short], length[short] - 1, labels[first[short]]]
        inner = np.setdiff1d(first, self.seq_ptr)
        edge = self.edge[inner] if self.edge.ndim == 3 else self.edge[None]
        where = np.arange(len(inner)) if self.edge.ndim == 3 else np.zeros(len(inner), np.int64)
        terms[inner] += edge[where, labels[inner - 1], labels[inner]]
        filled = self.seq_ptr[1:] > self.seq_ptr[:-1]
        starts, stops = self.seq_ptr[:-1][filled], self.seq_ptr[1:][filled] - 1
        if self.start is not None:
            terms[starts] += self.start[labels[starts]]
        if self.stop is not None:
            terms[stops] += self.stop[labels[stops]]
        return sum_by_sequence(terms, self.seq_ptr)


def sums_over_segments(node: Floats, D: int) -> Floats:
    """Add ``node[p] + ... + node[p + d - 1]`` for every begin p and length d, [P, D, L]."""
    P, L = node.shape
    sums = np.zeros((P, D, L))  # [P, D, L]; what runs past the end of the data stays unused
    for d in range(min(D, P)):
        sums[: P - d, d] = node[d:] if d == 0 else sums[: P - d, d - 1] + node[d:]
    return sums


def whole_segments(mask: Bools, D: int) -> Bools:
    """Tell which segments [P, D, L] are allowed at all their positions."""
    P, L = mask.shape
    whole = np.zeros((P, D, L), dtype=np.bool_)  # [P, D, L]
    for d in range(min(D, P)):
        whole[: P - d, d] = mask[d:] if d == 0 else whole[: P - d, d - 1] & mask[d:]
    return whole
