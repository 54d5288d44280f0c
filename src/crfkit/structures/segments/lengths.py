"""Lengths of segments, by label: what users give, checked, and what data may make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_LONGEST = (1 << 31) - 1
_LONG = 1000  # positions of a segment; data with longer ones may be wrong, or made to cost much
_MOST_SEGMENTS = 1 << 26  # of such data
Lengths: TypeAlias = int | Mapping[str, int] | Sequence[int] | NDArray[np.int64]


def check_found(longest: int, positions: int) -> None:
    """Refuse the longest segment of data as a bound where one segment makes all of training expensive.

    Examples
    --------
    >>> check_found(longest=20, positions=10_000_000)
    >>> check_found(longest=20_000, positions=20_000)
    Traceback (most recent call last):
    ValueError: the longest segment of the data has 20,000 positions, so that training would look at \
400,000,000 segments: give max_length, as in SemiMarkov(max_length=4) or --max-length 4
    """
    if longest > _LONG and longest * positions > _MOST_SEGMENTS:
        raise ValueError(
            f"the longest segment of the data has {longest:,} positions, so that training would look at "
            f"{longest * positions:,} segments: give max_length, as in SemiMarkov(max_length=4) or "
            "--max-length 4"
        )


def check_lengths(lengths: Lengths, argument: str) -> None:
    """Refuse lengths below 1 before labels are known."""
    given = lengths.values() if isinstance(lengths, Mapping) else np.atleast_1d(np.asarray(lengths)).tolist()
    for value in given:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{argument} has {value!r}, expected whole numbers of 1 or more")
        if int(value) > _LONGEST:
            raise ValueError(f"{argument} has a number above {_LONGEST:,}")


def per_label(lengths: Lengths, names: tuple[str, ...], argument: str) -> NDArray[np.int64]:
    """Return the length of each label, [L]; labels that a mapping does not name have 1."""
    if isinstance(lengths, Mapping):
        unknown = [name for name in lengths if name not in names]
        if unknown:
            raise ValueError(f"{argument} names {unknown[0]!r}, which is not a label")
        values = np.array([min(lengths.get(name, 1), _LONGEST + 1) for name in names], dtype=np.int64)
    else:
        values = np.asarray(lengths)
        if values.dtype.kind not in "iu" or values.ndim > 1:
            raise ValueError(f"{argument} is {lengths!r}, expected whole numbers")
        if values.ndim == 1 and len(values) != len(names):
            raise ValueError(f"{argument} has {len(values)} entries, expected {len(names)}")
        values = np.broadcast_to(values, (len(names),)).astype(np.int64)
    for name, value in zip(names, values, strict=True):
        if value < 1:
            raise ValueError(f"{argument} of {name!r} is {value}, expected 1 or more")
        if value > _LONGEST:
            raise ValueError(f"{argument} of {name!r} is above {_LONGEST:,}")
    return values
