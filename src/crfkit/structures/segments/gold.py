"""The gold of segments: where they begin and end, which cells they take, and whether that is allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.structures.constraints import Resolved
from crfkit.structures.gold import GoldError, Path
from crfkit.structures.structure import Scores


class Segments(NamedTuple):
    """Segments of all sequences, in their order; J in all."""

    first: Pointers  #: [J] where each begins
    length: Pointers  #: [J]
    label: Pointers  #: [J]
    inner: Bools  #: [J] whether another comes before it in its sequence
    sequence: Pointers  #: [J]


def begins_of(seq_ptr: Pointers, label: Ids, max_length: tuple[int, ...]) -> Bools:
    """Return where segments begin [P] by labels only: where labels change, and at each unit segment.

    Examples
    --------
    >>> begins_of(np.array([0, 5]), np.array([1, 1, 0, 0, 1]), (1, 3)).tolist()
    [True, False, True, True, True]
    """
    begin: Bools = np.diff(label, prepend=-1) != 0
    begin |= np.array(max_length)[label] == 1
    begin[seq_ptr[:-1][np.diff(seq_ptr) > 0]] = True
    return begin


def segments_of(gold: Path) -> Segments:
    """Return the segments of a path.

    Examples
    --------
    >>> path = Path(np.array([0, 3]), np.array([1, 1, 0]), np.array([True, False, True]))
    >>> found = segments_of(path)
    >>> found.first.tolist(), found.length.tolist(), found.label.tolist(), found.inner.tolist()
    ([0, 2], [2, 1], [1, 0], [False, True])
    """
    assert gold.begin is not None
    first = np.flatnonzero(gold.begin)  # [J]
    length = np.diff(np.append(first, len(gold.label)))
    sequence = np.searchsorted(gold.seq_ptr, first, side="right") - 1
    return Segments(
        first, length, gold.label[first].astype(np.int64), first != gold.seq_ptr[sequence], sequence
    )


def certain_segments(gold: Path) -> Segments:
    """Return the segments that are known whole; labels of -1 and begins say what is not known (`sets_of`).

    Examples
    --------
    >>> path = Path(np.array([0, 5]), np.array([1, 1, 0, -1, 1]), np.array([True, False, True, False, False]))
    >>> certain_segments(path).first.tolist()  # the one at 2 may go on
    [0]
    """
    assert gold.begin is not None
    unknown = gold.label < 0
    after = np.append(False, unknown)[: len(unknown)]
    found = segments_of(replace(gold, begin=gold.begin | unknown | after))
    ends = found.first + found.length
    whole = (found.label >= 0) & gold.begin[found.first]
    whole &= np.append(gold.begin, True)[ends] | np.isin(ends, gold.seq_ptr)
    inner = found.inner & np.append(False, whole[:-1])
    first, length, label = (each[whole] for each in (found.first, found.length, found.label))
    return Segments(first, length, label, inner[whole], found.sequence[whole])


def check_segments(
    gold: Path,
    names: tuple[str, ...],
    lengths: tuple[tuple[int, ...], tuple[int, ...]],
    rules: Resolved | None,
    sequences: int,
) -> None:
    """Name the first gold segment that is too short, too long or forbidden; `sequences` come before these."""
    found = segments_of(gold)
    shortest, longest = (np.array(limit)[found.label] for limit in lengths)
    before = np.append(-1, found.label[:-1])
    last = np.append(~found.inner[1:], True) if len(found.first) else np.zeros(0, dtype=np.bool_)
    reasons = [
        (found.length > longest, "is longer than max_length allows: raise it, or cut the segment"),
        (found.length < shortest, "is shorter than min_length allows: lower it, or correct the segment"),
    ]
    if rules is not None:
        remedy = "under the constraints: correct it, or leave the constraint out"
        reasons += [
            (
                found.inner & ~rules.transition[before, found.label],
                f"may not follow the one before it {remedy}",
            ),
            (~found.inner & ~rules.start[found.label], f"may not be first {remedy}"),
            (last & ~rules.stop[found.label], f"may not be last {remedy}"),
        ]
    for wrong, what in reasons:
        if wrong.any():
            j = int(np.argmax(wrong))
            n = int(found.sequence[j])
            raise GoldError(
                f"the gold segment {quoted(names[found.label[j]])} of {found.length[j]} positions {what}",
                sequence=sequences + n,
                position=int(found.first[j] - gold.seq_ptr[n]),
            )


def add_segment_counts(gold: Path, weight: Floats, L: int, D: int, counts: Scores) -> None:
    """Add to `counts` how often the gold takes each cell; see `Structure.add_counts`."""
    found = segments_of(gold)
    each = weight[found.sequence]  # [J]
    if "node" in counts:
        by_position = np.repeat(weight, np.diff(gold.seq_ptr))
        counts["node"][np.arange(len(gold.label)), gold.label] += by_position
    if "segment" in counts:
        counts["segment"][found.first * D + found.length - 1, found.label] += each
    for name, at in (("begin", found.first), ("end", found.first + found.length - 1)):
        if name in counts:
            counts[name][at, found.label] += each
    if "length" in counts:
        counts["length"] += np.bincount((found.length - 1) * L + found.label, each, minlength=D * L)
    inner = np.flatnonzero(found.inner)
    step = found.label[inner - 1] * L + found.label[inner]
    if "edge" in counts:
        counts["edge"][found.first[inner], step] += each[inner]
    if "transition" in counts:
        counts["transition"] += np.bincount(step, each[inner], minlength=L * L)
    ends = {"start": ~found.inner, "stop": np.append(~found.inner[1:], True)[: len(each)]}
    for name, where in ends.items():
        if name in counts:
            counts[name] += np.bincount(found.label[where], each[where], minlength=L)
