"""Weights to scores, and gradients by scores to gradients by weights: each map the transpose of the other.

    scores[place, cell] = base[cell] + sum_i value_i * w[block(attr_i, cell)]

over the occurrences i of the place; shared slots have the weights themselves as scores. Weights that the
layout does not have count as 0, and so do attributes beyond it. Where a slot has a base (steps: the
transitions) its scores begin with those of the base, and stand for both. Float64 throughout, and the same
bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from crfkit import _native
from crfkit.arrays import LARGEST_SCORE, Floats, checked_later
from crfkit.checks import NotFiniteError
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.native import kernels, threads_or_all
from crfkit.structures.structure import Scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def is_scored(layout: Layout, batch: Batch, name: str) -> bool:
    """Return whether a block has weights for occurrences of a batch."""
    items = batch.occurrences(name)
    return items is not None and bool(items.id.size) and layout.rows_of(name) > 0


def cells_by_position(layout: Layout, batch: Batch) -> int:
    """Return how many scores a position of a batch has, with those of steps or segments of its own."""
    cells = layout.labels
    for block in layout.blocks:
        if block.by not in (None, "node", "dense") and is_scored(layout, batch, block.name):
            cells += layout.slots[block.slot].cells * batch.places(block.name) // max(batch.positions, 1)
    return cells


def ready_rows(
    layout: Layout, weights: Floats, name: str = "node", threads: int | None = None
) -> _native.ReadyRows:
    """Return the weights [F] of a block as `score` reads them; keep them where weights do not change.

    Rows of several weights, but not of all cells, are copied into a table of at most ``layout.table_bytes``;
    where it would be larger, there is none and they are read one weight at a time.
    """
    begin = layout.parts[name].start
    return _native.ReadyRows.of(kernels, layout.rows(name), weights, begin, threads_or_all(threads))


def score(
    layout: Layout,
    w: ArrayLike,
    batch: Batch,
    *,
    threads: int | None = None,
    out: Floats | None = None,
    ready: Callable[[str], _native.ReadyRows] | None = None,
) -> dict[str, Floats]:
    """Score every place of a batch.

    Parameters
    ----------
    layout : Layout
    w : array [F]
        Weights; one that is not finite is an error as soon as a position uses it.
    batch : Batch
    threads : int, optional
        Default: one for each core.
    out : array [P, L], optional
        Where the node scores go; a new array otherwise.
    ready : function of the name of a block, optional
        Returns `ready_rows` of the same weights; made anew without it.

    Returns
    -------
    dict
        Slot -> array; see `crfkit.structures.structure.Scores`. Slots without weights for the batch are left
        out, but for the nodes.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> layout = Layout.observed(batch, 2)
    >>> scores = score(layout, [1.0, 2.0, 4.0, 0.1, 0.2, 0.3, 0.4], batch)
    >>> scores["node"].tolist(), scores["transition"].tolist()
    ([[1.0, 6.0], [1.0, 2.0]], [0.1, 0.2, 0.3, 0.4])
    """
    weights, threads = checked_weights(layout, w), threads_or_all(threads)
    dense = _dense(layout, batch)
    scores = {}
    for block in layout.blocks:
        if block.by is None and len(block.cell):
            _check_finite(layout, weights, block)
            scores[block.slot] = layout.shared(block.name, weights)
    for block in layout.blocks:
        if block.by in (None, "dense") or not (block.by == "node" or is_scored(layout, batch, block.name)):
            continue
        rows = ready_rows(layout, weights, block.name, threads) if ready is None else ready(block.name)
        scores[block.slot] = _places(layout, weights, batch, block, rows, scores, out, threads)
    if dense is not None:
        _check_finite(layout, weights, layout.block["dense"])
        with checked_later():
            scores["node"] += dense @ weights[layout.parts["dense"]].reshape(-1, layout.labels)
        if not (np.abs(scores["node"]) <= LARGEST_SCORE).all():
            explain(layout, weights, batch, scores["node"])
    return _without_bases(layout, scores)


def zero_scores(layout: Layout, batch: Batch) -> dict[str, Floats]:
    """Return arrays of 0 that are shaped as `score` would give them."""
    made = {}
    for block in layout.blocks:
        cells = layout.slots[block.slot].cells
        if block.by is None and len(block.cell):
            made[block.slot] = np.zeros(cells)
        elif block.by == "node" or (block.by not in (None, "dense") and is_scored(layout, batch, block.name)):
            made[block.slot] = np.zeros((batch.places(block.name), cells))
    return _without_bases(layout, made)


def _without_bases(layout: Layout, scores: dict[str, Floats]) -> dict[str, Floats]:
    """Leave out the slots that others begin with: they are part of those."""
    bases = {layout.slots[slot].base for slot in scores}
    return {slot: array for slot, array in scores.items() if slot not in bases}


def _places(
    layout: Layout,
    weights: Floats,
    batch: Batch,
    block: Block,
    rows: _native.ReadyRows,
    scores: Scores,
    out: Floats | None,
    threads: int,
) -> Floats:
    """Score the places that have scores of their own."""
    items, slot = batch.occurrences(block.name), layout.slots[block.slot]
    assert items is not None
    places = batch.places(block.name)
    made = checked_out(out if block.slot == "node" else None, (places, slot.cells))
    base = None if slot.base is None else scores.get(slot.base)
    finite = _native.score(kernels, rows, items.ptr, items.id, items.value, base, 0, places, made, threads)
    if not finite:
        explain(layout, weights, batch, made)
    return made


def transpose(layout: Layout, batch: Batch) -> dict[str, _native.Transpose]:
    """Index the places of each attribute, by block: made once per batch, used by every `scatter`."""
    made = {}
    for block in layout.blocks:
        items = None if block.by in (None, "dense") else batch.occurrences(block.name)
        if items is not None and (block.by == "node" or is_scored(layout, batch, block.name)):
            width = layout.slots[block.slot].cells
            made[block.name] = _native.Transpose.of(*items, layout.rows_of(block.name), width)
    return made


def scatter(
    layout: Layout,
    batch: Batch,
    by_score: Scores,
    *,
    index: Mapping[str, _native.Transpose] | None = None,
    threads: int | None = None,
    out: Floats | None = None,
    add: bool = False,
) -> Floats:
    """Turn a gradient by scores into the gradient by weights [F]: the transpose of `score`.

    Parameters
    ----------
    layout, batch
        As in `score`.
    by_score : Scores
        Shaped as `score` gives them. Slots that the layout has no weights for do not matter; slots that are
        missing count as 0.
    index : dict, optional
        From `transpose`; made anew without it.
    threads : int, optional
        Default: one for each core.
    out : array [F], optional
        Where the gradient goes; a new array otherwise.
    add : bool
        Add to `out` instead of writing over it.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> layout = Layout.observed(batch, 2, transitions="none")
    >>> scatter(layout, batch, {"node": [[1.0, 2.0], [4.0, 8.0]]}).tolist()
    [5.0, 10.0, 2.0]
    """
    if add and out is None:
        raise ValueError("add is True, but out is not given; give the array to add to")
    dense, threads = _dense(layout, batch), threads_or_all(threads)
    gradient = checked_out(out, (layout.weights,))
    index = transpose(layout, batch) if index is None else index
    given = with_bases(layout, batch, by_score)
    for block in layout.blocks:
        part, slot = layout.parts[block.name], layout.slots[block.slot]
        found, add_here = given.get(block.slot), add
        if found is not None and block.by is None:
            sums = _shaped(found, block.slot, (slot.cells,))[block.cell]
        elif found is not None and block.by == "dense" and dense is not None:
            sums = (dense.T @ _shaped(found, block.slot, (batch.positions, slot.cells))).ravel()
        elif found is not None and block.name in index:
            cells = _shaped(found, block.slot, (batch.places(block.name), slot.cells))
            rows, places = layout.rows(block.name), index[block.name]
            _native.scatter(kernels, rows, places, cells, gradient, part.start, add_here, threads)
            continue
        else:
            sums = np.zeros(part.stop - part.start)
        if add:
            gradient[part] += sums
        else:
            gradient[part] = sums
    return gradient


def with_bases(layout: Layout, batch: Batch, by_score: Scores) -> dict[str, Floats]:
    """Add the gradients of bases, which are the sums over the places of the slots that begin with them."""
    given = dict(by_score)
    for name, slot in layout.slots.items():
        if slot.base is not None and name in by_score and slot.base not in by_score:
            given[slot.base] = _shaped(by_score[name], name, (batch.places(name), slot.cells)).sum(axis=0)
    return given


def _dense(layout: Layout, batch: Batch) -> Floats | None:
    columns = 0 if batch.dense is None else batch.dense.shape[1]
    if columns != layout.dense:
        remedy = (
            "" if columns else f": give arrays of floats [T, {layout.dense}], which text files cannot hold"
        )
        raise ValueError(f"batch.dense has {columns} columns, the layout expects {layout.dense}{remedy}")
    return batch.dense if columns else None


def checked_weights(layout: Layout, w: ArrayLike) -> Floats:
    """Return w as a contiguous array [F]."""
    weights = np.ascontiguousarray(w, dtype=np.float64)
    if weights.shape != (layout.weights,):
        raise ValueError(f"w has shape {weights.shape}, expected ({layout.weights},)")
    return weights


def checked_out(out: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Return an array that results may be written to: a new one, or the given one if it fits."""
    if out is None:
        return np.empty(shape)
    if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(
            f"out is {out.dtype} of shape {out.shape}, expected writable, contiguous float64 of {shape}"
        )
    return out


