"""Semi-Markov chains: a sequence is cut into labelled segments of at most D positions.

score = start[y_1] + sum_j segment[s_j, d_j - 1, y_j] + sum_{j>1} edge[y_{j-1}, y_j] + stop[y_J]

for segments j that begin at s_j and have d_j positions: Sarawagi & Cohen (2004) eq. 1-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import as_finite_scores, as_scores, as_seq_ptr
from crfkit.structures.constraints import Constraint, Resolved, resolve
from crfkit.structures.labels import Allowed, allowed_mask, forbid, label_names
from crfkit.structures.semimarkov_potentials import (
    SemiMarkovPotentials,
    sums_over_segments,
    whole_segments,
)

__all__ = ["SemiMarkov", "SemiMarkovPotentials"]

Lengths = int | Mapping[str, int] | Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class SemiMarkov:
    """Labelled segments: labels, lengths, and what is allowed.

    Parameters
    ----------
    labels : int or list of str
        Label names, or their number.
    max_length, min_length : int, or one per label (a list, or a dict by name; others are 1 long)
        How many positions a segment may have.
    constraints : sequence of constraints
        On the labels of neighbouring segments; see `crfkit.structures.constraints`.

    Examples
    --------
    >>> from crfkit import SemiMarkov, inference
    >>> model = SemiMarkov(["name", "other"], max_length={"name": 3, "other": 1})
    >>> node = [[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]]  # scores per position, added up over a segment
    >>> inference.decode(model.potentials(node=node, edge=[[-1.0, 0.0], [0.0, 0.0]])).segments
    [(0, 2, 0), (2, 3, 1)]
    """

    labels: tuple[str, ...]
    max_length: tuple[int, ...]
    min_length: tuple[int, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    resolved: Resolved | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        labels: int | Iterable[str],
        max_length: Lengths,
        min_length: Lengths = 1,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        names = label_names(labels)
        longest = _per_label(max_length, names, "max_length")
        shortest = _per_label(min_length, names, "min_length")
        resolved = resolve(constraints, names, segments=True) if constraints else None
        if resolved:
            limit = np.where(resolved.max_length > 0, resolved.max_length, longest)
            longest = np.minimum(longest, limit)
            shortest = np.maximum(shortest, resolved.min_length)
        for name, low, high in zip(names, shortest, longest, strict=True):
            if low > high:
                raise ValueError(f"min_length of {name!r} is {low}, above its max_length {high}")
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "max_length", tuple(longest.tolist()))
        object.__setattr__(self, "min_length", tuple(shortest.tolist()))
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "resolved", resolved)

    def potentials(
        self,
        segment: ArrayLike | None = None,
        edge: ArrayLike | None = None,
        *,
        node: ArrayLike | None = None,
        start: ArrayLike | None = None,
        stop: ArrayLike | None = None,
        seq_ptr: ArrayLike | None = None,
        allowed: ArrayLike | Sequence[Allowed] | None = None,
    ) -> SemiMarkovPotentials:
        """Score one sequence, or a batch of them laid end to end.

        Parameters
        ----------
        segment : array [P, D, L]
            ``segment[p, d - 1, y]`` scores the segment of d positions that begins at p; D is the
            largest `max_length`. Segments that would run past the end of a sequence are ignored.
        edge : array [L, L] or [P, L, L]
            ``edge[from, to]`` for neighbouring segments; per position: where the second begins.
        node : array [P, L]
            Scores per position, added up over each segment.
        start, stop : array [L]
            Score of the label of the first and of the last segment.
        seq_ptr : array [N + 1]
            Sequence pointers, as in `Chain.potentials`.
        allowed : mask [P, L] or list of label sets
            What each position may be; a segment must be allowed at all its positions.
        """
        L, D = len(self.labels), max(self.max_length)
        if segment is None and node is None:
            raise ValueError("segment or node must be given")
        nodes = None if node is None else as_finite_scores(node, "node")
        if nodes is not None and (nodes.ndim != 2 or nodes.shape[1] != L):
            raise ValueError(f"node has shape {nodes.shape}, expected (positions, {L})")
        if segment is None:
            scores = np.zeros((len(nodes) if nodes is not None else 0, D, L))
        else:
            scores = as_scores(segment, "segment")  # [P, D, L]
        P = len(scores)
        if scores.shape != (P, D, L):
            raise ValueError(f"segment has shape {scores.shape}, expected (positions, {D}, {L})")
        pointers = as_seq_ptr(seq_ptr, P)
        if nodes is not None:
            if len(nodes) != P:
                raise ValueError(f"node has {len(nodes)} positions, segment has {P}")
            scores = scores + sums_over_segments(nodes, D)
        lengths = np.arange(1, D + 1)[:, None]  # [D, 1]
        fits = (lengths >= np.array(self.min_length)) & (lengths <= np.array(self.max_length))
        scores = forbid(scores, fits)
        if allowed is not None:
            scores = forbid(scores, whole_segments(allowed_mask(self.labels, allowed, P), D))
        edges = np.zeros((L, L)) if edge is None else as_scores(edge, "edge")
        starts = None if start is None else as_scores(start, "start")
        stops = None if stop is None else as_scores(stop, "stop")
        if self.resolved:
            edges = forbid(edges, self.resolved.transition)
            starts = forbid(np.zeros(L) if starts is None else starts, self.resolved.start)
            stops = forbid(np.zeros(L) if stops is None else stops, self.resolved.stop)
        return SemiMarkovPotentials(self, scores, edges, starts, stops, pointers, single=seq_ptr is None)


def _per_label(lengths: Lengths, names: tuple[str, ...], argument: str) -> NDArray[np.int64]:
    if isinstance(lengths, Mapping):
        unknown = [name for name in lengths if name not in names]
        if unknown:
            raise ValueError(f"{argument} names {unknown[0]!r}, which is not a label")
        values = np.array([lengths.get(name, 1) for name in names], dtype=np.int64)
    else:
        values = np.asarray(lengths)
        if values.dtype.kind not in "iu" or values.ndim > 1:
            raise ValueError(f"{argument} is {lengths!r}, expected whole numbers")
        if values.ndim == 1 and len(values) != len(names):
            raise ValueError(f"{argument} has {len(values)} entries, expected {len(names)}")
        values = np.broadcast_to(values, (len(names),)).astype(np.int64)
    for name, value in zip(names, values, strict=True):
        if value < 1:
            raise ValueError(f"{argument} of {name!r} is {value}, expected 1 or more")
    return values
