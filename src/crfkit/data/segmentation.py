"""Segments of a sequence as triples (start, end, label), as tags of BIO, and as labels with begins.

A triple is ``(start, end, label)``, `end` one past the last position. Positions in none of them lie outside
and are tagged O. A label of None says that nothing is known of these positions: where segments are, and
which labels they have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, TypeAlias

__all__ = ["OUTSIDE", "Segments", "are_segments", "are_tags", "follow_scheme", "runs_of", "segments_of"]
__all__ += ["tagged"]

OUTSIDE = "O"
#: The letters of schemes: of IOB1 and BIO, of IOE1 and IOE2, of BIOES, BILOU, BMES and BCEU.
_SCHEMES = tuple(map(frozenset, ("BI", "IE", "BIES", "BILU", "BMES", "BCEU")))
#: (start, end, label) of the segments of one sequence, in order.
Segments: TypeAlias = list[tuple[int, int, str]]


def tagged(segments: Any, positions: int, place: str = "segments") -> list[str | None]:
    """Return segments as tags of BIO, one for each position; `place` begins the messages.

    Examples
    --------
    >>> tagged([(0, 2, "PER"), (3, 4, "PER"), (4, 5, None)], 5)
    ['B-PER', 'I-PER', 'O', 'B-PER', None]
    """
    tags: list[str | None] = [OUTSIDE] * positions
    at = 0
    for one in segments:
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
        inner: list[str | None] = [None if label is None else f"I-{label}"] * (end - start - 1)
        tags[start:end] = [None if label is None else f"B-{label}", *inner]
        at = end
    return tags


def are_tags(labels: Iterable[str]) -> bool:
    """Return whether labels spell segments: all but O are of the form B-TYPE, with a letter of a scheme.

    Examples
    --------
    >>> are_tags(["O", "B-PER", "I-PER"]), are_tags(["NN", "VB"]), are_tags(["O"])
    (True, False, False)
    """
    inside = [name for name in labels if name != OUTSIDE]
    return bool(inside) and all(name[:1] in "BIESLUMC" and name[1:2] == "-" for name in inside)


def follow_scheme(labels: Iterable[str]) -> bool:
    """Return whether labels, taken together, follow a scheme such as BIO, so that they spell entities.

    All but O are of the form LETTER-TYPE, with letters of one scheme, and there is a sign that letters are
    parts: O is among the labels, or some type has two letters. So B-52 by itself is a plain label, and so
    are I and O.

    Examples
    --------
    >>> follow_scheme(["O", "B-PER"]), follow_scheme(["B-NP", "I-NP"]), follow_scheme(["B-52"])
    (True, True, False)
    >>> follow_scheme(["I", "O"]), follow_scheme(["O", "B-12", "C-3", "M-7"])
    (False, False)
    """
    names = set(labels)
    inside = names - {OUTSIDE}
    if not are_tags(inside) or not all(name[2:] for name in inside):
        return False
    letters = {name[0] for name in inside}
    types = {name[2:] for name in inside}
    return any(letters <= known for known in _SCHEMES) and (OUTSIDE in names or len(types) < len(inside))


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
