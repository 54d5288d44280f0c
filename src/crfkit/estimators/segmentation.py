"""Gold segments in the forms that people write them, and segments in these forms again.

==============================  ========================================================================
entry of y, for each sequence   meaning
==============================  ========================================================================
``["D", "N", "N"]``             labels: a segment is a stretch of one label (as `crfkit.data.labelling`)
``["B-N", "I-N", "O"]``         tags of BIO, told by a ``B-``: segments N, and O outside of them
``[(0, 2, "N")]``               segments by start, end (one past the last position) and label; positions
                                in none of them are O, each a segment of its own
==============================  ========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.labelling import labelled
from crfkit.metrics.spans import segments

__all__ = ["OUTSIDE", "Segments", "segmented", "segments_of", "tags_of"]

OUTSIDE = "O"
#: (start, end, label) of the segments of one sequence, in order.
Segments: TypeAlias = list[tuple[int, int, str]]


def segmented(data: Dataset, y: Any, labels: Alphabet) -> tuple[Dataset, bool]:
    """Return data with gold segments, and whether y has tags of BIO; new labels go to the alphabet.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["a"], ["b"], ["c"]]])
    >>> for y in (["B-N", "I-N", "O"], [(0, 2, "N")]):
    ...     made, tags = segmented(data, [y], Alphabet())
    ...     print(made.batch.label.tolist(), made.batch.begin.tolist(), made.labels.strings(), tags)
    [0, 0, 1] [True, False, True] ['N', 'O'] True
    [0, 0, 1] [True, False, True] ['N', 'O'] False
    """
    given = list(y) if not isinstance(y, str | bytes) and hasattr(y, "__iter__") else y
    lengths = np.diff(data.batch.seq_ptr).tolist()
    tags = _are_tags(given)
    if tags:
        labelled(data, given, Alphabet())  # as many as there are positions
        given = [segments(sequence, "lenient") for sequence in given]
    elif not _are_segments(given):
        return labelled(data, given, labels), False
    elif len(given) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sequences, y has {len(given)}")
    spelled = [_spelled(n, one, T) for n, (one, T) in enumerate(zip(given, lengths, strict=True))]
    made = labelled(data, [names for names, _ in spelled], labels)
    begin = np.array([first for _, firsts in spelled for first in firsts], dtype=np.bool_)  # [P]
    return replace(made, batch=replace(made.batch, begin=begin)), tags


def _are_tags(y: Any) -> bool:
    flat = [tag for sequence in y if isinstance(sequence, Sequence) for tag in sequence] if _listed(y) else []
    spelled = all(isinstance(tag, str) and (tag == OUTSIDE or tag[:2] in ("B-", "I-")) for tag in flat)
    return spelled and any(tag[:2] == "B-" for tag in flat)


def _are_segments(y: Any) -> bool:
    entries = [one for sequence in y if _listed(sequence) for one in sequence] if _listed(y) else []
    first = entries[0] if entries else None
    return isinstance(first, tuple) and len(first) == 3 and isinstance(first[0], Integral)


def _listed(given: Any) -> bool:
    return isinstance(given, list | tuple)


def _spelled(n: int, given: Any, T: int) -> tuple[list[str], list[bool]]:
    """Return the label of each position, and whether a segment begins there."""
    names, begin, at = [OUTSIDE] * T, [True] * T, 0
    for one in given:
        place = f"y: sequence {n}: {one!r:.60}"
        if not (_listed(one) and len(one) == 3 and isinstance(one[2], str)) or not all(
            isinstance(end, Integral) and not isinstance(end, bool) for end in one[:2]
        ):
            raise TypeError(f"{place} is not a segment; expected (start, end, label), such as (0, 2, 'NP')")
        start, end, label = one
        if not 0 <= start < end <= T:
            raise ValueError(f"{place} does not lie within the {T} positions of the sequence")
        if start < at:
            raise ValueError(f"{place} begins before position {at}, where the segment before it ends")
        names[start:end] = [label] * (end - start)
        begin[start:end] = [True] + [False] * (end - start - 1)
        at = int(end)
    return names, begin


def segments_of(names: Sequence[str], begin: Sequence[bool]) -> Segments:
    """Return the segments of one sequence, without those outside.

    Examples
    --------
    >>> segments_of(["N", "N", "O", "N"], [True, False, True, True])
    [(0, 2, 'N'), (3, 4, 'N')]
    """
    firsts = [t for t, first in enumerate(begin) if first]
    ends = [*firsts[1:], len(names)]
    return [(a, b, names[a]) for a, b in zip(firsts, ends, strict=False) if names[a] != OUTSIDE]


def tags_of(names: Sequence[str], begin: Sequence[bool]) -> list[str]:
    """Return the same as tags of BIO.

    Examples
    --------
    >>> tags_of(["N", "N", "O", "N"], [True, False, True, True])
    ['B-N', 'I-N', 'O', 'B-N']
    """
    return [
        name if name == OUTSIDE else f"{'B' if first else 'I'}-{name}"
        for name, first in zip(names, begin, strict=True)
    ]
