"""The steps of a chain that may score other than the common one.

A step without a weight of its own scores 0, as most steps do where only observed transitions have weights
(3.6 % of the pairs of Brown's 472 tags). A sum over all labels before it is then one sum that all targets
share, plus a correction for each pair that differs (`cpp/kernels/sweep/striped_steps.hpp`).
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Ids
from crfkit.linear.layout import Layout
from crfkit.structures.chains.chain import Chain

__all__ = ["pairs_of"]

FEWEST_LABELS = 16
"""Below this all pairs are as fast (`few_labels` in `cpp/kernels/sweep/striped_steps.hpp`)."""

MOST_PAIRS = 0.2
"""The share of all pairs above which the dense product is faster: a listed pair costs about four cells."""


def pairs_of(layout: Layout, chain: Chain) -> tuple[Ids, Ids, Ids] | None:
    """Return the pairs that have a weight or that constraints forbid, or None where all pairs are faster.

    Parameters
    ----------
    layout : Layout
        Of a chain of order 1.
    chain : Chain
        Its structure; `resolved` says which transitions are forbidden.

    Returns
    -------
    tuple of arrays, optional
        (ptr int32 [L + 1], source int32 [K], cell int64 [K]): by target the sources, rising, and the cell
        source * L + target of each pair.

    Examples
    --------
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.structures import Chain
    >>> none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    >>> layout = Layout.of_chain(20, *none, *none, transition_cell=np.array([3 * 20 + 1, 2 * 20 + 1, 5]))
    >>> ptr, source, cell = pairs_of(layout, Chain(20))
    >>> ptr[:7], source, cell
    (array([0, 0, 2, 2, 2, 2, 3], dtype=int32), array([2, 3, 0], dtype=int32), array([41, 61,  5]))
    """
    L = layout.labels
    cells = layout.transition_cell.astype(np.int64)
    if chain.resolved is not None:
        cells = np.concatenate([cells, np.flatnonzero(~chain.resolved.transition.ravel())])
    listed = np.unique(cells % L * L + cells // L)  # target * L + source
    if L < FEWEST_LABELS or len(listed) > MOST_PAIRS * L * L:
        return None
    target, source = listed // L, listed % L
    ptr = np.searchsorted(target, np.arange(L + 1)).astype(np.int32)
    return ptr, source.astype(np.int32), source * L + target
