"""The likelihood of segments in one native pass, with rows that places share added up once.

Scores of positions, of where segments begin and end, and of single segments are all sums of rows of weights.
So they are one list of rows over one list of attributes here, and everything that `fast.likelihood` does for
positions serves for all of them; only the sweep knows what the rows mean
(`cpp/kernels/sweep/segment_sum.hpp`). Single segments without an attribute that has a weight have no row, and
scores of positions are never added up for each segment: a position costs L^2 + D * L.

Where no segment has more than one position, the segments are a chain: all rows of a position are one.

What it covers: paths and sets of labels, sequence weights, constraints, lengths. Edge attributes, real-valued
columns and sets of labels with known beginnings of segments are left to the general path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import Floats, Ids, Pointers, dot
from crfkit.data.batch import Batch
from crfkit.linear.fast.likelihood import ROW_BYTES, checked_value
from crfkit.linear.layout import Layout
from crfkit.linear.objective import Family
from crfkit.linear.score import checked_out, checked_weights, explain, is_scored
from crfkit.native import kernels, threads_or_all
from crfkit.structures.gold import Path, Sets, forbid
from crfkit.structures.segments.semimarkov import SemiMarkov

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

ROWS = ("node", "begin", "end", "segment")
SHARED = ("transition", "start", "stop", "length")


class NativeSegments:
    """Loss and gradient of one batch; made once, evaluated many times.

    Parameters
    ----------
    loss : LinearLoss
        What is evaluated.
    kept : mapping, optional
        The result of `packed` for the same loss in this process, so that it need not be made again.
    """

    @staticmethod
    def covers(loss: LinearLoss) -> str:
        """Return why this loss cannot be evaluated here; empty where it can."""
        structure, layout, batch = loss.structure, loss.layout, loss.batch
        if loss.objective.family is not Family.LIKELIHOOD:
            return f"the objective {loss.objective.name}"
        if not isinstance(structure, SemiMarkov):
            return structure.describe()
        D, dense = max(structure.max_length), batch.dense
        reasons = {
            "segments that are known in part": isinstance(loss.gold, Sets) and loss.gold.begin is not None,
            "edge attributes": is_scored(layout, batch, "edge"),
            "real-valued columns": bool(layout.dense) or (dense is not None and dense.shape[1] > 0),
            "attributes of segments of another length": is_scored(layout, batch, "segment")
            and batch.longest != D,
            "more than 2^31 weights or rows": max(layout.weights, batch.positions * (D + 3)) >= 1 << 31,
        }
        return next((what for what, holds in reasons.items() if holds), "")

    def __init__(self, loss: LinearLoss, kept: Mapping[str, NDArray[Any]] | None = None) -> None:
        assert isinstance(loss.structure, SemiMarkov)
        self.layout, self.structure, self.threads = loss.layout, loss.structure, loss.threads
        layout, gold = loss.layout, loss.gold
        L, D = layout.labels, max(loss.structure.max_length)
        allowed = gold.mask if isinstance(gold, Sets) else None
        self._credit = {"transition": np.empty((L, L)), "start": np.empty(L), "stop": np.empty(L)}
        self._credit["length"] = np.empty((D, L))
        ptr, column = weights_of_rows(layout)
        if kept is not None:
            self._evaluator = _native.Evaluator.unpack(
                kernels, 1, L, ptr, column, None, None, None, allowed, kept["evaluator"]
            )
            self._gold = {name: kept[name] for name in SHARED}
            return
        places = places_of(layout, loss.batch, D)
        label = places.labels(self.structure.gold_cells(loss.batch)) if isinstance(gold, Path) else None
        if D == 1:
            places, label = places.merged(), None if label is None else label[: loss.batch.positions]
        self._evaluator = _native.Evaluator.of(
            kernels,
            1,
            _native.Rows(L, ptr, column, layout.table_bytes),
            loss.batch.seq_ptr,
            places.ptr,
            places.attr,
            places.value,
            loss.weight,
            label,
            None,
            allowed,
            None,
            None,
            None,
            None,
            0 if D == 1 else D,
            places.begins,
            places.ends,
            None if D == 1 else places.segment,
            None,
            None,
            layout.table_bytes,
            ROW_BYTES,
        )
        self._gold = {name: np.zeros(credit.size) for name, credit in self._credit.items()}
        if isinstance(gold, Path):
            self.structure.add_counts(gold, loss.weight, self._gold)

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return everything that was made of the batch, as arrays."""
        evaluator = np.empty(self._evaluator.packed_size, dtype=np.uint8)
        self._evaluator.pack(evaluator)
        return {"evaluator": evaluator, **self._gold}

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        layout, credit = self.layout, self._credit
        weights = checked_weights(layout, w)
        out = checked_out(gradient, (layout.weights,))
        parts, D = layout.parts, len(credit["length"])
        if not np.isfinite(weights[parts["transition"].start :]).all():
            explain(layout, weights)
        scores = self._scores(weights)
        found = self._evaluator.evaluate(
            weights,
            scores["transition"].ravel(),
            scores["start"],
            scores["stop"],
            out,
            credit["start"],
            credit["stop"],
            credit["transition"].ravel(),
            scores["length"] if D > 1 else None,
            credit["length"] if D > 1 and layout.has("length") else None,
            threads_or_all(self.threads),
        )
        value = checked_value(layout, weights, found)
        if D == 1:  # each position is stepped into or the first; chains have taken off gold ends
            for name in ("start", "stop"):
                credit[name] += self._gold[name]
            credit["length"][:] = credit["transition"].sum(axis=0) + credit["start"]
        out[parts["edge"]] = 0.0
        for name in SHARED:
            if layout.has(name):
                cell, part = layout.block[name].cell, parts[name]
                gold = self._gold[name][cell]
                out[part] = credit[name].reshape(-1)[cell] - gold
                value -= dot(gold, weights[part])
        return value

    def _scores(self, weights: Floats) -> dict[str, Floats]:
        """Return what all places share, under the constraints: [L, L], [L], [L] and [D, L]."""
        layout, rules, structure = self.layout, self.structure.resolved, self.structure
        made = {
            name: layout.shared(name, weights).reshape(credit.shape)
            if layout.has(name)
            else np.zeros(credit.shape)
            for name, credit in self._credit.items()
        }
        if rules is not None:
            for name in ("transition", "start", "stop"):
                made[name] = forbid(made[name], getattr(rules, name))
        if len(made["length"]) == 1:
            made["transition"] = made["transition"] + made["length"]
            made["start"] = made["start"] + made["length"][0]
        return {**made, "length": forbid(made["length"], structure.allowed_lengths())}


