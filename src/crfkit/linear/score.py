"""Weights to scores and credits to gradients: two linear maps, each the transpose of the other.

    node[p, y]    = sum_i value_i * w[node(attr_i, y)] + dense[p] . w[dense(:, y)]
    edge[p, x, y] = w[transition(x, y)] + sum_j value_j * w[edge(attr_j, x, y)]

over the attributes i and the edge attributes j of position p; weights that the layout does not have count
as 0, and so do attributes beyond it. Edges by position are made only for the positions that are asked for.
A layout of order k > 1 has no edge attributes, but k tables: table h, with h + 1 axes, scores runs of h + 1
labels. Float64 throughout, and the same bits for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.native import kernels, threads_or_all

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Scores",
    "checked_out",
    "checked_weights",
    "explain",
    "has_edges",
    "ready_edges",
    "ready_rows",
    "scatter",
    "scatter_edges",
    "score",
    "score_edges",
    "transitions",
    "transpose",
]


@dataclass(frozen=True, eq=False)
class Scores:
    """The potentials of a batch, as `Chain.potentials` takes them.

    When `per_position` is true there are edge attributes: `edge` is then only their common part, and
    `score_edges` gives the edges of a range of positions.
    """

    node: Floats  #: [P, L]
    #: [L, L]; of order k > 1 a tuple of k tables, table h with h + 1 axes; None without transitions
    edge: Floats | tuple[Floats, ...] | None
    start: Floats | None  #: [L]
    stop: Floats | None  #: [L]
    per_position: bool


def ready_rows(layout: Layout, weights: Floats, threads: int | None = None) -> _native.ReadyRows:
    """Spread the node weights [F] out as `score` reads them: worth keeping where weights stay.

    Rows of several weights, but not of all labels, are copied into a table of at most ``layout.table_bytes``;
    where it would be larger, there is none and they are read one weight at a time.
    """
    return _native.ReadyRows.of(kernels, layout.rows, weights, 0, threads_or_all(threads))


def ready_edges(layout: Layout, weights: Floats, threads: int | None = None) -> _native.ReadyRows:
    """Spread the edge weights out as `score_edges` reads them; see `ready_rows`."""
    begin = layout.parts["edge"].start
    return _native.ReadyRows.of(kernels, layout.edge_rows, weights, begin, threads_or_all(threads))


def score(
    layout: Layout,
    w: ArrayLike,
    batch: Batch,
    *,
    threads: int | None = None,
    out: Floats | None = None,
    ready: _native.ReadyRows | None = None,
) -> Scores:
    """Score every position of a batch.

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
    ready : ReadyRows, optional
        From `ready_rows` of the same weights; made anew without it.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[0, 1, 0], label=[1, 0])
    >>> layout = Layout.observed(batch, labels=2)
    >>> score(layout, [1.0, 2.0, 4.0, 0.1, 0.2, 0.3, 0.4], batch).node.tolist()
    [[1.0, 6.0], [1.0, 2.0]]
    """
    weights = checked_weights(layout, w)
    dense = _dense(layout, batch)
    node = checked_out(out, (batch.positions, layout.labels))  # [P, L]
    items, threads = (batch.attr_ptr, batch.attr, batch.value), threads_or_all(threads)
    rows = ready_rows(layout, weights, threads) if ready is None else ready
    finite = _native.score(kernels, rows, *items, None, 0, batch.positions, node, threads)
    small = weights[layout.parts["transition"].start :]
    if not finite or not np.isfinite(small).all():
        explain(layout, weights, node)
    if dense is not None:
        node += dense @ weights[layout.parts["dense"]].reshape(-1, layout.labels)
    return Scores(
        node,
        transitions(layout, weights),
        weights[layout.parts["start"]] if layout.start else None,
        weights[layout.parts["stop"]] if layout.stop else None,
        has_edges(layout, batch),
    )


def score_edges(
    layout: Layout,
    w: ArrayLike,
    batch: Batch,
    first: int,
    last: int,
    *,
    threads: int | None = None,
    out: Floats | None = None,
    ready: _native.ReadyRows | None = None,
) -> Floats:
    """Score the steps into positions first to last - 1, transitions included: [last - first, L, L].

    The entry of the first position of a sequence is no step of the sequence; the kernels do not look at it.
    """
    weights, L = checked_weights(layout, w), layout.labels
    _check_range(layout, batch, first, last)
    edge = checked_out(out, (last - first, L, L))
    base = layout.transition_tables(weights)[0] if len(layout.transition_cell) else None  # [L, L]
    if batch.edge_ptr is None or batch.edge_attr is None:
        edge[:] = 0.0 if base is None else base
        return edge
    finite = _native.score(
        kernels,
        ready_edges(layout, weights, threads) if ready is None else ready,
        batch.edge_ptr,
        batch.edge_attr,
        batch.edge_value,
        None if base is None else base.ravel(),
        first,
        last,
        edge.reshape(last - first, L * L),
        threads_or_all(threads),
    )
    if not finite:
        explain(layout, weights, edge)
    return edge


def transpose(layout: Layout, batch: Batch) -> _native.Transpose:
    """Index the positions of each attribute: made once per batch, used by every `scatter`."""
    return _native.Transpose.of(batch.attr_ptr, batch.attr, batch.value, layout.attributes, layout.labels)


def scatter(
    layout: Layout,
    batch: Batch,
    node_credit: ArrayLike,
    edge_credit: ArrayLike | None = None,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    *,
    index: _native.Transpose | None = None,
    threads: int | None = None,
    out: Floats | None = None,
    add: bool = False,
) -> Floats:
    """Turn credits of the scores into the gradient of the weights [F]: the transpose of `score`.

    Parameters
    ----------
    layout, batch
        As in `score`.
    node_credit : array [P, L]
    edge_credit : array [L, L] or [P, L, L], or for order k > 1 k tables, optional
        Summed over positions, or by position where there are edge attributes. Leave it out to bring them
        in blocks with `scatter_edges`. Tables are as `Marginals.edge` has them, the one of order h with
        h + 1 axes.
    start, stop : array [L], optional
        Summed over sequences.
    index : Transpose, optional
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
    >>> layout = Layout.observed(batch, labels=2, transitions="none")
    >>> scatter(layout, batch, [[1.0, 2.0], [4.0, 8.0]]).tolist()
    [5.0, 10.0, 2.0]
    """
    if add and out is None:
        raise ValueError("add needs the array to add to: out")
    P, L = batch.positions, layout.labels
    node = _credit(node_credit, "node_credit", (P, L))
    dense = _dense(layout, batch)
    gradient = checked_out(out, (layout.weights,))
    index = transpose(layout, batch) if index is None else index
    _native.scatter(kernels, layout.rows, index, node, gradient, 0, add, threads_or_all(threads))
    if not add:
        gradient[layout.parts["node"].stop :] = 0.0
    if edge_credit is not None:
        if layout.order <= 1 and np.ndim(edge_credit) == 3:
            scatter_edges(layout, batch, edge_credit, 0, P, out=gradient, threads=threads)
        elif has_edges(layout, batch):
            raise ValueError("edge_credit has 2 axes, but there are edge attributes: it needs (P, L, L)")
        else:
            gradient[layout.parts["transition"]] += layout.transition_credit(_tables(layout, edge_credit))
    for name, credit in (("start", start), ("stop", stop)):
        if credit is not None and layout.parts[name].stop > layout.parts[name].start:
            gradient[layout.parts[name]] += _credit(credit, name, (L,))
    if dense is not None:
        gradient[layout.parts["dense"]] += (dense.T @ node).ravel()
    return gradient


def scatter_edges(
    layout: Layout,
    batch: Batch,
    credit: ArrayLike,
    first: int,
    last: int,
    *,
    out: Floats,
    threads: int | None = None,
) -> None:
    """Add to the gradient `out` [F] what credits [last - first, L, L] of a range of positions say."""
    L = layout.labels
    _check_range(layout, batch, first, last)
    edge = _credit(credit, "credit", (last - first, L, L))
    gradient = checked_out(out, (layout.weights,))
    gradient[layout.parts["transition"]] += layout.transition_credit([edge.sum(axis=0)])
    if batch.edge_ptr is None or batch.edge_attr is None or not layout.edge_attributes:
        return
    ptr = batch.edge_ptr[first : last + 1]
    inside = slice(int(ptr[0]), int(ptr[-1]))
    value = None if batch.edge_value is None else batch.edge_value[inside]
    index = _native.Transpose.of(ptr - ptr[0], batch.edge_attr[inside], value, layout.edge_attributes, L * L)
    begin, cells = layout.parts["edge"].start, edge.reshape(last - first, L * L)
    _native.scatter(kernels, layout.edge_rows, index, cells, gradient, begin, True, threads_or_all(threads))


def has_edges(layout: Layout, batch: Batch) -> bool:
    """Tell whether some position has edge attributes, and the layout weights for them."""
    return bool(batch.edge_attr is not None and batch.edge_attr.size and layout.edge_attributes)


def transitions(layout: Layout, weights: Floats) -> Floats | tuple[Floats, ...] | None:
    """Return the scores of the steps whatever the attributes: [L, L], or a table for each order."""
    if not len(layout.transition_cell):
        return None
    tables = layout.transition_tables(weights)
    return tables[0] if layout.order == 1 else tables


def _tables(layout: Layout, credit: ArrayLike) -> list[Floats]:
    """Return the credits of each order, checked."""
    L, k = layout.labels, layout.order
    if k <= 1:
        return [_credit(credit, "edge_credit", (L, L))]
    if not isinstance(credit, list | tuple) or len(credit) != k:
        raise ValueError(f"the layout has order {k}: edge_credit must be a tuple of {k} tables")
    return [_credit(table, f"edge_credit[{i}]", (L,) * (i + 2)) for i, table in enumerate(credit)]


def _dense(layout: Layout, batch: Batch) -> Floats | None:
    columns = 0 if batch.dense is None else batch.dense.shape[1]
    if columns != layout.dense:
        raise ValueError(f"batch.dense has {columns} columns, the layout expects {layout.dense}")
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


def _credit(credit: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    array = np.ascontiguousarray(credit, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    return array


def _check_range(layout: Layout, batch: Batch, first: int, last: int) -> None:
    if layout.order > 1:
        raise ValueError(f"edges by position need a layout of order 1, not {layout.order}")
    if not 0 <= first <= last <= batch.positions:
        raise ValueError(f"positions {first} to {last} are not in the batch, which has {batch.positions}")


def explain(layout: Layout, weights: Floats, scores: Floats | None = None) -> None:
    """Say which weight is not finite; if all are, which position overflows."""
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        i = int(bad[0])
        raise ValueError(f"w[{i}] is {weights[i]}, {layout.describe(i)}; weights must be finite")
    if scores is None:
        return
    bad = np.flatnonzero(~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1))
    if bad.size:
        raise ValueError(f"the scores of position {int(bad[0])} of the range overflow")
