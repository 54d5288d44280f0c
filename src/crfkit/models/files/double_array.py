"""The double array of CRF++'s binary models (Darts, old form): all its strings, without walking it.

A unit is (base, check). From a unit with base b the byte c leads to unit b + c + 1 if that one's check is b;
unit b itself, where its check is b and its base negative, ends a string with the id -base - 1. Bases are
unique, so each unit knows its parent by its check: all strings are followed back from their ends at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNIT", "strings_of"]

_LONGEST = 1 << 14  # bytes of a string: CRF++ reads lines of half as many

#: One unit of a double array.
UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])


def strings_of(units: NDArray[np.void], most: int) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return all strings with their ids; a ValueError where they have more than `most` bytes or none.

    Examples
    --------
    >>> units = np.zeros(102, dtype=UNIT)
    >>> units[0], units[99], units[2] = (1, 0), (2, 1), (-8, 2)  # "a" is 97
    >>> strings_of(units, 10)
    ([b'a'], array([7]))
    """
    n = len(units)
    if not n:
        return [], np.zeros(0, dtype=np.int64)
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    used = check > 0
    used[0] = True
    inner = np.flatnonzero(used & (base > 0))  # units that others can hang on
    if inner.size and base[inner].max() >= 1 << 31:
        raise ValueError("its dictionary is damaged: a base is too large")
    by_base = np.sort(base[inner])
    if (by_base[1:] == by_base[:-1]).any():
        raise ValueError("its dictionary is damaged: two units have the same base")
    places = np.argsort(base[inner])
    # [n] the unit that a unit hangs on; -1: none
    found = np.searchsorted(by_base, check)
    hangs = used & (found < len(by_base))
    hangs[hangs] = by_base[found[hangs]] == check[hangs]
    parent = np.full(n, -1, dtype=np.int64)
    parent[hangs] = inner[places[found[hangs]]]
    byte = np.arange(n) - check - 1
    parent[(byte > 255) | ((byte < 0) & (np.arange(n) != check))] = -1

    ends = np.flatnonzero((base < 0) & (check == np.arange(n)) & (parent >= 0))
    at = parent[ends]  # units whose bytes come next
    found_bytes: list[NDArray[np.uint8]] = []
    found_ends: list[NDArray[np.int32]] = []
    alive, total = np.arange(len(ends)), 0
    length = np.zeros(len(ends), dtype=np.int64)
    reached = np.zeros(len(ends), dtype=np.bool_)
    while alive.size:
        done = at == 0
        reached[alive[done]] = True
        going = ~done & (at > 0)
        going[going] = byte[at[going]] > 0
        alive, at = alive[going], at[going]
        total += len(at)
        if total > most or len(found_bytes) > _LONGEST:
            raise ValueError("its dictionary is damaged: strings without end")
        found_bytes.append(byte[at].astype(np.uint8))
        found_ends.append(alive.astype(np.int32))
        length[alive] += 1
        at = parent[at]
    end = np.cumsum(length)
    flat = np.zeros(int(length.sum()), dtype=np.uint8)
    for back, (some, letters) in enumerate(zip(found_ends, found_bytes, strict=True)):
        flat[end[some] - 1 - back] = letters
    text, stops = flat.tobytes(), end.tolist()
    starts = (end - length).tolist()
    keep = np.flatnonzero(reached).tolist()
    return [text[starts[i] : stops[i]] for i in keep], -base[ends[keep]] - 1
