"""Segments of a sequence as triples (start, end, label), as tags of a scheme, and as labels with begins.

A triple is ``(start, end, label)``, `end` one past the last position. Positions in none of them lie outside
and are tagged O. A label of None says that nothing is known of these positions: where segments are, and
which labels they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from crfkit.arrays import Bools, Ids, Pointers
from crfkit.tags.reading import LabelScheme, find, rules
from crfkit.tags.schemes import OUTSIDE, TABLE, Notation, canonical

__all__ = ["Segments", "are_segments", "convert", "parts", "runs_of", "segments_of", "spans", "to_tags"]
__all__ += ["type_of"]

#: (start, end, label) of the segments of one sequence, in order.
Segments: TypeAlias = list[tuple[int, int, str]]


def spans(labels: Sequence[str], scheme: LabelScheme = "lenient") -> Segments:
    """Return the segments in the tags of one sequence, as (start, end, type).

    Parameters
    ----------
    labels
        Such as ``["B-PER", "I-PER", "O"]``.
    scheme
        ``"lenient"``, ``"conlleval"`` (the script to the letter), ``"raw"``, or a strict scheme such as
        ``"BIO"`` or a `crfkit.constraints.Scheme`; the table is in `crfkit.tags.reading`.

    Returns
    -------
    list of tuple
        ``labels[start:end]`` is the segment.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], "BIO")
    [(0, 2, 'PER')]
    """
    given: Sequence[object] = labels
    for label in given:
        if not isinstance(label, str):
            kind = type(label).__name__
            raise TypeError(f"labels has the label {label!r}, of type {kind}: labels are strings")
    names = tuple(sorted(set(labels)))
    number = {name: i for i, name in enumerate(names)}
    reading = rules(scheme, names)
    ids = np.fromiter((number[label] for label in labels), np.int64)
    found = find(ids, np.array([0, len(ids)]), reading)
    places = zip(found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True)
    return [(start, end, reading.kinds[kind]) for start, end, kind in places]


def to_tags(spans: Any, positions: int, scheme: str = "BIO", *, place: str = "spans") -> list[str | None]:
    """Return the tags of segments, one for each position of a sequence.

    Parameters
    ----------
    spans : sequence of (start, end, label)
        In order, none over another; a label of None: unknown, as are its tags.
    positions : int
        How many positions the sequence has.
    scheme : str
        One of `crfkit.tags.SCHEMES`.
    place : str
        Begins the messages of errors.

    Examples
    --------
    >>> to_tags([(0, 2, "PER"), (3, 4, "PER"), (4, 5, None)], 5)
    ['B-PER', 'I-PER', 'O', 'B-PER', None]
    >>> to_tags([(0, 2, "PER")], 3, "BILOU")
    ['B-PER', 'L-PER', 'O']
    """
    checked, at = [], 0
    for one in spans:
        here = f"{place}: {one!r:.60}"
        if not (isinstance(one, list | tuple) and len(one) == 3 and all(map(_is_whole, one[:2]))):
            raise TypeError(f"{here} is not a segment; expected (start, end, label), such as (0, 2, 'NP')")
        start, end, label = int(one[0]), int(one[1]), one[2]
        if not (label is None or (isinstance(label, str) and label)):
            raise TypeError(
                f"{here} has the label {label!r}; expected a string, or None where it is not known"
            )
        if not 0 <= start < end <= positions:
            raise ValueError(
                f"{here} does not lie within the {positions} positions of the sequence; the end of a segment "
                "is one past its last position"
            )
        if start < at:
            raise ValueError(
                f"{here} begins before position {at}, where the segment before it ends; give segments in "
                "their order, none over another"
            )
        checked.append((start, end, label))
        at = end
    return _spelled(checked, positions, TABLE[canonical(scheme)])


def _spelled(spans: list[tuple[int, int, Any]], positions: int, scheme: Notation) -> list[str | None]:
    first, inner, last, only = (scheme.letters[part] for part in range(4))
    tags: list[str | None] = [OUTSIDE] * positions
    for start, end, label in spans:
        if label is None:
            tags[start:end] = [None] * (end - start)
            continue
        ending = f"-{label}" if label else ""
        middle = [inner + ending] * (end - start - 2)
        tags[start:end] = [only + ending] if end == start + 1 else [first + ending, *middle, last + ending]
        if scheme.touching:
            tags[start if scheme.touching == "first" else end - 1] = inner + ending
    if scheme.touching:
        for (_, end, label), (start, _, after) in pairwise(spans):
            if end == start and label == after and label is not None:
                place, letter = (start, first) if scheme.touching == "first" else (end - 1, last)
                tags[place] = letter + (f"-{label}" if label else "")
    return tags


def convert(labels: Sequence[str], to: str, scheme: LabelScheme = "lenient") -> list[str]:
    """Return the tags of one sequence in another scheme.

    Parameters
    ----------
    labels
        Tags of any scheme.
    to : str
        One of `crfkit.tags.SCHEMES`. IO joins segments of one type that touch.
    scheme
        How the given tags are read, as in `spans`.

    Examples
    --------
    >>> convert(["B-PER", "I-PER", "O", "B-LOC"], "BIOES")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    made = _spelled(list(spans(labels, scheme)), len(labels), TABLE[canonical(to)])
    return [OUTSIDE if tag is None else tag for tag in made]


