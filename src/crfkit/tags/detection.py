"""Detecting the scheme that tags follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Ids, Pointers, pointers
from crfkit.tags.reading import PARTS, find, rules
from crfkit.tags.schemes import OUTSIDE, PART_OF, TABLE, Scheme


def are_tags(labels: Iterable[str]) -> bool:
    """Return whether labels spell segments: all but O are of the form B-TYPE, with a letter of a scheme.

    Examples
    --------
    >>> are_tags(["O", "B-PER", "I-PER"]), are_tags(["NN", "VB"]), are_tags(["O"])
    (True, False, False)
    """
    inside = [name for name in labels if name != OUTSIDE]
    return bool(inside) and all(name[:1] in PART_OF and name[1:2] == "-" for name in inside)


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
    types = {name[2:] for name in inside}
    return bool(_with_letters(inside)) and (OUTSIDE in names or len(types) < len(inside))


def _with_letters(labels: Iterable[str]) -> list[str]:
    """Return the schemes that have the letters of all these tags."""
    letters = {label[0] for label in labels if label != OUTSIDE}
    return [name for name, known in TABLE.items() if letters <= set(known.letters)]


def scheme_in(labels: Sequence[str]) -> Scheme | None:
    """Return a scheme that reads the segments which labels such as B-PER spell; None where they do not.

    Examples
    --------
    >>> scheme_in(["O", "B-PER", "I-PER"]), scheme_in(["NN", "VB"])
    (Scheme(name='BIO', outside='O', separator='-'), None)
    """
    fitting = _with_letters(labels) if are_tags(labels) else []
    return Scheme(fitting[0]) if fitting else None


def detect(y: Sequence[Sequence[str]]) -> str | None:
    """Return the scheme of the tags of some sequences; None where labels do not spell segments.

    Examples
    --------
    >>> detect([["B-A", "I-A"], ["O", "B-A"]]), detect([["I-A", "B-A", "O"]]), detect([["S-A", "O"]])
    ('BIO', 'IOB1', 'BIOES')
    >>> detect([["NN", "VB"]]) is None
    True
    """
    for n, labels in enumerate(y):
        if isinstance(labels, str):
            raise TypeError(f"y[{n}] is {labels!r}, not a list of tags: give one list for each sequence")
    names = tuple(dict.fromkeys(chain.from_iterable(y)))
    number = {name: i for i, name in enumerate(names)}
    ids = np.fromiter((number[tag] for tag in chain.from_iterable(y)), np.int32)
    return detect_ids(names, ids, pointers([len(labels) for labels in y]))


def detect_ids(names: Sequence[str], ids: Ids, seq_ptr: Pointers) -> str | None:
    """Return the scheme of tags by id [P]; -1: unknown."""
    if not are_tags(names):
        return None
    fitting = _with_letters(names)
    if not fitting or fitting[0] not in ("BIO", "IOE2"):
        return fitting[0] if fitting else "BIOES"
    part, kind, first, last = parsed(tuple(names), ids, seq_ptr)
    filled = np.diff(seq_ptr) > 0
    if fitting[0] == "BIO":
        # In IOB1 the first tag of a segment is I, and B only where one of the same type ends just before.
        beside = np.append("", kind[:-1])
        beside[seq_ptr[:-1][filled]] = ""
        seen, letter, other = first & (part == "I"), "B", "IOB1"
    else:  # in IOE1 the last one is I, and E only where one of the same type begins just after
        beside = np.append(kind[1:], "")
        beside[seq_ptr[1:][filled] - 1] = ""
        seen, letter, other = last & (part == "I"), "E", "IOE1"
    return other if seen.any() and not ((part == letter) & (beside != kind)).any() else fitting[0]


def parsed(
    names: tuple[str, ...], ids: Ids, seq_ptr: Pointers
) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the part and type of each tag [P], and where segments begin and have their last position [P].

    Tags are read leniently; unknown ones (-1) are "O" and "".
    """
    places: NDArray[Any] = np.where(ids < 0, len(names), ids).astype(np.int64)  # unknown: behind the names
    reading = rules("lenient", (*names, OUTSIDE))
    found = find(places, seq_ptr, reading)
    first, last = np.zeros((2, len(ids)), dtype=np.bool_)
    first[found.start] = True
    last[found.end - 1] = True
    return np.array(PARTS)[reading.part][places], np.array(reading.kinds)[reading.kind][places], first, last