def weights_of_rows(layout: Layout) -> tuple[Pointers, Ids]:
    """Return where the weights of the attributes of all kinds begin, and the label of each weight."""
    blocks = [layout.block[name] for name in ROWS if name in layout.block]
    assert layout.parts["edge"].start in (0, sum(len(block.cell) for block in blocks))
    counts = np.concatenate([np.diff(block.ptr) for block in blocks])
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return ptr, np.concatenate([block.cell for block in blocks])


class Places(NamedTuple):
    """The attributes of all rows: of positions, of beginnings, of ends, of single segments."""

    positions: int
    ptr: Pointers  #: [rows + 1]
    attr: Ids
    value: Floats | None
    begins: bool
    ends: bool
    segment: Pointers  #: [segments] p * D + d - 1 of the segments that have a row

    def labels(self, cells: Mapping[str, Pointers]) -> Ids:
        """Return the label that the gold has in each row, -1 where it does not take the row."""
        kinds = [cells["node"], *(cells[name] for name in ROWS[1:3] if getattr(self, f"{name}s"))]
        return np.concatenate([*kinds, cells["segment"][self.segment]]).astype(np.int32)

    def merged(self) -> Places:
        """Return all rows of a position as one, where segments have one position."""
        P, kinds = self.positions, 1 + self.begins + self.ends
        of_row = np.concatenate([np.tile(np.arange(P), kinds), self.segment])  # [rows]
        position = np.repeat(of_row, np.diff(self.ptr))  # [nnz]
        order = np.argsort(position, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(position, minlength=P))]).astype(np.int64)
        value = None if self.value is None else self.value[order]
        return Places(P, ptr, self.attr[order], value, False, False, np.zeros(0, dtype=np.int64))


def places_of(layout: Layout, batch: Batch, D: int) -> Places:
    """Return the attributes of all rows of a batch that have weights, numbered as in `weights_of_rows`."""
    P, first = batch.positions, 0
    has = {name: name == "node" or is_scored(layout, batch, name) for name in ROWS}
    lengths, ids, values = [], [], []
    segment = np.zeros(0, dtype=np.int64)
    for name in ROWS:
        items, rows = batch.occurrences(name), layout.rows_of(name)
        if has[name]:
            assert items is not None
            known = (items.id >= 0) & (items.id < rows)
            weights = np.append(np.diff(layout.block[name].ptr), 0) if rows else np.zeros(1, dtype=np.int64)
            known &= weights.take(np.where(known, items.id, rows)) > 0  # [nnz]
            before = np.concatenate([[0], np.cumsum(known)])
            count = before[items.ptr[1:]] - before[items.ptr[:-1]]  # [places]
            if name == "segment":
                segment = np.flatnonzero(count)
                count = count[segment]
            lengths.append(count)
            ids.append((items.id[known] + first).astype(np.int32))
            values.append(np.ones(len(ids[-1])) if items.value is None else items.value[known])
        first += rows
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    value = np.concatenate(values)
    plain = bool((value == 1.0).all())
    return Places(P, ptr, np.concatenate(ids), None if plain else value, has["begin"], has["end"], segment)