def parts(label: Ids, begin: Bools, seq_ptr: Pointers, scheme: str) -> Pointers:
    """Return which letter of a scheme each position of labeled segments has: a place in its letters, [P].

    Parameters
    ----------
    label : array [P]
        By segment label.
    begin : array [P]
        Whether a segment begins there.
    seq_ptr : array [N + 1]
    scheme : str
        A name of `crfkit.tags.schemes.TABLE`.

    Examples
    --------
    >>> label, begin = np.array([1, 1, 0, 1], np.int32), np.array([True, False, True, True])
    >>> parts(label, begin, np.array([0, 4]), "BIOES").tolist()
    [0, 2, 3, 3]
    """
    filled, touching = np.diff(seq_ptr) > 0, TABLE[scheme].touching
    first, final = seq_ptr[:-1][filled], seq_ptr[1:][filled] - 1
    last = np.append(begin[1:], True)[: len(begin)]  # [P] whether a segment ends here
    last[final] = True
    part: Pointers = np.where(begin, np.where(last, 3, 0), np.where(last, 2, 1))  # [P]
    if touching:
        other = np.append(True, label[1:] != label[:-1])[: len(label)]  # [P] another label before
        other[first] = True
        if touching == "last":
            other = np.append(other[1:], True)[: len(label)]  # [P] another label behind
        return np.where(other, 1, part)
    return part


def type_of(tag: str) -> str:
    """Return the label of the segments that a tag belongs to.

    Examples
    --------
    >>> type_of("B-PER"), type_of("O")
    ('PER', 'O')
    """
    return OUTSIDE if tag == OUTSIDE else tag[2:]


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def are_segments(y: Any) -> bool:
    """Return whether gold is given as segments: the first entry of a sequence is a triple with two numbers.

    Examples
    --------
    >>> are_segments([[], [(0, 2, "PER")]]), are_segments([["O", ("PER", "LOC", "ORG")]])
    (True, False)
    """
    if not isinstance(y, list | tuple):
        return False
    entries = [one for sequence in y if isinstance(sequence, list | tuple) for one in sequence[:1]]
    first = entries[0] if entries else None
    return isinstance(first, list | tuple) and len(first) == 3 and _is_whole(first[0])


def segments_of(names: Sequence[str], begin: Sequence[bool]) -> Segments:
    """Return the segments of one sequence by the label of each position, without those outside.

    Examples
    --------
    >>> segments_of(["N", "N", "O", "N"], [True, False, True, True])
    [(0, 2, 'N'), (3, 4, 'N')]
    """
    firsts = [t for t, first in enumerate(begin) if first]
    ends = [*firsts[1:], len(names)]
    return [(a, b, names[a]) for a, b in zip(firsts, ends, strict=False) if names[a] != OUTSIDE]


def runs_of(labels: Sequence[str]) -> Segments:
    """Return the runs of equal labels of one sequence, whatever the label.

    Examples
    --------
    >>> runs_of(["street", "street", "town", "O"])
    [(0, 2, 'street'), (2, 3, 'town'), (3, 4, 'O')]
    """
    firsts = [t for t, label in enumerate(labels) if not t or label != labels[t - 1]]
    return [(a, b, labels[a]) for a, b in zip(firsts, [*firsts[1:], len(labels)], strict=False)]
