"""The axes of the fields of a batch: one record for each field, read by whatever cuts, joins or renames.

Pointers by sequence say where positions begin, pointers by position where the entries of attributes begin.
Segments have places between the two: D for each position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from crfkit.arrays import handed_over, sealed

__all__ = ["Along", "Axis", "along", "axes"]

#: "segment place" has D entries a position; the last five are entries of attributes.
Along = Literal["sequence", "position", "segment place", "node", "edge", "begin", "end", "segment"]
#: What entries or columns number.
Names = Literal["labels", "attributes", "edges", "segments"]


@dataclass(frozen=True)
class Axis:
    """What a field of a batch is an array of."""

    along: Along  #: the first axis has an entry for each of these; pointers one more
    dtype: DTypeLike
    opens: Along | None = None  #: pointers to where the entries of this axis begin
    numbers: Names | None = None  #: entries are ids of these, -1 (labels only) where unknown
    columns: Names | Literal["features"] | None = None  #: the field has a second axis
    absent: Any = None  #: the entry that means the same as no field at all; None: there is none

    def converted(self, name: str, given: ArrayLike) -> NDArray[Any]:
        """Return what was given as an array of the right type that nobody can write to.

        Numbers that the type cannot hold are refused.

        Examples
        --------
        >>> Axis("node", np.int32).converted("attr", [1, 2**40])
        Traceback (most recent call last):
        ValueError: attr[1] is 1099511627776, which int32 cannot hold
        """
        array = np.asarray(given)
        if array.size and array.dtype.kind not in "iubf":
            raise TypeError(f"{name} has dtype {array.dtype}, expected numbers")
        with np.errstate(all="ignore"):
            made = np.ascontiguousarray(array, dtype=self.dtype)
        if made.dtype.kind == "i" and made.dtype != array.dtype:
            other = np.flatnonzero(made.ravel() != array.ravel())
            if other.size:
                raise ValueError(
                    f"{name}[{other[0]}] is {array.ravel()[other[0]]}, which {made.dtype} cannot hold"
                )
        return handed_over(made) if made is not array and made.base is None else sealed(made)

    def check(self, name: str, array: NDArray[Any], count: int) -> None:
        """Refuse a wrong shape, falling pointers, negative ids and values that are not finite."""
        axes = 1 if self.columns is None else 2
        if array.ndim != axes:
            raise ValueError(f"{name} has {array.ndim} axes, expected {axes}")
        expected = count + (self.opens is not None)
        if len(array) != expected:
            raise ValueError(f"{name} has {len(array)} entries, expected {expected}")
        if self.opens is not None:
            if array[0] != 0:
                raise ValueError(f"{name} must begin with 0")
            falls = np.flatnonzero(array[1:] < array[:-1])
            if falls.size:
                p = falls[0] + 1
                raise ValueError(f"{name}[{p}] is {array[p]}, below the entry before it")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            at = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            raise ValueError(f"{name}{list(at)} is {array[at]}; values must be finite")
        if self.numbers not in (None, "labels") and array.size and array.min() < 0:
            raise ValueError(f"{name}[{int(np.argmin(array))}] is {array.min()}, expected 0 or more")


def along(axis: Along, dtype: DTypeLike, **more: Any) -> dict[str, Axis]:
    """Return the metadata of a field; see `Axis`."""
    return {"axis": Axis(axis, dtype, **more)}


def axes(batch: Any) -> Mapping[str, Axis]:
    """Return the axis of each field of a dataclass, pointers before what they open."""
    return _axes(batch if isinstance(batch, type) else type(batch))


@cache
def _axes(cls: Any) -> Mapping[str, Axis]:
    return {f.name: f.metadata["axis"] for f in fields_of(cls)}
