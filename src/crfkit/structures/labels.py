"""Label names and the flat arrays that every structure shares: sequences, scores, allowed sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Pointers: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.int32]

#: One position of a partial labelling: ``None`` (anything), a label, or a set of labels.
Allowed: TypeAlias = "str | int | Iterable[str | int] | None"


def label_names(labels: int | Iterable[str]) -> tuple[str, ...]:
    """Return label names; a number L stands for the names "0" to "L-1"."""
    if isinstance(labels, int | np.integer):
        names = tuple(str(i) for i in range(int(labels)))
    elif isinstance(labels, str):
        raise ValueError(f"labels is the string {labels!r}, expected a list of names or a number")
    else:
        names = tuple(labels)
    if not names:
        raise ValueError("labels is empty; a structure needs at least one label")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"labels holds {name!r}, expected strings")
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"labels holds {twice!r} twice")
    return names


def label_ids(names: tuple[str, ...], labels: Iterable[str | int], argument: str) -> Ids:
    """Return label ids for a sequence of names or ids, both checked."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        ids = labels.astype(np.int64)
    else:
        known = {name: i for i, name in enumerate(names)}
        ids = np.empty(len(given := list(labels)), dtype=np.int64)
        for i, label in enumerate(given):
            if isinstance(label, str):
                if label not in known:
                    raise ValueError(
                        f"{argument}[{i}] is {label!r}, which is not a label; "
                        f"labels are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
                    )
                ids[i] = known[label]
            elif isinstance(label, bool) or not hasattr(label, "__index__"):
                raise ValueError(f"{argument}[{i}] is {label!r}, expected a label name or its id")
            else:
                ids[i] = label
    if ids.ndim != 1:
        raise ValueError(f"{argument} has {ids.ndim} axes, expected one label per position")
    wrong = np.flatnonzero((ids < 0) | (ids >= len(names)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"{argument}[{i}] is {ids[i]}, expected 0 to {len(names) - 1}")
    return ids.astype(np.int32)


def allowed_mask(names: tuple[str, ...], allowed: ArrayLike | Sequence[Allowed], positions: int) -> Bools:
    """Return which labels each position may take, from a mask [P, L] or a list of label sets."""
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        if allowed.shape != (positions, len(names)):
            raise ValueError(f"allowed has shape {allowed.shape}, expected ({positions}, {len(names)})")
        return allowed
    sets = list(cast("Sequence[Allowed]", allowed))
    if len(sets) != positions:
        raise ValueError(f"allowed has {len(sets)} entries, expected one per position: {positions}")
    mask = np.ones((positions, len(names)), dtype=np.bool_)  # [P, L]
    for p, entry in enumerate(sets):
        if entry is None:
            continue
        some = [entry] if isinstance(entry, str | int) else list(entry)
        ids = label_ids(names, some, f"allowed[{p}]")
        if not ids.size:
            raise ValueError(f"allowed[{p}] is empty; None allows every label")
        mask[p] = False
        mask[p, ids] = True
    return mask


def as_scores(scores: ArrayLike, argument: str) -> Floats:
    """Return a contiguous array of doubles; complex numbers, text and objects are refused."""
    try:
        array = np.asarray(scores)
    except ValueError as error:
        raise ValueError(f"{argument} is ragged: {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{argument} has dtype {array.dtype}, expected real numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def as_finite_scores(scores: ArrayLike, argument: str) -> Floats:
    """Return scores that are no nan and no +inf, for arrays that the kernels do not see as they are."""
    array = as_scores(scores, argument)
    if not np.all(array < np.inf):
        at = np.argwhere(~(array < np.inf))[0]
        place = ", ".join(map(str, at.tolist()))
        raise ValueError(
            f"{argument}[{place}] is {array[tuple(at)]}; scores must be finite, or -inf for what is forbidden"
        )
    return array


def forbid(scores: Floats, allowed: Bools) -> Floats:
    """Return the scores with -inf where something is not allowed."""
    return np.where(allowed, scores, -np.inf)


def as_seq_ptr(seq_ptr: ArrayLike | None, positions: int) -> Pointers:
    """Return sequence pointers [N + 1]; None makes one sequence of everything."""
    if seq_ptr is None:
        return np.array([0, positions], dtype=np.int64)
    array = np.asarray(seq_ptr)
    if not array.size:
        raise ValueError("seq_ptr is empty; it needs a first entry 0")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"seq_ptr has dtype {array.dtype} and {array.ndim} axes, expected N + 1 integers")
    if array[0] != 0:
        raise ValueError(f"seq_ptr[0] is {array[0]}, expected 0")
    if array[-1] != positions:
        raise ValueError(f"seq_ptr ends at {array[-1]}, expected {positions}")
    falls = np.flatnonzero(array[1:] < array[:-1])
    if falls.size:
        n = int(falls[0]) + 1
        raise ValueError(f"seq_ptr[{n}] is {array[n]}, below seq_ptr[{n - 1}] = {array[n - 1]}")
    return np.ascontiguousarray(array, dtype=np.int64)


def sum_by_sequence(terms: Floats, seq_ptr: Pointers) -> Floats:
    """Add up one number per position over each sequence."""
    total = np.zeros(len(seq_ptr) - 1)  # [N]
    filled = seq_ptr[1:] > seq_ptr[:-1]
    if filled.any():
        total[filled] = np.add.reduceat(terms, seq_ptr[:-1][filled])
    return total
