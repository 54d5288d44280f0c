"""Labels and the gold: names and ids, sets of labels that positions may take, and what is known of them.

==============  ====================  =================================================================
gold            given as              its score, and its counts
==============  ====================  =================================================================
`Path`          ``batch.label``       score of the path; one-hot
`Sets`          ``batch.allowed``,    log of the sum over the paths in the sets (the clamped sweep);
                or labels of -1       marginals of that sum, which depend on the weights
`Soft`          ``batch.soft``        expected score when positions are independent draws; q_t for
                                      nodes, q_{t-h} (x) ... (x) q_t for label n-grams
==============  ====================  =================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.checks import in_order
from crfkit.data.batch import Batch
from crfkit.errors import DataError

#: One position of a partial labeling: ``None`` (anything), a label, or a set of labels.
Allowed: TypeAlias = "str | int | Iterable[str | int] | None"


def label_names(labels: int | Iterable[str]) -> tuple[str, ...]:
    """Return label names; a number L stands for the names "0" to "L-1"."""
    if isinstance(labels, int | np.integer):
        names = tuple(str(i) for i in range(int(labels)))
    elif isinstance(labels, str):
        raise ValueError(f"labels is the string {labels!r}, expected a list of names or a number")
    else:
        names = tuple(in_order(labels))
    if not names:
        raise ValueError("labels is empty; a structure needs at least one label")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"labels holds {name!r}, expected strings")
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"labels holds {twice!r} twice; give each label once")
    return names


def label_ids(names: tuple[str, ...], labels: Iterable[str | int], argument: str) -> Ids:
    """Return label ids for a sequence of names or ids, both checked."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        ids = labels.astype(np.int64)
    else:
        known = {name: i for i, name in enumerate(names)}
        ids = np.empty(len(given := list(labels)), dtype=np.int64)
        for i, label in enumerate(given):
            if isinstance(label, str):
                if label not in known:
                    raise ValueError(
                        f"{argument}[{i}] is {label!r}, which is not a label; "
                        f"labels are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
                    )
                ids[i] = known[label]
            elif isinstance(label, bool) or not hasattr(label, "__index__"):
                raise ValueError(f"{argument}[{i}] is {label!r}, expected a label name or its id")
            else:
                ids[i] = label
    if ids.ndim != 1:
        raise ValueError(f"{argument} has {ids.ndim} axes, expected one label per position")
    wrong = np.flatnonzero((ids < 0) | (ids >= len(names)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"{argument}[{i}] is {ids[i]}, expected 0 to {len(names) - 1}")
    return ids.astype(np.int32)


def allowed_mask(names: tuple[str, ...], allowed: ArrayLike | Sequence[Allowed], positions: int) -> Bools:
    """Return which labels each position may take, from a mask [P, L] or a list of label sets."""
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        if allowed.shape != (positions, len(names)):
            raise ValueError(f"allowed has shape {allowed.shape}, expected ({positions}, {len(names)})")
        return allowed
    sets = list(cast("Sequence[Allowed]", allowed))
    if len(sets) != positions:
        raise ValueError(f"allowed has {len(sets)} entries, expected one per position: {positions}")
    mask = np.ones((positions, len(names)), dtype=np.bool_)  # [P, L]
    for p, entry in enumerate(sets):
        if entry is None:
            continue
        some = [entry] if isinstance(entry, str | int) else list(entry)
        ids = label_ids(names, some, f"allowed[{p}]")
        if not ids.size:
            raise ValueError(f"allowed[{p}] is empty; None allows every label")
        mask[p] = False
        mask[p, ids] = True
    return mask


def forbid(scores: Floats, allowed: Bools) -> Floats:
    """Return the scores with -inf where something is not allowed."""
    return np.where(allowed, scores, -np.inf)


def span_mask(
    names: tuple[str, ...], positions: int, start: int, end: int, labels: Sequence[str | int]
) -> Bools:
    """Return the mask [T, L] that gives positions start to end - 1 these labels, and others any."""
    ids = label_ids(names, labels, "labels")
    mask = np.ones((positions, len(names)), np.bool_)  # [T, L]
    mask[start:end] = False
    mask[np.arange(start, end), ids] = True
    return mask


GoldKind: TypeAlias = Literal["path", "set", "soft"]


class GoldError(DataError):
    """Gold that no weights can produce: `sequence` and `position` say where."""

    def __init__(self, reason: str, *, sequence: int, position: int | None = None) -> None:
        where = f"sequence {sequence}" if position is None else f"sequence {sequence}, position {position}"
        super().__init__("", None, f"{where}: {reason}")
        self.reason, self.sequence, self.position = reason, sequence, position

    def after(self, sequences: int) -> GoldError:
        """Return the same error, counted from the beginning of data with that many sequences before."""
        return GoldError(self.reason, sequence=self.sequence + sequences, position=self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        return _gold_error, (self.reason, self.sequence, self.position)


def _gold_error(reason: str, sequence: int, position: int | None) -> GoldError:
    return GoldError(reason, sequence=sequence, position=position)


@dataclass(frozen=True, eq=False)
class Path:
    """One label at every position."""

    kind: ClassVar[GoldKind] = "path"
    seq_ptr: Pointers  #: [N + 1]
    label: Ids  #: [P]
    begin: Bools | None = None  #: [P] where segments begin, for structures that have them


@dataclass(frozen=True, eq=False)
class Sets:
    """Labels that each position may have; of segments also what is known of where they begin."""

    kind: ClassVar[GoldKind] = "set"
    seq_ptr: Pointers  #: [N + 1]
    mask: Bools  #: [P, L]
    begin: Bools | None = None  #: [P] where a segment certainly begins
    inside: Bools | None = None  #: [P] where a segment certainly goes on

    def rows(self, chosen: slice) -> Sets:
        """Return what is known of some neighboring positions."""
        each = [None if part is None else part[chosen] for part in (self.begin, self.inside)]
        return Sets(self.seq_ptr, self.mask[chosen], *each)

    def clamped(self, potentials: Any) -> Any:
        """Return scores without the labelings that are not among these."""
        if self.begin is None or self.inside is None:
            return potentials.clamped(self.mask)
        return potentials.clamped(self.mask, self.begin, self.inside)


@dataclass(frozen=True, eq=False)
class Soft:
    """A distribution over the labels of each position."""

    kind: ClassVar[GoldKind] = "soft"
    seq_ptr: Pointers  #: [N + 1]
    share: Floats  #: [P, L]


Gold: TypeAlias = Path | Sets | Soft


def kind_of_gold(batch: Batch) -> GoldKind:
    """Return what kind of gold a batch has."""
    if batch.soft is not None:
        return "soft"
    if batch.allowed is not None or batch.label is None or (batch.label < 0).any():
        return "set"
    return "path"


def allowed_labels(batch: Batch, L: int) -> Bools:
    """Return which labels each position may have, [P, L]: all where nothing is known."""
    mask = np.ones((batch.positions, L), dtype=np.bool_) if batch.allowed is None else batch.allowed.copy()
    if batch.label is not None:
        known = np.flatnonzero(batch.label >= 0)
        one = np.zeros((len(known), L), dtype=np.bool_)
        one[np.arange(len(known)), batch.label[known]] = True
        mask[known] = one
    return mask


def check_range(label: Ids, L: int) -> None:
    """Raise unless labels [P] are 0 to L - 1, or -1 where unknown."""
    wrong = np.flatnonzero((label < -1) | (label >= L))
    if wrong.size:
        p = int(wrong[0])
        raise ValueError(f"label[{p}] is {label[p]}, expected 0 to {L - 1}, or -1 where unknown")


def gold_of(batch: Batch, L: int) -> Gold:
    """Return what a batch knows about its labels, which are 0 to L - 1.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[], label=[1, -1])
    >>> gold_of(batch, 2).mask.tolist()
    [[False, True], [True, True]]
    """
    label = batch.label
    if label is not None:
        check_range(label, L)
    if batch.soft is not None:
        return Soft(batch.seq_ptr, batch.soft)
    if label is not None and kind_of_gold(batch) == "path":
        return Path(batch.seq_ptr, label)
    return sets_of(batch, L)


def sets_of(batch: Batch, L: int) -> Sets:
    """Return the labels that each position may have; a batch without gold allows all.

    Where ``batch.begin`` is given, it is certain where it is True, and where the label is known.
    """
    mask, begin = allowed_labels(batch, L), batch.begin
    if begin is None or batch.label is None:
        return Sets(batch.seq_ptr, mask)
    return Sets(batch.seq_ptr, mask, begin, ~begin & (batch.label >= 0))
