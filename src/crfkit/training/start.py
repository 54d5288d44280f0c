"""Where training starts: at zero, at the weights of a model, at those of a local model, or where you say.

Weights of a model are found again by the names of attributes and labels; what is new starts at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.linear.layout import Layout
from crfkit.models.model import Model
from crfkit.structures import Chain

__all__ = ["checked_start", "moved", "warm_start"]


def warm_start(
    model: Model, layout: Layout, chain: Chain, attributes: Alphabet, edge_attributes: Alphabet
) -> Floats:
    """Return the weights [F] of a model in another layout.

    Raises
    ------
    ValueError
        The model has another structure, or weights that are not finite.
    """
    if not np.isfinite(model.w).all():
        i = int(np.argmin(np.isfinite(model.w)))
        raise ValueError(
            f"init: weight {i} of the model is {model.w[i]}; a warm start needs finite weights. "
            "Train it again, or leave init out"
        )
    if model.chain.order != chain.order:
        raise ValueError(
            f"init: the model is a chain of order {model.chain.order}, this one of order {chain.order}; "
            "train with the same order, or leave init out"
        )
    if model.layout.dense != layout.dense:
        raise ValueError(
            f"init: the model has {model.layout.dense} real-valued columns, the data {layout.dense}; "
            "use the same embeddings, or leave init out"
        )
    labels = model.labels.ids(chain.labels)  # [L] the model's ids of ours
    if (labels < 0).all():
        raise ValueError(
            f"init: the model and the data have no label in common (the model has "
            f"{', '.join(model.chain.labels[:5])}, ...); leave init out"
        )
    return moved(
        model.layout,
        model.w,
        layout,
        labels,
        _same_names(model.attributes, attributes, model.layout.attributes, layout.attributes, "attributes"),
        _same_names(
            model.edge_attributes,
            edge_attributes,
            model.layout.edge_attributes,
            layout.edge_attributes,
            "edge attributes",
        ),
    )


def _same_names(theirs: Alphabet, ours: Alphabet, A_theirs: int, A: int, what: str) -> Ids:
    """Return the model's id of each of our attributes, -1 where it has none: [A]."""
    if not A_theirs or not A:
        return np.full(A, -1, dtype=np.int32)
    if not len(theirs) and not len(ours):  # hashed ids mean the same in both
        return np.where(np.arange(A) < A_theirs, np.arange(A), -1).astype(np.int32)
    if not len(theirs) or not len(ours):
        with_names, without = ("the data", "the model") if len(ours) else ("the model", "the data")
        raise ValueError(
            f"init: the {what} of {with_names} have names, those of {without} are hashed ids; "
            "extract both in the same way, or leave init out"
        )
    return theirs.ids(ours.strings())[:A]


def moved(old: Layout, w: Floats, new: Layout, labels: Ids, attributes: Ids, edges: Ids) -> Floats:
    """Return weights of one layout in the places of another, [F]; 0 where the old one has none.

    Parameters
    ----------
    old, new : Layout
    w : array [old F]
    labels, attributes, edges : array [L], [A], [edge attributes]
        For each id of the new layout the id in the old one, or -1.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> old = Layout.observed(batch, 2, transitions="none")
    >>> new = Layout.all_pairs(batch, 2, transitions="none")
    >>> same = np.arange(2, dtype=np.int32)
    >>> moved(old, np.array([3.0, 5.0]), new, same, same, same).tolist()
    [3.0, 0.0, 0.0, 5.0]
    """
    made = np.zeros(new.weights)
    L, M = new.labels, old.labels

    def cells(of: Ids) -> Pointers:
        """Cells ``from * L + to`` of the new layout as cells of the old one."""
        before, after = labels[of // L].astype(np.int64), labels[of % L].astype(np.int64)
        return np.where((before >= 0) & (after >= 0), before * M + after, -1)

    made[new.parts["node"]] = _looked_up(
        _keys(old.node_ptr, old.node_label, M),
        w[old.parts["node"]],
        attributes[_owners(new.node_ptr)],
        labels[new.node_label].astype(np.int64),
        M,
    )
    made[new.parts["edge"]] = _looked_up(
        _keys(old.edge_ptr, old.edge_cell, M * M),
        w[old.parts["edge"]],
        edges[_owners(new.edge_ptr)],
        cells(new.edge_cell),
        M * M,
    )
    if old.order == new.order:
        tables = old.transition_tables(w)
        padded = [np.pad(table, [(0, 1)] * table.ndim) for table in tables]  # -1: a label that is new
        named = [table[np.ix_(*[labels] * table.ndim)] for table in padded]
        made[new.parts["transition"]] = new.transition_credit(named)
    known = labels >= 0
    for name in ("start", "stop", "dense"):
        there, here = w[old.parts[name]].reshape(-1, M), made[new.parts[name]].reshape(-1, L)
        if len(there) == len(here):
            here[:, known] = there[:, labels[known]]
    return made


def _owners(ptr: Pointers) -> Pointers:
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def _keys(ptr: Pointers, column: Ids, width: int) -> Pointers:
    """Attribute * width + column, rising."""
    keys: Pointers = _owners(ptr) * width + column
    return keys


def _looked_up(keys: Pointers, values: Floats, attribute: Ids, column: Pointers, width: int) -> Floats:
    """Return the values at attribute * width + column; 0 where there are none, or where either is -1."""
    if not len(keys):
        return np.zeros(len(attribute))
    wanted = attribute.astype(np.int64) * width + column
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = (keys[at] == wanted) & (attribute >= 0) & (column >= 0)
    return np.where(found, values[at], 0.0)


def checked_start(w: Any, layout: Layout) -> Floats:
    """Return weights that a function of the user gave, checked: [F]."""
    given = np.array(w, dtype=np.float64)
    if given.shape != (layout.weights,):
        raise ValueError(f"init gave weights of shape {given.shape}, expected ({layout.weights},)")
    if not np.isfinite(given).all():
        i = int(np.argmin(np.isfinite(given)))
        raise ValueError(
            f"init gave the weight {given[i]} at {i}, {layout.describe(i)}; expected finite ones"
        )
    return given
