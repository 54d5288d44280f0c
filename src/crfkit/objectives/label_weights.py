"""Weights of labels: a sequence or graph counts by the mean over its gold labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, sum_by_sequence
from crfkit.data.batch import Batch
from crfkit.data.dataset import spelled_number
from crfkit.structures.gold import allowed_labels, kind_of_gold
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.gold import GraphGold


def label_counts(batch: Batch, L: int) -> Floats:
    """Return the positions of each label, [L]: shares of distributions; sets of labels are not counted."""
    if batch.soft is not None:
        shares: Floats = batch.soft.sum(axis=0)
        return shares
    label = np.zeros(0, dtype=np.int32) if batch.label is None else batch.label
    return np.bincount(label[label >= 0], minlength=L).astype(np.float64)


def balanced(names: Sequence[str], counts: ArrayLike) -> dict[str, float]:
    """Return a weight for each label that occurs: positions / (labels * positions of the label)."""
    shown = [(name, float(n)) for name, n in zip(names, np.asarray(counts).tolist(), strict=True) if n]
    if not shown:
        raise ValueError(
            'label_weights is "balanced", which counts plain labels, but the data have none; give a dict'
        )
    total = sum(n for _, n in shown)
    return {name: total / (len(shown) * n) for name, n in shown}


def by_label(weights: Mapping[str, object], names: Sequence[str]) -> Floats:
    """Return the checked weights of labels as an array [L], 1 where they are not named."""
    each = np.ones(len(names))
    for given, weight in weights.items():
        name = spelled_number(given)
        if name not in names:
            raise ValueError(
                f"label_weights names {given!r}, which is not a label of the data; the labels are "
                f"{', '.join(names[:20])}"
            )
        if not isinstance(weight, Real):
            raise TypeError(f"label_weights has {weight!r} for the label {name!r}, expected a number")
        each[names.index(name)] = float(weight)
    if not (np.isfinite(each).all() and (each >= 0.0).all()):
        raise ValueError("label_weights must be finite and 0 or more")
    return each


def label_weighted(batch: Batch, label_weights: Floats) -> Floats:
    """Return sequence weights [N] times the mean weight of the gold labels of each sequence.

    Whole sequences are weighted, because a chain's likelihood is not a sum over positions: a gradient by
    scores that is scaled position by position is not the gradient of any function. With one position per
    sequence this is scikit-learn's ``class_weight``.
    """
    if batch.soft is not None:
        each = batch.soft @ label_weights  # [P]
    elif kind_of_gold(batch) == "path" and batch.label is not None:
        each = label_weights[batch.label]
    else:
        mask = allowed_labels(batch, len(label_weights))
        each = (mask @ label_weights) / mask.sum(axis=1)
    lengths = np.diff(batch.seq_ptr)
    mean = sum_by_sequence(each, batch.seq_ptr) / np.maximum(lengths, 1)  # [N]
    return mean if batch.weight is None else mean * batch.weight


def weights_of_variables(given: Mapping[str, object] | str, batch: GraphBatch, gold: GraphGold) -> Floats:
    """Return the weight of the gold label of each variable of graphs, [V]; 1 where it is hidden.

    Parameters
    ----------
    given : dict or "balanced"
        Label -> weight, or kind -> {label -> weight}.
    """
    graph, each = batch.graph, np.ones(batch.variables)
    names = {
        kind: tuple(map(str, range(labels))) if isinstance(labels, int) else tuple(map(str, labels))
        for kind, labels in graph.kinds.items()
        if not isinstance(labels, np.ndarray)
    }
    known = {kind: gold.label[first:last] >= 0 for kind, (first, last) in batch.kind_ptr.items()}
    if isinstance(given, str) and not any(part.any() for part in known.values()):
        balanced((), ())  # says that there is nothing to count
    for kind, weights in _by_kind(given, names).items():
        first, last = batch.kind_ptr[kind]
        label = gold.label[first:last][known[kind]]
        if weights is None:
            if not len(label):
                continue
            weights = balanced(names[kind], np.bincount(label, minlength=len(names[kind])))
        each[first:last][known[kind]] = by_label(weights, names[kind])[label]
    return each


def _by_kind(
    given: Mapping[str, object] | str, names: Mapping[str, Sequence[str]]
) -> Mapping[str, Mapping[str, object] | None]:
    """Return the weights of labels of each kind; None: balanced."""
    if isinstance(given, str):
        return dict.fromkeys(names)
    if any(isinstance(weights, Mapping) for weights in given.values()):
        found = {}
        for kind, weights in given.items():
            if kind not in names or not isinstance(weights, Mapping):
                raise ValueError(
                    f"label_weights has {kind!r}: {weights!r}; expected a kind of the graph "
                    f"({', '.join(names)}) and its weights, or weights of labels only"
                )
            found[kind] = weights
        return found
    every = sorted({label for labels in names.values() for label in labels})
    by_label(given, every)  # refuses unknown labels and weights that are not numbers
    return {
        kind: {y: w for y, w in given.items() if spelled_number(y) in labels}
        for kind, labels in names.items()
    }
