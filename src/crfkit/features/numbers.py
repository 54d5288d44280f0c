"""Attributes with values: lengths of segments, and similarities to the entries of dictionaries.

Each number of a recipe is one attribute, whose name does not hold the value; 0 makes no attribute. Phrases
are asked once, however often they occur. Sarawagi & Cohen (2004) section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crfkit.arrays import Bools, Floats, Ids, Pointers, Ragged, pointers, union

if TYPE_CHECKING:
    from crfkit.data.formats.columns import Columns
    from crfkit.features.recipe import Field, Kind, Recipe


class Phrases(NamedTuple):
    """The distinct phrases of up to D tokens in some sequences."""

    number: Pointers  #: [P, D] of the phrase of each segment; -1 where it goes past the end of its sequence
    start: Pointers  #: where each phrase is first found
    length: Pointers  #: of each phrase
    sequence: Pointers  #: in which each phrase is first found


class Numbers:
    """The templates of a recipe that make numbers.

    Examples
    --------
    >>> from crfkit.features.recipe import Recipe
    >>> numbers = Numbers(Recipe.parse("word[0]; segment: value(length)"))
    >>> numbers.names()
    [('segment', 'segment:value(length)')]
    """

    def __init__(self, recipe: Recipe) -> None:
        self._templates = [template for template in recipe.templates if template.number is not None]
        self._resources = recipe.resources
        for f in (template.fields[0] for template in self._templates if template.fields[0].column):
            given = recipe.resources[str(f.arguments[0])]
            if isinstance(given, Mapping) or not hasattr(given, "best"):
                raise TypeError(
                    f"{f.name()} names a resource that is a {type(given).__name__}, expected a Dictionary; "
                    "of an InternalDictionary give those of its labels: Recipe.parse(text, {**internal})"
                )
        self._sequences = 0  # of the training data that have been seen

    def names(self) -> list[tuple[Kind, str]]:
        """Return the kind and the name of each attribute."""
        return [(template.kind, template.literals[0]) for template in self._templates]

    def __call__(
        self, columns: Columns, longest: int, leave_out: bool = False, threads: int | None = None
    ) -> list[tuple[Kind, str, Floats]]:
        """Return the kind, the name and the value at each place of each attribute; 0 where there is none."""
        made = []
        asked: dict[tuple[str, int], Phrases] = {}  # of a column, up to a length
        for template in self._templates:
            f = template.fields[0]
            D = longest if template.kind == "segment" else 1
            if not f.column:
                value = of_length(f.view, f.arguments, columns.seq_ptr, D)
            else:
                most = min(D, f.offset or D) if f.anchor == "all" else 1
                key = (f.column, most)
                if key not in asked:
                    asked[key] = distinct_phrases(
                        columns.ids[columns.found(f.column)], columns.seq_ptr, most, leave_out
                    )
                found = self._best(f, columns, asked[key], leave_out, threads)
                value = np.ravel(np.pad(found, ((0, 0), (0, D - most))))
                if f.offset and f.anchor == "token":
                    at, inside = moved(columns.seq_ptr, f.offset)
                    value = value[at] * inside
            made.append((template.kind, template.literals[0], value))
        self._sequences += len(columns) if leave_out else 0
        return made

    def _best(
        self, f: Field, columns: Columns, phrases: Phrases, leave_out: bool, threads: int | None
    ) -> Floats:
        """Return how similar each segment [P, D] is to its closest entry; 0 where there is no segment."""
        place = columns.found(f.column)
        token, words = columns.ids[place], columns.alphabets[place].strings()
        asked = [
            [words[i] for i in token[a:b].tolist()]
            for a, b in zip(phrases.start.tolist(), (phrases.start + phrases.length).tolist(), strict=True)
        ]
        exclude = phrases.sequence + self._sequences if leave_out else None
        value = self._resources[str(f.arguments[0])].best(asked, f.view, exclude=exclude, threads=threads)
        best: Floats = np.append(value, 0.0)[phrases.number]
        return best


def moved(seq_ptr: Pointers, offset: int) -> tuple[Pointers, Bools]:
    """Return where an offset from each position leads [P], and whether that is inside its sequence.

    Examples
    --------
    >>> at, inside = moved(np.array([0, 2, 3]), 1)
    >>> at.tolist(), inside.tolist()
    ([1, 2, 2], [True, False, False])
    """
    P = int(seq_ptr[-1])
    sequence = np.repeat(np.arange(len(seq_ptr) - 1), np.diff(seq_ptr))  # [P]
    at = np.clip(np.arange(P) + offset, 0, max(P - 1, 0))
    return at, (sequence[at] == sequence) & (at == np.arange(P) + offset)


def positions_left(seq_ptr: Pointers) -> Pointers:
    """Return how many positions there are from each to the end of its sequence [P].

    Examples
    --------
    >>> positions_left(np.array([0, 2, 3])).tolist()
    [2, 1, 1]
    """
    left: Pointers = np.repeat(seq_ptr[1:], np.diff(seq_ptr)) - np.arange(seq_ptr[-1])
    return left


def distinct_phrases(token: Ids, seq_ptr: Pointers, longest: int, apart: bool = False) -> Phrases:
    """Return the distinct phrases of ids; `apart`: a phrase counts for each sequence that has it.

    Examples
    --------
    >>> found = distinct_phrases(np.array([7, 8, 7, 8], dtype=np.int32), np.array([0, 2, 4]), 2)
    >>> found.number.tolist(), found.start.tolist(), found.length.tolist()
    ([[0, 2], [1, -1], [0, 2], [1, -1]], [0, 1, 0], [1, 1, 2])
    """
    P, V = len(token), int(token.max(initial=0)) + 1
    sequence = np.repeat(np.arange(len(seq_ptr) - 1), np.diff(seq_ptr))  # [P]
    left = positions_left(seq_ptr)
    number = np.full((P, longest), -1, dtype=np.int64)
    before = sequence.copy() if apart else np.zeros(P, dtype=np.int64)  # the phrase without its last token
    starts, count = [], 0
    for d in range(1, longest + 1):
        at = np.flatnonzero(left >= d)
        _, first, which = np.unique(
            before[at] * V + token[at + d - 1], return_index=True, return_inverse=True
        )
        before[at] = which
        number[at, d - 1] = which + count
        starts.append(at[first])
        count += len(first)
    start = np.concatenate([*starts, np.zeros(0, dtype=np.int64)])
    length = np.repeat(np.arange(1, longest + 1), list(map(len, starts)))
    return Phrases(number, start, length, sequence[start])


def of_length(view: str, arguments: Sequence[float | str], seq_ptr: Pointers, longest: int) -> Floats:
    """Return ``value(length)`` or ``square(length, mean)`` of all segments [P * D]; 0 where there is none.

    Examples
    --------
    >>> of_length("square", (3.0,), np.array([0, 2]), 2).tolist()
    [4.0, 1.0, 4.0, 0.0]
    """
    length = np.arange(1.0, longest + 1)
    value = length if view == "value" else (length - float(arguments[0])) ** 2  # [D]
    inside = positions_left(seq_ptr)[:, None] >= length  # [P, D]
    return np.ravel(np.where(inside, value, 0.0))


def with_numbers(found: Ragged, numbers: Sequence[tuple[int, Floats]]) -> Ragged:
    """Return attributes by place with more of them: ids, and their values at each place.

    Examples
    --------
    >>> found = Ragged(np.array([0, 1, 1]), np.array([5], dtype=np.int32), None)
    >>> made = with_numbers(found, [(3, np.array([0.0, 2.5]))])
    >>> made.ptr.tolist(), made.id.tolist(), made.value.tolist()
    ([0, 1, 2], [5, 3], [1.0, 2.5])
    """
    added = []
    for id, value in numbers:
        held = value != 0.0
        added.append(Ragged(pointers(held), np.full(held.sum(), id, dtype=np.int32), value[held]))
    return union(found, *added)
