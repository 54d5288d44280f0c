"""How often the gold has each feature: the empirical side of eq. 1.22 in Sutton & McCallum (2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit.arrays import Floats
from crfkit.linear.score import scatter, zero_scores
from crfkit.linear.squares import squared

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["feature_counts"]


def feature_counts(loss: LinearLoss, *, squares: bool = False) -> Floats:
    """Return the counts of the features in the gold of a loss, [F], each sequence times its weight.

    With `squares`, an attribute counts by the square of its value.

    Examples
    --------
    >>> from crfkit import Chain, Likelihood
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 0], label=[0, 1], weight=[3.0])
    >>> layout = Layout.all_pairs(batch, 2, transitions="none")
    >>> feature_counts(Likelihood().bind(layout, Chain(2), batch)).tolist()
    [3.0, 3.0]
    """
    found = np.zeros(loss.size)
    for part in loss.parts():
        counts = zero_scores(loss.layout, part.batch)
        loss.structure.add_counts(part.gold, part.weight, counts)
        batch = squared(part.batch) if squares else part.batch
        scatter(loss.layout, batch, counts, threads=loss.threads, out=found, add=True)
    return found