def _shaped(given: ArrayLike, slot: str, shape: tuple[int, ...]) -> Floats:
    array = np.ascontiguousarray(given, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"the gradient of slot {slot!r} has shape {array.shape}, expected {shape}")
    return array


def _check_finite(layout: Layout, weights: Floats, block: Block) -> None:
    if not (np.abs(weights[layout.parts[block.name]]) <= LARGEST_SCORE).all():
        explain(layout, weights)


def explain(
    layout: Layout, weights: Floats, batch: Batch | None = None, scores: Floats | None = None
) -> None:
    """Raise an error that names the weight that is too large, or else the place that overflows.

    Scores [places, cells] are those of the batch; a place is a position, or one of its segments.
    """
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        i = int(bad[0])
        raise NotFiniteError(f"w[{i}] is {weights[i]}, {layout.describe(i)}; weights must be finite")
    if scores is not None and batch is not None:
        bad = np.flatnonzero(~(np.abs(scores.reshape(len(scores), -1)) <= LARGEST_SCORE).all(axis=1))
        if bad.size:
            p = int(bad[0]) * batch.positions // len(scores)
            n = int(np.searchsorted(batch.seq_ptr, p, side="right")) - 1
            raise NotFiniteError(
                "its scores overflow; scale the values of its attributes, or the weights of the model",
                sequence=n,
                position=p - int(batch.seq_ptr[n]),
            )
    bad = np.flatnonzero(np.abs(weights) > LARGEST_SCORE)
    if bad.size:
        i = int(bad[0])
        raise NotFiniteError(f"w[{i}] is {weights[i]:g}, {layout.describe(i)}; scores overflow with it")
