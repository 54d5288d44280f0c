"""The axes of the fields of a batch, and what follows from them: selecting, joining and renaming.

There is one record for each field. Pointers by sequence say where positions begin, pointers by position where
the entries of attributes begin. Segments have places between the two: D for each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from crfkit.arrays import Bools, Ids, Pointers, handed_over, pointers, ranges, sealed

if TYPE_CHECKING:
    from crfkit.data.batch import Batch


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


Arrays = dict[str, Any]


def selected(batch: Batch, chosen: Pointers | slice) -> Arrays:
    """Return the arrays of some sequences; a slice (of step 1) gives views where it can."""
    picks: dict[str, Pointers | slice] = {"sequence": chosen}
    made: Arrays = {}
    for name, axis in axes(batch).items():
        array = getattr(batch, name)
        if array is None:
            continue
        pick = picks[axis.along]
        if axis.opens is None:
            made[name] = array[pick]
            continue
        if isinstance(pick, slice):
            begin, end = array[pick.start], array[pick.stop]
            made[name] = array[pick.start : pick.stop + 1] - begin
            picks[axis.opens] = slice(int(begin), int(end))
        else:
            counts = np.diff(array)[pick]
            made[name] = pointers(counts)
            picks[axis.opens] = ranges(array[:-1][pick], counts)
        if axis.opens == "position":
            picks["segment place"] = _by_length(picks["position"], batch.longest)
    return made


def _by_length(pick: Pointers | slice, D: int) -> Pointers | slice:
    if isinstance(pick, slice):
        return slice(pick.start * D, pick.stop * D)
    laid: Pointers = (pick[:, None] * D + np.arange(D)).ravel()
    return laid


def joined(batches: Sequence[Batch]) -> Arrays:
    """Return the arrays of batches, one after the other; see `Batch.concat`."""
    longest = {batch.longest for batch in batches if batch.segment_ptr is not None and batch.positions}
    if len(longest) > 1:
        raise ValueError(f"the batches have attributes of segments of up to {sorted(longest)} positions each")
    D = max(longest, default=0)
    made: Arrays = {}
    for name, axis in axes(batches[0]).items():
        given = [getattr(batch, name) for batch in batches]
        present = [array for array in given if array is not None]
        if not present:
            continue
        if axis.columns is not None and len({array.shape[1] for array in present}) > 1:
            raise ValueError(f"{name} has {present[0].shape[1]} columns in one batch and others in another")
        whole = [
            _filled(name, axis, present[0], batch, D) if array is None else array
            for batch, array in zip(batches, given, strict=True)
        ]
        if axis.opens is None:
            made[name] = np.concatenate(whole)
        else:
            made[name] = pointers(np.concatenate([np.diff(array) for array in whole]))
    return made


def _filled(name: str, axis: Axis, like: NDArray[Any], batch: Batch, D: int) -> NDArray[Any]:
    """Return the array that means the same as leaving the field out of this batch."""
    count = batch.positions * D if axis.along == "segment place" else batch.size(axis.along)
    if axis.opens is not None:
        return np.zeros(count + 1, dtype=like.dtype)  # no attributes
    if axis.absent is None and count:
        raise ValueError(f"some batches have {name} and others do not; give it to all")
    return np.full((count, *like.shape[1:]), axis.absent or 0, dtype=like.dtype)


def renamed(batch: Batch, maps: Mapping[str, Ids], label_count: int | None) -> Arrays:
    """Return the arrays with other ids; see `Batch.renamed`."""
    made: Arrays = {}
    opened: dict[str, str] = {}  # by axis: the field with its pointers
    kept: dict[str, Bools | None] = {}  # by axis: the entries that stay, where some do not
    for name, axis in axes(batch).items():
        array = getattr(batch, name)
        if array is None:
            continue
        if axis.opens is not None:
            opened[axis.opens] = name
        if axis.numbers is not None and axis.numbers in maps:
            array = _looked_up(name, array, maps[axis.numbers], unknown=axis.numbers == "labels")
            stays = array >= 0
            if axis.numbers != "labels" and not stays.all():
                kept[axis.along] = stays
                made[opened[axis.along]] = pointers(stays)[made[opened[axis.along]]]
        if axis.columns is not None and axis.columns in maps:
            array = _moved_columns(name, array, maps[axis.columns], label_count)
        stay = kept.get(axis.along)
        made[name] = array if stay is None else array[stay]
    return made


def nonzero(batch: Batch, kinds: Iterable[tuple[str, str, str]]) -> Arrays:
    """Return the arrays of these kinds of attributes that change; see `Batch.nonzero`."""
    made: Arrays = {}
    for ptr, ids, value in kinds:
        values = getattr(batch, value)
        if values is None:
            continue
        stays = values != 0.0
        if not stays.all():
            made[ptr], made[ids] = pointers(stays)[getattr(batch, ptr)], getattr(batch, ids)[stays]
            made[value] = values = values[stays]
        if (values == 1.0).all():
            made[value] = None
    return made


def _looked_up(name: str, ids: Ids, new: Ids, *, unknown: bool) -> Ids:
    if ids.size and ids.max() >= len(new):
        raise ValueError(f"{name} has the id {ids.max()}, but only {len(new)} new ids are given")
    if unknown:
        ids, new = np.where(ids < 0, len(new), ids), np.append(new, -1)
    moved: Ids = new.astype(np.int32, copy=False)[ids]
    return moved


def _moved_columns(name: str, array: NDArray[Any], new: Ids, count: int | None) -> NDArray[Any]:
    """Return an array [P, labels] with its columns where the new labels are."""
    if count is None:
        raise ValueError(
            f"the batch has {name}, a column for each label: give label_count, how many there are"
        )
    moved = np.zeros((len(array), count), dtype=array.dtype)
    for old in range(array.shape[1]):
        y = int(new[old]) if old < len(new) else -1
        if y >= 0:
            moved[:, y] += array[:, old]  # or, where they are truth values
        elif array.dtype.kind == "f" and array[:, old].any():
            raise ValueError(f"{name} gives mass to label {old}, which the new labels do not have")
    if array.dtype.kind == "b":
        moved[~moved.any(axis=1)] = True  # only labels that are unknown now: nothing is known
    return moved
