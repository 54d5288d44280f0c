"""Cutting, joining and renaming batches, field by field, by the axes of the fields; see `crfkit.data.axes`.

The functions return arrays by field name. Where the given batches are valid, so are the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Ids, Pointers, pointers, ranges
from crfkit.data.axes import Axis, axes

if TYPE_CHECKING:
    from crfkit.data.batch import Batch

__all__ = ["joined", "nonzero", "renamed", "selected"]

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
        raise ValueError(f"{name} has the id {ids.max()}, and new ids are given for {len(new)} only")
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
