"""Segments out of labels, vectorized over all sequences at once.

An O is put before the first sequence and after each one, so that a boundary is a pair of neighbors like
any other; each pair is one look-up in the scheme's table (schemes.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.metrics.encoding import Encoded, Ints, encode
from crfkit.metrics.schemes import CUT, END, OUTSIDE, PARTS, START, LabelScheme, Rules, rules

__all__ = ["Spans", "find", "same", "segments"]


@dataclass(frozen=True, eq=False)
class Spans:
    """Segments of all sequences, in order; no two start at one position."""

    start: Ints  #: [S] in 0 .. P - 1
    end: Ints  #: [S] one past the last position
    kind: Ints  #: [S] type, by number
    sequence: Ints  #: [S]


def segments(labels: Sequence[str], scheme: LabelScheme = "lenient") -> list[tuple[int, int, str]]:
    """Return the segments that labels of one sequence spell, as (start, end, type).

    Parameters
    ----------
    labels
        Such as ``["B-PER", "I-PER", "O"]``.
    scheme
        ``"lenient"``, ``"conlleval"`` (the script to the letter), ``"raw"``, or a strict scheme such as
        ``"BIO"`` or a `crfkit.structures.constraints.Scheme`; the table is in `crfkit.metrics.schemes`.

    Returns
    -------
    list of tuple
        ``labels[start:end]`` is the segment.

    Examples
    --------
    >>> segments(["B-PER", "I-PER", "O", "I-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    >>> segments(["B-PER", "I-PER", "O", "I-LOC"], "BIO")
    [(0, 2, 'PER')]
    """
    encoded = encode({"labels": [labels]}, None, None)
    found = rules(scheme, encoded.names)
    spans = find(encoded, 0, found)
    places = zip(spans.start.tolist(), spans.end.tolist(), spans.kind.tolist(), strict=True)
    return [(start, end, found.kinds[kind]) for start, end, kind in places]


def find(encoded: Encoded, column: int, reading: Rules) -> Spans:
    """Return the segments of one labeling."""
    ids = encoded.columns[column]
    lengths = np.diff(encoded.seq_ptr)
    # Place q here is between the q-th and the next label of the padded row; padding adds one a sequence.
    sequence = np.repeat(np.arange(encoded.N), lengths + 1)  # [P + N]
    place = np.arange(1, len(ids) + 1) + encoded.sequence  # [P] in the padded row
    part = np.full(len(sequence) + 1, OUTSIDE)  # [P + N + 1]
    kind = np.zeros(len(sequence) + 1, np.int64)  # [P + N + 1]
    part[place] = reading.part[ids]
    kind[place] = reading.kind[ids]
    pair = (part[:-1] * len(PARTS) + part[1:]) * 2 + (kind[:-1] == kind[1:])  # [P + N]
    flags = reading.table[pair]  # [P + N]

    cut = (flags & CUT) != 0  # [P + N] true at the last place of each sequence
    cuts = np.flatnonzero(cut)
    run = np.cumsum(cut)  # [P + N] so cuts[run[q]] is the first cut after q
    first = np.flatnonzero(flags & START)
    first = first[np.diff(run[first], prepend=-1) != 0]  # one segment in a run
    last = cuts[run[first]]
    proper = (flags[last] & END) != 0
    first, last = first[proper], last[proper]
    return Spans(first - sequence[first], last - sequence[first], kind[first + 1], sequence[first])


def same(gold: Spans, found: Spans, P: int) -> Ints:
    """Return which gold segments were found, with their type and both ends: places in ``gold``."""
    at = np.full(P, -1)  # [P] the found segment that starts there
    at[found.start] = np.arange(len(found.start))
    twin = at[gold.start]
    hit = np.flatnonzero(twin >= 0)
    twin = twin[hit]
    right: Ints = hit[(found.end[twin] == gold.end[hit]) & (found.kind[twin] == gold.kind[hit])]
    return right
