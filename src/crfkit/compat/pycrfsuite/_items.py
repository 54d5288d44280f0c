"""Items as python-crfsuite takes them, walked once: attribute names and values of one sequence."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet

__all__ = ["ItemSequence", "Rows", "growing_rows"]

#: Attributes of each position: pointers [T + 1], ids [nnz], values [nnz] (None: all 1).
Rows = tuple[Pointers, Ids, Floats | None]


class ItemSequence:
    """A sequence of items that is read once and may be given to taggers and trainers often.

    Parameters
    ----------
    pyseq : iterable of items, or ItemSequence
        Items are dicts or iterables of strings: see `crfkit.features.items`.

    Examples
    --------
    >>> sequence = ItemSequence([["a", "b"], {"w": "dog", "shape": {"length": 3}}])
    >>> sequence
    <ItemSequence of size 2>
    >>> sequence.items()
    [{'a': 1.0, 'b': 1.0}, {'w:dog': 1.0, 'shape:length': 3.0}]
    """

    __slots__ = ("_names", "_rows")

    def __init__(self, pyseq: Iterable[Any] | ItemSequence) -> None:
        self._names: list[str]
        self._rows: Rows
        if isinstance(pyseq, ItemSequence):
            self._names, self._rows = pyseq._names, pyseq._rows
            return
        names = _native.Alphabet()
        walk = _native.ItemWalk.growing(names)
        walk.append(pyseq, 0)
        self._rows = walk.take()
        self._names = names.strings()

    def items(self) -> list[dict[str, float]]:
        """Return the attributes and values of each item; of repeated ones the last."""
        ptr, attr, value = self._rows
        names = [self._names[a] for a in attr.tolist()]
        values = [1.0] * len(names) if value is None else value.tolist()
        return [dict(zip(names[a:b], values[a:b], strict=True)) for a, b in pairwise(ptr.tolist())]

    def rows(self, alphabet: Alphabet) -> Rows:
        """Return the rows with the ids of an alphabet, which grows unless frozen; unknown names are -1."""
        ptr, attr, value = self._rows
        if not len(attr):
            return ptr, attr, value
        return ptr, np.ascontiguousarray(alphabet.ids(self._names)[attr]), value

    def __len__(self) -> int:
        return len(self._rows[0]) - 1

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (self._names, self._rows))


def _restored(names: list[str], rows: Rows) -> ItemSequence:
    made = ItemSequence(())
    made._names, made._rows = names, rows
    return made


def growing_rows(xseq: Iterable[Any] | ItemSequence, alphabet: Alphabet) -> Rows:
    """Return the rows of a sequence; names that are new enter the alphabet."""
    if isinstance(xseq, ItemSequence):
        return xseq.rows(alphabet)
    native = alphabet._native
    assert isinstance(native, _native.Alphabet), "the alphabet is frozen"
    walk = _native.ItemWalk.growing(native)
    walk.append(xseq, 0)
    return walk.take()
