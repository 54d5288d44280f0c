"""Spans that a person has marked in a text, as labels that their tokens and those beside them may have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit._safe.printable import counted
from crfkit.arrays import Bools, Pointers
from crfkit.models.documents import scheme_of
from crfkit.models.encoding import Recoding
from crfkit.structures.gold import Sets
from crfkit.tags.reading import CUT, START, rules
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import to_tags

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel


class MarkedSpan(NamedTuple):
    """A marked span, in tokens."""

    first: int
    end: int  #: one past the last
    label: str


def fixed_tokens(given: Sequence[Any], text: str, offsets: Pointers) -> list[MarkedSpan]:
    """Return marked spans of characters as spans of tokens; refuse those that do not fit.

    Examples
    --------
    >>> fixed_tokens([(0, 8, "PER")], "Ana Ruiz ran", np.array([[0, 3], [4, 8], [9, 12]]))
    [MarkedSpan(first=0, end=2, label='PER')]
    """
    begins, ends = (
        {int(a): t for t, a in enumerate(offsets[:, 0])},
        {int(b): t for t, b in enumerate(offsets[:, 1])},
    )
    made: list[MarkedSpan] = []
    for one in given:
        if isinstance(one, str) or not isinstance(one, Sequence) or len(one) not in (3, 4):
            raise TypeError(f"fixed has {one!r:.60}, expected (start, end, label), such as (0, 4, 'PER')")
        start, end, label = one[:3]
        if not isinstance(label, str) or not isinstance(start, int) or not isinstance(end, int):
            raise TypeError(f"fixed has {one!r:.60}, expected (start, end, label), such as (0, 4, 'PER')")
        if not 0 <= start < end <= len(text):
            raise ValueError(
                f"fixed has ({start}, {end}, {label!r:.40}), not within a text of {len(text):,} characters"
            )
        inner = text[start:end]
        a, b = start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())
        if a not in begins or b not in ends or a >= b:
            near = offsets[(offsets[:, 0] < end) & (offsets[:, 1] > start)].tolist()
            tokens = ", ".join(repr(text[x:y]) for x, y in near[:5]) or "none"
            raise ValueError(
                f"fixed has ({start}, {end}, {label!r:.40}), {inner!r:.60}, which does not begin and end "
                f"with tokens; those there are {tokens}"
            )
        made.append(MarkedSpan(begins[a], ends[b] + 1, label))
    made.sort()
    for before, after in pairwise(made):
        if after.first < before.end:
            raise ValueError(f"fixed has spans over each other: {before.label!r} and {after.label!r}")
    return made


def allowed_by(model: SequenceModel, fixed: Sequence[MarkedSpan], seq_ptr: Pointers) -> Sets:
    """Return the labels that positions may have beside marked spans, which lie within sequences."""
    return _of_segments(model, fixed, seq_ptr) if model.segmental else _of_tokens(model, fixed, seq_ptr)


def _of_segments(model: SequenceModel, fixed: Sequence[MarkedSpan], seq_ptr: Pointers) -> Sets:
    names, P = list(model.structure.labels), int(seq_ptr[-1])
    mask = np.ones((P, len(names)), np.bool_)  # [P, L]
    begin, inside = np.zeros((2, P), np.bool_)
    begin[seq_ptr[:-1][np.diff(seq_ptr) > 0]] = True
    for first, end, label in fixed:
        mask[first:end] = np.array(names) == _known(label, names)
        begin[first] = True
        if end < P:
            begin[end] = True
        inside[first + 1 : end] = label != OUTSIDE
    return Sets(seq_ptr, mask, begin, inside)


def _of_tokens(model: SequenceModel, fixed: Sequence[MarkedSpan], seq_ptr: Pointers) -> Sets:
    """Return the labels of a chain: inside of a span those that spell it, beside it those that end it."""
    states = model.states
    names = model.answers if states is not None else model.structure.labels
    tags = None if model.tags is None else model.tags
    spelled = list(names) if tags is None or isinstance(model.spelling, Recoding) else [*tags.values()]
    mask = np.ones((int(seq_ptr[-1]), len(names)), np.bool_)  # [P, L]
    starts, ends = set(seq_ptr.tolist()), set(seq_ptr.tolist())
    for first, end, label in fixed:
        if tags is None or label == OUTSIDE:
            wanted: list[str] = [_known(label, spelled)] * (end - first)
        else:
            wanted = _tags_of(model, label, end - first, spelled)
        for t, tag in enumerate(wanted, first):
            mask[t] &= np.array(spelled) == tag
        if label == OUTSIDE and tags is not None:
            continue
        if first not in starts:
            mask[first - 1] &= _beside(spelled, wanted[0], before=True, spells=tags is not None)
        if end not in ends:
            mask[end] &= _beside(spelled, wanted[-1], before=False, spells=tags is not None)
    return Sets(seq_ptr, mask if states is None else mask[:, states.group])


def _tags_of(model: SequenceModel, label: str, length: int, known: Sequence[str]) -> list[str]:
    """Return the tags of a span of `length` tokens, as the model spells them."""
    scheme = model.encoding if isinstance(model.spelling, Recoding) else scheme_of(model)
    made = to_tags([(0, length, label)], length, scheme or "BIO")
    missing = [tag for tag in made if tag not in known]
    if missing:
        raise ValueError(
            f"fixed has a span of {counted(length, 'token')} labeled {label!r:.40}, and the model does not "
            f"know its label {missing[0]!r:.40}; its labels are {', '.join(map(repr, known[:9]))}"
        )
    return [tag for tag in made if tag is not None]


def _beside(tags: Sequence[str], tag: str, *, before: bool, spells: bool) -> Bools:
    """Return which labels may stand beside a span that begins, or ends, with this one, [L]."""
    if not spells:
        others: Bools = np.array(tags) != tag
        return others
    reading = rules("lenient", tuple(tags))
    part, kind, here = reading.part, reading.kind, list(tags).index(tag)
    parts = int(np.sqrt(len(reading.table) // 2))
    if before:
        flags = reading.table[(part * parts + part[here]) * 2 + (kind == kind[here])]
        return np.asarray((flags & START) != 0)
    flags = reading.table[(part[here] * parts + part) * 2 + (kind == kind[here])]
    return np.asarray((flags & CUT) != 0)


def _known(label: str, names: Sequence[str]) -> str:
    if label not in names:
        raise ValueError(
            f"fixed has the label {label!r:.40}, which the model does not know; its labels are "
            f"{', '.join(map(repr, names[:9]))}"
        )
    return label
