"""Semi-Markov chains: a sequence is cut into labeled segments of at most D positions.

score = start[y_1] + sum_j segment[s_j, d_j - 1, y_j] + sum_{j>1} edge[y_{j-1}, y_j] + stop[y_J]

for segments j that begin at s_j and have d_j positions: Sarawagi & Cohen (2004) eq. 1-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit._safe.pickling import Restored
from crfkit.arrays import Bools, Floats, Pointers, as_finite_scores, as_scores, as_seq_ptr
from crfkit.checks import in_order
from crfkit.data.batch import Batch
from crfkit.native import check_memory
from crfkit.structures.constraints import Constraint, Resolved, resolve
from crfkit.structures.gold import Allowed, Gold, Path, Sets, Soft, allowed_mask, forbid, gold_of, label_names
from crfkit.structures.rules import constraints_of, plain_constraints
from crfkit.structures.segments.gold import (
    add_segment_counts,
    begins_of,
    certain_segments,
    check_segments,
    segments_of,
)
from crfkit.structures.segments.lengths import Lengths, check_found, check_lengths, per_label
from crfkit.structures.segments.potentials import (
    SemiMarkovPotentials,
    at_last_positions,
    sums_over_segments,
    whole_segments,
)
from crfkit.structures.structure import Scores, Slot

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SemiMarkov", "SemiMarkovPotentials"]

_UNBOUNDED = 1 << 30  # no segment is so long


@dataclass(frozen=True)
class SemiMarkov(Restored):
    """The structure of labeled segments: labels, lengths and constraints.

    Parameters
    ----------
    labels : int or list of str, optional
        Label names, or their number; without them, they are to be found in training data.
    max_length, min_length : int, or one per label (a list, or a dict by name; others are 1 long)
        How many positions a segment may have. Without `max_length`, the longest gold segment of each label
        in the training data says it (`settled`).
    constraints : sequence of constraints
        On the labels of neighboring segments; see `crfkit.structures.constraints`.

    Examples
    --------
    >>> from crfkit import SemiMarkov, inference
    >>> model = SemiMarkov(["name", "other"], max_length={"name": 3, "other": 1})
    >>> node = [[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]]  # scores per position, added up over a segment
    >>> inference.decode(model.potentials(node=node, edge=[[-1.0, 0.0], [0.0, 0.0]])).segments
    [(0, 2, 0), (2, 3, 1)]
    """

    kind: ClassVar[str] = "semi-markov"
    objective: ClassVar[str] = "likelihood"
    segmental: ClassVar[bool] = True
    local: ClassVar[bool] = False
    graphical: ClassVar[bool] = False
    is_chain: ClassVar[bool] = False
    order: ClassVar[int] = 1  # the label of the segment before
    limits_lengths: ClassVar[bool] = False  # a structure of its own takes them

    labels: tuple[str, ...]
    max_length: tuple[int, ...]
    min_length: tuple[int, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    resolved: Resolved | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        labels: int | Iterable[str] | None = None,
        max_length: Lengths | None = None,
        min_length: Lengths = 1,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        if max_length is None or (isinstance(max_length, tuple) and not max_length):
            max_length = ()  # to be found in the data
        if labels is None or (isinstance(labels, tuple) and not labels):
            check_lengths(max_length, "max_length")
            check_lengths(min_length, "min_length")
            self._keep((), max_length, min_length, constraints, None)  # as given, until there are labels
            return
        names = label_names(labels)
        if isinstance(max_length, tuple) and not max_length:
            self._keep(names, (), min_length, constraints, None)
            return
        longest = per_label(max_length, names, "max_length")
        shortest = per_label(min_length, names, "min_length")
        resolved = resolve(constraints, names, segments=True) if constraints else None
        if resolved:
            limit = np.where(resolved.max_length > 0, resolved.max_length, longest)
            longest = np.minimum(longest, limit)
            shortest = np.maximum(shortest, resolved.min_length)
        for name, low, high in zip(names, shortest, longest, strict=True):
            if low > high:
                raise ValueError(f"min_length of {name!r} is {low}, above its max_length {high}")
        self._keep(names, tuple(longest.tolist()), tuple(shortest.tolist()), constraints, resolved)

    def _keep(
        self,
        names: tuple[str, ...],
        longest: Lengths,
        shortest: Lengths,
        constraints: Sequence[Constraint],
        resolved: Resolved | None,
    ) -> None:
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "max_length", longest)
        object.__setattr__(self, "min_length", shortest)
        object.__setattr__(self, "constraints", tuple(in_order(constraints)))
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
        """Score one sequence, or a batch of them, one after the other.

        Parameters
        ----------
        segment : array [P, D, L]
            ``segment[p, d - 1, y]`` scores the segment of d positions that begins at p; D is the
            largest `max_length`. Segments that would run past the end of a sequence are ignored.
        edge : array [L, L] or [P, L, L]
            ``edge[from, to]`` for neighboring segments; per position: where the second begins.
        node : array [P, L]
            Scores per position, added up over each segment.
        start, stop : array [L]
            Score of the label of the first and of the last segment.
        seq_ptr : array [N + 1]
            Sequence pointers, as in `Chain.potentials`.
        allowed : mask [P, L] or list of label sets
            What each position may be; a segment must be allowed at all its positions.
        """
        L, D = len(self.labels), self._longest()
        if segment is None and node is None:
            raise ValueError("neither segment nor node is given; give at least one of them")
        nodes = None if node is None else as_finite_scores(node, "node")
        if nodes is not None and (nodes.ndim != 2 or nodes.shape[1] != L):
            raise ValueError(f"node has shape {nodes.shape}, expected (positions, {L})")
        if segment is None:
            scores = _no_scores(len(nodes) if nodes is not None else 0, D, L)
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
        scores = forbid(scores, self.allowed_lengths())
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

    def allowed_lengths(self) -> Bools:
        """Return which lengths each label may have, [D, L].

        Examples
        --------
        >>> SemiMarkov(["a", "b"], max_length=[1, 2], min_length=[1, 2]).allowed_lengths().tolist()
        [[True, False], [False, True]]
        """
        length = np.arange(1, self._longest() + 1)[:, None]  # [D, 1]
        fits: Bools = (length >= np.array(self.min_length)) & (length <= np.array(self.max_length))
        return fits

    # ---- training

    def with_labels(self, names: Sequence[str]) -> Self:
        """Return the same structure over these labels."""
        return type(self)(names, self.max_length, self.min_length, self.constraints)

    def settled(self, batches: Iterable[Batch]) -> Self:
        """Return the structure with the longest gold segment of each label where no `max_length` is given.

        Examples
        --------
        >>> batch = Batch(seq_ptr=[0, 3], attr_ptr=[0] * 4, attr=[], label=[0, 0, 1], begin=[1, 0, 1])
        >>> SemiMarkov(["NAME", "O"]).settled([batch]).max_length
        (2, 1)
        """
        if not self._open:
            return self
        longest = np.array(per_label(self.min_length, self.labels, "min_length"))
        positions = 0
        for batch in batches:
            gold = gold_of(batch, len(self.labels))
            if not isinstance(gold, Path):
                raise ValueError(
                    "some positions have no gold label, so the data do not say how long segments are: give "
                    "max_length, as in SemiMarkov(max_length=4)"
                )
            begin = batch.begin
            if begin is None:
                begin = begins_of(gold.seq_ptr, gold.label, (_UNBOUNDED,) * len(self.labels))
            found = segments_of(Path(gold.seq_ptr, gold.label, begin))
            np.maximum.at(longest, found.label, found.length)
            positions += batch.positions
        check_found(int(longest.max(initial=0)), positions)
        return type(self)(self.labels, longest, self.min_length, self.constraints)

    @property
    def _open(self) -> bool:
        """Whether the longest segments are still to be found in the data."""
        given: object = self.max_length  # as given, until there are labels
        return isinstance(given, tuple) and not given

    def _longest(self) -> int:
        """Return D."""
        if self._open or not self.labels:
            missing = "max_length" if self._open else "labels"
            raise ValueError(
                f"this structure has no {missing} yet: give {'it' if self._open else 'them'}, as in "
                "SemiMarkov(['NAME', 'O'], max_length=4), or take it from training data"
            )
        return max(self.max_length)

    def describe(self) -> str:
        """Return the name that messages use for the structure."""
        return "a semi-Markov chain"

    def slots(self) -> dict[str, Slot]:
        """Return the slots of scores: positions, where segments begin and end, segments, steps, lengths."""
        L, D = len(self.labels), self._longest()
        one = ((L,),)
        return {
            "node": Slot(one, "position"),
            "begin": Slot(one, "position"),
            "end": Slot(one, "position"),
            "segment": Slot(one, "segment"),
            "edge": Slot(((L, L),), "step", base="transition"),
            "transition": Slot(((L, L),)),
            "start": Slot(one),
            "stop": Slot(one),
            "length": Slot(one * D),
        }

    def potentials_of(self, scores: Scores, batch: Batch) -> SemiMarkovPotentials:
        """Return potentials of the scores of a batch; a slot that is missing counts as 0.

        Scores of positions are added up over each segment; a segment also has those of where it begins and of
        where it ends.
        """
        P, L, D = batch.positions, len(self.labels), self._longest()
        segment = _no_scores(P, D, L)
        if "segment" in scores:
            if scores["segment"].shape != (P * D, L):
                raise ValueError(
                    f"the batch has attributes of segments of up to {batch.places('segment') // max(P, 1)} "
                    f"positions, the structure of up to {D}: extract them with the structure's max_length"
                )
            segment += scores["segment"].reshape(P, D, L)
        if "length" in scores:
            segment += scores["length"].reshape(D, L)
        if "begin" in scores:
            segment += scores["begin"][:, None]
        if "end" in scores:
            segment += at_last_positions(scores["end"], D)
        edge = scores.get("edge", scores.get("transition"))
        return self.potentials(
            segment,
            None if edge is None else edge.reshape(*edge.shape[:-1], L, L),
            node=scores["node"],
            start=scores.get("start"),
            stop=scores.get("stop"),
            seq_ptr=batch.seq_ptr,
        )

    def gold(self, batch: Batch, before: int = 0) -> Gold:
        """Return what is known about the segments, checked against lengths and constraints.

        Without `Batch.begin` a segment is a stretch of one label; labels of length 1 make a segment each.
        """
        found = gold_of(batch, len(self.labels))
        if isinstance(found, Soft):
            raise ValueError("a semi-Markov chain takes labels or sets of labels, not soft labels")
        if isinstance(found, Sets):
            return found
        begin = begins_of(found.seq_ptr, found.label, self.max_length) if batch.begin is None else batch.begin
        path = Path(found.seq_ptr, found.label, begin)
        check_segments(path, self.labels, (self.min_length, self.max_length), self.resolved, before)
        return path

    def gold_cells(self, batch: Batch) -> dict[str, Pointers]:
        """Return the cells that gold segments take."""
        P, L, D = batch.positions, len(self.labels), self._longest()
        label = np.full(P, -1, np.int32) if batch.label is None else batch.label
        begin, end, edge = (np.full(P, -1) for _ in range(3))
        segment = np.full(P * D, -1)
        gold = self.gold(batch)
        if isinstance(gold, Path):
            found = segments_of(gold)
        elif batch.begin is not None:
            found = certain_segments(Path(batch.seq_ptr, label, batch.begin))
        else:
            found = None
        if found is not None:
            fits = found.length <= D
            segment[found.first[fits] * D + found.length[fits] - 1] = found.label[fits]
            begin[found.first], end[found.first + found.length - 1] = found.label, found.label
            inner = np.flatnonzero(found.inner)
            edge[found.first[inner]] = found.label[inner - 1] * L + found.label[inner]
        steps = {"edge": edge, "transition": edge[edge >= 0]}
        return {"node": label, "begin": begin, "end": end, "segment": segment, **steps}

    def add_counts(self, gold: Gold, weight: Floats, counts: Scores) -> None:
        """Add to `counts` how often the gold takes each cell, each sequence times its weight [N]."""
        if not isinstance(gold, Path):
            raise ValueError("sets of labels cannot be counted: their counts depend on the weights")
        add_segment_counts(gold, weight, len(self.labels), self._longest(), counts)

    def cells(self) -> int:
        """Return how many scores a position has: one for each segment that begins there."""
        return len(self.labels) * self._longest()

    def states(self) -> int:
        """Return how many states a position has in a sweep."""
        return len(self.labels)

    def lengths(self) -> dict[str, int]:
        """Return the longest segment of each label.

        Examples
        --------
        >>> SemiMarkov(["NAME", "O"], max_length=[3, 1]).lengths()
        {'NAME': 3, 'O': 1}
        """
        self._longest()
        return dict(zip(self.labels, self.max_length, strict=True))

    def unnormalized(self, scores: Scores, batch: Batch) -> SemiMarkovPotentials:
        """Return `potentials_of`: segmentations are normalized as a whole."""
        return self.potentials_of(scores, batch)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the labels, as values that JSON can hold; `crfkit.structures.kinds` reads them.

        Examples
        --------
        >>> SemiMarkov(["a", "b"], max_length=2).to_dict()
        {'kind': 'semi-markov', 'max_length': [2, 2], 'min_length': [1, 1], 'constraints': []}
        """
        return {
            "kind": self.kind,
            "max_length": list(self.max_length),
            "min_length": list(self.min_length),
            "constraints": plain_constraints(self.constraints, self.labels),
        }

    @classmethod
    def of_dict(cls, plain: Mapping[str, Any], labels: Sequence[str]) -> Self:
        """Return the structure that `to_dict` described, over these labels; else raise a ValueError."""
        lengths = [plain[name] for name in ("max_length", "min_length")]
        for name, given in zip(("max_length", "min_length"), lengths, strict=True):
            whole = isinstance(given, list) and all(type(d) is int and 0 < d < 1 << 16 for d in given)
            if not whole or len(given) != len(labels):
                raise ValueError(f"{name} must have a length for each of the {len(labels)} labels")
        longest, shortest = lengths
        return cls(labels, longest, shortest, constraints_of(plain["constraints"], labels))


def _no_scores(P: int, D: int, L: int) -> Floats:
    check_memory(f"scores of segments of up to {D} positions", P, D, L)
    return np.zeros((P, D, L))
