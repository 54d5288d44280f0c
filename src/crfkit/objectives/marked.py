"""Sums over labelings with one mark, at a position or on a step: second moments by one more sweep.

A mark has a weight that depends on the labels where it stands: b_t(y_t) at position t, b(y_{t-h} .. y_t) on a
step. The sum over labelings and marks of weight times exp(score) is that of a chain whose labels are those
of the first one three times: before the mark, at it (a position), and after it. Its log Z is higher than the
first one's by log E[sum_t b_t], and its marginals of a part are E[sum_t b_t * part] / E[sum_t b_t]. It costs
3^(k + 1) times the first sweep for chains of order k, at any length.
"""

from __future__ import annotations

from math import prod

import numpy as np

from crfkit.arrays import Floats
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.potentials import ChainPotentials

_BEFORE, _AT, _AFTER = range(3)
_STEPS = ((_BEFORE, _BEFORE), (_BEFORE, _AT), (_AT, _AFTER), (_AFTER, _AFTER))


def marked(
    potentials: ChainPotentials, node: Floats, steps: tuple[int, Floats] | None = None
) -> ChainPotentials:
    """Return scores of labelings with one mark.

    Parameters
    ----------
    potentials : ChainPotentials
    node : array [P, L]
        The logarithms of the weights of marks at positions; -inf where there is none.
    steps : (int, array), optional
        Which table h of steps has marks too, from 1 on, and the logarithms of their weights, in the shape of
        the table. Steps that have fewer than h labels before them take marks of weight 1.
    """
    L = potentials.node.shape[1]
    tripled = np.tile(potentials.node, 3)  # [P, 3 L]
    tripled[:, _AT * L : _AFTER * L] += node
    flags = np.full((3, 3), -np.inf)
    flags[tuple(zip(*_STEPS, strict=True))] = 0.0
    tables = [np.tile(table, (3,) * (h + 1)) for h, table in enumerate(potentials.edge, start=1)]
    if steps is not None:
        h, bonus = steps
        flags[_BEFORE, _AFTER] = 0.0
        first = (Ellipsis, slice(_BEFORE * L, _AT * L), slice(_AFTER * L, None))
        tables[h - 1][first] += np.tile(bonus, (*(3,) * (h - 1), 1, 1))
    tables[0] += np.repeat(np.repeat(flags, L, axis=0), L, axis=1)
    start, stop = (
        np.tile(np.zeros(L) if end is None else end, 3) for end in (potentials.start, potentials.stop)
    )
    start[_AFTER * L :] = -np.inf
    stop[: _AT * L] = -np.inf
    chain = Chain(3 * L, order=max(potentials.structure.order, 1))
    return ChainPotentials(chain, tripled, tuple(tables), start, stop, potentials.seq_ptr, single=False)


def merged(threefold: Floats, tables: tuple[tuple[int, ...], ...], like: Floats) -> Floats:
    """Return gradients by scores of marked labelings, [..., cells], as those by the scores of the chain."""
    begin, found = 0, []
    for table in tables:
        end, flags = begin + prod(table), [size for labels in table for size in (3, labels // 3)]
        cells = threefold[..., begin:end].reshape(*like.shape[:-1], *flags)
        by_label = cells.sum(axis=tuple(range(like.ndim - 1, cells.ndim, 2)))
        found.append(by_label.reshape(*like.shape[:-1], prod(flags[1::2])))
        begin = end
    return np.concatenate(found, axis=-1)
