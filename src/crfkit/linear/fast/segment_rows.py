"""The rows of segments (`Places`) as the dual visits them: sequence by sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import pointers, ranges
from crfkit.data.batch import Batch
from crfkit.linear.fast.segments import places_of, weights_of_rows
from crfkit.linear.layout import Layout
from crfkit.optimize.sequential.sequences import SegmentRows
from crfkit.structures.gold import Path
from crfkit.structures.segments.semimarkov import SemiMarkov

__all__ = ["rows_of_segments"]


def rows_of_segments(structure: SemiMarkov, layout: Layout, batch: Batch, gold: Path) -> dict[str, Any]:
    """Return the rows, their gold and their weights, by the names that `Sequences` has for them."""
    assert gold.begin is not None
    D, N = max(structure.max_length), batch.sequences
    places, (row_ptr, column) = places_of(layout, batch, D), weights_of_rows(layout)
    of = np.repeat(np.arange(N), np.diff(batch.seq_ptr))  # [P] the sequence of each position
    kinds = 1 + places.begins + places.ends
    sequence = np.concatenate([np.tile(of, kinds), of[places.segment // D]])  # [rows]
    made: dict[str, Any] = {
        "seq_ptr": pointers(np.bincount(sequence, minlength=N)),
        "attr_ptr": places.ptr,
        "attr": places.attr,
        "value": places.value,
        "label": places.labels(structure.gold_cells(batch)),
        "row_ptr": row_ptr,
        "column": column,
        "segments": SegmentRows(
            position_ptr=batch.seq_ptr,
            begin=gold.begin.astype(np.int32),
            place=(places.segment - batch.seq_ptr[of[places.segment // D]] * D).astype(np.int32),
            length_cell=layout.block["length"].cell,
            longest=D,
            begins=places.begins,
            ends=places.ends,
        ),
    }
    if len(sequence) == len(of):
        return made
    order = np.argsort(sequence, kind="stable")  # [rows]
    lengths = np.diff(places.ptr)[order]
    taken = ranges(places.ptr[:-1][order], lengths)  # [occurrences]
    value = None if places.value is None else places.value[taken]
    by_sequence = {"attr_ptr": pointers(lengths), "attr": places.attr[taken], "value": value}
    return {**made, **by_sequence, "label": made["label"][order]}
