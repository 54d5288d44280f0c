"""A layout restricted to what a block shows, so that a block costs what it holds and not what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crfkit.batch import Batch
from crfkit.layout import Layout
from crfkit.structures.labels import Ids, Pointers

__all__ = ["Restricted", "restrict"]


class Restricted(NamedTuple):
    """The weights of the attributes of a block, and of everything that is no attribute."""

    layout: Layout
    attr: Ids  #: [nnz] attributes by their numbers in this layout
    places: Pointers  #: [weights] where each weight lies in the whole layout, rising


def restrict(layout: Layout, batch: Batch) -> Restricted:
    """Leave out the attributes that a batch does not show.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 2, 3], attr=[1, 5, 9], label=[0, 1])
    >>> whole = Layout.all_pairs(batch, 2, attributes=8)
    >>> layout, attr, places = restrict(whole, batch)
    >>> layout.attributes, attr.tolist(), places.tolist()
    (2, [0, 1, 2], [2, 3, 10, 11, 16, 17, 18, 19])
    """
    A = layout.attributes
    known = np.minimum(batch.attr, A)  # [nnz] A stands for all that have no weights
    seen = np.zeros(A + 1, dtype=np.bool_)
    seen[known] = True
    shown = np.flatnonzero(seen[:A])
    number = np.full(A + 1, len(shown), dtype=np.int32)
    number[shown] = np.arange(len(shown), dtype=np.int32)
    counts = np.diff(layout.node_ptr)[shown]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    node = np.repeat(layout.node_ptr[shown] - ptr[:-1], counts) + np.arange(ptr[-1])
    others = np.arange(len(layout.node_label), layout.weights)
    made = replace(layout, node_ptr=ptr, node_label=layout.node_label[node])
    return Restricted(made, number[known], np.concatenate([node, others]))
