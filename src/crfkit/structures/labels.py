"""Label names and ids, and the sets of labels that positions may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Bools, Floats, Ids
from crfkit.checks import in_order

#: One position of a partial labeling: ``None`` (anything), a label, or a set of labels.
Allowed: TypeAlias = "str | int | Iterable[str | int] | None"


def label_names(labels: int | Iterable[str]) -> tuple[str, ...]:
    """Return label names; a number L stands for the names "0" to "L-1"."""
    if isinstance(labels, int | np.integer):
        names = tuple(str(i) for i in range(int(labels)))
    elif isinstance(labels, str):
        raise ValueError(f"labels is the string {labels!r}, expected a list of names or a number")
    else:
        names = tuple(in_order(labels))
    if not names:
        raise ValueError("labels is empty; a structure needs at least one label")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"labels holds {name!r}, expected strings")
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"labels holds {twice!r} twice; give each label once")
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


def forbid(scores: Floats, allowed: Bools) -> Floats:
    """Return the scores with -inf where something is not allowed."""
    return np.where(allowed, scores, -np.inf)


def span_mask(
    names: tuple[str, ...], positions: int, start: int, end: int, labels: Sequence[str | int]
) -> Bools:
    """Return the mask [T, L] that gives positions start to end - 1 these labels, and others any."""
    ids = label_ids(names, labels, "labels")
    mask = np.ones((positions, len(names)), np.bool_)  # [T, L]
    mask[start:end] = False
    mask[np.arange(start, end), ids] = True
    return mask
