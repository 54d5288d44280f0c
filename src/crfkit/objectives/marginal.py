"""Marginal likelihood: each label on its own, summed over all others.

    loss(w) = - sum_n weight_n * sum_t log p(y_t | x_n)                                  Gupta (2005) eq. 34
    d loss / d scores = sum_t [E(parts) - E(parts | y_t)]                                               eq. 36

Kakade et al. (2002). It counts wrong labels rather than wrong labellings, and is not convex.

The expectations given y_t are not taken one t after the other (Gupta's gamma, eq. 37 and 38, costs O(T^2)):
a second sweep sums over labellings with one *marked* position t, whose label is the gold one and whose
score is higher by -log p(y_t | x). All T marks then weigh the same, and the marginals of that sum are the
mean over t of the expectations. Its labels are those of the chain, three times: before the mark, at it, and
after it. The second sweep thus costs 3^(k + 1) times the first one for chains of order k, at any length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.objectives.penalised import Penalised
from crfkit.objectives.pieces import why_no_limits
from crfkit.structures.chain import Chain
from crfkit.structures.chain_potentials import ChainPotentials
from crfkit.structures.gold import Gold, Path
from crfkit.structures.potentials import weighted_sum
from crfkit.structures.structure import Structure

__all__ = ["MarginalLikelihood"]

_BEFORE, _AT, _AFTER = range(3)
_STEPS = ((_BEFORE, _BEFORE), (_BEFORE, _AT), (_AT, _AFTER), (_AFTER, _AFTER))


@dataclass(frozen=True)
class MarginalLikelihood(Penalised):
    """The likelihood of each label on its own, for chains of any order.

    Parameters
    ----------
    l1, l2, transition_l1, transition_l2, label_weights
        As in `crfkit.objectives.penalised.Penalised`.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> from crfkit.linear.layout import Layout
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[], label=[0, 1])
    >>> problem = MarginalLikelihood().bind(Layout.all_pairs(batch, Chain(2)), Chain(2), batch)
    >>> w = np.array([0.0, 1.0, 0.0, 0.0])  # of steps: from 0 to 1
    >>> round(problem.value_and_grad(w, np.empty(4)), 4)  # 2 log((3 + e) / (1 + e))
    0.8608
    """

    name: ClassVar[str] = "marginal-likelihood"
    convex: ClassVar[bool] = False
    copies: ClassVar[int] = 9

    def covers(self, structure: Structure, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for chains whose rules look at neighbours only."""
        return why_no_limits(self.name, structure) or super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Gold, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the sum of the labels' losses, and marginals minus those given each label."""
        assert isinstance(gold, Path)
        T = np.diff(gold.seq_ptr)  # [N]
        _, by_score = inference.expected(potentials, weight * T, threads=threads)
        scale = np.repeat(weight * T, T)  # [P]
        own = by_score["node"][np.arange(len(scale)), gold.label]  # [P]
        p = np.divide(own, scale, out=np.ones_like(own), where=scale > 0.0)
        log_p = np.log(np.maximum(p, np.finfo(np.float64).tiny))  # less cannot be told from 0
        marked = _marked(potentials, gold, -log_p)
        _, given = inference.expected(marked, weight * T, threads=threads)
        for slot, array in by_score.items():
            array -= _merged(given[slot], marked.structure.slots()[slot].tables, array)
        return -weighted_sum(np.repeat(weight, T), log_p), by_score


def _marked(potentials: Any, gold: Path, bonus: Floats) -> ChainPotentials:
    """Return scores of labellings with one marked position, whose gold label scores more by its bonus [P]."""
    P, L = potentials.node.shape
    node = np.tile(potentials.node, 3)  # [P, 3 L]
    node[:, _AT * L : _AFTER * L] = -np.inf
    at = (np.arange(P), gold.label)
    node[at[0], _AT * L + at[1]] = potentials.node[at] + bonus
    flags = np.full((3, 3), -np.inf)
    flags[tuple(zip(*_STEPS, strict=True))] = 0.0
    tables = [np.tile(table, (3,) * (h + 1)) for h, table in enumerate(potentials.edge, start=1)]
    tables[0] += np.repeat(np.repeat(flags, L, axis=0), L, axis=1)
    start, stop = (
        np.tile(np.zeros(L) if end is None else end, 3) for end in (potentials.start, potentials.stop)
    )
    start[_AFTER * L :] = -np.inf
    stop[: _AT * L] = -np.inf
    chain = Chain(3 * L, order=max(potentials.structure.order, 1))
    return ChainPotentials(chain, node, tuple(tables), start, stop, potentials.seq_ptr, single=False)


def _merged(threefold: Floats, tables: tuple[tuple[int, ...], ...], like: Floats) -> Floats:
    """Return gradients by scores of marked labellings, [..., cells], as those by the scores of the chain."""
    begin, merged = 0, []
    for table in tables:
        end, flags = begin + prod(table), [size for labels in table for size in (3, labels // 3)]
        cells = threefold[..., begin:end].reshape(*like.shape[:-1], *flags)
        by_label = cells.sum(axis=tuple(range(like.ndim - 1, cells.ndim, 2)))
        merged.append(by_label.reshape(*like.shape[:-1], prod(flags[1::2])))
        begin = end
    return np.concatenate(merged, axis=-1)
