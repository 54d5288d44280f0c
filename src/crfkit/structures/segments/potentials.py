"""Scores of segments, as queries and training see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Bools, Floats, Ids, Pointers, pointers, ranges, sum_by_sequence
from crfkit.structures.chains.potentials import States
from crfkit.structures.gold import Path, forbid, label_ids, span_mask
from crfkit.structures.potentials import KeptScores, edge_slot, one_or_all, score_of_gold, wrong_labels
from crfkit.structures.results import Labeling, Marginals
from crfkit.structures.segments.gold import begins_of

if TYPE_CHECKING:
    from crfkit.structures.segments.semimarkov import SemiMarkov


@dataclass(frozen=True, eq=False)
class SemiMarkovPotentials(KeptScores):
    """Scores of segments, ready for `crfkit.inference`; made by `SemiMarkov.potentials`."""

    structure: SemiMarkov
    segment: Floats  # [P, D, L], begins at p
    edge: Floats  # [L, L] or [P, L, L]
    start: Floats | None  # [L]
    stop: Floats | None  # [L]
    seq_ptr: Pointers  # [N + 1]
    single: bool

    @once
    def problem(self) -> _native.Problem:
        """The arrays as the kernels see them, checked."""
        return self.problem_of(self.states)

    @property
    def states(self) -> States:
        """The scores by state: those of labels."""
        labels = np.arange(len(self.structure.labels))
        return States(labels, self.segment, [self.edge], self.start, self.stop)

    def problem_of(self, states: States) -> _native.Problem:
        """Return the arrays of such states as the kernels see them, checked."""
        edge = states.tables[0]
        return _native.Problem.segments(states.node, edge, states.start, states.stop, self.seq_ptr)

    @property
    def steps_by_position(self) -> bool:
        """Whether scores of steps differ from position to position, so that they take much memory."""
        return self.edge.ndim == 3

    @property
    def constrained(self) -> bool:
        """Whether the structure has constraints, so that a sequence without a labeling is an error."""
        return bool(self.structure.constraints)

    def sequence(self, n: int) -> SemiMarkovPotentials:
        """Return sequence n as one sequence."""
        rows = slice(int(self.seq_ptr[n]), int(self.seq_ptr[n + 1]))
        edge = self.edge[rows] if self.edge.ndim == 3 else self.edge
        length = np.array([0, rows.stop - rows.start], dtype=np.int64)
        return replace(self, segment=self.segment[rows], edge=edge, seq_ptr=length, single=True)

    def select(self, sequences: Pointers) -> SemiMarkovPotentials:
        """Return the batch of some sequences, by number."""
        counts = np.diff(self.seq_ptr)[sequences]
        rows, ptr = ranges(self.seq_ptr[:-1][sequences], counts), pointers(counts)
        edge = self.edge[rows] if self.edge.ndim == 3 else self.edge
        return replace(self, segment=self.segment[rows], edge=edge, seq_ptr=ptr, single=False)

    def clamped(
        self, mask: Bools, begin: Bools | None = None, inside: Bools | None = None
    ) -> SemiMarkovPotentials:
        """Return the same scores without the segments that a label mask [P, L] rules out.

        With `begin` and `inside` [P] also without those that do not begin where a segment must, or that begin
        where one goes on.
        """
        D = self.segment.shape[1]
        allowed = whole_segments(mask, D)
        if begin is not None and inside is not None:
            allowed &= between(begin, inside, D)[:, :, None]
        return replace(self, segment=forbid(self.segment, allowed))

    def with_cost(self, gold: Path) -> SemiMarkovPotentials:
        """Return the scores plus the Hamming cost: 1 for each position with a wrong label.

        Only wrong labels cost something, not where segments begin: a segment costs 1 for each wrong position.

        Examples
        --------
        >>> from crfkit import SemiMarkov
        >>> gold = Path(np.array([0, 2]), np.array([1, 0], dtype=np.int32))
        >>> SemiMarkov(2, max_length=2).potentials(node=np.zeros((2, 2))).with_cost(gold).segment[0].tolist()
        [[1.0, 0.0], [1.0, 1.0]]
        """
        _, D, L = self.segment.shape
        return replace(self, segment=self.segment + sums_over_segments(wrong_labels(gold, L), D))

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

    def flat_path(
        self, labels: Labeling | Sequence[tuple[int, int, str | int]]
    ) -> tuple[Ids, NDArray[np.uint8]]:
        """Return label ids [P] and begins [P] of a labeling, or of (start, end, label) triples."""
        return self.segmentation(labels.segments if isinstance(labels, Labeling) else labels)

    def path_score(self, labels: Ids, begin: NDArray[Any] | None = None) -> Floats:
        """Score a segmentation of each sequence, [N]; without begins, a segment is a stretch of one label."""
        _ = self.problem  # checks shapes and numbers
        P, D = self.segment.shape[:2]
        first = np.flatnonzero(
            begins_of(self.seq_ptr, labels, self.structure.max_length) if begin is None else begin
        )
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

    def as_labels(self, paths: Ids) -> Ids:
        """Return the label ids of paths [k, P] that the kernels found, which are labels already."""
        return paths

    def posterior(self, node: Floats) -> tuple[Ids, Bools]:
        """Return the labels [P] of the highest marginals [P, L]; segments are stretches of one label."""
        labels = np.argmax(node, axis=1).astype(np.int32)
        return labels, begins_of(self.seq_ptr, labels, self.structure.max_length)

    def span_mask(self, start: int, end: int, labels: Sequence[str | int]) -> Bools:
        """Return the mask [T, L] that gives positions start to end - 1 of one sequence these labels."""
        return span_mask(self.structure.labels, int(self.seq_ptr[-1]), start, end, labels)

    def most(self) -> int:
        """Return an upper bound of the number of labelings of a sequence."""
        # Each position has a label, and begins a segment or not.
        most: int = (2 * len(self.structure.labels)) ** int(np.diff(self.seq_ptr).max(initial=0))
        return most

    def shaped(self, raw: dict[str, Any]) -> Marginals:
        """Return the kernels' marginals in the shapes of the scores."""
        return Marginals(
            one_or_all(self, raw["value"]),
            np.clip(coverage(raw["node"]), 0.0, 1.0),
            raw["edge"] if "edge" in raw else raw["tables"][0] if "tables" in raw else None,
            None if self.start is None else raw["start"],
            None if self.stop is None else raw["stop"],
            raw["node"],
        )

    def scores(self) -> dict[str, Floats]:
        """Return the scores by slot; do not change them.

        "segment" [P * D, L]; "transition" [L * L] or, by position, "edge" [P, L * L]; "start" and "stop" [L]
        where they are given.
        """
        return self._slots(self.segment, self.edge, self.start, self.stop)

    def zeros(self) -> dict[str, Floats]:
        """Return arrays of 0 for a gradient by scores, also of what a segment's score can be made of."""
        P, D, L = self.segment.shape
        made = {slot: np.zeros_like(array) for slot, array in self.scores().items()}
        places = {name: np.zeros((P, L)) for name in ("node", "begin", "end")}
        return {**made, **places, "length": np.zeros(D * L)}

    def in_slots(self, marginals: Marginals) -> dict[str, Floats]:
        """Return marginals by slot; they may share memory with the marginals.

        Those of `scores`, and of what a segment's score can be made of: "node" [P, L], the probability that a
        position lies in a segment of each label, "begin" and "end" [P, L], that one begins or ends there, and
        "length" [D * L], the segments of each length and label.
        """
        segment = marginals.segment
        assert segment is not None
        made = self._slots(segment, marginals.edge, marginals.start, marginals.stop)
        return {
            **made,
            "node": coverage(segment),
            "begin": segment.sum(axis=1),
            "end": _ending(segment),
            "length": segment.sum(axis=0).reshape(-1),
        }

    def _slots(
        self, segment: Floats, edge: Floats, start: Floats | None, stop: Floats | None
    ) -> dict[str, Floats]:
        P, D, L = segment.shape
        slots = {"segment": segment.reshape(P * D, L), **edge_slot([edge])}
        return slots | {name: end for name, end in (("start", start), ("stop", stop)) if end is not None}

    def gold_score(self, gold: Any, weight: Floats) -> float:
        """Add up weight[n] times the score of the gold of sequence n: a `Path`, or soft gold."""
        return score_of_gold(self, gold, weight)

    def add_counts(self, gold: Any, weight: Floats, counts: dict[str, Floats]) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N]."""
        self.structure.add_counts(gold, weight, counts)


def coverage(segment: Floats) -> Floats:
    """Return the mass [P, L] of the segments of each label that a position lies in."""
    P, D, L = segment.shape
    longer = np.cumsum(segment[:, ::-1], axis=1)[:, ::-1]  # [P, D, L] of at least d positions
    covered = np.zeros((P, L))
    for d in range(min(D, P)):
        covered[d:] += longer[: P - d, d]
    return covered


def _ending(segment: Floats) -> Floats:
    """Return the mass [P, L] of the segments of each label that end at a position."""
    P, D, L = segment.shape
    ending = np.zeros((P, L))
    for d in range(min(D, P)):
        ending[d:] += segment[: P - d, d]
    return ending


def at_last_positions(end: Floats, D: int) -> Floats:
    """Return for every begin p and length d the row ``end[p + d - 1]``, [P, D, L]."""
    P, L = end.shape
    rows = np.zeros((P, D, L))  # [P, D, L]; what runs past the end of the data stays unused
    for d in range(min(D, P)):
        rows[: P - d, d] = end[d:]
    return rows


def sums_over_segments(node: Floats, D: int) -> Floats:
    """Add ``node[p] + ... + node[p + d - 1]`` for every begin p and length d, [P, D, L]."""
    P, L = node.shape
    sums = np.zeros((P, D, L))  # [P, D, L]; what runs past the end of the data stays unused
    for d in range(min(D, P)):
        sums[: P - d, d] = node[d:] if d == 0 else sums[: P - d, d - 1] + node[d:]
    return sums


def between(begin: Bools, inside: Bools, D: int) -> Bools:
    """Return which segments [P, D] begin where none goes on, end before such a place, and cross no begin.

    Examples
    --------
    >>> begin, inside = np.array([True, False, False, True]), np.array([False, True, False, False])
    >>> between(begin, inside, 3).tolist()
    [[False, True, True], [False, False, False], [True, False, False], [True, True, True]]
    """
    P = len(begin)
    inner = np.append(inside[1:], False)  # [P] a segment goes on after the position
    fits = np.zeros((P, D), dtype=np.bool_)  # [P, D]
    open_ = ~inside  # [P] begins allowed, no begin crossed so far
    for d in range(D):
        last = np.minimum(np.arange(P) + d, P - 1)
        if d:
            open_ = open_ & ~(begin[last] & (np.arange(P) + d < P))
        fits[:, d] = open_ & ~(inner[last] & (np.arange(P) + d < P))
    return fits


def whole_segments(mask: Bools, D: int) -> Bools:
    """Return which segments [P, D, L] are allowed at all their positions."""
    P, L = mask.shape
    whole = np.zeros((P, D, L), dtype=np.bool_)  # [P, D, L]
    for d in range(min(D, P)):
        whole[: P - d, d] = mask[d:] if d == 0 else whole[: P - d, d - 1] & mask[d:]
    return whole
