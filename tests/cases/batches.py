"""Random batches: the one maker that tests of layouts, objectives and optimizers draw from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.batch import Batch


def random_batch(
    rng: np.random.Generator,
    lengths: Sequence[int] | Pointers,
    A: int,
    L: int,
    *,
    least: int = 0,
    most: int = 4,
    telling: float = 0.0,
    values: bool = False,
    edges: bool = False,
    dense: int = 0,
    unknown: float = 0.0,
    weights: bool = False,
) -> Batch:
    """A labeled batch with repeated attributes and, on demand, everything else that a batch can hold.

    Positions have from `least` to `most` of A attributes. A share of them, `telling`, is drawn from seven
    that go with the position's label; the others are drawn from all. Values scatter around 1 and some are
    negative. Edge attributes stand at first positions too, where no step ends and nothing may count them.
    A share of the labels, `unknown`, is -1.
    """
    P = int(np.sum(lengths, dtype=np.int64))
    seq_ptr = np.cumsum([0, *lengths])
    counts, edge_counts = rng.integers(least, most + 1, P), rng.integers(0, 3, P)
    nnz, edge_nnz = int(counts.sum()), int(edge_counts.sum())
    label = rng.integers(0, L, P)
    attr = rng.integers(0, A, nnz)
    if telling:
        own = (7 * np.repeat(label, counts) + rng.integers(0, 7, nnz)) % A
        attr = np.where(rng.random(nnz) < telling, own, attr)
    label[rng.random(P) < unknown] = -1
    return Batch(
        seq_ptr=seq_ptr,
        attr_ptr=np.cumsum([0, *counts]),
        attr=attr.astype(np.int32),
        value=rng.normal(1.0, size=nnz) if values else None,
        label=label.astype(np.int32),
        edge_ptr=np.cumsum([0, *edge_counts]) if edges else None,
        edge_attr=rng.integers(0, 3, edge_nnz).astype(np.int32) if edges else None,
        edge_value=rng.normal(1.0, size=edge_nnz) if edges and values else None,
        dense=rng.normal(size=(P, dense)) if dense else None,
        weight=rng.uniform(0.5, 2.0, len(lengths)) if weights else None,
    )


#: every field, three sequences of 2, 0 and 1 positions, segments of up to 2 positions
FULL: dict[str, Any] = {
    "seq_ptr": [0, 2, 2, 3],
    "attr_ptr": [0, 2, 3, 5],
    "attr": [0, 1, 0, 2, 2],
    "value": [1.0, -2.0, 0.5, 1.0, 0.0],
    "label": [0, 1, -1],
    "edge_ptr": [0, 0, 1, 1],
    "edge_attr": [4],
    "weight": [1.0, 2.0, 3.0],
    "dense": [[1.0], [2.0], [3.0]],
    "edge_value": [0.5],
    "allowed": [[1, 1, 0], [1, 0, 1], [0, 1, 1]],
    "soft": [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]],
    "segment_ptr": [0, 1, 3, 3, 3, 4, 4],  # at 0: lengths 1 and 2; at 2: length 1
    "segment_attr": [3, 1, 2, 0],
    "segment_value": [1.0, 2.0, 3.0, 4.0],
    "begin_ptr": [0, 1, 1, 3],
    "begin_attr": [2, 0, 3],
    "begin_value": [1.0, -1.0, 2.0],
    "end_ptr": [0, 0, 2, 2],
    "end_attr": [1, 3],
    "end_value": [0.5, 1.5],
    "begin": [True, False, True],
}
