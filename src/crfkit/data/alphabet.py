"""Alphabets: strings and their ids, held by native code.

A growing alphabet gives ids in order of first appearance. Frozen, it is three flat arrays (bytes of all
strings, where each begins, a hash table) that can be memory-mapped: opening millions of strings takes
milliseconds, and look-ups read the arrays in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.checks import in_order

AlphabetArrays = tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]


class Alphabet:
    """Strings with ids from 0, growing or frozen.

    Examples
    --------
    >>> colors = Alphabet(["red", "green"])
    >>> colors.add("blue"), colors.add("red"), colors.find("gray")
    (2, 0, -1)
    >>> colors.freeze().ids(["blue", "gray"]).tolist()
    [2, -1]
    """

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._native: _native.Alphabet | _native.FrozenAlphabet = _native.Alphabet()
        self.ids(strings)

    @classmethod
    def of_native(cls, native: _native.Alphabet | _native.FrozenAlphabet) -> Alphabet:
        """Wrap an alphabet that the native readers have filled."""
        made = cls()
        made._native = native
        return made

    @classmethod
    def from_arrays(cls, arrays: AlphabetArrays) -> Alphabet:
        """Return a frozen alphabet that looks up in these arrays, which may be memory-mapped."""
        return cls.of_native(_native.FrozenAlphabet.from_arrays(*arrays))

    @property
    def frozen(self) -> bool:
        """Whether unknown strings have id -1 instead of a new one."""
        return isinstance(self._native, _native.FrozenAlphabet)

    def freeze(self) -> Alphabet:
        """Return a frozen alphabet of the same strings."""
        return self if self.frozen else Alphabet.from_arrays(self.arrays())

    def arrays(self) -> AlphabetArrays:
        """Return the three arrays that `from_arrays` takes."""
        return self._native.arrays()

    def add(self, string: str) -> int:
        """Return the id of a string, a new one if it is new and the alphabet grows."""
        if isinstance(self._native, _native.FrozenAlphabet):
            return self._native.find(string)
        return self._native.add(string)

    def find(self, string: str) -> int:
        """Return the id of a string, or -1."""
        return self._native.find(string)

    def ids(self, strings: Iterable[str]) -> NDArray[np.int32]:
        """Return the ids of many strings, as `add` does."""
        given = in_order(strings)
        if isinstance(self._native, _native.FrozenAlphabet):
            return self._native.find_all(given)
        return self._native.add_all(given)

    def merge(self, other: Alphabet) -> NDArray[np.int32]:
        """Return the ids here of all strings of another alphabet, as `add` does, by their ids there."""
        if isinstance(other._native, _native.Alphabet):
            return self._native.merge(other._native)
        return self.ids(other.strings())

    def strings(self) -> list[str]:
        """Return all strings, by id."""
        return self._native.strings()

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, id: int) -> str:
        return self._native[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings())

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.find(string) >= 0

    def __repr__(self) -> str:
        return f"<Alphabet of {len(self)} strings{', frozen' if self.frozen else ''}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.arrays(), self.frozen))


def _rebuild(arrays: AlphabetArrays, frozen: bool) -> Alphabet:
    made = Alphabet.from_arrays(arrays)
    return made if frozen else Alphabet(made.strings())
