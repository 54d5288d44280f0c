"""Models without what does not matter: weights of zero, and attributes that have no other.

Scores stay the same, so do predictions; unknown attributes and attributes without weights add
nothing. Models with L1 penalties shrink to a fraction.

`without_idle` is what every file gets: it changes no bit of an answer (unless the table of weights fits
``layout.table_bytes`` only without those that are left out). `compacted` goes further, and the kernels may
add up in another order: attributes with a single weight and steps without edge attributes go their own ways.
The last digits of scores and marginals may then differ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import Bools, Ids, Pointers, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.models.model import Model

__all__ = ["compacted", "without_idle"]


def without_idle(model: Model) -> Model:
    """Return a model without the attributes whose weights are all zero; no bit of an answer changes.

    Edge attributes and attributes without names (hashed ids) stay.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> w = model.w.copy()
    >>> w[0] = 0.0
    >>> without_idle(replace(model, w=w)).attributes.strings()
    ['dog']
    """
    layout, part = model.layout, model.layout.parts["node"]
    busy = _counts(layout.node_ptr, model.w[part] != 0.0) > 0  # [A]
    if busy.all() or len(model.attributes) < len(busy):
        return model
    kept = np.repeat(busy, np.diff(layout.node_ptr))  # [node weights]
    node_ptr, node_label, names = _rows(layout.node_ptr, layout.node_label, kept, model.attributes)
    return replace(
        model,
        names=replace(model.names, attributes=names),
        layout=layout.with_block("node", node_label, node_ptr),
        w=np.concatenate([model.w[part][kept], model.w[part.stop :]]),
    )


def compacted(model: Model) -> Model:
    """Return a model with the same scores and no weight of zero.

    Attributes without names (hashed ids) keep their ids.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> w = model.w.copy()
    >>> w[0] = 0.0
    >>> compacted(replace(model, w=w)).attributes.strings()
    ['dog']
    """
    layout, w = model.layout, model.w
    parts = {name: w[part] for name, part in layout.parts.items()}
    node_kept, edge_kept = parts["node"] != 0.0, parts["edge"] != 0.0
    node = _rows(layout.node_ptr, layout.node_label, node_kept, model.attributes)
    edge = _rows(layout.edge_ptr, layout.edge_cell, edge_kept, model.edge_attributes)
    steps = parts["transition"] != 0.0
    kept = {name: bool(parts[name].any()) for name in ("start", "stop", "dense")}
    none = np.zeros(0, dtype=np.int32)
    smaller = layout.with_block("node", node[1], node[0]).with_block("edge", edge[1], edge[0])
    smaller = smaller.with_block("transition", layout.transition_cell[steps])
    for name in ("start", "stop"):
        smaller = smaller if kept[name] else smaller.with_block(name, none)
    return replace(
        model,
        names=replace(model.names, attributes=node[2], edge_attributes=edge[2]),
        layout=smaller,
        w=np.concatenate(
            [
                parts["node"][node_kept],
                parts["edge"][edge_kept],
                parts["transition"][steps],
                *(parts[name] for name in ("start", "stop") if kept[name]),
                parts["dense"],
            ]
        ),
    )


def _rows(ptr: Pointers, column: Ids, kept: Bools, names: Alphabet) -> tuple[Pointers, Ids, Alphabet]:
    """Return pointers, columns and names of the rows that are left."""
    counts = _counts(ptr, kept)  # [A]
    if len(names) and not (len(names) == len(counts) and counts.all()):
        used = np.flatnonzero(counts)
        used = used[used < len(names)]
        if counts[len(names) :].any():
            raise ValueError("the layout has weights of attributes that have no name")
        counts = counts[used]
        strings = names.strings()
        names = Alphabet(strings[i] for i in used.tolist()).freeze()
    return pointers(counts), column[kept], names


def _counts(ptr: Pointers, kept: Bools) -> Pointers:
    """Return how many weights of each row are kept."""
    before = pointers(kept)  # [weights + 1]
    counts: Pointers = np.diff(before[ptr])
    return counts
