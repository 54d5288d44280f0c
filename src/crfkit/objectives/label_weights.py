"""Weights of labels: a sequence counts by the mean over its gold labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, sum_by_sequence
from crfkit.data.batch import Batch
from crfkit.structures.gold import allowed_labels, kind_of_gold

__all__ = ["balanced", "by_label", "label_counts", "label_weighted"]


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
    for name, weight in weights.items():
        if name not in names:
            raise ValueError(
                f"label_weights names {name!r}, which is not a label of the data; the labels are "
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
