"""Contrastive divergence: the gradient of the likelihood, its expectation replaced by draws.

    gradient by scores = counts of labelings drawn from the model - counts of the gold

Drawn by k Gibbs sweeps that start from the gold: contrastive divergence, CD-k (Hinton 2002), biased for small
k; or that go on from the draws of the visit before: persistent (Tieleman 2008), unbiased where weights move
slowly. Hidden labels are drawn as well, given the known ones, by chains that persist.

There is no value. What is reported in its place is the score of the draws minus that of the gold, whose mean
is 0 where the model draws labelings as good as the gold.
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


@dataclass(frozen=True)
class ContrastiveDivergence(Drawn):
    """Contrastive divergence on graphs, for stochastic optimizers.

    Parameters
    ----------
    k : int
        Gibbs sweeps of each visit.
    persistent : bool
        Chains go on where they were at the visit before, and do not start from the gold again.
    chains : int
        Chains of each graph, whose counts are averaged.
    block : bool
        Draw trees of variables together: slower sweeps that mix better.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import Graph, GraphCRF
    >>> from crfkit.graphs import scopes
    >>> from crfkit.objectives import ContrastiveDivergence
    >>> graph = Graph({"token": 2}, word=["token"], step=["token", "token"])
    >>> data = graph.batch(
    ...     graph_ptr=[0, 3, 5],
    ...     labels={"token": [0, 1, 1, 0, 1]},
    ...     scopes={"step": scopes.chain([0, 3, 5])},
    ...     features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
    ... )
    >>> crf = GraphCRF(graph, objective=ContrastiveDivergence(l2=0.1), optimizer="adagrad").fit(data)
    >>> crf.predict(data)["token"].tolist()
    [0, 1, 1, 0, 1]
    """

    name: ClassVar[str] = "contrastive-divergence"

    k: int = 1
    persistent: bool = False
    chains: int = 1
    block: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("k", self.k, 1, whole=True)
        check_number("chains", self.chains, 1, whole=True)

    @property
    def labelings(self) -> int:
        """How many labelings `draw` leaves for the next visit: chains of the gold and of the model."""
        return 2 * self.chains

    def draw(
        self,
        potentials: Any,
        gold: GraphGold,
        weight: Floats,
        labels: Ids | None,
        seed: Sequence[int],
        *,
        threads: int | None = None,
    ) -> tuple[float, Mapping[str, Floats], Ids]:
        """Return the draws' score minus the gold's, the draws' counts minus the gold's, and all chains.

        The first half of the chains are the gold with draws of what it hides, the other half the model's.
        """
        if labels is None:
            begun = completed(potentials, gold, self.chains, key_of(seed, 0))
            labels = np.concatenate([begun, begun])
        positive, negative = np.split(labels, 2)
        if gold.kind == "set":
            positive = self._swept(gold.clamped(potentials), positive, key_of(seed, 1), threads)
        negative = self._swept(
            potentials, negative if self.persistent else positive, key_of(seed, 2), threads
        )
        by_score, value = potentials.zeros(), 0.0
        for sign, side in ((-1.0, positive if gold.kind == "set" else positive[:1]), (1.0, negative)):
            each = sign / len(side) * weight
            for label in side:
                potentials.add_counts(GraphGold(label), each, by_score)
            value += float((potentials.labeling_score(side) @ each).sum())
        return value, by_score, np.concatenate([positive, negative])

    def _swept(self, potentials: Any, start: Ids, key: int, threads: int | None) -> Ids:
        return swept(potentials, start, self.k, key, block=self.block, threads=threads)
