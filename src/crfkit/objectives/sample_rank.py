"""SampleRank: pairs of labelings that differ in one label are ranked as a metric ranks them.

    loss of a pair = max(0, margin - [score(better) - score(worse)]),   better: more labels as in the gold

Wick, Rohanimanesh, Culotta & McCallum (2009), Wick et al. (2011, "atomic gradients"): a Markov chain walks
through labelings, and each proposal to change a label makes a pair of neighbors. Only the factors around
the changed variable differ, so that nothing is summed or maximized. Here a visit of some graphs makes one
Gibbs sweep by the model, then proposes random labels for every variable, and the gradients of all pairs that
are ranked wrongly, or by less than the margin, are one step of a stochastic optimizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit.arrays import Floats, Ids
from crfkit.checks import check_number
from crfkit.objectives.drawn import Drawn, completed, key_of, swept
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers


@dataclass(frozen=True)
class SampleRank(Drawn):
    """Rank neighboring labelings by their number of right labels; for stochastic optimizers, on graphs.

    Parameters
    ----------
    margin : float
        By how much the better labeling of a pair should score higher; 0: only mistakes count.
    proposals : int
        For each variable in a visit.

    Examples
    --------
    >>> SampleRank(margin=0.0, l2=0.1).proposals
    1
    """

    name: ClassVar[str] = "sample-rank"

    margin: float = 1.0
    proposals: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("margin", self.margin)
        check_number("proposals", self.proposals, 1, whole=True)

    def draw(
        self,
        potentials: GraphPotentials,
        gold: GraphGold,
        weight: Floats,
        labels: Ids | None,
        seed: Sequence[int],
        *,
        threads: int | None = None,
    ) -> tuple[float, Mapping[str, Floats], Ids]:
        """Return the sum of the pairs' losses, its gradient, and where the chain is: [1, V]."""
        batch, by_score, value = potentials.batch, potentials.zeros(), 0.0
        if labels is None:
            labels = completed(potentials, gold, 1, key_of(seed, 0))
        labels = swept(potentials, labels, 1, key_of(seed, 1), block=False, threads=threads)
        rng = np.random.default_rng(key_of(seed, 2))
        now, each = labels[0], weight[batch.graph_of]  # [V]
        for _ in range(self.proposals):
            other = (now + 1 + rng.integers(0, np.maximum(batch.width - 1, 1))) % batch.width  # [V]
            cells = _cells(potentials, now, other)
            apart = np.zeros(batch.variables)  # [V] score of the proposal minus that of the labeling now
            for name, scope, first, second, scale in cells:
                scores = potentials.tables[name].scores.ravel()
                with np.errstate(invalid="ignore"):  # -inf - -inf
                    apart += np.bincount(scope, (scores[second] - scores[first]) * scale, len(apart))
            better = np.where(gold.label < 0, 0, 1 * (other == gold.label) - (now == gold.label))  # [V]
            allowed = np.isfinite(apart)  # what is forbidden is nothing that weights could learn
            better, apart = np.where(allowed, better, 0), np.where(allowed, apart, 0.0)
            short = np.where(better == 0, -1.0, self.margin - better * apart)  # equal scores rank nothing
            value += float(each @ np.maximum(short, 0.0))
            change = np.where(short >= 0.0, each * better, 0.0)  # [V]
            for name, scope, first, second, scale in cells:
                out, by_factor = by_score[name].ravel(), change[scope] * scale
                out += np.bincount(first, by_factor, out.size) - np.bincount(second, by_factor, out.size)
        return value, by_score, labels


def _cells(potentials: GraphPotentials, now: Ids, other: Ids) -> list[tuple[str, Ids, Any, Any, Any]]:
    """Return the two cells of the tables around each changed variable.

    For each clique and axis: its name, the variable of each factor [M], the cells [M] of its table with the
    present label and with the other one, and the scale of factors.
    """
    found = []
    for name, table in potentials.tables.items():
        scope = potentials.batch.scopes[name]  # [M, a]
        shape = table.scores.shape
        label = [now[scope[:, i]] for i in range(scope.shape[1])]
        which = table_numbers(table, len(scope))
        first = np.ravel_multi_index((which, *label), shape)
        scale = 1.0 if table.scale is None else table.scale
        for i in range(scope.shape[1]):
            step = int(np.prod(shape[i + 2 :]))
            second = first + (other[scope[:, i]].astype(np.int64) - label[i]) * step
            found.append((name, scope[:, i], first, second, scale))
    return found
