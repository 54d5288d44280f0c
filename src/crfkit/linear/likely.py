"""Pairs of attribute and label that the data never show, but a model finds likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.batch import Batch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def likely_pairs(batch: Batch, node_probabilities: ArrayLike, epsilon: float) -> Pointers:
    """Return unobserved pairs that a model finds likely: [n, 2], sorted.

    These are the (attribute, label) pairs that the labeled batch never shows, but to which some position
    that has the attribute gives the label with a probability above epsilon: the weights that keep a model
    from errors it makes now (Sutton & McCallum 2006, section 1.4.6).

    Parameters
    ----------
    batch : Batch
        Training data with labels.
    node_probabilities : array [P, L]
        Marginals of a model trained so far, on the same batch.
    epsilon : float
        The least probability that makes a pair likely; 0.01 is a good start.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> likely_pairs(batch, [[0.7, 0.3], [0.001, 0.999]], 0.01).tolist()
    [[0, 1]]
    """
    p = np.asarray(node_probabilities, dtype=np.float64)  # [P, L]
    if batch.label is None:
        raise ValueError("batch.label is None; likely pairs need a labeled batch")
    if p.ndim != 2 or len(p) != batch.positions:
        raise ValueError(f"node_probabilities has shape {p.shape}, expected ({batch.positions}, labels)")
    if not 0.0 <= epsilon < 1.0:
        raise ValueError(f"epsilon is {epsilon}, expected 0 or more, below 1")
    L = p.shape[1]
    counts = np.diff(batch.attr_ptr)  # [P]
    found = np.zeros(0, dtype=np.int64)
    for y in range(L):  # one label at a time: at most one key per occurrence in memory
        at = np.repeat((p[:, y] > epsilon) & (batch.label != y), counts)
        found = np.concatenate([found, np.unique(batch.attr[at]).astype(np.int64) * L + y])
    gold = np.repeat(batch.label, counts)
    shown = batch.attr[gold >= 0].astype(np.int64) * L + gold[gold >= 0]
    keys = np.setdiff1d(found, shown)
    return np.stack([keys // L, keys % L], axis=1)
